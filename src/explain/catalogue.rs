//! What is known of each error: a condition of the engine, or a message without one.
//!
//! The texts lie beside this file, one file per family, and are read strictly: a field that is
//! missing, unknown or empty makes the catalogue unusable, which a test would show. Must not know
//! where errors are found.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// The files, in the order of the documentation.
const FILES: [(&str, &str); 11] = [
    ("repartition.toml", include_str!("catalogue/repartition.toml")),
    ("databricks.toml", include_str!("catalogue/databricks.toml")),
    ("load.toml", include_str!("catalogue/load.toml")),
    ("store.toml", include_str!("catalogue/store.toml")),
    ("schema.toml", include_str!("catalogue/schema.toml")),
    ("query.toml", include_str!("catalogue/query.toml")),
    ("kafka.toml", include_str!("catalogue/kafka.toml")),
    ("reader.toml", include_str!("catalogue/reader.toml")),
    ("processor.toml", include_str!("catalogue/processor.toml")),
    ("evolution.toml", include_str!("catalogue/evolution.toml")),
    ("older.toml", include_str!("catalogue/older.toml")),
];

/// Releases that conditions are compared with, oldest first.
pub const RELEASES: [&str; 5] = ["3.5", "4.0", "4.1", "4.2", "4.3"];

/// How like a known name another has to be to be taken for a typing error of it.
const ALIKE: f64 = 0.6;
/// Names that are offered.
const MOST_NEAREST: usize = 3;

/// Whether data is lost when an error comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataLost {
    /// Nothing is lost.
    No,
    /// Nothing is lost so far; a wrong next step loses or doubles data.
    NotYet,
    /// Records or state may be gone: it has to be looked at.
    Maybe,
}

impl DataLost {
    /// As in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::NotYet => "not-yet",
            Self::Maybe => "maybe",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::NotYet => "not yet; a wrong next step can lose or double data",
            Self::Maybe => "maybe; it has to be looked at",
        }
    }
}

/// Who raises an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Open-source Spark, and what is built from it.
    #[default]
    Spark,
    /// Databricks Runtime only.
    Databricks,
    /// Spark's connector for Kafka, which has its own list of conditions.
    Kafka,
}

/// How an error is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// With a class of its own.
    Condition,
    /// By its words alone.
    Message,
    /// By its words alone, and it is no error: worth knowing, or harmless.
    Notice,
}

/// What an error means and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Whether data is lost.
    pub data_lost: DataLost,
    /// What has happened.
    pub means: String,
    /// What it is easily taken for and is not.
    pub not: String,
    /// The first thing to do.
    pub first: String,
    /// What makes it worse.
    pub avoid: String,
}

/// One error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The condition's name, or the id by which a message is known here.
    pub id: String,
    /// How it is told.
    pub kind: EntryKind,
    /// Its family's place in [`Catalogue::families`].
    pub family: usize,
    /// Who raises it.
    pub engine: Engine,
    /// The condition's name; of a message, that of newer releases for the same thing.
    pub class: Option<String>,
    /// The SQLSTATE of the class.
    pub sqlstate: Option<String>,
    /// The first release that has it; `None` where that is not known.
    pub since: Option<String>,
    /// The last release that has it; `None` where the newest does.
    pub until: Option<String>,
    /// A release in which it was seen, where the first is not known.
    pub seen: Option<String>,
    /// Meaning and remedy.
    pub text: Text,
    /// Whether it only wraps what went wrong.
    pub wraps: bool,
    /// Of a message: the words by which it is known, any of them.
    pub anchors: Vec<Pattern>,
    /// Where its values stand.
    pub patterns: Vec<Pattern>,
}

/// A family of errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Its name.
    pub name: String,
    /// What its errors have in common.
    pub about: String,
}

/// Every error that is known.
#[derive(Debug)]
pub struct Catalogue {
    /// In the order of the documentation.
    pub families: Vec<Family>,
    /// By family, in the order of the files.
    pub entries: Vec<Entry>,
    by_id: HashMap<String, usize>,
}

/// Why the catalogue cannot be used: a mistake in its files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the catalogue of errors is broken, in {file}: {problem}")]
pub struct CatalogueError {
    file: String,
    problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: String,
    about: String,
    #[serde(default)]
    condition: Vec<Condition>,
    #[serde(default)]
    message: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    name: String,
    #[serde(default)]
    engine: Engine,
    sqlstate: Option<String>,
    since: Option<String>,
    last: Option<String>,
    seen: Option<String>,
    data_lost: DataLost,
    means: String,
    not: String,
    first: String,
    avoid: String,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    wraps: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    id: String,
    same_as: Option<String>,
    until: Option<String>,
    data_lost: Option<DataLost>,
    means: Option<String>,
    not: Option<String>,
    first: Option<String>,
    avoid: Option<String>,
    anchors: Vec<String>,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    wraps: bool,
    #[serde(default)]
    notice: bool,
}

static BUILTIN: LazyLock<Result<Catalogue, CatalogueError>> =
    LazyLock::new(|| Catalogue::parse(&FILES));

impl Catalogue {
    /// The catalogue of this program.
    ///
    /// # Errors
    /// When its files have a mistake.
    pub fn builtin() -> Result<&'static Self, CatalogueError> {
        BUILTIN.as_ref().map_err(Clone::clone)
    }

    /// The entry of a condition's name or a message's id, exactly as it is written.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.by_id.get(id)?)
    }

    /// The conditions below a name: `A.B` and `A.C` for `A`.
    pub fn below(&self, name: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| {
            entry.id.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// The condition above a name: `A` for `A.B`.
    pub fn above(&self, name: &str) -> Option<&Entry> {
        self.get(name.rsplit_once('.')?.0)
    }

    /// What somebody means who types a name: the entry of that name in any case, of that
    /// subclass, or those with that SQLSTATE.
    pub fn meant(&self, typed: &str) -> Vec<&Entry> {
        let typed = typed.trim().trim_matches(['[', ']', '"', '\'']);
        let (upper, lower) = (typed.to_ascii_uppercase(), typed.to_ascii_lowercase());
        if let Some(entry) = self.get(&upper).or_else(|| self.get(&lower)) {
            return vec![entry];
        }
        let subclass = |entry: &&Entry| {
            entry.id.rsplit_once('.').is_some_and(|(_, subclass)| subclass == upper)
        };
        let found: Vec<&Entry> = self.entries.iter().filter(subclass).collect();
        if !found.is_empty() {
            return found;
        }
        let state = |entry: &&Entry| {
            entry.kind == EntryKind::Condition && entry.sqlstate.as_deref() == Some(upper.as_str())
        };
        self.entries.iter().filter(state).collect()
    }

    /// Known names that are like one that is not, best first.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        let upper = name.to_ascii_uppercase();
        let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        let alike = |entry: &Entry| {
            let known = entry.id.to_ascii_uppercase();
            let whole = strsim::normalized_damerau_levenshtein(&known, &upper);
            whole.max(strsim::normalized_damerau_levenshtein(&last(&known), &last(&upper)))
        };
        let scored = self.entries.iter().map(|entry| (alike(entry), &entry.id));
        let mut scored: Vec<(f64, &String)> = scored.filter(|(like, _)| *like >= ALIKE).collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        scored.into_iter().take(MOST_NEAREST).map(|(_, id)| id.clone()).collect()
    }

    fn parse(files: &[(&str, &str)]) -> Result<Self, CatalogueError> {
        let mut all = Self { families: Vec::new(), entries: Vec::new(), by_id: HashMap::new() };
        for (file, text) in files {
            all.add(text)
                .map_err(|problem| CatalogueError { file: (*file).to_owned(), problem })?;
        }
        Ok(all)
    }

    fn add(&mut self, text: &str) -> Result<(), String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let family = self.families.len();
        self.families.push(Family { name: file.family, about: file.about });
        let conditions = file.condition.into_iter().map(|one| condition(one, family));
        let entries: Vec<Entry> = conditions.collect::<Result<_, _>>()?;
        let messages = file.message.into_iter().map(|one| self.message(one, family));
        let messages: Vec<Entry> = messages.collect::<Result<_, _>>()?;
        for entry in entries.into_iter().chain(messages) {
            checked(&entry)?;
            if self.by_id.insert(entry.id.clone(), self.entries.len()).is_some() {
                return Err(format!("{} is there twice", entry.id));
            }
            self.entries.push(entry);
        }
        Ok(())
    }

    fn message(&self, message: Message, family: usize) -> Result<Entry, String> {
        let id = message.id;
        let same = match &message.same_as {
            None => None,
            Some(class) => Some(self.get(class).ok_or(format!("{id}: no condition {class}"))?),
        };
        let own = |text: Option<String>, of: fn(&Text) -> &String| {
            text.or_else(|| same.map(|same| of(&same.text).clone())).unwrap_or_default()
        };
        let data_lost = message.data_lost.or(same.map(|same| same.text.data_lost));
        Ok(Entry {
            kind: if message.notice { EntryKind::Notice } else { EntryKind::Message },
            family,
            engine: same.map(|same| same.engine).unwrap_or_default(),
            class: message.same_as.clone(),
            sqlstate: same.and_then(|same| same.sqlstate.clone()),
            since: None,
            until: message.until,
            seen: None,
            text: Text {
                data_lost: data_lost.ok_or(format!("{id} has no data_lost"))?,
                means: own(message.means, |text| &text.means),
                not: own(message.not, |text| &text.not),
                first: own(message.first, |text| &text.first),
                avoid: own(message.avoid, |text| &text.avoid),
            },
            wraps: message.wraps,
            anchors: patterns(&message.anchors)?,
            patterns: patterns(&message.patterns)?,
            id,
        })
    }
}

fn condition(one: Condition, family: usize) -> Result<Entry, String> {
    let Condition { name, engine, sqlstate, since, last, seen, data_lost, .. } = one;
    Ok(Entry {
        kind: EntryKind::Condition,
        family,
        engine,
        class: Some(name.clone()),
        sqlstate,
        since,
        until: last,
        seen,
        text: Text {
            data_lost,
            means: one.means,
            not: one.not,
            first: one.first,
            avoid: one.avoid,
        },
        wraps: one.wraps,
        anchors: Vec::new(),
        patterns: patterns(&one.patterns)?,
        id: name,
    })
}

fn patterns(texts: &[String]) -> Result<Vec<Pattern>, String> {
    texts.iter().map(|text| Pattern::parse(text)).collect()
}

/// Refuses an entry of which something is missing.
fn checked(entry: &Entry) -> Result<(), String> {
    let Text { means, not, first, avoid, .. } = &entry.text;
    let texts = [("means", means), ("not", not), ("first", first), ("avoid", avoid)];
    if let Some((field, _)) = texts.iter().find(|(_, text)| text.trim().is_empty()) {
        return Err(format!("{} has no {field}", entry.id));
    }
    let versions = [&entry.since, &entry.until].into_iter().flatten();
    if let Some(other) = versions.into_iter().find(|release| !RELEASES.contains(&release.as_str()))
    {
        return Err(format!("{}: {other} is no release that is compared", entry.id));
    }
    match entry.kind {
        EntryKind::Condition if entry.since.is_none() == entry.seen.is_none() => {
            Err(format!("{} needs one of since and seen", entry.id))
        }
        EntryKind::Message | EntryKind::Notice if entry.anchors.is_empty() => {
            Err(format!("{} has no anchors", entry.id))
        }
        _ => Ok(()),
    }
}

impl Entry {
    /// Whether an open-source release of this name (`4.2`) has it.
    pub fn is_in(&self, release: &str) -> bool {
        let place = |wanted: &str| RELEASES.iter().position(|release| *release == wanted);
        let bound = |release: &Option<String>| release.as_deref().and_then(place);
        let (Some(since), Some(at)) = (bound(&self.since), place(release)) else { return false };
        since <= at && bound(&self.until).is_none_or(|last| at <= last)
    }

    /// Which releases have it, in words.
    pub fn versions(&self) -> String {
        let seen = self.seen.as_deref().unwrap_or_default();
        match (self.engine, &self.since, &self.until) {
            (Engine::Databricks, ..) => format!("Databricks Runtime {seen}; not open-source Spark"),
            (Engine::Kafka, None, Some(until)) => {
                format!("the Kafka connector up to Spark {until}")
            }
            (Engine::Kafka, ..) => {
                format!("the Kafka connector; seen in Spark {seen}, earlier ones were not compared")
            }
            (_, Some(since), None) => format!("Spark {since} and later"),
            (_, Some(since), Some(until)) => format!("Spark {since} to {until}"),
            (_, None, Some(until)) => format!("Spark up to {until}"),
            (_, None, None) => "any release".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_sound() {
        let all = Catalogue::builtin().unwrap();
        assert_eq!(all.families.len(), FILES.len());
        assert!(all.below("CANNOT_LOAD_STATE_STORE").count() > 20);
        let above = all.above("KAFKA_DATA_LOSS.PARTITIONS_DELETED").unwrap();
        assert_eq!(above.id, "KAFKA_DATA_LOSS");
    }

    #[test]
    fn a_message_takes_the_words_of_its_class() {
        let all = Catalogue::builtin().unwrap();
        let old = all.get("delta-file-missing").unwrap();
        let new = all.get("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS").unwrap();
        assert_eq!((old.class.as_ref(), &old.text), (Some(&new.id), &new.text));
        assert_eq!(old.versions(), "Spark up to 3.5");
    }

    #[test]
    fn releases_have_what_they_have() {
        let all = Catalogue::builtin().unwrap();
        let only =
            all.get("STREAMING_REAL_TIME_MODE.ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED").unwrap();
        let has: Vec<&str> = RELEASES.into_iter().filter(|release| only.is_in(release)).collect();
        assert_eq!((has, only.versions()), (vec!["4.1", "4.2"], "Spark 4.1 to 4.2".to_owned()));
    }

    #[test]
    fn names_are_found_as_people_type_them() {
        let all = Catalogue::builtin().unwrap();
        let meant =
            |typed| all.meant(typed).iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
        assert_eq!(meant("state_store_invalid_stamp"), ["STATE_STORE_INVALID_STAMP"]);
        assert_eq!(meant("[STATE_STORE_INVALID_STAMP]"), ["STATE_STORE_INVALID_STAMP"]);
        assert_eq!(
            meant("last_batch_failed"),
            ["STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED"]
        );
        assert_eq!(meant("Kafka-Offset-Changed"), ["kafka-offset-changed"]);
        assert!(meant("55019").len() > 15 && meant("STATE_STORE_INVALID_STAMPS").is_empty());
        assert_eq!(all.nearest("STATE_STORE_INVALID_STAMPS")[0], "STATE_STORE_INVALID_STAMP");
        let nearest = all.nearest("STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FALED");
        assert_eq!(nearest[0], "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED");
        assert!(all.nearest("HELLO_WORLD").is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        let entry = |more: &str| {
            format!(
                "family = \"f\"\nabout = \"a\"\n[[condition]]\nname = \"A_B\"\ndata_lost = \"no\"\n\
                 means = \"m\"\nnot = \"n\"\nfirst = \"f\"\navoid = \"a\"\n{more}"
            )
        };
        let problem = |more: &str| Catalogue::parse(&[("x", &entry(more))]).unwrap_err().problem;
        assert!(Catalogue::parse(&[("x", &entry("since = \"4.2\""))]).is_ok());
        assert!(problem("").contains("one of since and seen"));
        assert!(problem("since = \"4.7\"").contains("4.7"));
        assert!(problem("since = \"4.2\"\nwhy = \"\"").contains("unknown field"));
        assert!(problem("since = \"4.2\"\npatterns = [\"<a><b>\"]").contains("side by side"));
        let twice = entry("since = \"4.2\"").replace("[[condition]]", "[[condition]]\n");
        let twice = [("x", twice.as_str()), ("y", twice.as_str())];
        assert!(Catalogue::parse(&twice).unwrap_err().to_string().contains("twice"));
    }
}
