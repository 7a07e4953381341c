//! The web interfaces of real Spark applications, as they were recorded, and a server that gives
//! their answers again. `tests/spark/README.md` describes the files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::web::{Answer, Request, Server};

/// An application that was recorded.
pub(crate) struct Recording {
    /// The release of Spark.
    pub(crate) version: String,
    /// All that the interface answers.
    pub(crate) answers: Value,
    /// What other witnesses say.
    pub(crate) truth: Value,
}

/// All recordings by release: those in the repository, or some that were just made.
pub(crate) fn all() -> Vec<Recording> {
    let entries = fs::read_dir(folder()).unwrap();
    let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    dirs.sort();
    dirs.iter().map(|dir| Recording::read(dir)).collect()
}

/// The recording of a release.
pub(crate) fn of(version: &str) -> Recording {
    Recording::read(&folder().join(version))
}

fn folder() -> PathBuf {
    std::env::var_os("STATETOP_SPARK_UI").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry/ui"),
        PathBuf::from,
    )
}

impl Recording {
    fn read(dir: &Path) -> Self {
        let read = |name: &str| -> Value {
            let file = File::open(dir.join(name)).unwrap();
            serde_json::from_reader(zstd::Decoder::new(file).unwrap()).unwrap()
        };
        let version = dir.file_name().unwrap().to_string_lossy().into_owned();
        Self { version, answers: read("answers.json.zst"), truth: read("truth.json.zst") }
    }

    pub(crate) fn application(&self) -> &str {
        self.truth["application"].as_str().unwrap()
    }

    /// Runs of queries by their id: the query's truth, and the run's.
    pub(crate) fn runs(&self) -> BTreeMap<&str, (&Value, &Value)> {
        let mut runs = BTreeMap::new();
        for query in self.truth["queries"].as_array().unwrap() {
            for run in query["runs"].as_array().unwrap() {
                runs.insert(run["run_id"].as_str().unwrap(), (query, run));
            }
        }
        runs
    }
}

/// How a recorded interface is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// Milliseconds since 1970; plans that began later are not there yet, and those that ended
    /// later run. `None` for the end of all.
    pub(crate) now: Option<i64>,
    /// Plans that are kept: the newest.
    pub(crate) plans: Option<usize>,
    /// Stages that are kept: the newest.
    pub(crate) stages: Option<usize>,
    /// Tasks that are kept of a stage.
    pub(crate) tasks: Option<usize>,
}

/// A server that gives the answers of a recording under a prefix, in a view that can be changed.
pub(crate) fn serve(recording: Recording, prefix: &'static str) -> (Server, Arc<Mutex<View>>) {
    let view = Arc::new(Mutex::new(View::default()));
    let seen = Arc::clone(&view);
    let server = Server::start(move |request| {
        let view = seen.lock().unwrap().clone();
        answer(&recording, prefix, &view, request)
    });
    (server, view)
}

/// One answer.
pub(crate) fn answer(
    recording: &Recording,
    prefix: &str,
    view: &View,
    request: &Request,
) -> Answer {
    let path = request.path.strip_prefix(prefix).and_then(|path| path.strip_prefix("/api/v1/"));
    let parts: Vec<&str> = path.unwrap_or_default().split('/').collect();
    let answers = &recording.answers;
    match parts.as_slice() {
        ["applications"] => Answer::json(&answers["applications"]),
        ["applications", application, rest @ ..] if *application == recording.application() => {
            of_application(answers, view, rest, request)
        }
        ["applications", application, ..] => gone(&format!("no such app: {application}")),
        _ => Answer::Whole(404, "text/html;charset=iso-8859-1", b"<html>404</html>".to_vec()),
    }
}

fn of_application(answers: &Value, view: &View, parts: &[&str], request: &Request) -> Answer {
    let listed = || plans(&answers["sql"], view);
    let first_stage = || {
        let ids = answers["stages"].as_object().unwrap().keys();
        let mut ids: Vec<u64> = ids.map(|id| id.parse().unwrap()).collect();
        ids.sort_unstable();
        ids.len().checked_sub(view.stages.unwrap_or(ids.len())).and_then(|at| ids.get(at).copied())
    };
    let is_kept =
        |stage: &str| first_stage().is_none_or(|first| stage.parse::<u64>().unwrap() >= first);
    match parts {
        ["environment"] => Answer::json(&answers["environment"]),
        ["sql"] => page(&listed(), request, 20),
        ["sql", id] => {
            let known = listed().into_iter().any(|plan| plan["id"].to_string().as_str() == &**id);
            let plan = answers["plans"].get(*id).filter(|_| known);
            plan.map_or_else(|| gone(&format!("unknown query execution id: {id}")), Answer::json)
        }
        ["jobs", id] => {
            let job = answers["jobs"].get(*id);
            job.map_or_else(|| gone(&format!("unknown job: {id}")), Answer::json)
        }
        ["stages", id] => {
            let stage = answers["stages"].get(*id).filter(|_| is_kept(id));
            stage.map_or_else(|| gone(&format!("unknown stage: {id}")), Answer::json)
        }
        ["stages", id, attempt, "taskList"] => {
            let tasks = answers["tasks"].get(format!("{id}/{attempt}")).filter(|_| is_kept(id));
            let tasks = tasks.and_then(Value::as_array).cloned().unwrap_or_default();
            let most = view.tasks.unwrap_or(tasks.len());
            page(&tasks.into_iter().take(most).collect::<Vec<_>>(), request, 20)
        }
        _ => Answer::Whole(404, "text/html", b"<html>404</html>".to_vec()),
    }
}

/// The plans that are listed.
fn plans(all: &Value, view: &View) -> Vec<Value> {
    let mut listed = Vec::new();
    for plan in all.as_array().unwrap() {
        let mut plan = plan.clone();
        let begun = moment(plan["submissionTime"].as_str().unwrap());
        let took = plan["duration"].as_i64().unwrap();
        match view.now {
            Some(now) if begun > now => continue,
            Some(now) if begun + took > now => {
                plan["status"] = json!("RUNNING");
                plan["duration"] = json!(now - begun);
                plan["runningJobIds"] = plan["successJobIds"].take();
                plan["successJobIds"] = json!([]);
            }
            _ => {}
        }
        listed.push(plan);
    }
    let kept = view.plans.unwrap_or(listed.len());
    let first = listed.len().saturating_sub(kept);
    listed.split_off(first)
}

/// `2026-12-01T12:30:18.396GMT` in milliseconds since 1970.
pub(crate) fn moment(text: &str) -> i64 {
    let text = text.replace("GMT", "Z");
    text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

fn page(all: &[Value], request: &Request, default: usize) -> Answer {
    let number = |name| request.query(name).map(|text| text.parse().unwrap());
    let (offset, length) = (number("offset").unwrap_or(0), number("length").unwrap_or(default));
    let part: Vec<&Value> = all.iter().skip(offset).take(length).collect();
    Answer::json(&json!(part))
}

fn gone(text: &str) -> Answer {
    Answer::Whole(404, "text/plain", text.as_bytes().to_vec())
}
