//! Pieces of Markdown. Text from files is made harmless here: it can neither break out of its
//! place in the document nor reach a terminal raw.

use crate::console::text::sanitise;

/// Text as it is, but no markup.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in sanitise(text).chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => {
                out.extend(['\\', character]);
            }
            '\n' | '\r' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// A name, path or conf in a line. A backtick cannot stand in it and becomes a quote.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", sanitise(text).replace('`', "'").replace(['\n', '\r'], " "))
}

/// A block of commands.
pub(super) fn block(language: &str, lines: &str) -> String {
    let safe: Vec<String> =
        lines.lines().map(|line| sanitise(line).replace("```", "'''")).collect();
    format!("```{language}\n{}\n```\n", safe.join("\n"))
}

/// A table; cells are Markdown already, but for the bars, which code cannot escape itself.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(heading.iter().map(|cell| (*cell).to_owned()).collect());
    out.push_str(&line(heading.iter().map(|_| "---".to_owned()).collect()));
    for row in rows {
        out.push_str(&line(row.iter().map(|cell| bars(cell)).collect()));
    }
    out
}

/// Bars end a cell even inside of code.
fn bars(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    let mut before = ' ';
    for character in cell.chars() {
        if character == '|' && before != '\\' {
            out.push('\\');
        }
        out.push(character);
        before = character;
    }
    out
}

/// A point to tick off.
pub(super) fn tick(text: &str) -> String {
    format!("- [ ] {text}\n")
}

/// A string in Python.
pub(super) fn python(text: &str) -> String {
    let escaped: String = text
        .chars()
        .flat_map(|character| match character {
            '"' | '\\' => vec!['\\', character],
            other if other.is_control() => format!("\\u{:04x}", u32::from(other)).chars().collect(),
            other => vec![other],
        })
        .collect();
    format!("\"{escaped}\"")
}

/// A word for a shell.
pub(super) fn shell(text: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-:=@,+%".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
