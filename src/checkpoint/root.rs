//! Is this directory a checkpoint at all, and what does it have of one?

use std::collections::BTreeSet;

use super::load::LoadError;
use super::names;
use crate::storage::{EntryKind, Name, Storage};

/// A part of a checkpoint's root directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Metadata,
    Offsets,
    Commits,
    State,
    Sources,
}

/// The parts that a checkpoint's root directory has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Root {
    parts: BTreeSet<Part>,
    /// Names of parts that are not followed: links that lead out of the checkpoint, pipes, devices.
    pub(super) not_followed: Vec<String>,
}

/// Names shown in the message about a directory that is no checkpoint.
const SHOWN: usize = 5;
/// Child directories looked into for the hint in that message.
const LOOKED_INTO: usize = 20;

impl Root {
    /// Looks at the root, and refuses one that holds something else.
    pub(super) fn look(storage: &Storage) -> Result<Self, LoadError> {
        let names = storage.names("").map_err(|error| LoadError::root(storage, error))?;
        let root = Self::of(&names);
        // Hidden files come and go with any tool; they say nothing about what a directory is.
        let others = names.iter().any(|name| !name.name.starts_with(['.', '_']));
        if root.is_checkpoint() || !others {
            return Ok(root);
        }
        Err(LoadError::NotACheckpoint {
            address: storage.address().to_owned(),
            found: found(&names),
            hint: hint(storage, &names),
        })
    }

    pub(super) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// Whether the directory has anything that only a checkpoint has.
    fn is_checkpoint(&self) -> bool {
        !self.not_followed.is_empty()
            || [Part::Metadata, Part::Offsets, Part::Commits, Part::State]
                .into_iter()
                .any(|part| self.has(part))
    }

    pub(super) fn of(names: &[Name]) -> Self {
        let part_name = |name: &&Name| {
            matches!(name.name.as_str(), "metadata" | "offsets" | "commits" | "state" | "sources")
        };
        let other = |name: &&Name| name.kind == EntryKind::Other && part_name(name);
        Self {
            parts: names.iter().filter_map(part).collect(),
            not_followed: names.iter().filter(other).map(|name| name.name.clone()).collect(),
        }
    }
}

/// Which part of a checkpoint a name is. Other systems have a directory `metadata`.
fn part(name: &Name) -> Option<Part> {
    match (name.name.as_str(), name.kind) {
        ("metadata", EntryKind::File) => Some(Part::Metadata),
        ("offsets", EntryKind::Directory) => Some(Part::Offsets),
        ("commits", EntryKind::Directory) => Some(Part::Commits),
        ("state", EntryKind::Directory) => Some(Part::State),
        ("sources", EntryKind::Directory) => Some(Part::Sources),
        _ => None,
    }
}

/// The first names of a directory, for a message.
fn found(names: &[Name]) -> Vec<String> {
    let mut found: Vec<String> = names.iter().take(SHOWN).map(|name| name.name.clone()).collect();
    if names.len() > SHOWN {
        found.push(format!("{} more", names.len() - SHOWN));
    }
    found
}

/// Where the checkpoint may be instead: in a child directory, or above.
fn hint(storage: &Storage, names: &[Name]) -> Option<String> {
    let address = storage.address().trim_end_matches('/');
    let directories = names.iter().filter(|name| name.kind == EntryKind::Directory);
    let child = directories.take(LOOKED_INTO).find(|name| {
        let children = storage.names(&name.name).unwrap_or_default();
        let root = Root::of(&children);
        root.has(Part::Offsets) || root.has(Part::Commits)
    });
    if let Some(child) = child {
        return Some(format!("{address}/{} looks like a checkpoint", child.name));
    }
    let numbered = names.iter().any(|name| names::batch(&name.name).is_some());
    let (parent, last) = address.rsplit_once('/')?;
    let inside = matches!(last, "offsets" | "commits" | "state" | "sources") || numbered;
    inside.then(|| format!("this looks like the inside of a checkpoint; try {parent}"))
}
