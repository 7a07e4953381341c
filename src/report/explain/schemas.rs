//! The stored and the new schema of a message side by side, and the rule that the change breaks.

use std::collections::BTreeMap;

use super::SchemaReport;
use crate::explain::changes;
use crate::explain::schema_text::{self, Difference};

/// The parts that have a schema, with the names that Spark gives both in its messages.
const PARTS: [(&str, &str, &str); 3] = [
    ("key", "storedKeySchema", "newKeySchema"),
    ("value", "storedValueSchema", "newValueSchema"),
    ("value", "oldSchema", "newSchema"),
];
/// Of the key, where the operator is not known.
const KEY_RULE: &str = "change-grouping-keys";
/// Of the value, where the operator is not known.
const VALUE_RULE: &str = "change-aggregates";

/// The comparison of each part whose two schemas the message has and that differs.
pub(super) fn of(parameters: &BTreeMap<String, String>) -> Vec<SchemaReport> {
    let compared = PARTS.iter().filter_map(|(part, stored, new)| {
        let read = |name: &str| schema_text::parse(parameters.get(name)?);
        let fields = schema_text::compare(&read(stored)?, &read(new)?);
        let rule = if *part == "key" { KEY_RULE } else { VALUE_RULE };
        let differs = fields.iter().any(|field| field.difference != Difference::Same);
        differs.then(|| {
            let mut report = SchemaReport {
                part,
                fields,
                rule: String::new(),
                happens: String::new(),
                ways_out: ways_out(),
            };
            set_rule(&mut report, rule);
            report
        })
    });
    compared.collect()
}

/// The rule for an operator, by Spark's name for it.
pub(super) fn rule(part: &str, operator: &str) -> &'static str {
    let is = |name: &str| operator.to_lowercase().contains(name);
    match part {
        _ if is("join") => "change-join",
        _ if is("transformwithstate") => "evolve-transform-with-state",
        _ if is("groupswithstate") || is("pandaswithstate") => "change-state-schema",
        _ if is("dedup") => "change-dedup-columns",
        "key" => KEY_RULE,
        _ => VALUE_RULE,
    }
}

/// Says which rule the change breaks.
pub(super) fn set_rule(report: &mut SchemaReport, rule: &str) {
    let changes = changes::all().unwrap_or_default();
    rule.clone_into(&mut report.rule);
    let change = changes.iter().find(|change| change.id == rule);
    report.happens = change.map(|change| change.happens.clone()).unwrap_or_default();
}

fn ways_out() -> Vec<String> {
    [
        "Revert the change and restart on the same checkpoint: nothing is lost.",
        "A new checkpoint location with a deliberate start. A stateful query reads again from \
         before its oldest open window or key, into a sink that tolerates replay (a check of the \
         batch id, or MERGE); a stateless one goes on from the last committed offsets (`statetop \
         offsets TARGET --starting-offsets`).",
        "In Declarative Pipelines: a full refresh of the dataset. It drops records that the \
         source no longer holds.",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_have_rules_of_the_table() {
        for operator in [
            "stateStoreSave",
            "dedupe",
            "symmetricHashJoin",
            "transformWithStateExec",
            "flatMapGroupsWithState",
            "applyInPandasWithState",
        ] {
            for part in ["key", "value"] {
                let rule = rule(part, operator);
                assert!(changes::all().unwrap().iter().any(|change| change.id == rule), "{rule}");
            }
        }
        assert_eq!(rule("key", "dedupeWithinWatermark"), "change-dedup-columns");
        assert_eq!(rule("value", "stateStoreSave"), "change-aggregates");
    }
}
