//! The catalogue has what Spark has: names, SQLSTATEs, releases, parameters. The lists beside
//! this file are written by `tests/spark/conditions.py` from the installed releases.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use statetop::explain::catalogue::{Catalogue, Engine, EntryKind, RELEASES};
use statetop::explain::pattern::Pattern;
use statetop::explain::reading::Reading;

/// The list of a release.
#[derive(Deserialize)]
struct List {
    spark: String,
    conditions: BTreeMap<String, Condition>,
}

#[derive(Deserialize)]
struct Condition {
    sqlstate: Option<String>,
    parameters: Vec<String>,
}

fn lists() -> Vec<List> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain");
    let mut lists: Vec<List> = std::fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        .collect();
    lists.sort_by(|one, other| one.spark.cmp(&other.spark));
    lists
}

fn release(list: &List) -> &str {
    list.spark.rsplit_once('.').unwrap().0
}

#[test]
fn there_is_a_list_of_each_release() {
    let lists = lists();
    let releases: Vec<&str> = lists.iter().map(release).collect();
    assert_eq!(releases, RELEASES);
    assert_eq!(lists[0].conditions.len(), 6, "3.5 has hardly any classes");
    assert!(lists[4].conditions.len() > 150);
}

#[test]
fn every_condition_is_in_the_catalogue_with_its_sqlstate_and_releases() {
    let catalogue = Catalogue::builtin().unwrap();
    for list in lists() {
        for (name, condition) in &list.conditions {
            let entry = catalogue.get(name).unwrap_or_else(|| panic!("{name} is not explained"));
            assert!(entry.is_in(release(&list)), "{name} is in {}", list.spark);
            // 3.5 gives two of its three no SQLSTATE yet.
            if condition.sqlstate.is_some() {
                assert_eq!(entry.sqlstate, condition.sqlstate, "{name} in {}", list.spark);
            }
        }
        let ours = catalogue
            .entries
            .iter()
            .filter(|entry| entry.kind == EntryKind::Condition && entry.engine == Engine::Spark);
        for entry in ours.filter(|entry| entry.is_in(release(&list))) {
            assert!(
                list.conditions.contains_key(&entry.id),
                "{} is not in {}",
                entry.id,
                list.spark
            );
        }
    }
}

#[test]
fn every_parameter_has_a_place() {
    let catalogue = Catalogue::builtin().unwrap();
    for list in lists() {
        for (name, condition) in &list.conditions {
            let entry = catalogue.get(name).unwrap();
            let above = catalogue.above(name).map(|above| &above.patterns);
            let patterns = entry.patterns.iter().chain(above.into_iter().flatten());
            let names: Vec<&str> = patterns.flat_map(Pattern::names).collect();
            for parameter in &condition.parameters {
                assert!(names.contains(&parameter.as_str()), "{name}: {parameter}");
            }
        }
    }
}

/// A message with made-up values, as Spark prints it.
#[derive(Deserialize)]
struct Message {
    class: String,
    sqlstate: Option<String>,
    parameters: BTreeMap<String, String>,
    text: String,
}

/// Only where a Spark is installed: `conditions.py --messages` writes the file.
#[test]
fn messages_of_the_installed_spark_give_back_their_values() {
    let Some(file) = std::env::var_os("STATETOP_MESSAGES") else { return };
    let messages: Vec<Message> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert!(!messages.is_empty());
    let mut wrong = Vec::new();
    for Message { class, sqlstate, parameters, text } in messages {
        let mut reading = Reading::of(Catalogue::builtin().unwrap()).unwrap();
        reading.feed(format!("org.x.SomeException: {text}\n\tat a.B.c(D.scala:1)\n").as_bytes());
        let told = reading.finish();
        let found = told.errors.iter().find(|found| found.class.as_ref() == Some(&class));
        let Some(found) = found else {
            wrong.push(format!("{class} is not found in {text}"));
            continue;
        };
        if sqlstate.is_some() && found.sqlstate != sqlstate {
            wrong.push(format!("{class} has {:?}", found.sqlstate));
        }
        for (name, value) in &parameters {
            if found.parameters.get(name) != Some(value) {
                let got = found.parameters.get(name);
                wrong.push(format!("{class}: {name} is {got:?}, expected {value:?} in {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
