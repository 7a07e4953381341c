//! Event logs that real Spark wrote, unpacked where a test needs them.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::Value;
use statetop::task::Cancel;
use statetop::telemetry::event_log::{Ended, EventLog, Options};
use statetop::telemetry::{Event, EventKind, Progress};
use tempfile::TempDir;

/// An application whose log was recorded, and what Spark itself said of its queries.
pub(crate) struct Recording {
    /// Its name, such as `all-4.3.0`.
    pub(crate) name: String,
    /// `truth.json`; the fields are explained in `tests/spark/README.md`.
    pub(crate) truth: Value,
    dir: PathBuf,
}

/// The unpacked log and its other forms, removed with the value.
pub(crate) struct Unpacked {
    root: TempDir,
}

/// A form of a log on disk.
pub(crate) struct Form {
    /// Its name, such as `single-lz4-inprogress`.
    pub(crate) name: String,
    /// The file, or the directory of a rolling log.
    pub(crate) log: PathBuf,
}

/// All recordings by name: those in the repository, or some that were just made.
pub(crate) fn all() -> Vec<Recording> {
    let folder = std::env::var_os("STATETOP_EVENT_LOGS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry/eventlogs"),
        PathBuf::from,
    );
    let entries = fs::read_dir(folder).unwrap();
    let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    dirs.sort();
    dirs.into_iter().map(Recording::read).collect()
}

/// The recording of this name.
pub(crate) fn named(name: &str) -> Recording {
    all().into_iter().find(|recording| recording.name == name).unwrap()
}

/// Copies a file, or a directory with its files.
pub(crate) fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        copy(&path, &to.join(path.file_name().unwrap()));
    }
}

/// Makes a log look as if it was written just now: archives have no times.
pub(crate) fn touch(log: &Path) {
    let files = if log.is_dir() {
        fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect()
    } else {
        vec![log.to_owned()]
    };
    for file in files {
        let file = File::options().append(true).open(file).unwrap();
        file.set_modified(std::time::SystemTime::now()).unwrap();
    }
}

impl Recording {
    fn read(dir: PathBuf) -> Self {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let truth = File::open(dir.join("truth.json.zst")).unwrap();
        let truth = serde_json::from_reader(zstd::Decoder::new(truth).unwrap()).unwrap();
        Self { name, truth, dir }
    }

    /// Unpacks the log into a directory of its own.
    pub(crate) fn unpack(&self) -> Unpacked {
        let root = TempDir::new().unwrap();
        let archive = File::open(self.dir.join("logs.tar.zst")).unwrap();
        let mut archive = zstd::Decoder::new(archive).unwrap();
        archive.window_log_max(31).unwrap();
        tar::Archive::new(archive).unpack(root.path()).unwrap();
        Unpacked { root }
    }
}

impl Unpacked {
    /// The log as the application's own listener wrote it.
    pub(crate) fn log(&self) -> PathBuf {
        only_child(&self.root.path().join("logs"))
    }

    /// The form of this name.
    pub(crate) fn form(&self, name: &str) -> PathBuf {
        only_child(&self.root.path().join("forms").join(name))
    }

    /// The same events in other forms, written by Spark's own writers.
    pub(crate) fn forms(&self) -> Vec<Form> {
        let entries = fs::read_dir(self.root.path().join("forms")).unwrap();
        let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        dirs.sort();
        let form = |dir: &PathBuf| Form {
            name: dir.file_name().unwrap().to_string_lossy().into_owned(),
            log: only_child(dir),
        };
        dirs.iter().map(form).collect()
    }
}

fn only_child(dir: &Path) -> PathBuf {
    let mut children = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let child = children.next().unwrap();
    assert!(children.next().is_none(), "{} has one log", dir.display());
    child
}

/// All events of a log.
pub(crate) fn read(target: &Path) -> Vec<Event> {
    read_with(target, Options::default())
}

pub(crate) fn read_with(target: &Path, options: Options) -> Vec<Event> {
    let log = EventLog::open(target.to_str().unwrap(), options).unwrap();
    let mut events = Vec::new();
    let ended = log.read(&Cancel::default(), &mut |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    assert_eq!(ended, Ended::Complete);
    events
}

/// Events without the places where they stood, and without the notes about the log itself.
pub(crate) fn told(events: &[Event]) -> Vec<&EventKind> {
    let is_told =
        |kind: &&EventKind| !matches!(kind, EventKind::Interrupted(_) | EventKind::Unreadable(_));
    events.iter().map(|event| &event.kind).filter(is_told).collect()
}

pub(crate) fn notes(events: &[Event]) -> Vec<&str> {
    fn note(event: &Event) -> Option<&str> {
        match &event.kind {
            EventKind::Interrupted(text) | EventKind::Unreadable(text) => Some(text.as_str()),
            _ => None,
        }
    }
    events.iter().filter_map(note).collect()
}

pub(crate) fn progress(events: &[Event]) -> Vec<&Progress> {
    fn progress(event: &Event) -> Option<&Progress> {
        match &event.kind {
            EventKind::Progress(progress) => Some(&**progress),
            _ => None,
        }
    }
    events.iter().filter_map(progress).collect()
}
