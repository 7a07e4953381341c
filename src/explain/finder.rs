//! Finds what the catalogue knows in a text, in one pass.
//!
//! Most lines of a log hold nothing of it; a look with one automaton over all names and all words
//! tells that, whatever the size of the catalogue. Must not know where texts come from.

use aho_corasick::AhoCorasick;

use super::catalogue::{Catalogue, Entry, EntryKind};
use super::pattern::Searched;
use crate::telemetry::error_class::{self, Mention};

/// Something of the catalogue, or a class that it does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit<'c, 't> {
    /// The byte at which it begins.
    pub at: usize,
    /// The class as it is written; `None` where it was known by its words.
    pub class: Option<&'t str>,
    /// What is known of it.
    pub entry: Option<&'c Entry>,
}

/// What is looked for.
#[derive(Debug)]
pub struct Finder<'c> {
    catalogue: &'c Catalogue,
    automaton: AhoCorasick,
    /// Of each word of the automaton.
    words: Vec<Word>,
}

#[derive(Debug, Clone, Copy)]
enum Word {
    /// The name of the entry at this place.
    Name(usize),
    /// The longest words of an anchor of the entry at this place.
    Anchor { entry: usize, anchor: usize },
    /// What stands before a class.
    Label,
}

impl<'c> Finder<'c> {
    /// Prepares to look for what a catalogue has. `None` when its words are too many, which they
    /// are not.
    pub fn of(catalogue: &'c Catalogue) -> Option<Self> {
        let (mut texts, mut words) = (Vec::new(), Vec::new());
        for (place, entry) in catalogue.entries.iter().enumerate() {
            if entry.kind == EntryKind::Condition {
                texts.push(entry.id.as_str());
                words.push(Word::Name(place));
            }
            for (anchor, pattern) in entry.anchors.iter().enumerate() {
                texts.push(pattern.longest_words());
                words.push(Word::Anchor { entry: place, anchor });
            }
        }
        for label in error_class::LABELS {
            texts.push(label);
            words.push(Word::Label);
        }
        let automaton = AhoCorasick::new(texts).ok()?;
        Some(Self { catalogue, automaton, words })
    }

    /// The catalogue that is looked for.
    pub fn catalogue(&self) -> &'c Catalogue {
        self.catalogue
    }

    /// Whether a text may hold anything at all. Quick, and never wrong where it says no.
    pub fn may_hold(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let bracket = memchr::memchr_iter(b'[', bytes)
            .any(|at| bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase));
        bracket || self.automaton.is_match(text)
    }

    /// What a text without stack frames holds, in the order in which it stands there.
    pub fn find<'t>(&self, text: &'t str) -> Vec<Hit<'c, 't>> {
        let mut hits: Vec<Hit<'c, 't>> = error_class::mentions(text)
            .into_iter()
            .map(|Mention { at, class }| Hit {
                at,
                class: Some(class),
                entry: self.catalogue.get(class),
            })
            .collect();
        let searched = Searched::of(text);
        let (mut names, mut anchors) = (Vec::new(), Vec::new());
        for found in self.automaton.find_overlapping_iter(text) {
            match self.words.get(found.pattern().as_usize()) {
                Some(Word::Name(entry)) => names.push((*entry, found.range())),
                Some(Word::Anchor { entry, anchor }) => anchors.push((*entry, *anchor)),
                Some(Word::Label) | None => {}
            }
        }
        // A name in the middle of a sentence counts only where no class is told properly.
        if hits.is_empty() {
            hits.extend(names.into_iter().filter_map(|(entry, range)| {
                let entry = self.catalogue.entries.get(entry)?;
                let class = is_alone(text, &range).then(|| text.get(range.clone())).flatten()?;
                Some(Hit { at: range.start, class: Some(class), entry: Some(entry) })
            }));
        }
        anchors.sort_unstable();
        anchors.dedup();
        for (entry, anchor) in anchors {
            let Some(entry) = self.catalogue.entries.get(entry) else { continue };
            let found = entry.anchors.get(anchor).and_then(|anchor| anchor.find(&searched));
            let known = |hit: &Hit<'_, '_>| hit.class.is_none() && hit.entry == Some(entry);
            if let Some(found) = found.filter(|_| !hits.iter().any(known)) {
                hits.push(Hit { at: found.at, class: None, entry: Some(entry) });
            }
        }
        hits.sort_by_key(|hit| hit.at);
        hits
    }
}

/// Whether no further character of a class stands on either side.
fn is_alone(text: &str, range: &std::ops::Range<usize>) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let before = text.get(..range.start).and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).unwrap_or_default();
    let mut after = after.chars();
    // A full stop may end the sentence.
    let ends = match after.next() {
        Some('.') => !after.next().is_some_and(part),
        next => !next.is_some_and(part),
    };
    !before.is_some_and(part) && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, bool)> {
        let finder = Finder::of(Catalogue::builtin().unwrap()).unwrap();
        let name = |hit: &Hit<'_, '_>| hit.entry.map_or("?".to_owned(), |entry| entry.id.clone());
        assert!(finder.may_hold(text) || finder.find(text).is_empty());
        finder.find(text).iter().map(|hit| (name(hit), hit.class.is_some())).collect()
    }

    fn ids(text: &str) -> Vec<String> {
        found(text).into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn classes_are_found_in_every_style() {
        for text in [
            "x.E: [STATE_STORE_INVALID_STAMP] Invalid stamp",
            "failed with errorClass=STATE_STORE_INVALID_STAMP,",
            "it was STATE_STORE_INVALID_STAMP.",
        ] {
            assert_eq!(found(text), [("STATE_STORE_INVALID_STAMP".to_owned(), true)], "{text}");
        }
        assert_eq!(ids("NOT_STATE_STORE_INVALID_STAMP, STATE_STORE_INVALID_STAMP_X"), [""; 0]);
        assert_eq!(ids("x: [MADE_UP_CLASS] y"), ["?"]);
    }

    #[test]
    fn words_are_found_where_there_is_no_class() {
        let text = "assertion failed: Concurrent update to the commit log. Multiple streaming \
                    jobs detected for 0";
        assert_eq!(found(text), [("concurrent-log-update".to_owned(), false)]);
        assert_eq!(ids("Concurrent update to the commit log."), [""; 0]);
    }
}
