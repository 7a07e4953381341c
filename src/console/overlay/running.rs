//! Windows beside the running query: what partitions can be compared by, and how the sources are
//! doing.

use super::super::commands::Availability;
use super::super::format;
use super::super::heat::Metric;
use super::super::look::Role;
use super::super::state::State;
use super::super::text::{Row, wrap};
use super::super::view;
use super::{Content, labelled};
use crate::telemetry::timeline::SourceLine;

/// The chooser of metrics: what is shown is marked, what cannot be shown says why.
pub(super) fn metrics(state: &State, columns: usize) -> Content {
    let rows = Metric::ALL.into_iter().map(|metric| {
        let chosen = metric == state.partitions.metric;
        let mark = if chosen { " > " } else { "   " };
        let (text, role) = match state.metric_availability(metric) {
            Availability::Ready => (metric.meaning().to_owned(), Role::Text),
            Availability::Not(why) => (format!("not now: {why}"), Role::Muted),
        };
        let mut row = Row::of(mark, Role::Strong).with(metric.word(), role);
        row.pad_to(19, Role::Text);
        row.push(text, role);
        if chosen {
            row.pad_to(columns, Role::Text);
            row = row.in_role(Role::Selection);
        }
        row
    });
    Content { title: "compare partitions by".to_owned(), rows: rows.collect() }
}

/// The sources, one after the other.
pub(super) fn sources(state: &State, columns: usize) -> Content {
    let mut rows = Vec::new();
    let sources = state.timeline().map_or(&[][..], |timeline| timeline.sources());
    for source in sources {
        if !rows.is_empty() {
            rows.push(Row::new());
        }
        rows.extend(wrap(&source.name, columns).into_iter().map(|l| Row::of(l, Role::Strong)));
        about(&mut rows, source, columns);
    }
    let queries = state.timeline().map_or(&[][..], |timeline| timeline.queries());
    if !queries.is_empty() {
        rows.push(Row::new());
        rows.push(Row::of("Queries", Role::Strong));
        let mine = state.query().map(|query| query.key);
        for query in queries {
            let name = query.name.as_deref().unwrap_or("without a name");
            let id = query.id.as_deref().unwrap_or("no id");
            let runs = format::plural(query.restarts() + 1, "run", "runs");
            let text = format!("{id}, {runs}");
            let role = if Some(query.key) == mine { Role::Ok } else { Role::Muted };
            labelled(&mut rows, name, role, &text, columns);
        }
    }
    Content { title: "sources of the running query".to_owned(), rows }
}

fn about(rows: &mut Vec<Row>, source: &SourceLine, columns: usize) {
    let mut line = |label: &str, text: &str| labelled(rows, label, Role::Muted, text, columns);
    line("state", &view::condition(source));
    if source.interruptions > 0 {
        line("interrupted", &format::plural(source.interruptions, "time", "times"));
    }
    if let Some(unread) = &source.last_unread {
        let at = unread.place.line.map_or_else(String::new, |line| format!(" line {line}"));
        line("not read", &format!("{}{at}: {}", unread.place.source, unread.why));
    }
    if let Some(environment) = &source.environment {
        let version = environment.spark_version.as_deref().unwrap_or("version not told");
        line("Spark", version);
        if let Some(application) = &environment.application {
            line("application", application);
        }
        let number = environment.confs.len() as u64;
        line("confs", &format!("{} told", format::count(number)));
    }
}
