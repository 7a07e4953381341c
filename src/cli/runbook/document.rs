//! The document: why, whether, what the numbers are, how, what can go wrong, the way back.

use std::fmt::Write as _;

use super::Subject;
use super::markdown::{block, code, plain, python, shell, table};
use super::steps;
use crate::analysis::pauses::Pause;
use crate::analysis::verdict::VerdictKind;
use crate::cli::number::moment;
use crate::explain::catalogue::{Catalogue, Entry};
use crate::figures::{bytes, count, plural, ratio, span};
use crate::preflight::Engine;
use crate::report::{CheckStatus, OffsetsReport, PlanReport, PreflightOutcome, Provider, Status};

/// The whole document.
pub(super) fn write(subject: &Subject<'_>) -> String {
    let parts = [
        head(subject),
        decision(subject),
        knobs(),
        numbers(subject),
        checks(subject),
        format!("## 4. Rehearsal\n\n{}\n{}", steps::rehearsal(subject), estimate(subject)),
        format!("## 5. The window: stop, set, start\n\n{}", steps::window(subject)),
        failures(subject),
        back(subject),
        metrics(),
        not_claimed(),
        record(subject),
    ];
    parts.join("\n")
}

fn head(subject: &Subject<'_>) -> String {
    let inspect = subject.inspect;
    let from = inspect.partitions.map_or_else(|| "?".to_owned(), |from| from.to_string());
    let batch =
        inspect.batch.map_or_else(|| "no batch".to_owned(), |batch| format!("batch {batch}"));
    let mut out = format!(
        "# Resize of {} from {from} to {} state partitions\n\n\
         Checkpoint {}, query id {}, engine {}. Written {} by statetop {} from {batch}; every \
         number here is of that batch. Make this document anew on the day.\n",
        plain(subject.name),
        subject.to,
        code(subject.address),
        inspect.query_id.as_deref().map_or_else(|| "unknown".to_owned(), code),
        code(&subject.preflight.engine),
        moment(subject.now),
        env!("CARGO_PKG_VERSION"),
    );
    if inspect.status == Status::UnfinishedRepartition {
        out.push_str(
            "\n> **A resize of this checkpoint is not finished.** The query does not start until it \
             is. This document is about repeating it: the query stands still already, and the \
             batch of the resize is the one that is not committed.\n",
        );
    }
    let report = subject.preflight;
    let call = match report.outcome {
        PreflightOutcome::Ready => None,
        PreflightOutcome::Noop => Some("**Nothing to do**"),
        _ => Some("**Do not run this yet**"),
    };
    if let Some(call) = call {
        let _ = write!(out, "\n> {call}: {}", plain(&report.summary));
        if let Some(class) = &report.error_class {
            let _ = write!(out, " ({})", code(class));
        }
        out.push('\n');
        for next in &report.legal_next {
            let _ = writeln!(out, ">\n> - {}", plain(&next.summary));
        }
    }
    out
}

/// Why this count, or why not.
fn decision(subject: &Subject<'_>) -> String {
    let mut out = String::from("## 1. Why\n\n");
    if subject.plans.is_empty() {
        out.push_str(
            "No operator's keys could be read, so it is not known whether the count helps.\n",
        );
    }
    for plan in subject.plans {
        let verdict = &plan.verdict;
        let word = match verdict.kind {
            VerdictKind::UniformGrowth => "uniform growth",
            VerdictKind::Collision => "collision",
            VerdictKind::HotKey => "hot key",
            VerdictKind::Balanced => "balanced",
            VerdictKind::WrongKnob => "wrong knob",
        };
        let _ = writeln!(
            out,
            "- Operator {} {}: **{word}**. {}",
            plan.operator,
            code(&plan.operator_name),
            plain(&verdict.text)
        );
        for instead in &verdict.evidence.instead {
            let _ = writeln!(out, "  - instead: {}", plain(instead));
        }
    }
    out.push_str(
        "\nA resize is for a count that has been wrong for weeks. It moves every key once and \
         needs a pause; it is never a remedy for today's traffic.\n",
    );
    out
}

fn knobs() -> String {
    let row = |knob: &str, moves: &str, when: &str| {
        vec![knob.to_owned(), moves.to_owned(), when.to_owned()]
    };
    format!(
        "The knob is the **state repartition**, and none of the others:\n\n{}",
        table(
            &["knob", "what moves", "use it when"],
            &[
                row(
                    "**state repartition** (Databricks Runtime 18: `spark.sql.streaming.stateStore.partitions`; Spark 4.2+: the offline call)",
                    "every key, into another number of instances",
                    "the count itself is wrong",
                ),
                row(
                    "state rebalancing (Databricks)",
                    "instances, to other executors",
                    "the cluster changed its size",
                ),
                row(
                    "`spark.sql.shuffle.partitions` on this checkpoint",
                    "nothing: the pinned count is used",
                    "never",
                ),
                row("dynamic shuffle partitions", "nothing stored", "queries without state"),
            ],
        )
    )
}

fn numbers(subject: &Subject<'_>) -> String {
    let mut out = String::from("## 2. The numbers\n\n");
    for plan in subject.plans {
        let _ = writeln!(
            out,
            "Operator {} {}, {}, every one rehashed:\n\n{}",
            plan.operator,
            code(&plan.operator_name),
            plural(plan.keys, "grouping key", "grouping keys"),
            table(&["", &format!("at {}", plan.from), &format!("at {}", plan.to)], &rows(plan)),
        );
        if !plan.unreadable.is_empty() {
            let _ = write!(
                out,
                "{} could not be read and are in neither column.\n\n",
                plural(plan.unreadable.len() as u64, "partition", "partitions")
            );
        }
    }
    out.push_str("Rows are right for the size of the pause. For skew, a hot key of an aggregation shows in arriving rows and task time instead: one key and window is one row, however many events it took.\n");
    out
}

fn rows(plan: &PlanReport) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut push = |name: &str, before: String, after: String| {
        rows.push(vec![name.to_owned(), before, after]);
    };
    if let (Some(before), Some(after)) = (&plan.before.skew.rows, &plan.after.skew.rows) {
        push("rows", count(before.total), count(after.total));
        push("largest partition", count(before.max), count(after.max));
        push("99 % of partitions have at most", count(before.p99), count(after.p99));
        let even = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), ratio);
        push("largest ÷ mean", even(before.max_over_mean), even(after.max_over_mean));
        let empty = |loads: &[crate::report::PartitionLoad]| {
            count(loads.iter().filter(|load| load.rows == 0).count() as u64)
        };
        push("empty partitions", empty(&plan.before.partitions), empty(&plan.after.partitions));
    }
    let costs = &plan.consequences.numbers;
    let instances = costs.instances;
    push("state-store instances", count(instances.before), count(instances.after));
    if let Some(nodes) = costs.instances_per_node {
        push("… on each node", count(nodes.before), count(nodes.after));
    }
    if let Some(cap) = costs.memory_bounded_per_instance {
        push("memory of each, under the node's cap", bytes(cap.before), bytes(cap.after));
    } else if let Some(memory) = costs.memory_unbounded {
        push("memory of a node at most, unbounded", bytes(memory.before), bytes(memory.after));
    }
    if let Some(objects) = costs.objects_per_day {
        let whole = |value| count(crate::figures::whole(value));
        push("objects written a day", whole(objects.before), whole(objects.after));
    }
    rows
}

fn checks(subject: &Subject<'_>) -> String {
    let report = subject.preflight;
    let passed = report.checks.iter().filter(|check| check.status == CheckStatus::Passed).count();
    let mut out = format!(
        "## 3. Before the window is booked\n\nPreflight: **{}**. {} {} of {} passed.",
        report.outcome.words(),
        plain(&report.summary),
        passed,
        plural(report.checks.len() as u64, "check", "checks"),
    );
    let open: Vec<Vec<String>> = report
        .checks
        .iter()
        .filter(|check| check.status != CheckStatus::Passed)
        .map(|check| {
            let status = match check.status {
                CheckStatus::Passed => "passed",
                CheckStatus::Warning => "warning",
                CheckStatus::Refused => "**refused**",
                CheckStatus::Unknown => "unknown",
            };
            vec![
                status.to_owned(),
                plain(&check.summary),
                plain(&check.evidence),
                plain(&check.remedy),
            ]
        })
        .collect();
    if open.is_empty() {
        out.push_str("\n\n");
    } else {
        out.push_str(" The others:\n\n");
        out.push_str(&table(&["", "check", "evidence", "what to do"], &open));
        out.push('\n');
    }
    out.push_str(&steps::before(subject));
    out
}

fn estimate(subject: &Subject<'_>) -> String {
    let report = subject.pauses;
    let Some(estimate) = &report.estimate else {
        let none = "no resize was seen: rehearse on a copy";
        let why = report.no_estimate.as_deref().unwrap_or(none);
        return format!("**No estimate.** {}.\n", plain(&capital(why)));
    };
    let seen: Vec<Vec<String>> =
        report.pauses.iter().filter(|pause| pause.finished).map(seen).collect();
    format!(
        "From {} of this query: **{} to {}** for {}. Seen:\n\n{}",
        plural(estimate.observations, "resize", "resizes"),
        span(estimate.low_ms),
        span(estimate.high_ms),
        plural(estimate.rows, "row", "rows"),
        table(&["when", "from → to", "rows", "pause", "outage"], &seen)
    )
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn seen(pause: &Pause) -> Vec<String> {
    let number =
        |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let time = |timed: Option<crate::analysis::pauses::Timed>| {
        timed.map_or_else(|| "?".to_owned(), |timed| span(timed.millis))
    };
    vec![
        pause.at.map_or_else(|| "?".to_owned(), moment),
        format!("{} → {}", number(pause.from), number(pause.to)),
        pause.rows.map_or_else(|| "?".to_owned(), count),
        time(pause.pause),
        time(pause.outage),
    ]
}

/// The rows of the catalogue that can occur here, the one that is predicted first.
fn failures(subject: &Subject<'_>) -> String {
    let rows: Vec<Vec<String>> = classes(subject)
        .iter()
        .filter_map(|class| Catalogue::builtin().ok()?.get(class))
        .map(|entry: &Entry| {
            vec![
                code(&entry.id),
                plain(&entry.text.means),
                plain(&entry.text.first),
                plain(&entry.text.avoid),
            ]
        })
        .collect();
    format!(
        "## 6. If it fails\n\nTake the class from the whole chain of causes, the deepest that \
         says something: the first line is mostly a wrapper. {} \
         does it from a log.\n\n{}",
        code(&format!("statetop explain --checkpoint {} FILE", shell(subject.address))),
        table(&["error", "what it means", "first", "never"], &rows)
    )
}

fn classes(subject: &Subject<'_>) -> Vec<String> {
    const REFUSED: &str = "STATE_REPARTITION_INVALID_CHECKPOINT";
    let inspect = subject.inspect;
    let mut classes: Vec<String> = subject.preflight.error_class.iter().cloned().collect();
    let mut add = |class: String| {
        if !classes.contains(&class) {
            classes.push(class);
        }
    };
    for refused in [
        "LAST_BATCH_FAILED",
        "LAST_BATCH_ABANDONED_REPARTITION",
        "SHUFFLE_PARTITIONS_ALREADY_MATCH",
        "OFFSET_SEQ_NOT_FOUND",
    ] {
        add(format!("{REFUSED}.{refused}"));
    }
    if inspect.provider != Some(Provider::Rocksdb) {
        add(format!("{REFUSED}.UNSUPPORTED_PROVIDER"));
    }
    if steps::engine(subject) == Engine::Databricks {
        add("STREAMING_UNRESUMABLE_CONTROL_BATCH_DETECTED.REPARTITION".to_owned());
    } else {
        add("STREAMING_UNFINISHED_REPARTITION_DETECTED".to_owned());
        if inspect.state_checkpoint_format == Some(2) || inspect.commit_log_version == Some(3) {
            add("STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH"
                .to_owned());
        }
    }
    if inspect.operators.iter().any(|operator| operator.name.starts_with("transformWithState")) {
        add(format!("{REFUSED}.UNSUPPORTED_TRANSFORM_WITH_STATE_VARIABLE_TYPE"));
    }
    add("CONCURRENT_STREAM_LOG_UPDATE".to_owned());
    classes
}

fn back(subject: &Subject<'_>) -> String {
    let from = subject
        .inspect
        .partitions
        .map_or_else(|| "the old count".to_owned(), |from| from.to_string());
    let before = match subject.inspect.status {
        Status::UnfinishedRepartition => {
            "nothing more has happened than before, and the query does not start: go on."
        }
        _ => "nothing has happened: start the query as it was.",
    };
    let mut out = format!(
        "## 7. The way back\n\n\
         - **Before step 3** {before}\n\
         - **The resize was refused**: nothing was written; start the query as it was, then read \
         section 6.\n\
         - **The resize did not finish**: the only way on is the same count, {}, again. The state \
         of the last committed batch is still there. The query does not start until it has \
         committed.\n\
         - **It finished and the query is worse**: resize back to {from}, with a pause of its own. \
         A resized checkpoint cannot be rewound.\n\
         - **Never** delete the checkpoint and start in place: the sources' own defaults then \
         decide what is skipped. A new checkpoint gets a new path and a deliberate start:\n\n",
        subject.to
    );
    let offsets = OffsetsReport::of(subject.inspect);
    let mut any = false;
    for source in &offsets.sources {
        if let Some(starting) = &source.starting_offsets {
            out.push_str(&block(
                "python",
                &format!(".option(\"startingOffsets\", {})", python(starting)),
            ));
            any = true;
        } else {
            let _ = writeln!(
                out,
                "{} source {}: {}",
                plain(&source.kind),
                code(&source.id),
                plain(&source.new_checkpoint)
            );
        }
    }
    if any && offsets.stateful {
        out.push_str("\nThese go on where the last committed batch ended. A query with state has to begin earlier: before the oldest window that is still open, into a sink that can take a record twice.\n");
    }
    out
}

fn metrics() -> String {
    String::from(
        "## 8. What to watch\n\n\
         - `stateOperators[].numRowsTotal`: the operator's total, right for size. 0 with updates \
         above 0 means that counting is switched off, not that there is no state.\n\
         - Rows and task time per partition of the stateful stage, from the event log or the Spark \
         UI: right for skew (`statetop TARGET --events …`, screens 2 and 5).\n\
         - `SnapshotLastUploaded.partition_…`: versions of the stores that lag most, not rows.\n\
         - `allUpdatesTimeMs`, `commitTimeMs`: sums over tasks, not time on the clock.\n\
         - The batch time before and after, over the same hours of a day.\n",
    )
}

fn not_claimed() -> String {
    String::from(
        "## 9. What is not claimed\n\n\
         That the pause takes \"a few seconds\": that is an expectation of others, about other \
         state. That costs or batch times fall by any percentage: they depend on this query, and \
         are measured afterwards. That more partitions are better: one hot key stays in one \
         partition at any count.\n",
    )
}

fn record(subject: &Subject<'_>) -> String {
    let from = subject.inspect.partitions.map_or_else(|| "?".to_owned(), |from| from.to_string());
    let rows: Vec<Vec<String>> = [
        ("count attempted", format!("{from} → **{}**", subject.to)),
        ("who, ticket", String::new()),
        ("rehearsed pause, on how many cores", String::new()),
        ("last commit before the stop", String::new()),
        ("resize begun", String::new()),
        ("resize committed", String::new()),
        ("first batch with data committed", String::new()),
        ("pause, outage", String::new()),
        ("batch time before, after", String::new()),
    ]
    .into_iter()
    .map(|(name, value)| vec![name.to_owned(), value])
    .collect();
    format!(
        "## 10. Record\n\nFilled in *before* the query is stopped, down to the ticket.\n\n{}",
        table(&["", ""], &rows)
    )
}
