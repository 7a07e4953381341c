//! Explanations as rows of text.

use super::super::look::Role;
use super::super::overlay::labelled;
use super::super::text::{Row, wrap};
use crate::explain::catalogue::{Catalogue, Entry, EntryKind};
use crate::explain::schema_text::Difference;
use crate::report::{ErrorKind, ErrorReport, ExplainReport};

/// Further errors that are named.
const NAMED: usize = 20;

/// All errors of a report; those that say most of a failure in full.
pub(super) fn report(report: &ExplainReport, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if report.errors.is_empty() {
        let none = "No error was found in it so far.";
        rows.extend(wrap(none, columns).into_iter().map(|line| Row::of(line, Role::Muted)));
    }
    let (told, rest): (Vec<&ErrorReport>, Vec<&ErrorReport>) =
        report.errors.iter().partition(|error| error.kind != ErrorKind::Wrapper || error.deepest);
    for error in told {
        one(&mut rows, error, columns);
        rows.push(Row::new());
    }
    if !rest.is_empty() {
        rows.push(Row::of("also told", Role::Strong));
        for error in rest.into_iter().take(NAMED) {
            let name = error.message.as_deref().or(error.class.as_deref()).unwrap_or_default();
            rows.push(Row::of(" ", Role::Text).with(name, Role::Muted));
        }
    }
    rows
}

fn one(rows: &mut Vec<Row>, error: &ErrorReport, columns: usize) {
    let name = error.message.as_deref().or(error.class.as_deref()).unwrap_or("an exception");
    let role = match error.kind {
        ErrorKind::Error => Role::Error,
        ErrorKind::Wrapper => Role::Warning,
        ErrorKind::Notice => Role::Info,
    };
    let mut title = Row::of(name, role);
    if let Some(state) = &error.sqlstate {
        title.push(format!("  {state}"), Role::Muted);
    }
    rows.push(title);
    let mut say = |label: &str, text: &str| labelled(rows, label, Role::Key, text, columns);
    match &error.explanation {
        Some(known) => {
            say("means", &known.means);
            say("is not", &known.does_not_mean);
            say("data lost", known.data_lost.words());
            for (place, sentence) in error.here.iter().enumerate() {
                say(if place == 0 { "here" } else { "" }, sentence);
            }
            say("first", &known.first);
            say("do not", known.do_not.strip_prefix("Do not ").unwrap_or(&known.do_not));
        }
        None => say("unknown", "not in the catalogue"),
    }
    if let Some(cause) = &error.cause {
        say("cause", cause);
    }
    for schema in &error.schemas {
        for field in &schema.fields {
            let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let (stored, new) = (side(&field.stored), side(&field.new));
            match field.difference {
                Difference::Same => {}
                Difference::Renamed => say("renamed", &format!("{stored}, now {new}")),
                Difference::Type => say("! type", &format!("stored {stored}; now {new}")),
                Difference::Added => say("+ added", &format!("{new} (only in the query)")),
                Difference::Removed => say("- removed", &format!("{stored} (only stored)")),
            }
        }
        say("rule", &format!("{}: {}", schema.rule, schema.happens));
    }
    let values: Vec<String> = error
        .parameters
        .iter()
        .filter(|(name, _)| !name.ends_with("Schema"))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    say("values", &values.join("  "));
}

/// What an entry of the catalogue says.
pub fn explanation(entry: &Entry, columns: usize) -> Vec<Row> {
    let mut rows = vec![Row::of(&entry.id, Role::Strong)];
    let text = &entry.text;
    for (label, text) in [
        ("means", text.means.as_str()),
        ("is not", &text.not),
        ("data lost", text.data_lost.words()),
        ("first", &text.first),
        ("do not", text.avoid.strip_prefix("Do not ").unwrap_or(&text.avoid)),
    ] {
        labelled(&mut rows, label, Role::Key, text, columns);
    }
    rows
}

/// The conditions that a text names, by their full names or their subclasses.
pub fn of_text(text: &str) -> Vec<&'static Entry> {
    let Ok(catalogue) = Catalogue::builtin() else { return Vec::new() };
    let part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
    let mut found: Vec<&Entry> = Vec::new();
    for word in text.split(|c| !part(c)).map(|word| word.trim_matches('.')) {
        if !word.contains('_') {
            continue;
        }
        // A subclass that several conditions have names none of them.
        if let [only] = catalogue.meant(word).as_slice()
            && only.kind == EntryKind::Condition
            && !found.contains(only)
        {
            found.push(only);
        }
    }
    found
}
