//! What may change in a query between two starts on the same checkpoint.
//!
//! The table lies beside this file. A question in words is matched to it by the words that its
//! changes are called by. Must not know any checkpoint.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const FILE: &str = include_str!("changes.toml");
/// Words that say nothing about which change is meant.
const NOISE: [&str; 24] = [
    "a",
    "an",
    "the",
    "i",
    "my",
    "can",
    "to",
    "of",
    "in",
    "on",
    "for",
    "and",
    "or",
    "is",
    "it",
    "between",
    "restarts",
    "another",
    "with",
    "different",
    "query",
    "streaming",
    "do",
    "we",
];
/// Words that say what is done, which many changes share.
const DEEDS: [&str; 9] =
    ["change", "add", "remove", "alter", "modify", "set", "use", "new", "switch"];
/// How like each other two words are that differ by a typing error.
const LIKE: f64 = 0.82;
/// Letters that a beginning needs to stand for the word.
const BEGINNING: usize = 4;

/// Whether a change is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// On the same checkpoint, without further thought.
    Yes,
    /// Not on the same checkpoint; or it does nothing.
    No,
    /// On what, is told.
    Depends,
}

impl Answer {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Depends => "it depends",
        }
    }
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Its stable name.
    pub id: String,
    /// What is changed.
    pub title: String,
    /// What people call it.
    #[serde(skip_serializing)]
    words: Vec<String>,
    /// Whether it is allowed.
    pub answer: Answer,
    /// What happens at the restart and after it.
    pub happens: String,
    /// What to do instead, or besides.
    pub instead: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    change: Vec<Change>,
}

static BUILTIN: LazyLock<Result<Vec<Change>, String>> = LazyLock::new(|| {
    let file: File = toml::from_str(FILE).map_err(|error| error.to_string())?;
    Ok(file.change)
});

/// Why the table cannot be used: a mistake in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the table of changes is broken: {0}")]
pub struct ChangesError(String);

/// All changes, in the order of the documentation.
///
/// # Errors
/// When the table has a mistake.
pub fn all() -> Result<&'static [Change], ChangesError> {
    BUILTIN.as_deref().map_err(|problem| ChangesError(problem.clone()))
}

/// The changes that a question may mean, best first; those that fit equally well are all told.
/// Empty when none fits.
pub fn matching<'c>(changes: &'c [Change], question: &str) -> Vec<&'c Change> {
    let typed = question.trim().to_lowercase();
    if let Some(exact) = changes.iter().find(|change| change.id == typed) {
        return vec![exact];
    }
    let asked = words(question);
    let scores: Vec<(u32, &Change)> =
        changes.iter().map(|change| (score(change, &asked), change)).collect();
    let best = scores.iter().map(|(score, _)| *score).max().unwrap_or(0);
    // A deed alone (`change`) fits everything and says nothing.
    if best < 2 {
        return Vec::new();
    }
    let fit = |least: u32| scores.iter().filter(move |(score, _)| *score >= least);
    let mut found: Vec<&Change> = fit(best).map(|(_, change)| *change).collect();
    // A wrong "yes" costs more than a second question: what fits nearly as well and is not
    // allowed may have been meant.
    if found.iter().any(|change| change.answer == Answer::Yes) {
        let near = fit(best - best / 3).map(|(_, change)| *change);
        let other: Vec<&Change> =
            near.filter(|change| change.answer != Answer::Yes && !found.contains(change)).collect();
        found.extend(other);
    }
    found
}

/// How well a change fits the words: what it is about counts more than what is done with it.
fn score(change: &Change, asked: &BTreeSet<String>) -> u32 {
    let id = words(&change.id);
    let called: BTreeSet<String> = change.words.iter().flat_map(|word| words(word)).collect();
    let title = words(&change.title);
    asked
        .iter()
        .map(|word| {
            let deed = DEEDS.contains(&word.as_str());
            let fits = |of: &BTreeSet<String>| of.iter().any(|known| is_like(known, word));
            match (fits(&id), fits(&called), fits(&title)) {
                (false, false, false) => 0,
                _ if deed => 1,
                (true, true, _) => 5,
                (true, false, _) => 4,
                (false, true, _) => 3,
                (false, false, true) => 2,
            }
        })
        .sum()
}

fn words(text: &str) -> BTreeSet<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !NOISE.contains(word))
        .map(str::to_owned)
        .collect()
}

fn is_like(known: &str, word: &str) -> bool {
    let begins = |long: &str, short: &str| short.len() >= BEGINNING && long.starts_with(short);
    known == word
        || begins(known, word)
        || begins(word, known)
        || (word.len() > BEGINNING && strsim::normalized_damerau_levenshtein(known, word) >= LIKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(question: &str) -> Vec<&'static str> {
        matching(all().unwrap(), question).into_iter().map(|change| change.id.as_str()).collect()
    }

    /// What is allowed of a sink is not said of a source.
    #[test]
    fn a_yes_is_not_said_where_a_no_may_be_meant() {
        for question in ["change kafka topic", "add a new kafka topic"] {
            let found = matching(all().unwrap(), question);
            let answers: BTreeSet<&str> = found.iter().map(|one| one.answer.words()).collect();
            assert!(answers.len() != 1 || !answers.contains("yes"), "{question}: {found:?}");
        }
    }

    #[test]
    fn questions_are_understood() {
        for (question, id) in [
            ("add-filter", "add-filter"),
            ("ADD-FILTER", "add-filter"),
            ("add a filter", "add-filter"),
            ("change the grouping keys", "change-grouping-keys"),
            ("maxOffsetsPerTrigger", "change-rate-limit"),
            ("change the shuffle partitions", "change-shuffle-partitions"),
            ("spark.sql.shuffle.partitions", "change-shuffle-partitions"),
            ("switch to rocksdb provider", "change-provider"),
            ("output mode", "change-output-mode"),
            ("watermark", "change-watermark"),
            ("change dedup columns", "change-dedup-columns"),
            ("dropDuplicates columns", "change-dedup-columns"),
            ("add a source", "add-source"),
            ("upgrade spark", "upgrade-spark"),
            ("delete the checkpoint", "delete-checkpoint"),
            ("change the sink topic", "change-sink-topic"),
            ("join type", "change-join"),
            ("trigger interval", "change-trigger"),
        ] {
            assert_eq!(meant(question), [id], "{question}");
        }
    }

    #[test]
    fn what_is_not_understood_is_not_guessed() {
        for question in ["", "change", "can I", "zzzz", "paint it black"] {
            assert!(meant(question).is_empty(), "{question}: {:?}", meant(question));
        }
    }

    #[test]
    fn every_change_is_complete_and_named_once() {
        let changes = all().unwrap();
        let ids: BTreeSet<&str> = changes.iter().map(|change| change.id.as_str()).collect();
        assert_eq!(ids.len(), changes.len());
        for Change { id, title, happens, instead, words, .. } in changes {
            let texts = [title, happens, instead];
            assert!(texts.iter().all(|text| !text.is_empty()) && !words.is_empty(), "{id}");
            assert_eq!(meant(id), [id]);
        }
    }
}
