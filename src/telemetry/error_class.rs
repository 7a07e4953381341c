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
/// Begins a cause in a printed stack trace.
pub const CAUSED_BY: &str = "Caused by: ";
/// The subclass of wrappers with subclasses.
const UNCATEGORIZED: &str = ".UNCATEGORIZED";
/// Begins the plan that Spark appends to a failed query's message; a printed stack trace has the
/// causes after it.
const PLAN: &str = "=== Streaming Query ===";

/// What stands before a class that is not in brackets: `errorClass=A_B`, `"errorClass": "A_B"`.
pub const LABELS: [&str; 4] =
    ["errorClassOnException", "errorClass", "error_class", "errorCondition"];

/// A class and where it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention<'a> {
    /// The byte at which it begins, its bracket or label included.
    pub at: usize,
    /// `CLASS` or `CLASS.SUBCLASS`.
    pub class: &'a str,
}

/// The deepest class that says what went wrong; the deepest wrapper where there is no other.
pub fn in_text(exception: &str) -> Option<&str> {
    let (mut useful, mut wrapper) = (None, None);
    for line in without_plans(exception) {
        for (_, class) in in_line(line) {
            let found = if wraps(class) { &mut wrapper } else { &mut useful };
            *found = Some(class);
        }
    }
    useful.or(wrapper)
}

/// The classes of a text without stack frames, in the order in which they stand: those in
/// brackets, and those with a label.
pub fn mentions(text: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    let mut begun = 0;
    for line in text.split('\n') {
        found.extend(in_line(line).map(|(at, class)| Mention { at: begun + at, class }));
        found.extend(labelled(line).map(|(at, class)| Mention { at: begun + at, class }));
        begun += line.len() + 1;
    }
    found.sort_by_key(|mention| mention.at);
    found.dedup_by_key(|mention| mention.at);
    found
}

/// The lines of an exception's text, without the plan that Spark appends to a message.
pub fn without_plans(exception: &str) -> impl Iterator<Item = &str> {
    let mut within = false;
    exception.lines().filter(move |line| {
        within = line.starts_with(PLAN) || (within && !line.starts_with(CAUSED_BY));
        !within
    })
}

/// Whether a class wraps: what went wrong stands in a class below, where there is one.
pub fn wraps(class: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| {
        class
            .strip_prefix(wrapper)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    }) || class.ends_with(UNCATEGORIZED)
}

/// The classes of a line: in brackets, at the start of a message. Lines that begin with a tab
/// are stack frames, or causes of exceptions that were suppressed.
fn in_line(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let line = if line.starts_with('\t') { "" } else { line };
    line.match_indices('[').filter_map(move |(at, _)| {
        let (before, rest) = line.split_at_checked(at)?;
        let starts_a_message = before.ends_with(": ") || before.trim_start().is_empty();
        let rest = rest.strip_prefix('[').filter(|_| starts_a_message)?;
        // No further than the class: a line may hold any number of brackets.
        let class = rest.get(..rest.find(|c: char| !is_plain(c))?)?;
        let closed = rest.get(class.len()..).is_some_and(|rest| rest.starts_with(']'));
        (closed && is_class(class)).then_some((at, class))
    })
}

/// The classes of a line that follow a label.
fn labelled(line: &str) -> impl Iterator<Item = (usize, &str)> {
    LABELS.into_iter().flat_map(move |label| {
        line.match_indices(label).filter_map(move |(at, _)| {
            let rest = line.get(at + label.len()..)?.trim_start_matches(['"', ' ', '\'']);
            let rest = rest.strip_prefix(['=', ':'])?.trim_start_matches(['"', ' ', '\'']);
            let end = rest.find(|c: char| !is_plain(c)).unwrap_or(rest.len());
            let class = rest.get(..end)?.trim_end_matches('.');
            is_class(class).then_some((at, class))
        })
    })
}

/// Whether a text is such as `CANNOT_LOAD_STATE_STORE.UNCATEGORIZED`. One word alone is more
/// often something else.
pub fn is_class(text: &str) -> bool {
    let word = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase());
    text.contains(['_', '.']) && text.chars().all(is_plain) && text.split('.').all(word)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || "_.".contains(c)
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
            (
                "x: [A_B] a\n=== Streaming Query ===\nPlan: [E_F] y\nCaused by: x: [C_D] b",
                Some("C_D"),
            ),
            ("x: [A_B] outer\n\tSuppressed: x: [C_D] inner\n\tCaused by: x: [E_F] y", Some("A_B")),
        ] {
            assert_eq!(in_text(text), expected, "{text}");
        }
    }

    #[test]
    fn classes_stand_in_brackets_or_after_a_label() {
        let of =
            |text| mentions(text).into_iter().map(|one| (one.at, one.class)).collect::<Vec<_>>();
        assert_eq!(of("x: [A_B] y\nz: [C_D.E] w"), [(3, "A_B"), (14, "C_D.E")]);
        for text in ["errorClass=A_B.C,", "\"errorClass\" : \"A_B.C\"", "errorClass: 'A_B.C'."] {
            assert_eq!(mentions(text).first().map(|one| one.class), Some("A_B.C"), "{text}");
        }
        assert_eq!(of("errorClassOnException=A_B"), [(0, "A_B")]);
        assert_eq!(of("errorClass=null, errorClass: none"), []);
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
