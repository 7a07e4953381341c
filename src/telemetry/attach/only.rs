//! A source of which only one query is told.

use std::sync::Arc;

use super::{Attach, AttachError, Tell};
use crate::task::Cancel;
use crate::telemetry::wanted::Wanted;

/// A source without the queries that are not wanted.
struct Only {
    source: Arc<dyn Attach>,
    query: String,
}

/// What a source tells of one query, by its name, id or run id.
pub fn only(source: Arc<dyn Attach>, query: String) -> Arc<dyn Attach> {
    Arc::new(Only { source, query })
}

impl Attach for Only {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn follow(&self, cancel: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError> {
        let mut wanted = Wanted::new(self.query.clone());
        self.source.follow(cancel, &mut |mut events| {
            events.retain(|event| wanted.is_about(&event.kind));
            // An empty batch still shows that the source is there.
            tell(events)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::event::{Event, EventKind, Place, QueryRef};

    /// Tells of two queries in turn.
    struct Two;

    impl Attach for Two {
        fn name(&self) -> &'static str {
            "two"
        }

        fn follow(&self, _: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError> {
            let told = ["a", "b", "a", "b"].map(|id| {
                let query = QueryRef { id: Some(id.into()), ..QueryRef::default() };
                let place = Place { source: "two".into(), line: None };
                Event { place, kind: EventKind::Idle { query, timestamp: None } }
            });
            tell(told.to_vec()).map_err(|_| AttachError("deaf".to_owned()))
        }
    }

    #[test]
    fn the_other_is_not_told() {
        let source = only(Arc::new(Two), "b".to_owned());
        let mut told = 0;
        let followed = source.follow(&Cancel::default(), &mut |events| {
            told += events.len();
            Ok(())
        });
        assert_eq!((followed, told, source.name()), (Ok(()), 2, "two"));
    }
}
