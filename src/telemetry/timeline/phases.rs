//! The phases of a microbatch, from Spark's open set of `durationMs` keys to the few classes
//! that a chart can tell apart.

/// A class of phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The batch itself: `addBatch`.
    Execute,
    /// Making the plan: `queryPlanning`.
    Plan,
    /// Asking sources what there is: `latestOffset`, `getBatch` and their older names.
    Sources,
    /// Writing the logs of the checkpoint: `walCommit`, `commitOffsets`, `commitBatch`.
    Logs,
    /// A control batch within the trigger: `controlBatch.REPARTITION`.
    Control,
    /// What no other phase accounts for.
    Other,
}

impl Phase {
    /// All of them, from the one at the bottom of a bar to the one at its top.
    pub const ALL: [Self; 6] =
        [Self::Execute, Self::Plan, Self::Sources, Self::Logs, Self::Control, Self::Other];

    /// The class of a `durationMs` key; `None` for `triggerExecution`, which is the sum.
    pub fn of(key: &str) -> Option<Self> {
        match key {
            "triggerExecution" => None,
            "addBatch" => Some(Self::Execute),
            "queryPlanning" => Some(Self::Plan),
            "latestOffset" | "getBatch" | "getOffset" | "getEndOffset" | "setOffsetRange" => {
                Some(Self::Sources)
            }
            "walCommit" | "commitOffsets" | "commitBatch" => Some(Self::Logs),
            key if key.starts_with("controlBatch.") => Some(Self::Control),
            _ => Some(Self::Other),
        }
    }

    /// Its word on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Execute => "addBatch",
            Self::Plan => "planning",
            Self::Sources => "sources",
            Self::Logs => "logs",
            Self::Control => "control batch",
            Self::Other => "other",
        }
    }

    fn place(self) -> usize {
        self as usize
    }
}

/// Milliseconds by class of phases. They add up to [`Self::total`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases([u64; Phase::ALL.len()]);

impl Phases {
    /// Sorts the keys of a progress into classes. Where the whole duration is known, `Other` is
    /// what the known phases leave of it: an unknown key may be a part of a known phase, and is
    /// not to be counted twice.
    pub fn of(keys: &[(String, u64)], whole: Option<u64>) -> Self {
        let mut phases = Self::default();
        for (key, millis) in keys {
            if let Some(slot) = Phase::of(key).and_then(|phase| phases.0.get_mut(phase.place())) {
                *slot = slot.saturating_add(*millis);
            }
        }
        if let Some(whole) = whole {
            let known: u64 = Phase::ALL
                .into_iter()
                .filter(|phase| *phase != Phase::Other)
                .fold(0, |sum, phase| sum.saturating_add(phases.of_phase(phase)));
            if let Some(other) = phases.0.get_mut(Phase::Other.place()) {
                *other = whole.saturating_sub(known);
            }
        }
        phases
    }

    /// Milliseconds of one class.
    pub fn of_phase(&self, phase: Phase) -> u64 {
        self.0.get(phase.place()).copied().unwrap_or(0)
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, millis| sum.saturating_add(*millis))
    }
}

/// Whether a trigger with these phases ran a batch. Databricks and Spark before 3.5 tell of
/// triggers that found nothing to do with a progress under the id of the batch to come.
pub(super) fn ran_a_batch(keys: &[(String, u64)]) -> bool {
    let ran = |(key, _): &(String, u64)| {
        matches!(Phase::of(key), Some(Phase::Execute | Phase::Control)) || key == "walCommit"
    };
    keys.is_empty() || keys.iter().any(ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(of: &[(&str, u64)]) -> Vec<(String, u64)> {
        of.iter().map(|(key, millis)| ((*key).to_owned(), *millis)).collect()
    }

    #[test]
    fn phases_add_up_to_the_whole() {
        // A resize on Databricks: 14820 + 611 + 173 + 43912 + 9 + 402 + 355 + 214 = 60496 of 61874.
        let phases = Phases::of(
            &keys(&[
                ("addBatch", 14_820),
                ("commitBatch", 611),
                ("commitOffsets", 173),
                ("controlBatch.REPARTITION", 43_912),
                ("getBatch", 9),
                ("latestOffset", 402),
                ("queryPlanning", 355),
                ("triggerExecution", 61_874),
                ("walCommit", 214),
            ]),
            Some(61_874),
        );
        let of = Phase::ALL.map(|phase| phases.of_phase(phase));
        assert_eq!(of, [14_820, 355, 411, 998, 43_912, 1_378]);
        assert_eq!(phases.total(), 61_874);
    }

    #[test]
    fn an_unknown_key_is_not_counted_twice() {
        let of = |whole| Phases::of(&keys(&[("addBatch", 90), ("partOfAddBatch", 70)]), whole);
        assert_eq!(of(Some(100)).of_phase(Phase::Other), 10);
        assert_eq!(of(None).of_phase(Phase::Other), 70);
        assert_eq!(of(Some(80)).total(), 90, "phases that overlap are longer than the whole");
        let most = Phases::of(&keys(&[("addBatch", u64::MAX), ("walCommit", u64::MAX)]), None);
        assert_eq!(most.total(), u64::MAX);
    }

    #[test]
    fn a_trigger_without_a_batch_is_told_apart() {
        assert!(!ran_a_batch(&keys(&[("latestOffset", 1), ("triggerExecution", 2)])));
        assert!(ran_a_batch(&keys(&[("latestOffset", 1), ("addBatch", 2)])));
        assert!(ran_a_batch(&keys(&[("controlBatch.REPARTITION", 2)])));
        assert!(ran_a_batch(&[]), "a source without phases tells of batches");
    }
}
