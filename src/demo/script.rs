//! The recording's table of contents, `demo.json`: which files each batch brought.

use std::path::{Component, Path};

use serde::Deserialize;

use super::DemoError;

/// What the recording is called when it does not say.
const UNNAMED: &str = "recorded query";

/// The order of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Script {
    name: Option<String>,
    pub(super) batches: Vec<BatchFiles>,
}

/// The files that one batch brought, relative to the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct BatchFiles {
    pub(super) batch: u64,
    pub(super) files: Vec<String>,
}

/// When, within its batch, Spark writes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// The offset entry: the batch is planned.
    Plan,
    /// Sources and state: the batch runs.
    Run,
    /// The commit entry: the batch is done.
    Commit,
}

impl Moment {
    pub(super) fn of(file: &str) -> Self {
        match file.split('/').next() {
            Some("offsets") => Self::Plan,
            Some("commits") => Self::Commit,
            _ => Self::Run,
        }
    }
}

impl Script {
    /// Reads `demo.json`.
    pub(super) fn parse(json: &[u8]) -> Result<Self, DemoError> {
        let mut script: Self = serde_json::from_slice(json)
            .map_err(|error| DemoError::Damaged(format!("demo.json: {error}")))?;
        if script.batches.is_empty() {
            return Err(DemoError::Damaged("demo.json lists no batch".to_owned()));
        }
        let mut files = script.batches.iter().flat_map(|batch| &batch.files);
        if let Some(file) = files.find(|file| !is_inside(Path::new(file))) {
            return Err(DemoError::Damaged(format!("demo.json names {file:?}")));
        }
        script.batches.sort_by_key(|batch| batch.batch);
        Ok(script)
    }

    /// The recorded query's name.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(UNNAMED)
    }
}

/// Whether a path stays inside the folder that it is joined to.
pub(super) fn is_inside(path: &Path) -> bool {
    let mut components = path.components().peekable();
    components.peek().is_some() && components.all(|part| matches!(part, Component::Normal(_)))
}
