//! One query of several that a source tells of, by its id, run id or name.
//!
//! Not every event has the name: the ids that go with it are learnt as they come. Must not know
//! where events come from.

use std::collections::HashSet;
use std::sync::Arc;

use super::event::{EventKind, QueryRef};

/// Queries that are remembered: the wanted one's ids, and others to be told of.
const REMEMBERED: usize = 1_000;

/// The query that is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    word: String,
    ids: HashSet<Arc<str>>,
    others: Vec<String>,
    is_met: bool,
}

impl Wanted {
    /// The query that is called so.
    pub fn new(word: String) -> Self {
        Self { word, ids: HashSet::new(), others: Vec::new(), is_met: false }
    }

    /// Whether an event is about the query, or about no query in particular.
    pub fn is_about(&mut self, kind: &EventKind) -> bool {
        let query = match kind {
            EventKind::Started(started) => &started.query,
            EventKind::Progress(progress) => &progress.query,
            EventKind::Idle { query, .. } => query,
            EventKind::Terminated(ended) => &ended.query,
            EventKind::PartitionLoad(load) => &load.query,
            EventKind::ConfRestored(conf) => &conf.query,
            EventKind::Environment(_)
            | EventKind::Repartition(_)
            | EventKind::Interrupted(_)
            | EventKind::Unreadable(_) => return true,
        };
        *query == QueryRef::default() || self.is(query)
    }

    /// What the wanted query was called, where no event was about it; and the others.
    pub fn missed(&self) -> Option<(&str, &[String])> {
        (!self.is_met).then_some((self.word.as_str(), self.others.as_slice()))
    }

    fn is(&mut self, query: &QueryRef) -> bool {
        let QueryRef { id, run, name } = query;
        let named = |text: &Option<Arc<str>>| text.as_deref() == Some(self.word.as_str());
        let known = |text: &Option<Arc<str>>| text.as_ref().is_some_and(|it| self.ids.contains(it));
        // A name may pass from one query to another; an id does not.
        let is = named(id) || named(run) || named(name) || known(id) || known(run);
        if is {
            self.is_met = true;
            let ids = [id, run].into_iter().flatten().cloned();
            if self.ids.len() < REMEMBERED {
                self.ids.extend(ids);
            }
        } else if let Some(other) = name.as_deref().or(id.as_deref())
            && self.others.len() < REMEMBERED
            && !self.others.iter().any(|known| known == other)
        {
            self.others.push(other.to_owned());
        }
        is
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::event::Started;

    fn started(id: &str, run: &str, name: Option<&str>) -> EventKind {
        let query =
            QueryRef { id: Some(id.into()), run: Some(run.into()), name: name.map(Arc::from) };
        EventKind::Started(Started { query, timestamp: None, checkpoint: None })
    }

    #[test]
    fn a_query_is_known_by_id_run_or_name_and_by_what_goes_with_them() {
        for word in ["a", "r1", "fraud"] {
            let mut wanted = Wanted::new(word.to_owned());
            assert!(wanted.is_about(&started("a", "r1", Some("fraud"))), "{word}");
            assert!(wanted.is_about(&started("a", "r2", None)), "{word}: another run");
            assert!(!wanted.is_about(&started("b", "r3", Some("other"))), "{word}");
            assert!(wanted.is_about(&EventKind::Interrupted("cut".to_owned())));
            assert_eq!(wanted.missed(), None);
        }
    }

    #[test]
    fn who_is_not_there_is_told_with_the_others() {
        let mut wanted = Wanted::new("fraud".to_owned());
        for name in [Some("x"), None, Some("x")] {
            assert!(!wanted.is_about(&started("b", "r", name)));
        }
        assert_eq!(wanted.missed(), Some(("fraud", &["x".to_owned(), "b".to_owned()][..])));
    }
}
