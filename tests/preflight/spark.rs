//! What Spark did, as `tests/spark/preflight.py` wrote it down, and copies of the fixtures as it
//! had them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use statetop::report::PreflightOutcome;

use crate::support::{Fixture, Unpacked};

/// Where fixtures were written, and what schema paths in their operator metadata say.
const BUILT_AT: &str = "/tmp/statetop-fixtures/";

/// Entries of the outcomes of a version.
pub(crate) fn outcomes(version: &str) -> Vec<Value> {
    let file = format!("{}/tests/preflight/outcomes-{version}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// One repartition of one copy.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) fixture: String,
    pub(crate) to: i64,
    pub(crate) confs: BTreeMap<String, String>,
    pub(crate) enforce: bool,
    pub(crate) place: String,
    pub(crate) edits: Vec<Value>,
    pub(crate) path: Option<String>,
}

impl Case {
    pub(crate) fn of(entry: &Value) -> Self {
        let confs = entry["confs"].as_object().into_iter().flatten();
        Self {
            name: text(&entry["case"]),
            fixture: text(&entry["fixture"]),
            to: entry["to"].as_i64().unwrap(),
            confs: confs.map(|(name, value)| (name.clone(), text(value))).collect(),
            enforce: entry["enforce"].as_bool().unwrap_or(true),
            place: entry["place"].as_str().unwrap_or("own").to_owned(),
            edits: entry["edits"].as_array().cloned().unwrap_or_default(),
            path: entry["path"].as_str().map(str::to_owned),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// What Spark did, in the words of a preflight.
pub(crate) struct Expected {
    pub(crate) outcome: PreflightOutcome,
    pub(crate) class: Option<String>,
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Expected {
    pub(crate) fn of(case: &Case, entry: &Value, truth: &Value) -> Self {
        // The deepest error that has a class.
        let errors = entry["errors"].as_array().into_iter().flatten();
        let error = errors.into_iter().find(|error| error["class"].is_string());
        let class = error.map(|error| text(&error["class"]));
        let parameters = error.and_then(|error| error["parameters"].as_object()).into_iter();
        let parameters = parameters.flatten().map(|(name, value)| (name.clone(), text(value)));
        let outcome = if entry["outcome"] == "ok" {
            succeeded(case, entry, truth)
        } else {
            failed(case, entry, truth, class.as_deref())
        };
        Self { outcome, class, parameters: parameters.collect() }
    }
}

/// The engine raised nothing: what became of the state and of the query's output.
fn succeeded(case: &Case, entry: &Value, truth: &Value) -> PreflightOutcome {
    let state = text(&entry["state"]);
    let restart = entry["restart"].as_str();
    // Rows that were lost before are no reason to call what is left right.
    let gone = truth["expect"]["unreadable_partitions"].as_array().is_some_and(|p| !p.is_empty());
    let operator = |edit: &Value| edit["delete"] == "state/0";
    let gone = gone || case.edits.iter().any(operator);
    let kept = state.starts_with("the same") && !gone;
    let goes_on = restart.is_none_or(|told| told.starts_with("the same output"));
    assert!(!state.contains("not readable before"), "{}: {state}", case.name);
    if kept && goes_on { PreflightOutcome::Ready } else { PreflightOutcome::WouldLoseState }
}

/// The engine raised an error: what it had changed by then.
fn failed(case: &Case, entry: &Value, truth: &Value, class: Option<&str>) -> PreflightOutcome {
    let left = &entry["left"];
    let written = left["entries"].as_array().into_iter().flatten();
    let written: Vec<String> = written.map(text).collect();
    let has = |log: &str| written.iter().any(|file| file.starts_with(log));
    let unfinished = truth["status"] == "unfinished_repartition"
        && class != Some("STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_ABANDONED_REPARTITION");
    let same =
        class == Some("STATE_REPARTITION_INVALID_CHECKPOINT.SHUFFLE_PARTITIONS_ALREADY_MATCH");
    let goes_on = |told: &str| told.starts_with("the same output");
    let output_lost = entry["restart"].as_str().is_some_and(|told| !goes_on(told));
    // A directory that is made inside a checkpoint which lacks it does no harm.
    let elsewhere =
        left["directories"].is_array() && (case.path.is_some() || truth["status"] == "empty");
    if has("offsets/") || elsewhere || (unfinished && !same) {
        PreflightOutcome::WouldBreak
    } else if has("commits/") && output_lost {
        PreflightOutcome::WouldLoseState
    } else if same {
        PreflightOutcome::Noop
    } else {
        PreflightOutcome::Refused
    }
}

/// A copy of a fixture, as Spark had it.
pub(crate) struct Place {
    unpacked: Unpacked,
}

impl Place {
    /// The folder around the checkpoint.
    pub(crate) fn root(&self) -> &Path {
        self.unpacked.path.parent().unwrap()
    }

    /// What is given to the engine.
    pub(crate) fn given(&self, case: &Case) -> PathBuf {
        match case.path.as_deref() {
            None => self.unpacked.path.clone(),
            Some(".") => self.root().to_owned(),
            Some(path) => self.root().join(path),
        }
    }
}

/// Unpacks the fixture of a case and edits it.
pub(crate) fn unpack(fixture: &Fixture, case: &Case) -> Place {
    let unpacked = fixture.unpack();
    let checkpoint = &unpacked.path;
    if case.place != "moved" {
        let mut original = checkpoint.clone();
        if case.place == "copied" {
            original = checkpoint.with_file_name("original");
            copy(checkpoint, &original);
        }
        rename_schemas(checkpoint, &original);
    }
    for edit in &case.edits {
        apply(checkpoint, edit);
    }
    Place { unpacked }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Lets operator metadata name schema files in `original`.
fn rename_schemas(checkpoint: &Path, original: &Path) {
    let Ok(operators) = fs::read_dir(checkpoint.join("state")) else { return };
    for operator in operators {
        let Ok(files) = fs::read_dir(operator.unwrap().path().join("_metadata/v2")) else {
            continue;
        };
        for file in files {
            let file = file.unwrap().path();
            let Ok(mut metadata) = fs::read_to_string(&file) else { continue };
            while let Some(start) = metadata.find(&format!("file:{BUILT_AT}")) {
                let rest = &metadata[start..];
                let end = rest.find("/checkpoint").unwrap() + "/checkpoint".len();
                let place = format!("file:{}", original.display());
                metadata.replace_range(start..start + end, &place);
            }
            fs::write(&file, metadata).unwrap();
        }
    }
}

fn apply(checkpoint: &Path, edit: &Value) {
    if let Some(path) = edit["delete"].as_str() {
        let path = checkpoint.join(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    } else if let Some(path) = edit["rename"].as_str() {
        fs::rename(checkpoint.join(path), checkpoint.join(text(&edit["to"]))).unwrap();
    } else if let Some(path) = edit["write"].as_str() {
        let path = checkpoint.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text(&edit["text"])).unwrap();
    } else {
        let path = checkpoint.join(text(&edit["cut"]));
        let bytes = fs::read(&path).unwrap();
        let length = usize::try_from(edit["bytes"].as_u64().unwrap()).unwrap();
        fs::write(path, &bytes[..length]).unwrap();
    }
}

/// A text without what differs from run to run.
pub(crate) fn plain(text: &str, root: &Path) -> String {
    let root = root.to_str().unwrap();
    let mut text = text.to_owned();
    for (name, word) in
        [("/checkpoint", "<checkpoint>"), ("/original", "<original>"), ("", "<parent>")]
    {
        text = text.replace(&format!("{root}{name}"), word);
    }
    without_ids(&text)
}

/// Replaces UUIDs.
fn without_ids(text: &str) -> String {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let bytes = text.as_bytes();
    let is_id = |at: usize| {
        let mut at = at;
        for (part, length) in LENGTHS.into_iter().enumerate() {
            if part > 0 {
                if bytes.get(at) != Some(&b'-') {
                    return false;
                }
                at += 1;
            }
            let digits = bytes.get(at..at + length);
            if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                return false;
            }
            at += length;
        }
        true
    };
    let mut plain = String::new();
    let mut at = 0;
    while at < text.len() {
        if is_id(at) {
            plain.push_str("<uuid>");
            at += 36;
        } else {
            let next = text[at..].chars().next().unwrap();
            plain.push(next);
            at += next.len_utf8();
        }
    }
    plain
}

/// Every path in a folder, with sizes.
pub(crate) fn listing(folder: &Path) -> BTreeSet<(PathBuf, u64)> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            found.insert((entry.path(), metadata.len()));
        }
    }
    found
}
