//! The description that a streaming query gives to the jobs and plans of its microbatches.
//!
//! Lines of name, `id = …`, `runId = …` and `batch = …` (`StreamExecution`, Spark 3.5 to 4.3);
//! without a name the first of them is empty or missing. Must not know what is described.

use crate::units::BatchId;

/// What a description tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Description<'a> {
    /// The query's name.
    pub(super) name: Option<&'a str>,
    /// Its id.
    pub(super) id: &'a str,
    /// The id of its run.
    pub(super) run: &'a str,
    /// The microbatch; `None` before the first one.
    pub(super) batch: Option<BatchId>,
}

/// Reads a description; `None` where it is of something else. A name may have lines like these
/// itself, so they are looked for from the end.
pub(super) fn parse(text: &str) -> Option<Description<'_>> {
    let (head, batch) = match text.rsplit_once("\nbatch = ") {
        Some((head, batch)) => (head, batch.trim().parse().ok().map(BatchId)),
        None => (text, None),
    };
    let (head, run) = head.rsplit_once("\nrunId = ")?;
    let (name, id) = match head.rsplit_once("\nid = ") {
        Some(parts) => parts,
        None => ("", head.strip_prefix("id = ")?),
    };
    Some(Description { name: Some(name).filter(|name| !name.is_empty()), id, run, batch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_tells_name_ids_and_batch() {
        let told = |name, batch: Option<u64>| {
            Some(Description { name, id: "a", run: "b", batch: batch.map(BatchId) })
        };
        for (text, expected) in [
            ("agg\nid = a\nrunId = b\nbatch = 7", told(Some("agg"), Some(7))),
            ("\nid = a\nrunId = b\nbatch = 7", told(None, Some(7))),
            ("id = a\nrunId = b\nbatch = 7", told(None, Some(7))),
            ("agg\nid = a\nrunId = b\nbatch = init", told(Some("agg"), None)),
            ("agg\nid = a\nrunId = b", told(Some("agg"), None)),
            ("x\nid = y\nid = a\nrunId = b\nbatch = 0", told(Some("x\nid = y"), Some(0))),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        for other in ["", "count at Job.scala:12", "agg\nid = a", "\nbatch = 3", "runId = b"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
