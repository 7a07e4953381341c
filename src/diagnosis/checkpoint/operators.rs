//! Findings about operator metadata.

use super::id_for;
use crate::checkpoint::Problem;
use crate::diagnosis::{Finding, FindingId, Severity};

pub(super) fn unreadable(file: &str, problem: &Problem) -> Finding {
    Finding {
        id: id_for(problem, "unreadable-operator-metadata"),
        severity: Severity::Warning,
        summary: "Operator metadata cannot be read".to_owned(),
        detail: format!(
            "{problem}. Name and stores of the operator are taken from an older file or inferred \
             from its directories. A repartition needs this file."
        ),
        remedy: "Restore the file from a backup; the next start of the query on Spark 4.0 or \
                 later writes a new one for operators with column families."
            .to_owned(),
        file: Some(file.to_owned()),
    }
}

pub(super) fn other_count(file: &str, version: u32, stated: u32, in_force: u32) -> Finding {
    let (severity, why) = match version {
        1 => (
            Severity::Info,
            "This file is written once and does not follow a repartition: it is stale, and \
             harmless.",
        ),
        _ => (
            Severity::Warning,
            "A repartition writes a new file of this format, so the two should be equal.",
        ),
    };
    Finding {
        id: FindingId("stale-operator-count"),
        severity,
        summary: format!("Operator metadata says {stated} partitions, in force are {in_force}"),
        detail: format!(
            "{why} The count in force is the one in the offset log; tools that read the count from \
             operator metadata show a wrong one."
        ),
        remedy: match version {
            1 => "Nothing to do.".to_owned(),
            _ => "Check whether files of another checkpoint were copied into this one.".to_owned(),
        },
        file: Some(file.to_owned()),
    }
}

pub(super) fn schema_files_elsewhere(file: &str, written_at: &str) -> Finding {
    Finding {
        id: FindingId("schema-files-elsewhere"),
        severity: Severity::Info,
        summary: "Operator metadata names schema files at another place".to_owned(),
        detail: format!(
            "This checkpoint was written as {written_at} and copied, moved or mounted since. \
             Statetop reads the schema files that lie here. Spark reads those at the old place: a \
             query or repartition that runs on this copy uses them without a word, and fails when \
             they are gone."
        ),
        remedy: "Nothing to do for looking at it. Before a query runs on a copy, make sure that \
                 the old place stays readable until a start of the query has written new operator \
                 metadata."
            .to_owned(),
        file: Some(file.to_owned()),
    }
}
