//! `docs/json.md` and the reports name the same fields.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "cmd/fake.rs"]
mod fake;

use std::collections::BTreeSet;

use fake::Fake;
use serde_json::Value;

/// Objects whose keys or shape come from the checkpoint, not from us.
const FOREIGN: [&str; 4] = ["conf", "offset", "key_schema", "value_schema"];

/// All paths of fields in `value`, as the documentation writes them.
fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                paths(item, &format!("{at}[]"), into);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = match at.rsplit('.').next() {
                    _ if at.is_empty() => name.clone(),
                    Some("families") => {
                        paths(field, &format!("{at}.NAME"), into);
                        continue;
                    }
                    _ => format!("{at}.{name}"),
                };
                into.insert(path.clone());
                if !FOREIGN.contains(&name.as_str()) {
                    paths(field, &path, into);
                }
            }
        }
        _ => {}
    }
}

/// The fields in the tables of one section.
fn documented(section: &str) -> BTreeSet<String> {
    let page = include_str!("../docs/json.md");
    let start = page.find(&format!("\n## {section}\n")).unwrap() + 4;
    let rest = &page[start..];
    let body = &rest[..rest.find("\n## ").unwrap_or(rest.len())];
    body.lines()
        .filter_map(|line| {
            line.strip_prefix("| `")?.split_once('`').map(|(path, _)| path.to_owned())
        })
        .collect()
}

fn of_reports(report: impl Fn(&Fake) -> Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for fake in [Fake::fraud_join(), Fake::broken(), Fake::hostile()] {
        paths(&report(&fake), "", &mut all);
    }
    all
}

#[test]
fn inspect_is_documented() {
    let fields = of_reports(|fake| serde_json::to_value(&fake.inspect).unwrap());
    assert_eq!(documented("inspect"), fields);
}

#[test]
fn partitions_are_documented() {
    let fields: BTreeSet<String> =
        of_reports(|fake| serde_json::to_value(&fake.partitions).unwrap())
            .into_iter()
            // The documentation points to the table of `skew.rows` and of inspect's findings.
            .filter(|path| !path.contains(".skew.bytes.") && !path.starts_with("findings[]"))
            .collect();
    assert_eq!(documented("partitions"), fields);
}
