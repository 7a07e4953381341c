//! A strict look into TOML tables: what is asked for is taken, what is left over is an error.

use std::cell::RefCell;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// The file that is read, and what is wrong with it so far.
pub(super) struct Problems<'t> {
    text: &'t str,
    root: Option<DeTable<'t>>,
    found: RefCell<Vec<Problem>>,
}

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let problems = Self { text, root: None, found: RefCell::default() };
        match DeTable::parse(text) {
            Ok(root) => Self { root: Some(root.into_inner()), ..problems },
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                problems.add(at, "", error.message().to_owned());
                problems
            }
        }
    }

    /// The table of the whole file; `None` when it is no TOML.
    pub(super) fn root(&self) -> Option<Table<'_, 't>> {
        let table = self.root.as_ref()?;
        Some(Table { problems: self, entries: table, at: 0, name: "", asked: Vec::new() })
    }

    fn add(&self, at: usize, key: &str, message: String) {
        let before = self.text.as_bytes().iter().take(at);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        self.found.borrow_mut().push(Problem { line, key: key.to_owned(), message });
    }

    /// Something is wrong with a key of the query at that place.
    pub(super) fn at_query(&self, place: usize, key: &str, message: String) {
        let queries = self.root.as_ref().and_then(|root| root.get("query"));
        let query = queries.and_then(|queries| queries.get_ref().as_array()?.get(place));
        let entry = query.and_then(|query| query.get_ref().as_table()?.get(key));
        let at = entry.or(query).map_or(0, |value| value.span().start);
        self.add(at, &format!("query.{key}"), message);
    }

    /// Fine, or all that is wrong in the order of lines.
    pub(super) fn into_result(self) -> Result<(), Vec<Problem>> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|problem| problem.line);
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}

/// A table that is read.
pub(super) struct Table<'p, 't> {
    problems: &'p Problems<'t>,
    entries: &'p DeTable<'t>,
    /// Where it begins.
    at: usize,
    /// Its name before its keys.
    name: &'static str,
    asked: Vec<&'static str>,
}

impl<'p, 't> Table<'p, 't> {
    fn take(&mut self, key: &'static str) -> Option<&'p Spanned<DeValue<'t>>> {
        self.asked.push(key);
        self.entries.get(key)
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Something is wrong with the value of `key`.
    pub(super) fn refuse(&self, key: &str, message: String) {
        let at = self.entries.get(key).map_or(self.at, |value| value.span().start);
        self.problems.add(at, &self.path(key), message);
    }

    fn mistyped(&self, key: &str, expected: &str, found: &DeValue<'_>) {
        self.refuse(key, format!("expected {expected}, found {}", found.type_str()));
    }

    /// A text that may be missing.
    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        match self.take(key)?.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            other => {
                self.mistyped(key, "a text", other);
                None
            }
        }
    }

    /// A text that must be there.
    pub(super) fn required(&mut self, key: &'static str) -> Option<String> {
        if self.entries.get(key).is_none() {
            self.asked.push(key);
            self.refuse(key, "is missing".to_owned());
            return None;
        }
        self.text(key)
    }

    /// A text or several.
    pub(super) fn texts(&mut self, key: &'static str) -> Vec<String> {
        const EXPECTED: &str = "a text or a list of texts";
        match self.take(key).map(Spanned::get_ref) {
            None => Vec::new(),
            Some(DeValue::String(text)) => vec![text.to_string()],
            Some(DeValue::Array(values)) => {
                let mut texts = Vec::new();
                for value in values {
                    match value.get_ref() {
                        DeValue::String(text) => texts.push(text.to_string()),
                        other => self.mistyped(key, EXPECTED, other),
                    }
                }
                texts
            }
            Some(other) => {
                self.mistyped(key, EXPECTED, other);
                Vec::new()
            }
        }
    }

    /// True or false, where it is said.
    pub(super) fn truth(&mut self, key: &'static str) -> Option<bool> {
        match self.take(key)?.get_ref() {
            DeValue::Boolean(truth) => Some(*truth),
            other => {
                self.mistyped(key, "true or false", other);
                None
            }
        }
    }

    /// The table of `[key]`, where there is one.
    pub(super) fn table(&mut self, key: &'static str) -> Option<Table<'p, 't>> {
        let value = self.take(key)?;
        let DeValue::Table(table) = value.get_ref() else {
            self.mistyped(key, &format!("a table, headed [{key}]"), value.get_ref());
            return None;
        };
        let at = value.span().start;
        Some(Table { problems: self.problems, entries: table, at, name: key, asked: Vec::new() })
    }

    /// The tables of `[[key]]`.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<Table<'p, 't>> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let Some(values) = value.get_ref().as_array() else {
            self.mistyped(key, &format!("tables, each headed [[{key}]]"), value.get_ref());
            return Vec::new();
        };
        let mut tables = Vec::new();
        for value in values {
            match value.get_ref() {
                DeValue::Table(table) => tables.push(Table {
                    problems: self.problems,
                    entries: table,
                    at: value.span().start,
                    name: key,
                    asked: Vec::new(),
                }),
                other => self.mistyped(key, "a table", other),
            }
        }
        tables
    }

    /// Refuses every key that is none of those that are allowed.
    pub(super) fn finish(self, allowed: &[&str]) {
        for (key, _) in self.entries {
            let name = key.get_ref().as_ref();
            if allowed.contains(&name) {
                continue;
            }
            let near = allowed.iter().find(|known| is_near(known, name));
            let hint = near.map_or_else(
                || format!("allowed are {}", allowed.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            let message = format!("there is no such key; {hint}");
            self.problems.add(key.span().start, &self.path(name), message);
        }
    }
}

/// Whether one may be a slip of the other: one letter more, less or other, or two swapped.
fn is_near(known: &str, found: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (known.chars().collect(), found.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = |chars: &[char], skip: usize| chars.get(same + skip..).map(<[char]>::to_vec);
    let swapped = || a.get(same) == b.get(same + 1) && a.get(same + 1) == b.get(same);
    rest(&a, 1) == rest(&b, 1) && a.len() == b.len()
        || rest(&a, 1).is_some() && rest(&a, 1) == rest(&b, 0)
        || rest(&b, 1).is_some() && rest(&a, 0) == rest(&b, 1)
        || swapped() && rest(&a, 2) == rest(&b, 2)
}
