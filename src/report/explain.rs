//! The reports behind `statetop explain` and `statetop can-i`.

mod here;
mod schemas;

use std::collections::BTreeMap;

use serde::Serialize;

pub use here::Here;

use crate::explain::catalogue::{Catalogue, DataLost, Entry, EntryKind};
use crate::explain::chain::By;
use crate::explain::reading::{Found, Told};
use crate::explain::schema_text::Compared;
use crate::units::UnixMillis;

/// What errors mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainReport {
    /// What was explained: a name, a file, or `-`.
    pub source: String,
    /// The checkpoint that the explanations are about; `None` where none was given.
    pub checkpoint: Option<String>,
    /// Most useful first: what says most of a failure, then what wraps it, then notices.
    pub errors: Vec<ErrorReport>,
    /// Different errors that were too many to keep.
    pub left_out: u64,
}

/// What an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// Something went wrong.
    Error,
    /// It only says that something did.
    Wrapper,
    /// It is no error.
    Notice,
}

/// How an error was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recognised {
    /// By its class in the text.
    Class,
    /// By the words of its message.
    Words,
    /// It was asked for by name.
    Name,
}

/// One error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorReport {
    /// The class; of a message without one, that of newer releases for the same thing.
    pub class: Option<String>,
    /// The id of a message without a class.
    pub message: Option<String>,
    /// The SQLSTATE.
    pub sqlstate: Option<String>,
    /// What it is.
    pub kind: ErrorKind,
    /// Whether it is what says most of its failure.
    pub deepest: bool,
    /// How it was recognised.
    pub recognised_by: Recognised,
    /// The values in its message, by the names that Spark gives them.
    pub parameters: BTreeMap<String, String>,
    /// The innermost exception below it, where that is no error of its own.
    pub cause: Option<String>,
    /// How often it was told; 0 where it was asked for by name.
    pub count: u64,
    /// The line on which it was first told.
    pub first_line: Option<u64>,
    /// The line on which it was last told.
    pub last_line: Option<u64>,
    /// When it was last told, where the log says.
    pub last_at: Option<UnixMillis>,
    /// What it means; `None` where it is not known.
    pub explanation: Option<Explanation>,
    /// Names that are known and alike, where it is not known.
    pub nearest: Vec<String>,
    /// The stored and the new schema, where its message has both.
    pub schemas: Vec<SchemaReport>,
    /// What it means for the checkpoint that was given.
    pub here: Vec<String>,
}

/// What an error means and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The family of errors that it belongs to.
    pub family: String,
    /// What has happened.
    pub means: String,
    /// What it is easily taken for and is not.
    pub does_not_mean: String,
    /// Whether data is lost.
    pub data_lost: DataLost,
    /// The first thing to do.
    pub first: String,
    /// What makes it worse.
    pub do_not: String,
    /// Which releases have it.
    pub versions: String,
    /// The full names of its subclasses.
    pub subclasses: Vec<String>,
}

/// Two schemas side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaReport {
    /// `key` or `value`.
    pub part: &'static str,
    /// The fields of both.
    pub fields: Vec<Compared>,
    /// The change of the table of changes that this is, see `statetop can-i`.
    pub rule: String,
    /// What that table says of it.
    pub happens: String,
    /// The ways out.
    pub ways_out: Vec<String>,
}

impl ExplainReport {
    /// The report of what a text told.
    pub fn of_text(source: &str, told: Told<'_>, catalogue: &Catalogue) -> Self {
        let errors = told.errors.into_iter().map(|found| of_found(found, catalogue)).collect();
        Self { source: source.to_owned(), checkpoint: None, errors, left_out: told.left_out }
    }

    /// Whether an error is about files of the state.
    pub fn is_about_files(&self) -> bool {
        self.errors.iter().any(|error| {
            let class = error.class.as_deref().unwrap_or_default();
            error.parameters.contains_key("operatorId")
                || class.starts_with("CANNOT_LOAD_STATE_STORE")
                || class.starts_with("CHECKPOINT_FILE_CHECKSUM")
        })
    }

    /// The report of entries that were asked for.
    pub fn of_entries(source: &str, entries: &[&Entry], catalogue: &Catalogue) -> Self {
        let one = |entry: &&Entry| ErrorReport {
            class: entry.class.clone(),
            message: message(entry),
            sqlstate: entry.sqlstate.clone(),
            kind: kind(Some(entry), entry.wraps),
            deepest: true,
            recognised_by: Recognised::Name,
            parameters: BTreeMap::new(),
            cause: None,
            count: 0,
            first_line: None,
            last_line: None,
            last_at: None,
            explanation: Some(explanation(entry, catalogue)),
            nearest: Vec::new(),
            schemas: Vec::new(),
            here: Vec::new(),
        };
        let errors = entries.iter().map(one).collect();
        Self { source: source.to_owned(), checkpoint: None, errors, left_out: 0 }
    }
}

fn of_found(found: Found<'_>, catalogue: &Catalogue) -> ErrorReport {
    let schemas = schemas::of(&found.parameters);
    let nearest = match (&found.class, found.entry) {
        (Some(class), None) => catalogue.nearest(class),
        _ => Vec::new(),
    };
    ErrorReport {
        message: found.entry.and_then(message),
        kind: kind(found.entry, found.wraps),
        explanation: found.entry.map(|entry| explanation(entry, catalogue)),
        class: found.class,
        sqlstate: found.sqlstate,
        deepest: found.deepest,
        recognised_by: match found.by {
            By::Class => Recognised::Class,
            By::Words => Recognised::Words,
        },
        parameters: found.parameters,
        cause: found.cause,
        count: found.count,
        first_line: Some(found.first_line),
        last_line: Some(found.last_line),
        last_at: found.at,
        nearest,
        schemas,
        here: Vec::new(),
    }
}

fn message(entry: &Entry) -> Option<String> {
    (entry.kind != EntryKind::Condition).then(|| entry.id.clone())
}

fn kind(entry: Option<&Entry>, wraps: bool) -> ErrorKind {
    match entry.map(|entry| entry.kind) {
        Some(EntryKind::Notice) => ErrorKind::Notice,
        _ if wraps => ErrorKind::Wrapper,
        _ => ErrorKind::Error,
    }
}

fn explanation(entry: &Entry, catalogue: &Catalogue) -> Explanation {
    let family = catalogue.families.get(entry.family);
    Explanation {
        family: family.map(|family| family.name.clone()).unwrap_or_default(),
        means: entry.text.means.clone(),
        does_not_mean: entry.text.not.clone(),
        data_lost: entry.text.data_lost,
        first: entry.text.first.clone(),
        do_not: entry.text.avoid.clone(),
        versions: entry.versions(),
        subclasses: catalogue.below(&entry.id).map(|below| below.id.clone()).collect(),
    }
}
