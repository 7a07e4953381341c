//! How the resize is done with each engine: stop, set, start, and what to see in between.

use std::fmt::Write as _;

use super::Subject;
use super::markdown::{block, code, python, shell, tick};
use crate::preflight::Engine;
use crate::report::{InspectReport, Provider};

const FORMAT: &str = "spark.sql.streaming.stateStore.checkpointFormatVersion";
const CHANGELOG: &str = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled";
/// The count of Databricks' online resize.
const PARTITIONS: &str = "spark.sql.streaming.stateStore.partitions";

/// Confs that the session of an offline repartition has to have for this checkpoint: they are not
/// taken from it. Without the format the engine fails after it has begun; with changelogs it can
/// fall back to an older snapshot.
pub(super) fn session(inspect: &InspectReport) -> Vec<(String, String)> {
    let mut confs = Vec::new();
    if inspect.state_checkpoint_format == Some(2) {
        confs.push((FORMAT.to_owned(), "2".to_owned()));
    }
    if inspect.changelog == Some(true) && inspect.provider == Some(Provider::Rocksdb) {
        confs.push((CHANGELOG.to_owned(), "true".to_owned()));
    }
    confs
}

/// Which engine the document is for.
pub(super) fn engine(subject: &Subject<'_>) -> Engine {
    let named = subject.preflight.engine.as_str();
    [Engine::Databricks, Engine::Spark42]
        .into_iter()
        .find(|engine| engine.name() == named)
        .unwrap_or(Engine::Spark43)
}

/// The driver program of an offline repartition.
fn driver(subject: &Subject<'_>, checkpoint: &str) -> String {
    let mut confs = String::new();
    for (name, value) in subject.confs {
        let _ = writeln!(confs, "    .config({}, {})", python(name), python(value));
    }
    format!(
        "from pyspark.sql import SparkSession\n\n\
         spark = (\n    SparkSession.builder.appName({})\n{confs}    .getOrCreate()\n)\n\
         spark.streams.active  # without this Spark 4.2.1 cannot load state, and breaks it off too late\n\
         spark._streamingCheckpointManager.repartition({}, {})\n\
         spark.stop()",
        python(&format!("repartition {}", subject.name)),
        python(checkpoint),
        subject.to
    )
}

/// Measuring the pause on a copy.
pub(super) fn rehearsal(subject: &Subject<'_>) -> String {
    let checkpoint = subject.address;
    let copy = format!("{}-rehearsal", checkpoint.trim_end_matches('/'));
    let mut out = String::from(
        "On a copy, with as many cores as the query has. The copy keeps the query's id, but no \
         query runs on it. Copy while the query stands still, or take a snapshot of the volume: a \
         copy of files that are being written is not a checkpoint.\n\n",
    );
    let how = if checkpoint.contains("://") {
        format!(
            "# with the storage's own tool, for example\nhadoop fs -cp {} {}",
            shell(checkpoint),
            shell(&copy)
        )
    } else {
        format!("cp -a {} {}", shell(checkpoint), shell(&copy))
    };
    out.push_str(&block("sh", &how));
    if engine(subject) == Engine::Databricks {
        out.push_str(
            "Start the query's code on the copy with the count set, a sink that nobody reads and \
             the trigger `availableNow`, on a cluster like the real one:\n\n",
        );
        out.push_str(&block("python", &set_databricks(subject)));
    } else {
        out.push_str(&block("python", &format!("# rehearse.py\n{}", driver(subject, &copy))));
        out.push_str(&block(
            "sh",
            &format!(
                "time spark-submit rehearse.py          # Spark 4.2 or 4.3\nstatetop pauses {copy} --forgetful   # it is not the query's own resize\nstatetop verify {copy}\nstatetop partitions {copy} --exact",
                copy = shell(&copy)
            ),
        ));
    }
    out.push_str(
        "\nThe copy's operator metadata names the schema files of the original: the original has \
         to stay readable from there.\n",
    );
    out
}

fn set_databricks(subject: &Subject<'_>) -> String {
    format!("spark.conf.set({}, {})", python(PARTITIONS), python(&subject.to.to_string()))
}

/// The check of the window, with all that this document was made with.
fn preflight(subject: &Subject<'_>) -> String {
    let mut command = format!(
        "statetop preflight {} --to {} --engine {}",
        shell(subject.address),
        subject.to,
        subject.preflight.engine
    );
    for (name, value) in subject.confs {
        let _ = write!(command, " \\\n    --session-conf {}", shell(&format!("{name}={value}")));
    }
    command
}

/// The window, step by step.
pub(super) fn window(subject: &Subject<'_>) -> String {
    let checkpoint = shell(subject.address);
    let to = subject.to;
    let mut out = String::new();
    out.push_str("**1. Write it down.** Fill in the record at the end of this page now. An attempt that does not finish can only be repeated with its own count.\n\n");
    out.push_str("**2. Stop the query**, between two batches where that can be chosen. Then see that it has stopped (no new files for at least two trigger intervals), and ask once more:\n\n");
    out.push_str(&block(
        "sh",
        &format!(
            "statetop inspect {checkpoint}      # the last commit grows older\n{}",
            preflight(subject)
        ),
    ));
    out.push_str("It has to say *ready*. `LAST_BATCH_FAILED` means that the query was stopped in the middle of a batch: start it as it was with the trigger AvailableNow, let it end by itself, and ask again. With any other answer nothing has happened yet: start the query as it was, and leave the window.\n\n");
    match engine(subject) {
        Engine::Databricks => out.push_str(&databricks(subject)),
        Engine::Spark42 | Engine::Spark43 => out.push_str(&spark(subject)),
    }
    out.push_str("**5. It is done** when a batch *with data* has committed: a wrong count or a lost store often fails only there.\n\n");
    out.push_str(&block("sh", &format!("statetop inspect {checkpoint}      # {to} partitions in force, a batch after the resize committed\nstatetop pauses {checkpoint}       # the pause, as the checkpoint's own files tell it\nstatetop verify {checkpoint}       # every key is in its partition")));
    out
}

fn databricks(subject: &Subject<'_>) -> String {
    let to = subject.to;
    let mut out = format!(
        "**3. Set the count**, in one of these places and in no other:\n\n{}\n{}\n{}\n",
        block(
            "python",
            &format!("# notebook, before the query is started\n{}", set_databricks(subject))
        ),
        block(
            "python",
            &format!(
                "# Lakeflow: the decorator of this one table\n@dp.table(spark_conf={{{}: {}}})",
                python(PARTITIONS),
                python(&to.to_string())
            )
        ),
        block("json", &format!("\"spark_conf\": {{ \"{PARTITIONS}\": \"{to}\" }}")),
    );
    let _ = write!(
        out,
        "The last is for the job cluster of a job with this one query: set for a cluster, it \
         resizes *every* stateful query that restarts there. `jobs/update` replaces nested objects \
         whole: read the job, change this one value, send the whole cluster back. \
         {} on an existing checkpoint does nothing.\n\n\
         **4. Start the query** on the same checkpoint. The pending batch finishes, then one \
         repartition batch, then ordinary ones. The pause is \
         `durationMs[\"controlBatch.REPARTITION\"]` of the progress after it; put it on the \
         dashboard before the start.\n\n",
        code("spark.sql.shuffle.partitions")
    );
    out
}

fn spark(subject: &Subject<'_>) -> String {
    format!(
        "**3. Repartition**, with Spark 4.2 or 4.3, whatever version runs the query afterwards \
         (4.2 or newer is safest: older ones do not notice an unfinished attempt). The call is \
         experimental there, hence the underscore.\n\n{}{}\n\
         Look at the exception, not only at the exit code. {} and {} do nothing here.\n\n\
         **4. Start the query** on the same checkpoint, with the code that it had.\n\n",
        block("python", &format!("# repartition.py\n{}", driver(subject, subject.address))),
        block("sh", "spark-submit repartition.py"),
        code(PARTITIONS),
        code("spark.sql.shuffle.partitions"),
    )
}

/// Points to be true before the window is booked.
pub(super) fn before(subject: &Subject<'_>) -> String {
    let mut out = String::new();
    let inspect = subject.inspect;
    match engine(subject) {
        Engine::Databricks => {
            out.push_str(&tick("The runtime is pinned to a dated build of 18 (not 18.0 or 18.1), read from the cluster itself and not from a label. Published floors differ (\"Runtime 18\", \"18 LTS\", \"18.3\"): write down what the cluster says."));
            out.push_str(&tick("If sources or sinks are Avro: `-Dorg.apache.avro.fastread=false` is in `spark.driver.extraJavaOptions` and `spark.executor.extraJavaOptions`; Runtime 18's fast reader keeps every schema."));
        }
        Engine::Spark42 | Engine::Spark43 => out.push_str(&tick("The Spark that repartitions is 4.2 or 4.3, by `spark-submit --version` on the host that will run it.")),
    }
    let class = inspect.provider_class.as_deref().map_or_else(|| "not pinned".to_owned(), code);
    let provider = match inspect.provider {
        Some(Provider::Rocksdb) => format!("The provider is RocksDB ({class}): a resize needs it."),
        _ => format!(
            "**The provider is {class}: a resize needs RocksDB, and it cannot change on an existing checkpoint.**"
        ),
    };
    out.push_str(&tick(&provider));
    let retained = inspect.partition_history.len();
    out.push_str(&tick(&format!(
        "Retention: the logs have {retained} batches ({}), enough to read the state from while \
         the resize runs.",
        code("spark.sql.streaming.minBatchesToRetain")
    )));
    out.push_str(&tick("There is room for a full copy of the state beside the present one."));
    out.push_str(&tick("A rehearsal on a copy was timed (section 4)."));
    out.push_str(&tick("Nothing puts an old setting back by itself (infrastructure as code, a scheduled deployment), and nothing restarts the query by itself while it is to stand still (a continuous job starts a new run a minute after a cancel: pause it)."));
    out.push_str(&tick("The window is not on the slope of the daily traffic, and lasts at least three times the rehearsed pause."));
    out.push_str(&tick("Whoever reads the sink knows that it stands still meanwhile."));
    out
}
