//! Events as lines for people: a row per microbatch, a sentence for everything else.
//!
//! ```text
//! ledger_agg  11111111-2222-4333-8444-555555555501  run 8a378dd9
//! 2026-11-30 UTC
//!     time    batch     rows in    state rows  batch time    rows/s  watermark lag
//! 16:07:23        8           0           443      910 ms       0.0           15 m
//! 16:07:31  -- restarted: run 67ade62f --
//! ```
//! Widths are fixed, since what is still to come cannot be measured.

use super::super::look::{Look, Role};
use super::super::number::duration;
use super::super::page::flow;
use super::super::text::{clean, width, wrap};
use crate::figures::{count, plural, span, whole};
use crate::report::{LineKind, ProgressLine, RepartitionLine, RepartitionWord, TellerWord};
use crate::units::UnixMillis;

/// The columns and their cells.
const COLUMNS: [(&str, usize); 7] = [
    ("time", 8),
    ("batch", 7),
    ("rows in", 10),
    ("state rows", 12),
    ("batch time", 10),
    ("rows/s", 8),
    ("watermark lag", 13),
];
/// Spaces between two columns.
const GAP: usize = 2;
/// Cells before a sentence: the time and the gap.
const INDENT: usize = 10;
/// Letters of a run id that tell it from others at a glance.
const SHORT_ID: usize = 8;
/// What a Spark UI leaves open.
const BY_THE_PLAN: &str = "told by the Spark UI: times are those of the plan's run; rates, \
                           watermark and what went before and after the run are not known";
/// Letters of an exception; the rest is in the JSON.
const GIST: usize = 400;

/// Makes lines; knows which query and day the ones before were about.
#[derive(Debug)]
pub(super) struct TableLines {
    look: Look,
    /// Whether sources are told: where there are several.
    with_source: bool,
    heading: Option<Heading>,
    /// Whether the columns have their titles since the heading.
    titled: bool,
    day: Option<String>,
    /// Whether the latest line said that the query waits.
    idle: bool,
}

/// What a block of lines is about.
#[derive(Debug, PartialEq, Eq)]
struct Heading {
    query: Option<String>,
    source: Option<String>,
}

impl TableLines {
    /// A table that has just begun.
    pub(super) fn new(look: Look, with_source: bool) -> Self {
        Self { look, with_source, heading: None, titled: false, day: None, idle: false }
    }

    /// The text of a line, with what has to be said before it.
    pub(super) fn lines(&mut self, line: &ProgressLine) -> String {
        let was_idle = std::mem::replace(&mut self.idle, line.kind == LineKind::Idle);
        let same = !self.is_news(line);
        if was_idle && self.idle && same {
            return String::new();
        }
        let mut lines = Vec::new();
        if !same {
            self.head(line, &mut lines);
        }
        if let Some(day) = line.timestamp.and_then(day)
            && self.day.as_ref() != Some(&day)
        {
            lines.push(self.look.paint(Role::Muted, &format!("{day} UTC")));
            self.day = Some(day);
        }
        let time = line.timestamp.and_then(time_of_day).unwrap_or_default();
        if let Some((role, sentence)) = sentence(line) {
            self.sentence(&time, role, &sentence, &mut lines);
        } else {
            if !std::mem::replace(&mut self.titled, true) {
                let titles = COLUMNS.map(|(title, _)| title.to_owned());
                lines.push(self.look.paint(Role::Muted, &self.row(&titles)));
                if line.told_by == Some(TellerWord::Plan) {
                    self.sentence("", Role::Muted, BY_THE_PLAN, &mut lines);
                }
            }
            lines.push(self.row(&cells(line, time)));
        }
        lines.iter().flat_map(|line| [self.look.charset.encode(line), "\n".into()]).collect()
    }

    /// Whether a line is about another query or source than the ones before.
    fn is_news(&self, line: &ProgressLine) -> bool {
        let Some(heading) = &self.heading else { return true };
        let query = query(line);
        let source = self.with_source.then_some(line.source.as_str());
        (query.is_some() && query != heading.query.as_deref())
            || source != heading.source.as_deref()
    }

    fn head(&mut self, line: &ProgressLine, lines: &mut Vec<String>) {
        if self.heading.is_some() {
            lines.push(String::new());
        }
        let mut parts: Vec<String> = [&line.name, &line.query_id]
            .into_iter()
            .filter_map(|part| part.as_deref().map(|part| clean(part).into_owned()))
            .collect();
        parts.extend(line.run_id.as_deref().map(|run| format!("run {}", short(run))));
        parts.extend(self.with_source.then(|| format!("({})", clean(&line.source))));
        for part in flow(&parts, self.look.columns) {
            lines.push(self.look.paint(Role::Title, &part));
        }
        self.titled = false;
        let source = self.with_source.then(|| line.source.clone());
        self.heading = Some(Heading { query: query(line).map(str::to_owned), source });
    }

    /// Cells at the right side of their columns, as many as fit.
    fn row(&self, cells: &[String; COLUMNS.len()]) -> String {
        let mut row = String::new();
        let mut used = 0;
        for (cell, (_, cells)) in cells.iter().zip(COLUMNS) {
            used += cells + if used == 0 { 0 } else { GAP };
            if used > self.look.columns {
                break;
            }
            // A number that is longer than its column takes from the gap before it.
            let padding = used.saturating_sub(width(&row) + width(cell));
            row.push_str(&" ".repeat(padding.max(usize::from(!row.is_empty()))));
            row.push_str(cell);
        }
        row
    }

    fn sentence(&self, time: &str, role: Role, sentence: &str, lines: &mut Vec<String>) {
        let room = self.look.columns.saturating_sub(INDENT);
        for (index, part) in wrap(&clean(sentence), room).iter().enumerate() {
            let before = if index == 0 { time } else { "" };
            lines.push(format!("{before:<INDENT$}{}", self.look.paint(role, part)));
        }
    }
}

/// Which query a line is about.
fn query(line: &ProgressLine) -> Option<&str> {
    line.query_id.as_deref().or(line.run_id.as_deref()).or(line.name.as_deref())
}

fn short(id: &str) -> String {
    clean(id).chars().take(SHORT_ID).collect()
}

fn day(moment: UnixMillis) -> Option<String> {
    moment.iso()?.get(..10).map(str::to_owned)
}

fn time_of_day(moment: UnixMillis) -> Option<String> {
    moment.iso()?.get(11..19).map(str::to_owned)
}

fn cells(line: &ProgressLine, time: String) -> [String; COLUMNS.len()] {
    let dash = || "-".to_owned();
    [
        time,
        line.batch_id.map_or_else(dash, |batch| batch.to_string()),
        line.rows_in.map_or_else(dash, count),
        state_rows(line),
        batch_time(line).unwrap_or_else(dash),
        line.processed_rate.map_or_else(dash, rate),
        watermark_lag(line),
    ]
}

/// How long a microbatch took; of one that only its plan tells of, how long that ran.
fn batch_time(line: &ProgressLine) -> Option<String> {
    if let Some(whole) = line.batch_duration_ms {
        return Some(span(whole));
    }
    let run = line.duration_ms.values().find_map(serde_json::Value::as_u64)?;
    (line.told_by == Some(TellerWord::Plan)).then(|| format!("run {}", span(run)))
}

fn state_rows(line: &ProgressLine) -> String {
    match line.state_rows() {
        Some(rows) => count(rows),
        None if line.operators.is_empty() => "-".to_owned(),
        None if line.operators.iter().any(|operator| operator.rows_tracked == Some(false)) => {
            "not tracked".to_owned()
        }
        None => "not known".to_owned(),
    }
}

fn watermark_lag(line: &ProgressLine) -> String {
    match (line.watermark_lag_ms(), line.watermark) {
        (Some(lag), _) => duration(lag),
        (None, Some(UnixMillis(0))) => "not set".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

/// Rows per second: `97.0`, `2,977`.
fn rate(rows: f64) -> String {
    if rows.abs() < 999.95 { format!("{rows:.1}") } else { count(whole(rows)) }
}

/// What a line says; `None` for a microbatch, which is a row.
fn sentence(line: &ProgressLine) -> Option<(Role, String)> {
    let text = || line.text.clone().unwrap_or_default();
    Some(match line.kind {
        LineKind::Progress => return None,
        LineKind::Started => {
            let checkpoint = line.checkpoint.as_deref().map(|path| format!("; checkpoint {path}"));
            (Role::Info, format!("started{}", checkpoint.unwrap_or_default()))
        }
        // Drivers' logs do not say which one.
        LineKind::Idle if query(line).is_none() => {
            (Role::Muted, "a query waits for data".to_owned())
        }
        LineKind::Idle => (Role::Muted, "waits for data".to_owned()),
        LineKind::Terminated => match &line.exception {
            None => (Role::Info, "stopped".to_owned()),
            Some(exception) => {
                let gist = gist(exception, line.error_class.as_deref());
                (Role::Error, format!("failed: {gist}"))
            }
        },
        LineKind::Restart => {
            let run = line.run_id.as_deref().map(short).unwrap_or_default();
            (Role::Title, format!("-- restarted: run {run} --"))
        }
        LineKind::Gap => (Role::Warning, text()),
        LineKind::Repartition => match &line.repartition {
            Some(RepartitionLine { stage: RepartitionWord::Seen, .. }) | None => {
                (Role::Info, text())
            }
            Some(repartition) => repartition_sentence(line, repartition),
        },
        LineKind::ConfRestored => {
            let conf = line.conf.as_ref();
            let sentence = conf
                .map(|conf| format!("{}: {} asked for, {} kept", conf.key, conf.asked, conf.kept));
            (Role::Warning, sentence.unwrap_or_default())
        }
        LineKind::Environment => {
            let environment = line.environment.as_ref();
            if line.query_id.is_some() {
                let confs = environment.map_or(0, |one| one.confs.len() as u64);
                let confs = plural(confs, "conf", "confs");
                return Some((Role::Muted, format!("its session sets {confs}; jsonl has them")));
            }
            let part = |part: Option<&String>| part.map_or("unknown", String::as_str).to_owned();
            let version = part(environment.and_then(|one| one.spark_version.as_ref()));
            let application = part(environment.and_then(|one| one.application.as_ref()));
            (Role::Muted, format!("Spark {version}, application {application}"))
        }
        LineKind::PartitionLoad => {
            let partitions = line.partition_load.len();
            let batch =
                line.batch_id.map_or_else(String::new, |batch| format!(" of batch {batch}"));
            (Role::Muted, format!("tasks of {partitions} partitions{batch}"))
        }
        LineKind::Interrupted => (Role::Warning, format!("{} {}", line.source, text())),
        LineKind::Unreadable => {
            let place = line.source_line.map_or_else(String::new, |line| format!(":{line}"));
            (Role::Warning, format!("{}{place} not read: {}", line.source, text()))
        }
    })
}

fn repartition_sentence(line: &ProgressLine, repartition: &RepartitionLine) -> (Role, String) {
    let to = repartition.to.map_or_else(|| "?".to_owned(), count);
    let batch = line.batch_id.map_or_else(String::new, |batch| format!(" is batch {batch}"));
    let checkpoint = line.checkpoint.as_deref().unwrap_or("?");
    let what = format!("repartition of {checkpoint} to {to}");
    match repartition.stage {
        RepartitionWord::Failed => {
            let gist = line
                .exception
                .as_deref()
                .map(|exception| format!(": {}", gist(exception, line.error_class.as_deref())));
            (Role::Error, format!("{what} failed{}", gist.unwrap_or_default()))
        }
        RepartitionWord::Done => {
            let took = repartition.duration_ms.map(|millis| format!(" after {}", span(millis)));
            (Role::Info, format!("{what}{batch}, done{}", took.unwrap_or_default()))
        }
        RepartitionWord::Planned => (Role::Info, format!("{what}{batch}")),
        RepartitionWord::Begun | RepartitionWord::Seen => (Role::Info, format!("{what} begun")),
    }
}

/// The line of an exception that says most: of a Python function its error, else the one with the
/// class, else the innermost cause, else the first.
fn gist(exception: &str, class: Option<&str>) -> String {
    let python = python_error(exception).map(|error| match class {
        Some(class) => format!("[{class}] {error}"),
        None => error.to_owned(),
    });
    let bracketed = class.and_then(|class| {
        let at = exception.rfind(&format!("[{class}]"))?;
        exception.get(at..)?.lines().next().map(str::to_owned)
    });
    let cause = || exception.lines().rev().find_map(|line| line.strip_prefix("Caused by: "));
    let first = || exception.lines().next().unwrap_or_default();
    let line = python.or(bracketed).unwrap_or_else(|| {
        let line = cause().unwrap_or_else(first);
        class.map_or_else(|| line.to_owned(), |class| format!("[{class}] {line}"))
    });
    match line.char_indices().nth(GIST) {
        Some((at, _)) => format!("{} ...", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// The error below Python's traceback: its first line that is not indented.
fn python_error(exception: &str) -> Option<&str> {
    let (_, traceback) = exception.rsplit_once("Traceback (most recent call last):\n")?;
    traceback.lines().find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_keep_a_decimal_as_long_as_it_says_something() {
        assert_eq!([0.0, 97.04, 999.9, 2977.4].map(rate), ["0.0", "97.0", "999.9", "2,977"]);
    }

    #[test]
    fn the_gist_is_the_line_with_the_class() {
        let exception = "x.E: Exception thrown in awaitResult: \n\tat a.B\n\
                         Caused by: x.F: [A_B] commit failed\nmore\nCaused by: x.G: deep";
        assert_eq!(gist(exception, Some("A_B")), "[A_B] commit failed");
        assert_eq!(gist(exception, None), "x.G: deep");
        assert_eq!(gist("x.E: no", Some("OUTER_CLASS")), "[OUTER_CLASS] x.E: no");
        assert_eq!(gist(&"x".repeat(1000), None).len(), GIST + 4);
        let python = "x.E: [A_B] An error. Message: Traceback (most recent call last):\n  File\n    \
                      raise\nValueError: locked\n SQLSTATE: 39000\n\tat a.B";
        assert_eq!(gist(python, Some("A_B")), "[A_B] ValueError: locked");
    }
}
