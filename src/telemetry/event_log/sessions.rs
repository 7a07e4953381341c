//! The confs of the sessions that microbatches run in, told once and again when they change.
//!
//! Every execution names all of them, so what was told is remembered by its hash.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::plan;
use crate::telemetry::confs;
use crate::telemetry::description;
use crate::telemetry::event::{Environment, QueryRef};

/// Runs that are remembered.
const MAX_RUNS: usize = 10_000;

/// Confs of a session that say something of a streaming query.
const OF_A_QUERY: &str = "spark.sql.";

/// What was told of each run.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    told: HashMap<Arc<str>, u64>,
}

impl Sessions {
    /// The confs of a microbatch's session, unless the same were told of its run.
    pub(super) fn news(&mut self, execution: &plan::Told) -> Option<Environment> {
        let about = description::parse(execution.description.as_deref()?)?;
        if execution.confs.is_empty() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        execution.confs.hash(&mut hasher);
        let (run, hash): (Arc<str>, u64) = (about.run.into(), hasher.finish());
        if self.told.len() >= MAX_RUNS {
            self.told.clear();
        }
        if self.told.insert(Arc::clone(&run), hash) == Some(hash) {
            return None;
        }
        let confs = execution.confs.iter().filter(|(name, _)| name.starts_with(OF_A_QUERY));
        let confs = confs.map(|(name, value)| (name.clone(), value.clone()));
        Some(Environment {
            query: Some(QueryRef {
                id: Some(about.id.into()),
                run: Some(run),
                name: about.name.map(Arc::from),
            }),
            confs: confs::shown(confs),
            ..Environment::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn execution(confs: &[(&str, &str)]) -> plan::Told {
        let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        plan::Told {
            execution: 1,
            operators: Vec::new(),
            description: Some("agg\nid = a\nrunId = b\nbatch = 3".to_owned()),
            confs: confs.iter().map(text).collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn confs_are_told_once_and_when_they_change() {
        let mut sessions = Sessions::default();
        let five = execution(&[
            ("spark.sql.shuffle.partitions", "5"),
            ("spark.sql.x.password", "p"),
            ("spark.executor.cores", "2"),
        ]);
        let told = sessions.news(&five).unwrap();
        let query = told.query.unwrap();
        assert_eq!((query.id.as_deref(), query.run.as_deref()), (Some("a"), Some("b")));
        assert_eq!(query.name.as_deref(), Some("agg"));
        assert_eq!(told.confs, [("spark.sql.shuffle.partitions".to_owned(), "5".to_owned())]);
        assert_eq!(sessions.news(&five), None);
        assert!(sessions.news(&execution(&[("spark.sql.shuffle.partitions", "8")])).is_some());
        assert_eq!(sessions.news(&execution(&[])), None);
    }
}
