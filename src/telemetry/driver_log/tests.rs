use super::*;

fn read(log: &str) -> Vec<Found> {
    let (mut reader, mut found) = (DriverLog::default(), Vec::new());
    for (index, text) in log.lines().enumerate() {
        reader.line(index as u64 + 1, text, &mut found);
    }
    reader.settle(&mut found);
    found
}

fn failure(kind: &EventKind) -> (&str, Option<&str>) {
    let EventKind::Terminated(ended) = kind else { panic!("an end: {kind:?}") };
    (ended.exception.as_deref().unwrap(), ended.class_in_text.as_deref())
}

const FAILED: &str = "26/11/30 16:06:57 ERROR M: Query q [id = a, runId = b] terminated with error";

#[test]
fn a_stack_trace_ends_where_the_next_entry_begins() {
    let log = format!(
        "{FAILED}\norg.x.E: no\n\tat a.B\nCaused by: org.x.E: [A_B] no\n\
         [Stage 3:==> (1 + 1) / 2]\n\t... 3 more\n26/11/30 16:06:58 INFO M: x\n\tat not.its.own"
    );
    let found = read(&log);
    let [(1, kind)] = found.as_slice() else { panic!("one event at line 1: {found:?}") };
    let exception = "org.x.E: no\n\tat a.B\nCaused by: org.x.E: [A_B] no\n\t... 3 more";
    assert_eq!(failure(kind), (exception, Some("A_B")));
}

#[test]
fn a_failure_without_a_trace_is_still_one() {
    assert_eq!(failure(&read(FAILED)[0].1), (NO_EXCEPTION, None));
}

#[test]
fn a_failure_that_is_printed_again_is_told_once() {
    let again = "E: [STREAM_FAILED] Query [id = a, runId = b] terminated with exception: [A_B] x";
    assert_eq!(read(&format!("{FAILED}\norg.x.E: no\n{again}\nmore")).len(), 1);
    let alone = read(&format!("Traceback\n{again}\nmore"));
    let [(2, kind)] = alone.as_slice() else { panic!("one event at line 2: {alone:?}") };
    assert_eq!(failure(kind), (format!("{again}\nmore").as_str(), Some("A_B")));
}

#[test]
fn a_query_that_has_worked_off_everything_ends_without_saying_so() {
    let head = "26/12/01 13:06:39 INFO MicroBatchExecution:";
    let pool = "Async log purge executor pool for query q [id = a, runId = b] has been shutdown";
    let stopped = format!("{head} {pool}\n{head} Query q [id = a, runId = b] was stopped");
    assert_eq!(read(&stopped).len(), 1, "the pool alone tells nothing");
    let done = "Finished processing all available data for the trigger, terminating this \
                Trigger.AvailableNow query";
    let found = read(&format!("{head} {done}\n{stopped}"));
    let [(2, EventKind::Terminated(ended))] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((ended.query.run.as_deref(), &ended.exception), (Some("b"), &None));
}

#[test]
fn an_exception_belongs_to_its_entry() {
    let owned = "26/11/30 16:06:03 WARN P: Ignoring error\njava.io.FileNotFoundException: x";
    assert!(read(owned).is_empty(), "a warning ends no query");
    let found = read("some note\njava.io.FileNotFoundException: x\n\tat y");
    let [(2, kind)] = found.as_slice() else { panic!("one event at line 2: {found:?}") };
    assert_eq!(failure(kind).0, "java.io.FileNotFoundException: x\n\tat y");
}

#[test]
fn long_exceptions_are_cut() {
    let frame = format!("\tat {}", "x".repeat(10_000));
    let log = format!("{FAILED}\norg.x.E: no\n{}", format!("{frame}\n").repeat(100));
    assert!(failure(&read(&log)[0].1).0.len() <= LONGEST_EXCEPTION);
}

#[test]
fn a_plan_without_a_repartition_is_nothing() {
    let planned = "26/11/30 16:23:08 INFO R: Created new offset log entry for repartition batch. \
                   batchId=13";
    assert!(read(planned).is_empty());
}

#[test]
fn structured_entries_are_complete() {
    let (mut reader, mut found) = (DriverLog::default(), Vec::new());
    let message = "Query q [id = a, runId = b] terminated with error".to_owned();
    let exception = Some("org.x.E: [A_B] no".to_owned());
    reader.structured(7, Entry { message, exception, ..Entry::default() }, &mut found);
    let [(7, kind)] = found.as_slice() else { panic!("one event at line 7: {found:?}") };
    assert_eq!(failure(kind), ("org.x.E: [A_B] no", Some("A_B")));
    let message = "Streaming query made progress: {\n  \"batchId\" : 3\n}".to_owned();
    reader.structured(8, Entry { message, ..Entry::default() }, &mut found);
    assert!(matches!(&found[1], (8, EventKind::Progress(_))));
}
