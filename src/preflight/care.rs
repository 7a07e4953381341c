//! Checks that no engine makes: whether the query still runs, what is retained, whether there is
//! room, where the files are, what the cluster has, and whether the count would help at all.
//!
//! None of them changes what the engine would do, so none decides the outcome. A check is refused
//! where a resize should not be begun all the same.

use super::facts::{Facts, Keying};
use super::request::{Engine, RUNTIME, Request};
use crate::analysis::consequences::{BLOCK_CACHE, WRITE_BUFFERS};
use crate::analysis::verdict::VerdictKind;
use crate::checkpoint::SHUFFLE_PARTITIONS;
use crate::figures::{bytes, count, plural, span};
use crate::report::{CheckStatus, PreflightCheck};
use crate::units::{BatchId, Bytes, UnixMillis};

/// A commit younger than this may be of a query that still runs.
const RECENT_MILLIS: i64 = 10 * 60 * 1000;
/// Fewer retained entries than this leave no room for a failed start or two.
const FEW_ENTRIES: u64 = 3;
/// Databricks' conf that the online resize reads.
const STATE_PARTITIONS: &str = "spark.sql.streaming.stateStore.partitions";
/// The option that switches Avro's fast reader off.
const AVRO_OFF: &str = "-Dorg.apache.avro.fastread=false";

/// What is known of the surroundings of a resize.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Around {
    /// Now.
    pub now: Option<UnixMillis>,
    /// When the newest offset entry was written.
    pub planned_at: Option<UnixMillis>,
    /// When the newest commit entry was written.
    pub committed_at: Option<UnixMillis>,
    /// The newest entries of the logs before and after the checks.
    pub moved: Option<(Newest, Newest)>,
    /// Whether the checkpoint is on a disk of this machine.
    pub local: bool,
    /// Room on that disk.
    pub free: Option<Bytes>,
    /// What rehashing every key of each operator said.
    pub verdicts: Vec<Verdict>,
    /// Why keys were not rehashed, if they were not.
    pub not_rehashed: Option<String>,
}

/// The newest entries of both logs.
pub type Newest = (Option<BatchId>, Option<BatchId>);

/// What a count does to one operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The operator and its name.
    pub operator: String,
    /// What it comes to.
    pub kind: VerdictKind,
    /// In a sentence, without the key.
    pub text: String,
    /// Whether rows lie where they do not belong, or lists are none.
    pub damaged: Option<String>,
}

/// All of them, in order.
pub fn checks(
    facts: &Facts,
    request: &Request,
    engine: Engine,
    around: &Around,
) -> Vec<PreflightCheck> {
    let mut all =
        vec![stopped(around), retention(facts), space(facts, around), earlier(facts), place(facts)];
    match engine {
        Engine::Databricks => all.extend([runtime(request), avro(request)]),
        Engine::Spark42 => all.push(coordinator()),
        Engine::Spark43 => {}
    }
    all.extend([memory(facts, request), knob(facts, request, engine), helps(around)]);
    all
}

fn check(
    id: &'static str,
    status: CheckStatus,
    summary: &str,
    evidence: String,
    remedy: &str,
) -> PreflightCheck {
    PreflightCheck { id, status, summary: summary.to_owned(), evidence, remedy: remedy.to_owned() }
}

fn stopped(around: &Around) -> PreflightCheck {
    const ID: &str = "query-stopped";
    const REMEDY: &str = "Stop the query, wait until both logs have been silent for longer than a \
                          batch takes, and check again: the answer is for the batch it names.";
    let batch = |id: Option<BatchId>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
    if let Some((before, after)) = around.moved.filter(|(before, after)| before != after) {
        let evidence = format!(
            "while this was checked, the last offset entry went from {} to {} and the last commit \
             from {} to {}",
            batch(before.0),
            batch(after.0),
            batch(before.1),
            batch(after.1)
        );
        return check(ID, CheckStatus::Warning, "The query is running", evidence, REMEDY);
    }
    let last = around.planned_at.max(around.committed_at);
    let Some((now, last)) = around.now.zip(last) else {
        return check(
            ID,
            CheckStatus::Unknown,
            "Whether the query is stopped is not known",
            "the storage does not say when the last log entry was written".to_owned(),
            "Look at the job, or attach to it: statetop TARGET --events LOG.",
        );
    };
    let age = now.0.saturating_sub(last.0);
    let told = span(u64::try_from(age).unwrap_or(0));
    if age < RECENT_MILLIS {
        let evidence = format!("the last log entry was written {told} ago");
        return check(ID, CheckStatus::Warning, "The query may be running", evidence, REMEDY);
    }
    let evidence = format!("the last log entry was written {told} ago, and none came meanwhile");
    check(ID, CheckStatus::Passed, "The logs are silent", evidence, "")
}

fn retention(facts: &Facts) -> PreflightCheck {
    const ID: &str = "retention";
    let logs = &facts.logs;
    let (Some(oldest), Some(last)) = (logs.oldest_offset, logs.last_offset) else {
        let evidence = "offsets/ has no entry".to_owned();
        return check(ID, CheckStatus::Unknown, "Nothing is retained", evidence, "");
    };
    let entries = plural(logs.retained_offsets, "offset entry", "offset entries");
    let evidence = format!("{entries} retained, from batch {oldest} to {last}");
    if logs.retained_offsets < FEW_ENTRIES && last.0 >= FEW_ENTRIES {
        return check(
            ID,
            CheckStatus::Warning,
            "Few batches are retained",
            evidence,
            "Raise spark.sql.streaming.minBatchesToRetain (default 100): a resize needs the entry \
             of the last committed batch and the one before, and a way back needs more.",
        );
    }
    check(ID, CheckStatus::Passed, "Enough batches are retained", evidence, "")
}

fn space(facts: &Facts, around: &Around) -> PreflightCheck {
    const ID: &str = "space";
    let Some(state) = facts.state.as_ref().filter(|state| state.complete) else {
        let remedy = "Let the check run to its end.";
        return check(
            ID,
            CheckStatus::Unknown,
            "The state's size is not known",
            String::new(),
            remedy,
        );
    };
    let size = bytes(state.bytes);
    let needed = format!("a resize writes every row once more: about {size}");
    match around.free {
        Some(free) if free <= state.bytes => check(
            ID,
            CheckStatus::Refused,
            "There is no room for a full copy of the state",
            format!("{needed}; {} are free", bytes(free)),
            "Make room first. Old snapshots go only when maintenance runs, long after the resize.",
        ),
        Some(free) => check(
            ID,
            CheckStatus::Passed,
            "There is room for a full copy of the state",
            format!("{needed}; {} are free", bytes(free)),
            "",
        ),
        None if around.local => check(
            ID,
            CheckStatus::Unknown,
            "The room on the disk is not known",
            needed,
            "df on the machine of the checkpoint tells it.",
        ),
        None => check(
            ID,
            CheckStatus::Passed,
            "An object store has room for a full copy",
            format!("{needed}, to be paid for until maintenance removes the old snapshots"),
            "",
        ),
    }
}

fn earlier(facts: &Facts) -> PreflightCheck {
    const ID: &str = "earlier-attempt";
    let logs = &facts.logs;
    let last = logs.repartitions.last();
    let unfinished = last.filter(|(batch, ..)| Some(*batch) > logs.last_commit);
    if let Some((batch, from, to)) = unfinished {
        return check(
            ID,
            CheckStatus::Warning,
            "An earlier resize is unfinished",
            format!("offsets/{batch} changes {from} to {to} partitions and has no commit"),
            "Only its own count is legal until it commits.",
        );
    }
    let evidence = match last {
        Some((batch, from, to)) => format!(
            "{} in the retained batches, the last in batch {batch} from {from} to {to}",
            plural(logs.repartitions.len() as u64, "resize", "resizes")
        ),
        None => "no retained batch changed the count".to_owned(),
    };
    check(ID, CheckStatus::Passed, "No earlier resize is unfinished", evidence, "")
}

fn place(facts: &Facts) -> PreflightCheck {
    const ID: &str = "moved-checkpoint";
    let Some(state) = &facts.state else {
        return check(ID, CheckStatus::Unknown, "The state was not looked at", String::new(), "");
    };
    match &state.elsewhere {
        None => check(
            ID,
            CheckStatus::Passed,
            "The checkpoint is where it was written",
            "no operator metadata names another place".to_owned(),
            "",
        ),
        Some(place) if state.elsewhere_exists => check(
            ID,
            CheckStatus::Warning,
            "The checkpoint is a copy that reads its original's schema files",
            format!("operator metadata names {place}, where the files still are"),
            "A resize of this copy reads the original's schemas, and fails once the original is \
             gone. Start the query once on the copy, so that it names its own files.",
        ),
        Some(place) => check(
            ID,
            CheckStatus::Warning,
            "The checkpoint was moved",
            format!("operator metadata names {place}, where the files are no more"),
            "Start the query once at the new place: it writes metadata that names its own files.",
        ),
    }
}

fn runtime(request: &Request) -> PreflightCheck {
    const ID: &str = "runtime";
    const FLOORS: &str = "the feature's page asks for Runtime 18 LTS, the release notes for 18, \
                          the rebalancing page for 18.3";
    let Some(found) = request.session.get(RUNTIME) else {
        return check(
            ID,
            CheckStatus::Unknown,
            "The cluster's runtime is not known",
            FLOORS.to_owned(),
            &format!(
                "Pass it: --session-conf {RUNTIME}=… (in the environment tab of the cluster)."
            ),
        );
    };
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text.get(..end).and_then(|digits| digits.parse::<u32>().ok())
    };
    let evidence = format!("the cluster has {found}; {FLOORS}");
    match digits(found) {
        Some(18..) => check(ID, CheckStatus::Passed, "The runtime can resize", evidence, ""),
        Some(_) => check(
            ID,
            CheckStatus::Refused,
            "The runtime is too old",
            evidence,
            "Pin a dated build of Runtime 18 LTS in the job's cluster, and restart it.",
        ),
        None => check(
            ID,
            CheckStatus::Unknown,
            "The cluster's runtime cannot be told from its version",
            evidence,
            "Look at the cluster's configuration.",
        ),
    }
}

/// Spark 4.2 starts the coordinator of its state stores with the session's manager of streams.
fn coordinator() -> PreflightCheck {
    check(
        "coordinator",
        CheckStatus::Warning,
        "The session of the resize must have touched spark.streams",
        "Spark 4.2 has no coordinator of state stores before that: the resize would fail with \
         CANNOT_LOAD_STATE_STORE.UNCATEGORIZED after it has written its offset entry"
            .to_owned(),
        "Call spark.streams.active in the session before repartition. After such a failure, do so \
         and resize to the same count again.",
    )
}

fn avro(request: &Request) -> PreflightCheck {
    const ID: &str = "avro-reader";
    let options = ["spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"];
    let set: Vec<Option<&str>> = options.iter().map(|name| request.session.get(name)).collect();
    if set.iter().all(|value| value.is_some_and(|value| value.contains(AVRO_OFF))) {
        let evidence = format!("{AVRO_OFF} is set for driver and executors");
        return check(ID, CheckStatus::Passed, "Avro's fast reader is off", evidence, "");
    }
    check(
        ID,
        CheckStatus::Unknown,
        "Whether Avro's fast reader matters here is not known",
        "Runtime 18 reads Avro with a cache per schema that is never emptied: streams of many \
         files per batch can die with OutOfMemoryError"
            .to_owned(),
        &format!(
            "If the query reads Avro with a large maxFilesPerTrigger, append {AVRO_OFF} to {} and \
             {}.",
            options[0], options[1]
        ),
    )
}

fn memory(facts: &Facts, request: &Request) -> PreflightCheck {
    const ID: &str = "node-memory";
    let stores: usize =
        facts.state.iter().flat_map(|state| &state.operators).map(|op| op.stores.len()).sum();
    let to = u64::try_from(request.to).unwrap_or(0);
    let instances = to.saturating_mul(stores as u64);
    let Some(nodes) = request.nodes.filter(|nodes| *nodes > 0) else {
        return check(
            ID,
            CheckStatus::Unknown,
            "Memory per node is not known",
            format!("{} at {}", plural(instances, "instance", "instances"), count(to)),
            "Pass --nodes, and --node-memory-cap where memory is bounded.",
        );
    };
    let each_node = instances.div_ceil(u64::from(nodes));
    let most = Bytes(each_node.saturating_mul((WRITE_BUFFERS + BLOCK_CACHE).0));
    let per_node =
        format!("{} on each of {nodes} nodes", plural(each_node, "instance", "instances"));
    match (request.cap, request.session.bounded_memory()) {
        (Some(cap), _) => {
            let share = Bytes(cap.0 / each_node.max(1));
            let evidence = format!("{per_node} share {}: {} each", bytes(cap), bytes(share));
            if share < BLOCK_CACHE {
                return check(
                    ID,
                    CheckStatus::Warning,
                    "The cap leaves little memory for each instance",
                    evidence,
                    "A higher count does not raise the cap. Add nodes or raise maxMemoryUsageMB \
                     with it.",
                );
            }
            check(ID, CheckStatus::Passed, "The cap is enough for every instance", evidence, "")
        }
        (None, Some(true)) => check(
            ID,
            CheckStatus::Unknown,
            "Memory is bounded, the cap is not known",
            per_node,
            "Pass --node-memory-cap (spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB).",
        ),
        (None, _) => check(
            ID,
            CheckStatus::Warning,
            "Memory is not bounded",
            format!("{per_node} may take up to {}", bytes(most)),
            "Bound it with spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage=true, or see \
             that a node has so much.",
        ),
    }
}

fn knob(facts: &Facts, request: &Request, engine: Engine) -> PreflightCheck {
    const ID: &str = "knob";
    let stateless = facts.state.as_ref().is_some_and(|state| state.operators.is_empty());
    let from = facts.logs.partitions();
    if stateless {
        return check(
            ID,
            CheckStatus::Refused,
            "The count is not the knob: there is no state",
            "the query keeps no state".to_owned(),
            "Set spark.sql.shuffle.partitions in the session, or let Runtime 18 choose it.",
        );
    }
    let keyless = |facts: &Facts| {
        let operators = facts.state.iter().flat_map(|state| &state.operators);
        let mut keyings = operators.map(|operator| operator.keying).peekable();
        keyings.peek().is_some() && keyings.all(|keying| keying == Keying::Keyless)
    };
    if keyless(facts) {
        return check(
            ID,
            CheckStatus::Warning,
            "The count is not the knob: nothing is grouped",
            "no operator has a grouping key, so all state is in partition 0 at any count"
                .to_owned(),
            "Leave the count; give the query a grouping key if one partition is too slow.",
        );
    }
    let asked = request.session.get(SHUFFLE_PARTITIONS).and_then(|text| text.parse::<u32>().ok());
    if let Some(asked) = asked.filter(|asked| Some(*asked) != from) {
        let from = from.map_or_else(|| "the pinned count".to_owned(), count_of);
        return check(
            ID,
            CheckStatus::Warning,
            "spark.sql.shuffle.partitions changes nothing here",
            format!("the session has {asked}; a start takes {from} from the checkpoint"),
            "It is ignored for a query with state, silently. Only a resize moves keys.",
        );
    }
    if engine.is_open_source() && request.session.get(STATE_PARTITIONS).is_some() {
        return check(
            ID,
            CheckStatus::Warning,
            "spark.sql.streaming.stateStore.partitions is not of this engine",
            "open-source Spark accepts it and does nothing, without a warning".to_owned(),
            "Call repartition(checkpoint, count) of the checkpoint manager while the query is \
             stopped.",
        );
    }
    let how = if engine.is_open_source() {
        "repartition(checkpoint, count) of the checkpoint manager, while the query is stopped"
    } else {
        "spark.sql.streaming.stateStore.partitions, then a start"
    };
    check(
        ID,
        CheckStatus::Passed,
        "The count is the knob that moves keys",
        format!("{how}; rebalancing moves instances only, shuffle partitions move nothing"),
        "If the cluster changed size, rebalancing is the knob instead.",
    )
}

fn count_of(number: u32) -> String {
    count(u64::from(number))
}

fn helps(around: &Around) -> PreflightCheck {
    const ID: &str = "plan";
    let damaged = around.verdicts.iter().find_map(|verdict| verdict.damaged.as_ref());
    if let Some(damaged) = damaged {
        return check(
            ID,
            CheckStatus::Refused,
            "The rows are damaged already",
            damaged.clone(),
            "Restore the checkpoint from before the damage; statetop verify has all of it.",
        );
    }
    if let Some(reason) = &around.not_rehashed {
        return check(
            ID,
            CheckStatus::Unknown,
            "Whether the count helps was not computed",
            reason.clone(),
            "statetop plan TARGET --to N rehashes every key.",
        );
    }
    let against = |kind| matches!(kind, VerdictKind::HotKey | VerdictKind::WrongKnob);
    let worst = around.verdicts.iter().find(|verdict| against(verdict.kind));
    let none = around.verdicts.iter().all(|verdict| verdict.kind == VerdictKind::Balanced);
    let told: Vec<String> = around
        .verdicts
        .iter()
        .map(|verdict| format!("operator {}: {}", verdict.operator, verdict.text))
        .collect();
    let evidence = told.join("; ");
    match worst {
        Some(_) => check(
            ID,
            CheckStatus::Warning,
            "This count will not help",
            evidence,
            "statetop plan TARGET --to N says what would.",
        ),
        None if none => check(
            ID,
            CheckStatus::Warning,
            "There is nothing to gain",
            evidence,
            "Leave the count; statetop plan TARGET --curve 50..800 compares others.",
        ),
        None => check(ID, CheckStatus::Passed, "The count helps", evidence, ""),
    }
}
