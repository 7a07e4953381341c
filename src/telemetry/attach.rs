//! Sources of running queries that are followed while they are written.
//!
//! ```text
//!  Attach::follow ── events ──> follow_for_ever ── News ──> whoever listens
//!     (blocks)                  (tries again)       (bounded: may wait)
//! ```
//!
//! A source is followed on a thread of its own; what it finds it passes on as it comes, and
//! waits where nobody takes it. One that fails is tried again, with growing pauses, and told
//! from its start: telling something twice changes nothing (see [`super::timeline`]).

mod only;
mod open;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::Event;
use crate::task::Cancel;
use crate::units::UnixMillis;

pub use only::only;
pub use open::{Expected, open};

/// The first pause before a source is tried again.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How soon a pause notices that nobody listens any more.
const LOOK: Duration = Duration::from_millis(100);

/// Why a source cannot be followed. The message names the source, what was expected and found,
/// and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AttachError(pub String);

/// Takes what a source finds; `Err` when nobody listens any more, which is the end.
pub type Tell<'a> = dyn FnMut(Vec<Event>) -> Result<(), Deaf> + 'a;

/// Nobody listens any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deaf;

/// A source of a running query.
pub trait Attach: Send + Sync {
    /// Its name, as the operator gave it.
    fn name(&self) -> &str;

    /// Passes on what there is, then what comes, in batches of events. Ends when there will be no
    /// more, when `cancel` fires, or when nobody listens. Blocks: on the source, and in `tell`.
    ///
    /// # Errors
    /// When the source cannot be read at all. Less is an [`EventKind::Interrupted`] event.
    ///
    /// [`EventKind::Interrupted`]: super::EventKind::Interrupted
    fn follow(&self, cancel: &Cancel, tell: &mut Tell<'_>) -> Result<(), AttachError>;
}

/// What becomes known of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It tells something.
    Events(Vec<Event>),
    /// It cannot be read.
    Broken {
        /// Why.
        why: String,
        /// When it is tried again; `None` for never.
        again_at: Option<UnixMillis>,
    },
    /// It has told all that it has.
    Ended,
}

/// Follows a source until it has ended, `cancel` fires or nobody listens any more.
///
/// # Errors
/// When nobody listens any more.
pub fn follow_for_ever(
    source: &dyn Attach,
    cancel: &Cancel,
    tell: &mut dyn FnMut(News) -> Result<(), Deaf>,
) -> Result<(), Deaf> {
    let mut pause = FIRST_PAUSE;
    loop {
        let mut told = false;
        let followed = catch_unwind(AssertUnwindSafe(|| {
            source.follow(cancel, &mut |events| {
                told |= !events.is_empty();
                tell(News::Events(events))
            })
        }));
        let failed = || AttachError("it failed in a way it should not: please report this".into());
        match followed.unwrap_or_else(|_| Err(failed())) {
            _ if cancel.is_cancelled() => return Ok(()),
            Ok(()) => return tell(News::Ended),
            Err(AttachError(why)) => {
                if told {
                    pause = FIRST_PAUSE;
                }
                let again_at = Some(UnixMillis::from(SystemTime::now() + pause));
                tell(News::Broken { why, again_at })?;
            }
        }
        if !wait(pause, cancel) {
            return Ok(());
        }
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Whether the whole pause has passed.
fn wait(pause: Duration, cancel: &Cancel) -> bool {
    let begin = Instant::now();
    loop {
        if cancel.is_cancelled() {
            return false;
        }
        let Some(left) = pause.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) else {
            return true;
        };
        thread::sleep(left.min(LOOK));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Fails so many times, by error or by panic, then ends.
    struct Fails(AtomicU32);

    impl Attach for Fails {
        fn name(&self) -> &'static str {
            "fails"
        }

        fn follow(&self, _: &Cancel, _: &mut Tell<'_>) -> Result<(), AttachError> {
            match self.0.fetch_sub(1, Ordering::SeqCst) {
                0 => Ok(()),
                1 => panic!("made-up panic"),
                _ => Err(AttachError("no".to_owned())),
            }
        }
    }

    #[test]
    fn a_source_that_panics_has_failed_and_cancelling_ends_a_pause() {
        let (source, cancel) = (Fails(AtomicU32::new(1)), Cancel::default());
        let mut told = Vec::new();
        let begin = Instant::now();
        let ended = follow_for_ever(&source, &cancel, &mut |news| {
            told.push(news);
            cancel.cancel();
            Ok(())
        });
        assert_eq!(ended, Ok(()));
        assert!(begin.elapsed() < FIRST_PAUSE, "the pause is not waited for");
        assert!(matches!(told.as_slice(), [News::Broken { again_at: Some(_), .. }]), "{told:?}");
    }

    #[test]
    fn a_source_that_has_told_everything_ends() {
        let source = Fails(AtomicU32::new(0));
        let mut told = Vec::new();
        let ended = follow_for_ever(&source, &Cancel::default(), &mut |news| {
            told.push(news);
            Ok(())
        });
        assert_eq!((ended, told), (Ok(()), vec![News::Ended]));
        let deaf = follow_for_ever(&source, &Cancel::default(), &mut |_| Err(Deaf));
        assert_eq!(deaf, Err(Deaf));
    }
}
