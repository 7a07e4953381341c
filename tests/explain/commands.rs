//! The commands that explain, on names, texts and checkpoints that Spark wrote.

use serde_json::{Value, json};

use crate::support::{self, Unpacked};
use crate::{json as answer, refused, run};

fn fixture(name: &str) -> Unpacked {
    let found = support::all().into_iter().find(|fixture| fixture.name == name);
    found.unwrap_or_else(|| panic!("no fixture {name}")).unpack()
}

/// A text in a file, and its path.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("driver.log");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

/// The sentences about the checkpoint, of the first error.
fn here(text: &str, checkpoint: &Unpacked) -> String {
    let (_directory, path) = file(text);
    let (report, code) = answer(&["explain", &path, "--checkpoint", checkpoint.target()]);
    assert_eq!(code, 0);
    assert_eq!(report["checkpoint"], checkpoint.target());
    let sentences = report["errors"][0]["here"].as_array().unwrap();
    sentences.iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_name_is_explained() {
    let name = "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED";
    for typed in
        [name, "last_batch_failed", "[STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED]"]
    {
        let (report, code) = answer(&["explain", typed]);
        assert_eq!(code, 0);
        let error = &report["errors"][0];
        assert_eq!((&error["class"], &error["sqlstate"]), (&json!(name), &json!("55019")));
        assert_eq!(error["recognised_by"], "name");
        assert_eq!(error["explanation"]["versions"], "Spark 4.2 and later");
    }
    let (page, _) = run(&["explain", name]);
    for label in ["means", "is not", "data lost", "first", "do not", "versions"] {
        assert!(page.contains(&format!("\n{label}")), "{label}: {page}");
    }
    let (family, _) = run(&["explain", "STATE_STORE"]);
    assert!(family.is_empty());
}

#[test]
fn a_name_that_is_mistyped_gets_suggestions() {
    let (message, code) = refused(&["explain", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBL"]);
    assert_eq!(code, 2);
    assert!(message.contains("did you mean STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"), "{message}");
    let (message, code) = refused(&["explain", "/nowhere/driver.log"]);
    assert_eq!(code, 3);
    assert!(message.contains("/nowhere/driver.log"), "{message}");
    let (message, code) = refused(&["explain", "missing.log"]);
    assert_eq!(code, 3, "{message}");
}

#[test]
fn a_class_that_is_not_known_is_said_so() {
    let (_directory, path) = file("x.E: [STATE_STORE_INVALID_STAMPS] no SQLSTATE: 12345\n");
    let (report, code) = answer(&["explain", &path]);
    let error = &report["errors"][0];
    assert_eq!((code, &error["explanation"]), (1, &Value::Null));
    assert_eq!(error["nearest"][0], "STATE_STORE_INVALID_STAMP");
    assert_eq!(error["sqlstate"], "12345");
}

#[test]
fn an_abandoned_repartition_of_this_checkpoint() {
    let checkpoint = fixture("unfinished-repartition-4.3.0");
    let (inspect, _) = answer(&["inspect", checkpoint.target()]);
    let planned = &inspect["last_planned_batch"];
    let history = inspect["partition_history"].as_array().unwrap();
    let count = |back: usize| history[history.len() - back]["partitions"].as_u64().unwrap();
    let (from, to) = (count(2), count(1));
    let text = format!(
        "x.E: [STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_ABANDONED_REPARTITION] The provided \
         checkpoint location '/data/checkpoint' is in an invalid state. The last batch ID {planned} \
         is a repartition batch with {to} shuffle partitions and didn't finish successfully.\nYou're \
         now requesting to repartition to 999 shuffle partitions.\n"
    );
    let told = here(&text, &checkpoint);
    let expected = format!(
        "has no commit: its repartition from {from} to {to} was abandoned. Only {to} can be \
         retried, not 999."
    );
    assert!(told.contains(&expected), "{told}");
    assert!(told.starts_with(&format!("Batch {planned} was planned at ")), "{told}");
}

#[test]
fn a_concurrent_update_of_this_checkpoint() {
    let checkpoint = fixture("agg-window-changelog-4.3.0");
    let (inspect, _) = answer(&["inspect", checkpoint.target()]);
    let last = inspect["last_committed_batch"].as_u64().unwrap();
    let text = |batch: u64| {
        format!(
            "x.E: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for {batch}.\n"
        )
    };
    let told = here(&text(last - 1), &checkpoint);
    assert!(told.contains(&format!("Batch {} was planned at ", last - 1)), "{told}");
    assert!(
        told.contains(&format!(
            "The other run went on after batch {}: the newest is {last} at",
            last - 1
        )),
        "{told}"
    );
    let told = here(&text(last + 7), &checkpoint);
    assert!(told.contains(&format!("Batch {} is in neither log", last + 7)), "{told}");
}

#[test]
fn a_missing_file_of_this_checkpoint() {
    let checkpoint = fixture("broken-changelog-missing-4.3.0");
    let (inspect, _) = answer(&["inspect", checkpoint.target()]);
    let finding =
        inspect["findings"].as_array().unwrap().iter().find(|finding| {
            finding["file"].as_str().is_some_and(|file| file.ends_with(".changelog"))
        });
    let missing = finding.expect("a finding about a changelog")["file"].as_str().unwrap();
    let text = format!(
        "x.E: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred during \
         loading state. Error reading streaming state file of {}/{missing} does not exist. If the\n",
        checkpoint.target()
    );
    let told = here(&text, &checkpoint);
    assert!(told.contains(&format!("({missing}).")), "{told}");
    assert!(told.contains("a start now loads version"), "{told}");
    let whole = fixture("agg-window-changelog-4.3.0");
    let told = here(&text.replace(checkpoint.target(), "/elsewhere/other"), &whole);
    assert!(told.starts_with("The message is about /elsewhere/other"), "{told}");
    assert!(told.contains("are all there now"), "{told}");
}

#[test]
fn a_schema_of_this_checkpoint() {
    let checkpoint = fixture("dedup-4.3.0");
    let (inspect, _) = answer(&["inspect", checkpoint.target()]);
    let schema = &inspect["operators"][0]["stores"][0]["key_schema"];
    let scala = |of: &Value| match of.as_str().unwrap() {
        "string" => "StringType",
        "long" => "LongType",
        "integer" => "IntegerType",
        "timestamp" => "TimestampType",
        "double" => "DoubleType",
        other => panic!("{other}"),
    };
    let fields: Vec<String> = schema["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| {
            format!(
                "StructField({},{},true)",
                field["name"].as_str().unwrap(),
                scala(&field["type"])
            )
        })
        .collect();
    let stored = format!("StructType({})", fields.join(","));
    let text = format!(
        "x.E: [STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match existing \
         state key schema.\nPlease check number and type of fields.\nExisting key_schema={stored} and \
         new key_schema=StructType(StructField(other,DateType,true)).\nIf you want to force it\n"
    );
    let told = here(&text, &checkpoint);
    assert!(told.contains("The stored schema is that of operator dedupe here"), "{told}");
    let (_directory, path) = file(&text);
    let (report, _) = answer(&["explain", &path, "--checkpoint", checkpoint.target()]);
    assert_eq!(report["errors"][0]["schemas"][0]["rule"], "change-dedup-columns");
}

#[test]
fn the_format_of_this_checkpoint() {
    let checkpoint = fixture("agg-format2-4.3.0");
    let text = "x.E: [STATE_REWRITER_INVALID_CHECKPOINT.STATE_CHECKPOINT_FORMAT_VERSION_MISMATCH] The \
                state rewrite checkpoint location 'x' is in an invalid state. Expected version 2, but \
                found 1.\n";
    let told = here(text, &checkpoint);
    assert!(
        told.contains("The state here is in checkpoint format 2, commit log v2: set"),
        "{told}"
    );
}

#[test]
fn changes_are_answered() {
    let (all, code) = answer(&["can-i"]);
    let all = all["changes"].as_array().unwrap();
    assert_eq!(code, 0);
    assert!(all.len() > 30 && all.iter().all(|change| change["happens"].as_str().is_some()));
    for (question, id, says, code) in [
        ("add-filter", "add-filter", "yes", 0),
        ("change the grouping keys", "change-grouping-keys", "no", 1),
        ("output mode", "change-output-mode", "depends", 1),
    ] {
        let words: Vec<&str> = question.split(' ').collect();
        let (report, exit) = answer(&[&["can-i"], words.as_slice()].concat());
        let change = &report["changes"][0];
        assert_eq!((&change["id"], &change["answer"], exit), (&json!(id), &json!(says), code));
        let (page, _) = run(&["can-i", question]);
        assert!(page.contains("\nhappens") && page.contains("\ninstead"), "{page}");
    }
    let (message, code) = refused(&["can-i", "paint it black"]);
    assert_eq!(code, 2);
    assert!(message.contains("`statetop can-i` lists all"), "{message}");
}

/// A checkpoint whose logs have these offset entries; those of `committed` have a commit.
fn logs(offsets: &[&str], committed: usize) -> Unpacked {
    let checkpoint = fixture("no-batch-4.3.0");
    for log in ["offsets", "commits"] {
        std::fs::create_dir_all(checkpoint.path.join(log)).unwrap();
    }
    for (batch, entry) in offsets.iter().enumerate() {
        std::fs::write(checkpoint.path.join(format!("offsets/{batch}")), entry).unwrap();
        if batch < committed {
            let commit = "v1\n{\"nextBatchWatermarkMs\":0}";
            std::fs::write(checkpoint.path.join(format!("commits/{batch}")), commit).unwrap();
        }
    }
    checkpoint
}

fn entry(sources: &[&str]) -> String {
    format!(
        "v1\n{{\"batchWatermarkMs\":0,\"batchTimestampMs\":1796034844000,\"conf\":{{\"spark.sql.shuffle.partitions\":\"5\"}}}}\n{}",
        sources.join("\n")
    )
}

#[test]
fn kafka_offsets_for_a_new_checkpoint() {
    let first = r#"{"orders":{"0":10,"1":11}}"#;
    let second = r#"{"orders":{"0":23,"1":45},"returns":{"0":7}}"#;
    let checkpoint = logs(&[&entry(&[first]), &entry(&[second])], 1);
    let (json, code) = run(&["offsets", checkpoint.target(), "--starting-offsets"]);
    assert_eq!((json.as_str(), code), (format!("{first}\n").as_str(), 0), "of the committed batch");
    let checkpoint = logs(&[&entry(&[first]), &entry(&[second])], 2);
    let (json, _) = run(&["offsets", checkpoint.target(), "--starting-offsets"]);
    assert_eq!(json, format!("{second}\n"));
    let (json, _) = run(&["offsets", checkpoint.target(), "--starting-offsets", "--batch", "0"]);
    assert_eq!(json, format!("{first}\n"));
    let (report, _) = answer(&["offsets", checkpoint.target()]);
    assert_eq!((&report["batch"], &report["pending_batch"]), (&json!(1), &Value::Null));
    assert_eq!(report["sources"][0]["starting_offsets"], second);
}

#[test]
fn several_sources_are_chosen_from() {
    let kafka = [r#"{"a":{"0":1}}"#, r#"{"b":{"0":2}}"#, r#"{"logOffset":3}"#];
    let checkpoint = logs(&[&entry(&kafka)], 1);
    let (message, code) = refused(&["offsets", checkpoint.target(), "--starting-offsets"]);
    assert_eq!(code, 2);
    assert!(message.contains("--source 0 or --source 1"), "{message}");
    let (json, _) = run(&["offsets", checkpoint.target(), "--starting-offsets", "--source", "1"]);
    assert_eq!(json, "{\"b\":{\"0\":2}}\n");
    let (message, code) =
        refused(&["offsets", checkpoint.target(), "--starting-offsets", "--source", "2"]);
    assert_eq!(code, 2);
    assert!(message.contains("only Kafka has startingOffsets"), "{message}");
    let (page, code) = run(&["offsets", checkpoint.target()]);
    assert_eq!(code, 0);
    assert!(page.contains("source 2  file") && page.contains("no option begins"), "{page}");
}

#[test]
fn a_batch_that_is_not_committed_is_warned_of() {
    let checkpoint = logs(&[&entry(&[r#"{"a":{"0":1}}"#]), &entry(&[r#"{"a":{"0":2}}"#])], 1);
    let (page, _) = run(&["offsets", checkpoint.target()]);
    assert!(page.contains("Batch 1 is planned and not committed."), "{page}");
    let (message, code) = refused(&["offsets", checkpoint.target(), "--batch", "1"]);
    assert_eq!(code, 2);
    assert!(message.contains("batch 1 is planned but not committed"), "{message}");
    let none = logs(&[&entry(&["5"])], 0);
    let (message, code) = refused(&["offsets", none.target()]);
    assert_eq!(code, 2);
    assert!(message.contains("no batch is committed"), "{message}");
}
