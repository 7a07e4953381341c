//! One failure: an exception with its causes, unwound.
//!
//! ```text
//!  x.SparkException: Job aborted … most recent failure: …: x.E: Error reading delta file …   outermost
//!      at x.Y.z(Y.scala:1)                                                                   frames
//!  Caused by: java.io.FileNotFoundException: …                                               innermost
//! ```
//! What went wrong is the deepest of them that says something: wrappers say that something did.
//! Must not know where the text comes from.

use std::collections::BTreeMap;

use super::catalogue::{Catalogue, Entry, EntryKind};
use super::finder::{Finder, Hit};
use super::pattern::Searched;
use crate::telemetry::error_class;

const STATE: &str = "SQLSTATE: ";
const TRACEBACK: &str = "Traceback (most recent call last)";
/// The longest cause that is told, in characters.
const LONGEST_CAUSE: usize = 400;
/// The longest value of a parameter that is kept, in bytes.
const LONGEST_VALUE: usize = 64 << 10;
/// Errors of one cause that are kept; a real one has a handful.
const MOST_LINKS: usize = 100;
/// Parameters that are paths of state files.
const FILES: [&str; 4] = ["fileToRead", "fileName", "dfsFile", "path"];

/// How an error was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// By its class.
    Class,
    /// By the words of its message.
    Words,
}

/// One error of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'c> {
    /// The class; of a message without one, that of newer releases for the same thing.
    pub class: Option<String>,
    /// What is known of it.
    pub entry: Option<&'c Entry>,
    /// How it was recognised.
    pub by: By,
    /// The SQLSTATE of the class, else that which its message ends with.
    pub sqlstate: Option<String>,
    /// The values in its message, by the names that Spark gives them.
    pub parameters: BTreeMap<String, String>,
}

/// A failure, outermost error first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure<'c> {
    /// The errors that were recognised.
    pub links: Vec<Link<'c>>,
    /// The place of the deepest that says what went wrong.
    pub deepest: Option<usize>,
    /// The innermost exception, where it is none of the errors.
    pub cause: Option<String>,
}

impl Link<'_> {
    /// An exception of which nothing is known.
    pub fn unknown() -> Self {
        Self {
            class: None,
            entry: None,
            by: By::Words,
            sqlstate: None,
            parameters: BTreeMap::new(),
        }
    }

    /// Whether it only wraps.
    pub fn wraps(&self) -> bool {
        match self.entry {
            Some(entry) => entry.wraps,
            None => self.class.as_deref().is_some_and(error_class::wraps),
        }
    }

    /// Whether it is no error.
    pub fn is_notice(&self) -> bool {
        self.entry.is_some_and(|entry| entry.kind == EntryKind::Notice)
    }
}

/// Unwinds a failure.
pub fn failure<'c>(finder: &Finder<'c>, text: &str) -> Failure<'c> {
    let causes = causes(text);
    let mut links: Vec<Link<'c>> = Vec::new();
    let mut innermost_is_known = false;
    for cause in &causes {
        let found = of_cause(finder, cause);
        innermost_is_known = found.iter().any(|link| link.entry.is_some() && !link.wraps());
        for link in found {
            // The same cause is printed again by the driver, or in a shorter form.
            match links.iter_mut().find(|known| is_same(known, &link)) {
                Some(known) if known.parameters.len() < link.parameters.len() => *known = link,
                Some(_) => {}
                None => links.push(link),
            }
        }
    }
    drop_the_general(&mut links);
    let cause = causes.last().filter(|_| !innermost_is_known && !links.is_empty());
    Failure { deepest: deepest(&links), cause: cause.and_then(|cause| innermost(cause)), links }
}

/// Whether two are the same error of one failure.
fn is_same(one: &Link<'_>, other: &Link<'_>) -> bool {
    let known = |link: &Link<'_>| link.entry.map(|entry| entry.id.clone());
    let agree = |(name, value): (&String, &String)| {
        one.parameters.get(name).is_none_or(|known| known == value)
    };
    (one.class.is_some() || one.entry.is_some())
        && one.class == other.class
        && (one.class.is_some() || known(one) == known(other))
        && other.parameters.iter().all(agree)
}

/// The deepest that says something and is known; else the deepest that says something; else the
/// deepest.
pub fn deepest(links: &[Link<'_>]) -> Option<usize> {
    let says = |link: &Link<'_>| !link.wraps() && !link.is_notice();
    links
        .iter()
        .rposition(|link| says(link) && link.entry.is_some())
        .or_else(|| links.iter().rposition(says))
        .or_else(|| links.iter().rposition(|link| !link.is_notice()))
}

/// Leaves out `A` where `A.B` is there: the same message, recognised less exactly.
fn drop_the_general(links: &mut Vec<Link<'_>>) {
    let classes: Vec<String> = links.iter().filter_map(|link| link.class.clone()).collect();
    links.retain(|link| {
        let Some(class) = &link.class else { return true };
        let below = |other: &String| {
            other.strip_prefix(class.as_str()).is_some_and(|rest| rest.starts_with('.'))
        };
        !classes.iter().any(below)
    });
}

/// The messages of an exception and of its causes, without stack frames and plan.
fn causes(text: &str) -> Vec<String> {
    let mut causes = vec![String::new()];
    for line in error_class::without_plans(text) {
        let cause = line.strip_prefix(error_class::CAUSED_BY);
        if cause.is_some() {
            causes.push(String::new());
        }
        let line = cause.unwrap_or(line);
        if !is_frame(line)
            && let Some(last) = causes.last_mut()
        {
            if !last.is_empty() {
                last.push('\n');
            }
            last.push_str(line);
        }
    }
    causes.retain(|cause| !cause.trim().is_empty());
    causes
}

/// Whether a line is a stack frame, or one of what stands around frames.
pub fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    let indented = text.len() < line.len();
    let counted = || {
        let rest = text.strip_prefix("... ")?;
        Some(rest.ends_with(" more") || rest.ends_with("frames cut ..."))
    };
    line.starts_with('\t')
        || (indented && text.starts_with("at ") && text.contains('('))
        || (indented && text.starts_with("Suppressed: "))
        || (indented && counted().unwrap_or_default())
        || line == "Driver stacktrace:"
}

fn of_cause<'c>(finder: &Finder<'c>, cause: &str) -> Vec<Link<'c>> {
    let mut hits = finder.find(cause);
    hits.truncate(MOST_LINKS);
    let mut links = Vec::new();
    let mut covered_by: Option<bool> = None;
    for (place, hit) in hits.iter().enumerate() {
        // Words within the message of a class belong to it, unless that only wraps.
        if hit.class.is_none() && covered_by == Some(false) {
            continue;
        }
        let rest = hits.get(place + 1..).unwrap_or_default();
        let end = rest.iter().find(|next| next.class.is_some() || hit.class.is_none());
        // Words begin where their values do, which may be before the next ones.
        let end = if hit.class.is_some() { end.map(|next| next.at) } else { None };
        let message = cause.get(hit.at..end.unwrap_or(cause.len())).unwrap_or_default();
        let link = link(finder.catalogue(), hit, message);
        if hit.class.is_some() {
            covered_by = Some(link.wraps());
        }
        links.push(link);
    }
    links
}

fn link<'c>(catalogue: &'c Catalogue, hit: &Hit<'c, '_>, message: &str) -> Link<'c> {
    let class = match (hit.class, hit.entry) {
        (Some(class), _) => Some(class.to_owned()),
        (None, entry) => entry.and_then(|entry| entry.class.clone()),
    };
    let known = hit.entry.and_then(|entry| entry.sqlstate.clone());
    let sqlstate = known.or_else(|| if hit.class.is_some() { stated(message) } else { None });
    let by = if hit.class.is_some() { By::Class } else { By::Words };
    let parameters = match hit.entry {
        Some(entry) => parameters(catalogue, entry, message),
        None => BTreeMap::new(),
    };
    Link { class, entry: hit.entry, by, sqlstate, parameters }
}

/// The first SQLSTATE of a message: the later ones are those of wrappers.
fn stated(message: &str) -> Option<String> {
    let (_, rest) = message.split_once(STATE)?;
    let state = rest.get(..5)?;
    state.chars().all(|c| c.is_ascii_alphanumeric()).then(|| state.to_owned())
}

/// The values in a message of an entry.
pub fn parameters(catalogue: &Catalogue, entry: &Entry, message: &str) -> BTreeMap<String, String> {
    let searched = Searched::of(message);
    let mut values = BTreeMap::new();
    let above = entry.class.as_deref().and_then(|class| catalogue.above(class));
    let above = above.into_iter().flat_map(|above| &above.patterns);
    for pattern in entry.anchors.iter().chain(&entry.patterns).chain(above) {
        // A value without words around it is all that follows the class.
        let found = if pattern.is_bare() {
            let text = message.split_once("] ").map_or(message, |(_, rest)| rest);
            pattern.find(&Searched::of(text)).map(|found| found.values)
        } else {
            pattern.find(&searched).map(|found| found.values)
        };
        for (name, value) in found.into_iter().flatten() {
            if value.len() <= LONGEST_VALUE {
                values.entry(name.to_owned()).or_insert_with(|| value.trim().to_owned());
            }
        }
    }
    add_place(&mut values);
    values
}

/// Operator, partition and version of a state file, from its path.
fn add_place(values: &mut BTreeMap<String, String>) {
    let path = FILES.iter().find_map(|name| values.get(*name));
    let Some(place) = path.and_then(|path| place(path)) else { return };
    for (name, value) in place {
        values.entry(name.to_owned()).or_insert(value);
    }
}

/// `…/state/0/1/left-keyToNumValues/7_<id>.changelog`: operator 0, partition 1, version 7.
fn place(path: &str) -> Option<[(&'static str, String); 3]> {
    let below = path.rsplit_once("/state/").map_or(path, |(_, below)| below);
    let below = below.strip_prefix("state/").unwrap_or(below);
    let parts: Vec<&str> = below.split('/').collect();
    let ([operator, partition, file] | [operator, partition, _, file]) = parts.as_slice() else {
        return None;
    };
    let version = file.split(['.', '_']).next()?;
    let number = |text: &str| text.parse::<u64>().is_ok().then(|| text.to_owned());
    Some([
        ("operatorId", number(operator)?),
        ("partitionId", number(partition)?),
        ("version", number(version)?),
    ])
}

/// The innermost exception of a text, in one line.
pub fn cause(text: &str) -> Option<String> {
    causes(text).last().and_then(|cause| innermost(cause))
}

/// The line of a cause that says what happened.
fn innermost(cause: &str) -> Option<String> {
    let first = cause.lines().find(|line| !line.trim().is_empty())?;
    let line = if first.contains(TRACEBACK) {
        // Python prints the exception last.
        let says = |line: &&str| !line.starts_with(char::is_whitespace) && line.contains(':');
        cause.lines().rev().find(says)?
    } else {
        first
    };
    Some(line.trim().chars().take(LONGEST_CAUSE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwound(text: &str) -> Failure<'static> {
        failure(&Finder::of(Catalogue::builtin().unwrap()).unwrap(), text)
    }

    fn ids(failure: &Failure<'_>) -> Vec<String> {
        let id = |link: &Link<'_>| match link.entry {
            Some(entry) => entry.id.clone(),
            None => link.class.clone().unwrap(),
        };
        failure.links.iter().map(id).collect()
    }

    #[test]
    fn wrappers_are_unwound() {
        let text = "x.SparkException: Exception thrown in awaitResult: \n\tat a.B(C.scala:1)\n\
                    Caused by: x.E: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error SQLSTATE: 58030\n\
                    \tat a.B(C.scala:1)\nCaused by: java.io.IOException: No space left\n\t... 3 more";
        let failure = unwound(text);
        assert_eq!(ids(&failure), ["await-result", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"]);
        assert_eq!(failure.deepest, Some(1), "no other says more");
        assert_eq!(failure.cause.as_deref(), Some("java.io.IOException: No space left"));
    }

    #[test]
    fn the_sqlstate_is_that_of_the_class() {
        let text = "[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: \
                    [MADE_UP_CLASS] no SQLSTATE: 12345 SQLSTATE: XXKST";
        let failure = unwound(text);
        assert_eq!(ids(&failure), ["STREAM_FAILED", "MADE_UP_CLASS"]);
        let states: Vec<_> = failure.links.iter().map(|link| link.sqlstate.as_deref()).collect();
        assert_eq!((states, failure.deepest), (vec![Some("XXKST"), Some("12345")], Some(1)));
    }

    #[test]
    fn words_of_a_class_are_no_error_of_their_own() {
        let text = "x.E: [KAFKA_DATA_LOSS.PARTITIONS_DELETED] Some data may have been lost because \
                    they are not available in Kafka any more; Reason: Partitions a-0 have been \
                    deleted. SQLSTATE: 22000";
        let failure = unwound(text);
        assert_eq!(ids(&failure), ["KAFKA_DATA_LOSS.PARTITIONS_DELETED"]);
        assert_eq!(failure.links[0].parameters["partitions"], "a-0");
    }

    #[test]
    fn a_path_tells_operator_partition_and_version() {
        let told = |path| place(path).map(|place| place.map(|(_, value)| value));
        let expected = |a: &str, b: &str, c: &str| Some([a, b, c].map(str::to_owned));
        assert_eq!(told("s3://b/ckpt/state/0/1/1.delta"), expected("0", "1", "1"));
        assert_eq!(told("/c/state/2/17/left-x/9_ab-c.zip"), expected("2", "17", "9"));
        assert_eq!(told("/c/offsets/3"), None);
        assert_eq!(told("/c/state/0/_metadata/metadata"), None);
    }

    #[test]
    fn python_says_it_last() {
        let text = "py4j.Py4JException: Return Message: Traceback (most recent call last):\n  File \
                    \"a.py\", line 1\nValueError: it is locked\n\n\tat py4j.X(Y.java:1)";
        assert_eq!(innermost(&causes(text)[0]).as_deref(), Some("ValueError: it is locked"));
    }
}
