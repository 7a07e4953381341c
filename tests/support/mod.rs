//! Fixtures that real Spark wrote, unpacked where a test needs them.

#![allow(dead_code, reason = "not every test uses all of it")]

pub(crate) mod event_logs;
pub(crate) mod spark_ui;
pub(crate) mod web;

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

/// A fixture: what Spark wrote, and the truth as Spark's own readers told it.
pub(crate) struct Fixture {
    /// Its name, such as `agg-window-hot-4.3.0`.
    pub(crate) name: String,
    /// `truth.json`; the fields are explained in `tests/spark/README.md`.
    pub(crate) truth: Value,
    dir: PathBuf,
}

/// An unpacked checkpoint, removed with the value.
pub(crate) struct Unpacked {
    _root: TempDir,
    /// The checkpoint directory.
    pub(crate) path: PathBuf,
}

/// The folder of fixtures: the one in the repository, or one that was just made.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("STATETOP_FIXTURES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), PathBuf::from)
}

/// All fixtures by name.
pub(crate) fn all() -> Vec<Fixture> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    dirs.retain(|dir| dir.join("truth.json").is_file());
    dirs.sort();
    dirs.into_iter().map(Fixture::read).collect()
}

impl Fixture {
    fn read(dir: PathBuf) -> Self {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let truth = std::fs::read(dir.join("truth.json")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let truth = serde_json::from_slice(&truth).unwrap_or_else(|e| panic!("{name}: {e}"));
        Self { name, truth, dir }
    }

    /// Unpacks the checkpoint into a directory of its own.
    pub(crate) fn unpack(&self) -> Unpacked {
        let root = TempDir::new().unwrap();
        let archive = File::open(self.dir.join("checkpoint.tar.zst")).unwrap();
        let archive = zstd::Decoder::new(archive).unwrap();
        tar::Archive::new(archive).unpack(root.path()).unwrap();
        let path = root.path().join("checkpoint");
        Unpacked { _root: root, path }
    }
}

impl Unpacked {
    /// The path as a command-line argument.
    pub(crate) fn target(&self) -> &str {
        self.path.to_str().unwrap()
    }
}
