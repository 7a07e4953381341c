//! Settings that do nothing, or harm later.

use super::{Evidence, Finding, Severity, Told, Words};
use crate::figures::{count, plural};
use crate::telemetry::ConfRestored;

const SHUFFLE: &str = "spark.sql.shuffle.partitions";
/// What Spark 4.2 and later pin under, beside the one above.
const PINNED: &str = "spark.sql.streaming.internal.stateStore.partitions";
const STATE: &str = "spark.sql.streaming.stateStore.partitions";
const RETAIN: &str = "spark.sql.streaming.minBatchesToRetain";

/// A count that was asked for, and where.
struct Asked {
    conf: &'static str,
    value: String,
    wher: &'static str,
}

/// The session asks for another partition count than the checkpoint has, and does not get it.
pub(super) fn ignored_count(evidence: &Evidence<'_>) -> Option<Finding> {
    let told = evidence.told.as_ref()?;
    let in_force = in_force(evidence, told)?;
    let differs = |asked: &Asked| {
        asked.value.trim().parse::<u64>().is_ok_and(|asked| asked != u64::from(in_force))
    };
    let asked = asked(told).into_iter().find(differs)?;
    let Asked { conf, value, wher } = asked;
    let remedy = if conf == STATE {
        "In open-source Spark this conf is accepted and does nothing. To change the count, stop \
         the query and use the offline repartition of Spark 4.2 or later. statetop plan says what \
         another count would bring; else remove the setting."
    } else {
        "To change the count, stop the query; then on Databricks Runtime 18 set \
         spark.sql.streaming.stateStore.partitions and start it, in open-source Spark 4.2 or later \
         use the offline repartition. statetop plan says what another count would bring; else \
         remove the setting."
    };
    let words = Words {
        summary: format!("{in_force} partitions are in force, {value} asked for: ignored"),
        detail: format!(
            "{wher} {conf}={value}. The count is written into the checkpoint when it is created, \
             and counts from then on; another setting is ignored without an error."
        ),
        remedy: remedy.to_owned(),
    };
    Some(words.into_finding("ignored-count", Severity::Warning))
}

/// The count in force: the checkpoint's, else what the newest batch tells of its operators.
fn in_force(evidence: &Evidence<'_>, told: &Told<'_>) -> Option<u32> {
    if let Some(inspect) = evidence.inspect {
        return inspect.partitions.filter(|_| inspect.stateful);
    }
    let progress = told.query.current()?.newest()?.progress()?;
    let largest = progress.operators.iter().filter_map(|operator| operator.partitions).max()?;
    u32::try_from(largest).ok()
}

/// The counts that were asked for, the surest word first.
fn asked(told: &Told<'_>) -> Vec<Asked> {
    let mut asked: Vec<Asked> = told
        .restored
        .iter()
        .filter(|conf| is_of(told, conf) && [SHUFFLE, PINNED].contains(&conf.key.as_str()))
        .map(|conf| Asked {
            conf: SHUFFLE,
            value: conf.asked.clone(),
            wher: "The driver's log says that the restarted session asked for",
        })
        .collect();
    // Up to Spark 4.1 the session has the checkpoint's value by then; later it keeps its own.
    let own = told.session(PINNED).and(told.session(SHUFFLE));
    let set = |wher, value: &str, conf| Asked { conf, value: value.to_owned(), wher };
    match own {
        Some(value) => asked.push(set("The query's session has", value, SHUFFLE)),
        None => asked.extend(
            told.application(SHUFFLE)
                .map(|value| set("The application was submitted with", value, SHUFFLE)),
        ),
    }
    if !told.is_databricks() && told.has_confs() {
        let conf = told.conf(STATE);
        asked.extend(conf.map(|value| set("The query's session has", value, STATE)));
    }
    asked
}

/// Only structured logs say of which query a line is.
fn is_of(told: &Told<'_>, conf: &ConfRestored) -> bool {
    conf.query.id.is_none() || conf.query.id == told.query.id
}

/// The confs that carry options of the JVM.
const JAVA_OPTIONS: [&str; 2] =
    ["spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"];
const AVRO_FAST: &str = "-Dorg.apache.avro.fastread=false";
const RUNTIME: &str = "spark.databricks.clusterUsageTags.sparkVersion";

/// Databricks Runtime 18 with Avro's fast reader, whose cache of schemas is never emptied.
pub(super) fn avro_fast_reader(told: &Told<'_>) -> Option<Finding> {
    let runtime = told.application(RUNTIME)?;
    let is_18 = runtime.split(['.', '-']).next() == Some("18");
    let missing: Vec<&str> = JAVA_OPTIONS
        .into_iter()
        .filter(|conf| !told.application(conf).is_some_and(|options| options.contains(AVRO_FAST)))
        .collect();
    if !is_18 || missing.is_empty() {
        return None;
    }
    let words = Words {
        summary: format!("Runtime {runtime} with the Avro fast reader on"),
        detail: format!(
            "Avro 1.12.1 keeps a reader for each schema and never drops one. Streams that read \
             Avro with a large maxFilesPerTrigger can end with OutOfMemoryError: GC overhead limit \
             exceeded. {} without {AVRO_FAST} (confs that look secret are not read).",
            match missing.as_slice() {
                [one] => format!("{one} is"),
                _ => format!("{} are", missing.join(" and ")),
            }
        ),
        remedy: format!(
            "If the query reads or writes Avro, add {AVRO_FAST} to both and restart the cluster. \
             Runtime 17.3 and earlier are not affected."
        ),
    };
    Some(words.into_finding("avro-fast-reader", Severity::Warning))
}

/// Fewer batches than this are too few to go back to, or to repartition from after a mishap.
const FEWEST: u64 = 10;
/// Before this many batches there is nothing to delete yet, with any setting that is enough.
const YOUNG: u64 = 20;

/// The logs keep so few batches that a resize may find an entry gone.
pub(super) fn few_batches(evidence: &Evidence<'_>) -> Option<Finding> {
    let conf = evidence.told.and_then(|told| told.conf(RETAIN)).and_then(|text| text.parse().ok());
    let retained = evidence.inspect.and_then(|inspect| {
        let last = inspect.last_planned_batch?.0;
        let first = inspect.partition_history.first()?.batch.0;
        // Asynchronous progress tracking logs only some: what counts is how far back they go.
        (last >= YOUNG && first > 0).then(|| last.saturating_sub(first).saturating_add(1))
    });
    let (few, how) = match (conf, retained) {
        (Some(conf), _) if conf < FEWEST => (conf, format!("{RETAIN} is {conf}.")),
        (None, Some(retained)) if retained < FEWEST => (
            retained,
            format!("The offset log goes back {}.", plural(retained, "batch", "batches")),
        ),
        (Some(_) | None, _) => return None,
    };
    let words = Words {
        summary: format!("only {} kept", plural(few, "batch is", "batches are")),
        detail: format!(
            "{how} A resize needs the entries of the last committed batches and is refused where \
             one is gone (OFFSET_SEQ_NOT_FOUND); state of an earlier batch can be read only as far \
             back. Spark's default is {}.",
            count(100)
        ),
        remedy: format!(
            "Set {RETAIN} to 100, or at least to what the query runs through in the time that \
             somebody needs to notice."
        ),
    };
    Some(words.into_finding("few-batches-retained", Severity::Warning))
}
