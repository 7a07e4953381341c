//! The running query on the overview: what it does, since when, how fast, how far behind.

use super::super::format;
use super::super::look::Role;
use super::super::state::State;
use super::super::text::Row;
use super::batches;
use crate::analysis::times::Cadence;
use crate::telemetry::timeline::{
    Activity, Choice, Condition, Ended, QueryTimeline, Run, SourceLine, Timeline,
};
use crate::units::UnixMillis;

/// A query that was silent for this many intervals is not just slow.
const SILENT: u64 = 3;
/// … and for no less than this, in milliseconds.
const LEAST_SILENCE: u64 = 30_000;

/// How a source is doing, in words.
pub(in crate::console) fn condition(source: &SourceLine) -> String {
    let told = format::plural(source.events, "event", "events");
    let unreadable = match source.unreadable {
        0 => String::new(),
        number => format!(", {} unreadable", format::count(number)),
    };
    match &source.condition {
        Condition::Silent => "nothing was told yet".to_owned(),
        Condition::Told => format!("{told}{unreadable}"),
        Condition::Interrupted(how) => format!("{how} ({told}{unreadable})"),
        Condition::Broken { why, again_at: Some(at) } => {
            format!("{why}; tried again at {}", format::clock(*at))
        }
        Condition::Broken { why, again_at: None } => why.clone(),
        Condition::Ended => format!("ended: {told}{unreadable}"),
    }
}

/// The first source that is in trouble, in words for the second line of the screen.
pub(super) fn trouble(timeline: &Timeline) -> Option<Row> {
    let troubled = |source: &&SourceLine| {
        matches!(source.condition, Condition::Broken { .. } | Condition::Interrupted(_))
    };
    let source = timeline.sources().iter().find(troubled)?;
    // What is done about it comes first: the rest may be cut off, and `e` shows it.
    let words = match &source.condition {
        Condition::Broken { why, again_at: Some(at) } => {
            format!("next try {}: {why}", format::clock(*at))
        }
        _ => condition(source),
    };
    Some(Row::of("events: ", Role::Warning).with(words, Role::Warning).with(" ", Role::Text))
}

/// A failure in one line.
pub(super) fn failure(ended: &Ended, query: &QueryTimeline) -> Row {
    let after = query.newest().map(|place| format!(" after batch {}", place.batch));
    let why = ended.class.as_deref().or(ended.headline()).unwrap_or("no reason is told");
    let text = format!("X The query failed{}: {why}", after.unwrap_or_default());
    Row::of(text, Role::Error)
}

/// What the overview says of it, in two lines; none when no source is attached. `fact` begins a line with its
/// label.
pub(super) fn facts(state: &State, fact: fn(&str) -> Row, columns: usize) -> [Option<Row>; 2] {
    let (Some(timeline), Some(choice)) = (state.timeline(), state.choice()) else {
        return [None, None];
    };
    let Some(query) = choice.query() else {
        return [Some(fact("run").with(absent(timeline, choice), Role::Warning)), None];
    };
    let load = query.newest().map(|_| load(state, query, fact, columns));
    [Some(activity(state, query, choice, fact, columns)), load]
}

fn absent(timeline: &Timeline, choice: Choice<'_>) -> String {
    let queries = format::plural(timeline.queries().len() as u64, "query", "queries");
    match choice {
        Choice::Others => format!("the sources tell of {queries}, none with this checkpoint's id"),
        Choice::Unclear => format!("the sources tell of {queries}: which one is not told"),
        _ => match timeline.sources().first() {
            Some(source) => format!("{}: {}", source.name, condition(source)),
            None => "nothing was told yet".to_owned(),
        },
    }
}

fn activity(
    state: &State,
    query: &QueryTimeline,
    choice: Choice<'_>,
    fact: fn(&str) -> Row,
    columns: usize,
) -> Row {
    let now = state.shown_now();
    let mut row = fact("run");
    let (text, role) = doing(state, query, now);
    row.push(text, role);
    let run = query.current();
    if let Some(began) = run.and_then(Run::began) {
        let word =
            if run.is_some_and(|run| run.started.is_some()) { "since" } else { "seen since" };
        let when =
            if columns < 100 { format::short_moment(began, now) } else { format::moment(began) };
        row.push(format!("   {word} {when}"), Role::Text);
    }
    match query.restarts() {
        0 => {}
        number => {
            let restarts = format::plural(number, "restart", "restarts");
            row.push(format!("   {restarts} seen"), Role::Info);
        }
    }
    if matches!(choice, Choice::Only(_)) {
        row.push("   (no id tells that it is this one)", Role::Muted);
    }
    row
}

/// `running, last batch 4 s ago`.
fn doing(state: &State, query: &QueryTimeline, now: UnixMillis) -> (String, Role) {
    let heard = query.current().and_then(Run::heard);
    let age = heard.map(|at| at.until(now));
    let ago = age.map_or_else(String::new, |age| format!(" {} ago", format::age(age)));
    match query.activity() {
        Activity::Unknown => ("not told".to_owned(), Role::Muted),
        Activity::Started => (format!("started{ago}, no batch yet"), Role::Info),
        Activity::Running => {
            let every = match batches::cadence(query, query.newest()) {
                Cadence::About(every) => every,
                Cadence::BackToBack | Cadence::Unknown => 0,
            };
            let usual = batches::times(query, query.newest());
            let usual = usual.map_or(0, |times| times.max()).max(every);
            let silence = usual.saturating_mul(SILENT).max(LEAST_SILENCE);
            // A batch may simply be long: nothing is told before it is done.
            if age.is_some_and(|age| age > silence) && state.chosen.is_none() {
                let text = format!("running or gone: nothing told for {}", ago.trim());
                return (text.replace(" ago", ""), Role::Warning);
            }
            (format!("running, last told{ago}"), Role::Ok)
        }
        Activity::Idle(_) => (format!("idle: waits for data, last told{ago}"), Role::Ok),
        Activity::Stopped(ended) => {
            let at = ended.at.or(heard).map(|at| format::short_moment(at, now));
            let at = at.map_or_else(String::new, |at| format!(" {at}"));
            (format!("stopped{at}"), Role::Warning)
        }
        Activity::Failed(ended) => {
            let class = ended.class.as_deref();
            let line = ended.headline();
            let why = match (class, line) {
                // The line mostly names the class.
                (Some(class), Some(line)) if !line.contains(class) => format!("{class}: {line}"),
                (_, Some(line)) => line.to_owned(),
                (Some(class), None) => class.to_owned(),
                (None, None) => "no reason is told".to_owned(),
            };
            (format!("X failed: {why}"), Role::Error)
        }
    }
}

/// `in 812 rows/s   behind 1,204   batch took 1.2 s of about 10 s   watermark 10m00s behind`.
fn load(state: &State, query: &QueryTimeline, fact: fn(&str) -> Row, columns: usize) -> Row {
    let mut row = fact("load");
    let Some(batch) = state.told_batch() else {
        return row.with("not remembered of so long ago", Role::Muted);
    };
    let numbers = &batch.numbers;
    let start = row.width();
    let mut say = |label: &str, value: &str, after: &str| {
        if row.width() > start {
            row.push("   ", Role::Text);
        }
        if !label.is_empty() {
            row.push(format!("{label} "), Role::Muted);
        }
        row.push(value, Role::Text);
        row.push(after, Role::Muted);
    };
    if let Some(rate) = numbers.input_rate {
        say("in", &format::rate(rate), " rows/s");
    }
    let behind = numbers.behind;
    if let Some(offsets) = behind.offsets.or(behind.worst) {
        say("behind", &format::count(offsets), "");
    } else if let Some(files) = behind.files {
        say("behind", &format::plural(files, "file", "files"), "");
    } else if let Some(bytes) = behind.bytes {
        say("behind", &format::bytes(crate::units::Bytes(bytes)), "");
    }
    if let Some(took) = numbers.took {
        let every = match batches::cadence(query, state.place()) {
            Cadence::About(every) => format!(" of about {}", format::millis(every)),
            Cadence::BackToBack => ", back to back".to_owned(),
            Cadence::Unknown => String::new(),
        };
        say("batch took", &format::millis(took), &every);
    }
    // Where there is little room the checkpoint's own word on it does.
    if let Some(lag) = numbers.watermark_lag().filter(|_| columns >= 100) {
        say("watermark", &format::millis(lag), " behind");
    }
    row
}
