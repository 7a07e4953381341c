//! Which of the queries that were told of is the one of a checkpoint.

use super::{QueryTimeline, Timeline};

/// The query that belongs to a checkpoint.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'a> {
    /// It has the checkpoint's id.
    Same(&'a QueryTimeline),
    /// It is the only one, and that it has another id is not known: the checkpoint or the source
    /// names none.
    Only(&'a QueryTimeline),
    /// No query was told of yet.
    Nobody,
    /// Queries were told of, and each has another id than the checkpoint.
    Others,
    /// Any of several could be the one: the checkpoint or the source names no id.
    Unclear,
}

impl<'a> Choice<'a> {
    /// The query, where one was found.
    pub fn query(self) -> Option<&'a QueryTimeline> {
        match self {
            Self::Same(query) | Self::Only(query) => Some(query),
            Self::Nobody | Self::Others | Self::Unclear => None,
        }
    }
}

impl Timeline {
    /// The query of the checkpoint whose `metadata` file has this id; `None` when it cannot be
    /// read. A copied checkpoint keeps its id: the same id may still be another query.
    pub fn choose(&self, id: Option<&str>) -> Choice<'_> {
        let queries = self.queries();
        let same = |query: &&QueryTimeline| query.id.is_some() && query.id.as_deref() == id;
        if let Some(query) = queries.iter().find(same) {
            return Choice::Same(query);
        }
        let mut possible = queries.iter().filter(|query| query.id.is_none() || id.is_none());
        match (possible.next(), possible.next()) {
            (Some(query), None) => Choice::Only(query),
            (Some(_), Some(_)) => Choice::Unclear,
            (None, _) if queries.is_empty() => Choice::Nobody,
            (None, _) => Choice::Others,
        }
    }
}
