//! The error class in an exception's text.
//!
//! Spark puts it in brackets before the message: `[CLASS.SUBCLASS] Something happened.` The field
//! `errorClassOnException` is often missing or names a wrapper, so the text with its causes is
//! searched, outermost first. Must not know what the classes mean.

/// Classes that wrap: what went wrong stands in a class below, where there is one.
const WRAPPERS: [&str; 6] = [
    "STREAM_FAILED",
    "FOREACH_BATCH_USER_FUNCTION_ERROR",
    "FOREACH_USER_FUNCTION_ERROR",
    "FAILED_EXECUTE_UDF",
    "TASK_WRITE_FAILED",
    "INTERNAL_ERROR",
];
/// The subclass of wrappers with subclasses.
const UNCATEGORIZED: &str = ".UNCATEGORIZED";
/// Begins the plan that Spark appends to a failed query's message: no causes follow.
const PLAN: &str = "=== Streaming Query ===";

/// The deepest class that says what went wrong; the deepest wrapper where there is no other.
pub fn in_text(exception: &str) -> Option<&str> {
    let (mut useful, mut wrapper) = (None, None);
    for line in exception.lines().take_while(|line| !line.starts_with(PLAN)) {
        for class in in_line(line) {
            let found = if is_wrapper(class) { &mut wrapper } else { &mut useful };
            *found = Some(class);
        }
    }
    useful.or(wrapper)
}

fn is_wrapper(class: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| {
        class
            .strip_prefix(wrapper)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    }) || class.ends_with(UNCATEGORIZED)
}

/// The classes of a line: in brackets, at the start of a message. Lines that begin with a tab
/// are stack frames, or causes of exceptions that were suppressed.
fn in_line(line: &str) -> impl Iterator<Item = &str> {
    let line = if line.starts_with('\t') { "" } else { line };
    line.match_indices('[').filter_map(move |(at, _)| {
        let (before, rest) = line.split_at_checked(at)?;
        let (class, _) = rest.strip_prefix('[')?.split_once(']')?;
        let starts_a_message = before.trim_start().is_empty() || before.ends_with(": ");
        (starts_a_message && is_class(class)).then_some(class)
    })
}

/// Whether a text is such as `CANNOT_LOAD_STATE_STORE.UNCATEGORIZED`. One word alone is more
/// often something else.
fn is_class(text: &str) -> bool {
    let word = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase());
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_.".contains(c);
    text.contains(['_', '.']) && text.chars().all(plain) && text.split('.').all(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_told_not_the_wrapper() {
        for (text, expected) in [
            (
                "[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: \
                 [STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema SQLSTATE: XXKST",
                Some("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
            ),
            (
                "org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat a.B\n\
                 Caused by: org.x.Failed: [STATE_STORE_COMMIT_VALIDATION_FAILED] State store",
                Some("STATE_STORE_COMMIT_VALIDATION_FAILED"),
            ),
            (
                "org.x.E: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred\n\tat a.B\n\
                 Caused by: org.x.E: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] E",
                Some("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"),
            ),
            (
                "org.x.E: [STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED] The\n\
                 Caused by: org.x.E: [INTERNAL_ERROR_STORAGE] Execution failed",
                Some("STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED"),
            ),
            ("x: [INTERNAL_ERROR] Execution of the stream failed.", Some("INTERNAL_ERROR")),
            ("x: [A_B] outer\nCaused by: x: [C_D] inner\n\t... 3 more", Some("C_D")),
            ("x: [A_B] outer\n\tSuppressed: x: [C_D] inner\n\tCaused by: x: [E_F] y", Some("A_B")),
        ] {
            assert_eq!(in_text(text), expected, "{text}");
        }
    }

    #[test]
    fn brackets_of_other_things_are_no_class() {
        for text in [
            "",
            "java.lang.AssertionError: There are [1] sources in the checkpoint",
            "failed: [INFO] done",
            "the table [LEDGER_DAILY] is locked",
            "x: [a_b] y",
            "x: [A_B",
            "x: [.A_B] y",
            "x: [é_B] y",
            "x: done\n=== Streaming Query ===\nPlan: [A_B] y",
        ] {
            assert_eq!(in_text(text), None, "{text}");
        }
    }
}
