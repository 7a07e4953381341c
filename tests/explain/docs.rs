//! `docs/errors.md` is made from the catalogue. `STATETOP_UPDATE_DOCS=1 cargo test --test explain`
//! writes it again; look at the difference before committing.

use std::fmt::Write;
use std::path::Path;

use statetop::explain::catalogue::{Catalogue, Entry, EntryKind};
use statetop::explain::changes;

const HEAD: &str = "\
# Errors

What `statetop explain` knows: the conditions of Spark 3.5 to 4.3 about state, checkpoints and \
streams, those of Databricks Runtime and of the Kafka connector, and the messages without a class \
that Spark 3.x prints. This page is written from `src/explain/catalogue` by a test.

*Data lost* says whether anything is lost when the error comes: **no**; **not yet** (a wrong next \
step can lose or double data); **maybe** (it has to be looked at).
";

fn page() -> String {
    let catalogue = Catalogue::builtin().unwrap();
    let mut page = HEAD.to_owned();
    page.push_str("\n## Contents\n\n");
    for (place, family) in catalogue.families.iter().enumerate() {
        let number = catalogue.entries.iter().filter(|entry| entry.family == place).count();
        writeln!(page, "- [{}](#{}) ({number})", family.name, anchor(&family.name)).unwrap();
    }
    page.push_str("- [Changes between restarts](#changes-between-restarts)\n");
    for (place, family) in catalogue.families.iter().enumerate() {
        writeln!(page, "\n## {}\n\n{}", family.name, family.about).unwrap();
        for entry in catalogue.entries.iter().filter(|entry| entry.family == place) {
            page.push_str(&section(entry));
        }
    }
    page.push_str(&table_of_changes());
    page
}

fn section(entry: &Entry) -> String {
    let mut section = format!("\n### `{}`\n\n", entry.id);
    let mut facts = Vec::new();
    if let Some(state) = &entry.sqlstate {
        facts.push(format!("SQLSTATE {state}"));
    }
    facts.push(entry.versions());
    let lost = entry.text.data_lost.words();
    facts.push(format!("data lost: **{}**", lost.split(';').next().unwrap_or(lost)));
    if entry.wraps {
        facts.push("wraps what went wrong".to_owned());
    }
    if entry.kind == EntryKind::Notice {
        facts.push("no error".to_owned());
    }
    writeln!(section, "{}", facts.join(" · ")).unwrap();
    if let (Some(class), EntryKind::Message) = (&entry.class, entry.kind) {
        writeln!(section, "\nThe same as `{class}` of newer releases, which see.").unwrap();
    } else {
        let text = &entry.text;
        for (label, text) in [
            ("Means", &text.means),
            ("Is not", &text.not),
            ("First", &text.first),
            ("What not to do", &text.avoid),
        ] {
            writeln!(section, "\n- **{label}:** {text}").unwrap();
        }
    }
    section.replace("\n\n- ", "\n- ").replacen("\n- ", "\n\n- ", 1)
}

fn table_of_changes() -> String {
    let mut table =
        "\n## Changes between restarts\n\nWhat `statetop can-i` answers, for a start on \
                     the same checkpoint.\n\n| change | answer | what happens | instead |\n| --- | \
                     --- | --- | --- |\n"
            .to_owned();
    for change in changes::all().unwrap() {
        let cell = |text: &str| text.replace('|', "\\|");
        let (answer, happens) = (change.answer.words(), cell(&change.happens));
        let (title, instead) = (cell(&change.title), cell(&change.instead));
        writeln!(table, "| {title} (`{}`) | {answer} | {happens} | {instead} |", change.id)
            .unwrap();
    }
    table
}

/// The anchor that GitHub and others give a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[test]
fn the_page_is_as_the_catalogue() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md");
    let page = page();
    if std::env::var_os("STATETOP_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        there == page,
        "docs/errors.md is not as the catalogue says; STATETOP_UPDATE_DOCS=1 writes it again"
    );
}
