//! The configuration file: which queries there are, and which findings matter.
//!
//! Strict: an unknown key, a wrong type, a value that cannot be is an error that names file,
//! line, key, what was found and what is allowed; all of them are told at once. A file that is
//! not there is a configuration without queries.

mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::diagnosis::{Rules, ids};
use table::{Problems, Table};

/// The sample that the documentation shows and `statetop config init` writes; it is parsed by
/// test, and all that it sets is commented out or an example.
pub const SAMPLE: &str = include_str!("sample.toml");

/// A file larger than this is no configuration.
const LARGEST: u64 = 1 << 20;

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Config {
    /// The queries, in the order of the file.
    pub queries: Vec<QueryConfig>,
    /// Which findings matter, for all queries.
    pub findings: Rules,
    /// Whether the console remembers what it sees of queries.
    pub memory: Remember,
}

/// Whether the console remembers what it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Remember {
    /// In the data directory.
    #[default]
    On,
    /// Nowhere.
    Off,
}

/// A query that has a name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct QueryConfig {
    /// Its name on the command line and in the table of queries.
    pub name: String,
    /// The checkpoint: a path or an address.
    pub checkpoint: String,
    /// What the running query tells: event logs, progress files, driver logs.
    pub events: Vec<String>,
    /// The address of its Spark UI.
    pub ui: Option<String>,
    /// The environment variable that holds the token for it.
    pub token_env: Option<String>,
    /// The file that holds the token for it.
    pub token_file: Option<PathBuf>,
    /// Which findings matter for this query, beside those of all.
    pub findings: Rules,
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: usize,
    /// The key, with its table: `query.events`; empty where there is none.
    pub key: String,
    /// What was found and what is allowed.
    pub message: String,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The system's answer about the file.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// What is wrong with it, all at once.
    #[error("{}", told(.path, .problems))]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// In the order of lines.
        problems: Vec<Problem>,
    },
}

fn told(path: &Path, problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| {
        let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
        format!("{}:{}: {key}{}", path.display(), problem.line, problem.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Where the file is: `STATETOP_CONFIG`, else `config.toml` in the configuration directory of the
/// platform (`~/.config/statetop` on Linux, or below `XDG_CONFIG_HOME`); `None` without a home.
pub fn path() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("STATETOP_CONFIG").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(chosen));
    }
    let dirs = directories::ProjectDirs::from("", "", "statetop")?;
    Some(dirs.config_dir().join("config.toml"))
}

impl Config {
    /// Reads a file; one that is not there says nothing.
    ///
    /// # Errors
    /// When it cannot be read, or something in it is wrong.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let failed = |error| ConfigError::Io { path: path.to_owned(), error };
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
            Ok(metadata) if metadata.len() > LARGEST => {
                let what = format!("expected at most {LARGEST} bytes, found {}", metadata.len());
                return Err(failed(io::Error::other(what)));
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        let invalid = |problems| ConfigError::Invalid { path: path.to_owned(), problems };
        Self::parse(&text, home().as_deref()).map_err(invalid)
    }

    /// Reads the text of a file. `~/` stands for `home`.
    ///
    /// # Errors
    /// All that is wrong, in the order of lines.
    pub fn parse(text: &str, home: Option<&Path>) -> Result<Self, Vec<Problem>> {
        let problems = Problems::new(text);
        let mut config = Self::default();
        if let Some(root) = problems.root() {
            let mut root = root;
            for mut query in root.tables("query") {
                config.queries.extend(QueryConfig::from(&mut query, home));
                query.finish(&QUERY_KEYS);
            }
            if let Some(mut findings) = root.table("findings") {
                config.findings = rules(&mut findings);
                findings.finish(&["allow", "warn"]);
            }
            if root.truth("memory") == Some(false) {
                config.memory = Remember::Off;
            }
            root.finish(&["query", "findings", "memory"]);
        }
        config.refuse_twins(&problems);
        problems.into_result().map(|()| config)
    }

    /// What a target on the command line stands for: the checkpoint of the query of that name,
    /// else itself.
    pub fn target<'a>(&'a self, target: &'a str) -> &'a str {
        self.query(target).map_or(target, |query| &query.checkpoint)
    }

    /// Which findings of a target matter: of all queries, and of the query that it is, by its name
    /// or by its checkpoint.
    pub fn rules(&self, target: &str) -> Rules {
        let named = |query: &&QueryConfig| query.name == target || query.checkpoint == target;
        let own = self.queries.iter().find(named).map(|query| &query.findings);
        own.map_or_else(|| self.findings.clone(), |own| self.findings.and(own))
    }

    /// The query of that name.
    pub fn query(&self, name: &str) -> Option<&QueryConfig> {
        self.queries.iter().find(|query| query.name == name)
    }

    fn refuse_twins(&self, problems: &Problems<'_>) {
        for (at, query) in self.queries.iter().enumerate() {
            if self.queries.iter().take(at).any(|other| other.name == query.name) {
                let message = format!("the name {:?} is taken by a query above", query.name);
                problems.at_query(at, "name", message);
            }
        }
    }
}

impl QueryConfig {
    fn from(table: &mut Table<'_, '_>, home: Option<&Path>) -> Option<Self> {
        // Everything is looked at before anything is missed, so that all is told at once.
        let name = table.required("name");
        if let Some(name) = name.as_ref().filter(|name| !is_name(name)) {
            let allowed = "expected letters, digits, '-', '_' and '.', beginning with a letter";
            table.refuse("name", format!("{allowed}, found {name:?}"));
        }
        let checkpoint = table.required("checkpoint");
        let events = table.texts("events").iter().map(|path| expanded(path, home)).collect();
        let ui = table.text("ui");
        if ui.as_ref().is_some_and(|ui| !is_web_address(ui)) {
            table.refuse("ui", "expected an address such as http://host:4040".to_owned());
        }
        let token_env = table.text("token_env");
        let token_file = table.text("token_file").map(|file| expanded(&file, home).into());
        let findings = rules(table);
        let checkpoint = expanded(&checkpoint?, home);
        Some(Self { name: name?, checkpoint, events, ui, token_env, token_file, findings })
    }
}

/// The keys of a query.
const QUERY_KEYS: [&str; 8] =
    ["name", "checkpoint", "events", "ui", "token_env", "token_file", "allow", "warn"];

/// `allow` and `warn` of a table.
fn rules(table: &mut Table<'_, '_>) -> Rules {
    let mut kinds = |key: &'static str| {
        let named = table.texts(key);
        for id in named.iter().filter(|id| !ids::is_known(id)) {
            let alike = ids::alike(id);
            let hint = if alike.is_empty() {
                format!(
                    "docs/findings.md lists them all, such as {}",
                    ids::ALL.get(..3).unwrap_or_default().join(", ")
                )
            } else {
                format!("there is {}", alike.join(", "))
            };
            table.refuse(key, format!("there is no finding {id:?}; {hint}"));
        }
        named.into_iter().filter(|id| ids::is_known(id)).collect()
    };
    Rules { allow: kinds("allow"), warn: kinds("warn") }
}

fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

fn expanded(path: &str, home: Option<&Path>) -> String {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
        _ => path.to_owned(),
    }
}

/// A name that cannot be taken for a path, an option or a command's argument list.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 64
        && name.chars().all(fits)
}

fn is_web_address(text: &str) -> bool {
    url::Url::parse(text)
        .is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(usize, String, String)> {
        let problems = Config::parse(text, None).unwrap_err();
        problems.into_iter().map(|p| (p.line, p.key, p.message)).collect()
    }

    #[test]
    fn queries_have_names() {
        let text = r#"
            [[query]]
            name = "fraud-agg"
            checkpoint = "~/ckpt/fraud"
            events = ["/logs/a", "~/b"]
            ui = "http://host:4040"

            [[query]]
            name = "orders"
            checkpoint = "s3://bucket/orders"
            events = "/logs/orders"
        "#;
        let config = Config::parse(text, Some(Path::new("/home/ops"))).unwrap();
        let fraud = config.query("fraud-agg").unwrap();
        assert_eq!(fraud.checkpoint, "/home/ops/ckpt/fraud");
        assert_eq!(fraud.events, ["/logs/a", "/home/ops/b"]);
        assert_eq!(config.query("orders").unwrap().events, ["/logs/orders"]);
        assert_eq!(config.query("other"), None);
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let text = "theme = 1\n[[query]]\nname = \"1x\"\nchekpoint = \"/a\"\n\n[[query]]\nname = 7\ncheckpoint = \"/b\"\nevents = [1]\nui = \"host:4040\"\n";
        let found = problems(text);
        let keys: Vec<(usize, &str)> =
            found.iter().map(|(line, key, _)| (*line, key.as_str())).collect();
        assert_eq!(
            keys,
            [
                (1, "theme"),
                (2, "query.checkpoint"),
                (3, "query.name"),
                (4, "query.chekpoint"),
                (7, "query.name"),
                (9, "query.events"),
                (10, "query.ui"),
            ],
            "{found:?}"
        );
        assert!(found[3].2.contains("did you mean checkpoint?"), "{found:?}");
    }

    #[test]
    fn findings_are_allowed_or_made_warnings_for_all_queries_and_for_one() {
        let text = r#"
            memory = false
            [findings]
            allow = ["late-rows"]
            [[query]]
            name = "orders"
            checkpoint = "/orders"
            allow = "slow-task"
            warn = ["query-failed"]
        "#;
        let config = Config::parse(text, None).unwrap();
        let names = |rules: &Rules| rules.allow.iter().cloned().collect::<Vec<_>>();
        assert_eq!(names(&config.rules("/else")), ["late-rows"]);
        for target in ["orders", "/orders"] {
            let rules = config.rules(target);
            assert_eq!(names(&rules), ["late-rows", "slow-task"]);
            assert!(rules.warn.contains("query-failed"));
        }
        assert_eq!(config.memory, Remember::Off);
        let found = problems("memory = \"no\"\n[findings]\nallow = [\"sst-missing\"]\ndeny = []\n");
        let keys: Vec<(usize, &str)> =
            found.iter().map(|(line, key, _)| (*line, key.as_str())).collect();
        assert_eq!(keys, [(1, "memory"), (3, "findings.allow"), (4, "findings.deny")]);
        assert!(found[1].2.contains("missing-sst"), "{found:?}");
    }

    #[test]
    fn a_name_is_given_once() {
        let text = "[[query]]\nname = \"a\"\ncheckpoint = \"/a\"\n[[query]]\nname = \"a\"\ncheckpoint = \"/b\"\n";
        assert_eq!(problems(text)[0].0, 5);
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_line() {
        assert_eq!(problems("[[query]]\nname = \"a\n")[0].0, 2);
    }

    #[test]
    fn the_sample_is_valid() {
        let shown: String = SAMPLE
            .lines()
            .map(|line| line.trim_start_matches("# ").to_owned() + "\n")
            .filter(|line| line.contains(" = ") || line.starts_with('['))
            .collect();
        let config = Config::parse(&shown, None).unwrap();
        assert_eq!(config.queries.len(), 1);
        assert_eq!(Config::parse(SAMPLE, None).unwrap(), Config::default());
    }
}
