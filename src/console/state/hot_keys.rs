//! The keys screen's own state: whose keys, told apart by what, weighed by what.

use std::sync::Arc;

use super::super::filter::mentions;
use super::State;
use crate::analysis::heavy::DEFAULT_MEMORY;
use crate::reader::{KeyPin, KeysRequest, Weighing};
use crate::report::{KeyOffers, KeyReport, KeysReport, Reveal, key_words};
use crate::units::{OperatorId, PartitionId};

/// Keys that are named: more than one scrolls through, few enough for every frame.
const TOP: usize = 200;

/// Whose keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysScope {
    /// The operator.
    pub operator: OperatorId,
    /// Only this store of it.
    pub store: Option<String>,
    /// Only this partition.
    pub partition: Option<PartitionId>,
}

/// The keys screen's own state.
#[derive(Debug, Clone, Default)]
pub struct HotKeysState {
    /// Whose keys; none before the screen was opened.
    pub scope: Option<KeysScope>,
    /// The columns that make a key; none for all grouping columns.
    pub by: Vec<String>,
    /// What keys are weighed by.
    pub weigh: Weighing,
    /// What else can be asked, as the last report said.
    pub offers: KeyOffers,
    /// The last report, and what was asked for.
    pub answer: Option<(KeysRequest, Arc<KeysReport>)>,
    /// What could not be read, and why.
    pub trouble: Option<(KeysRequest, String)>,
    /// The selected key; the first when it is not there (any more).
    pub selected: Option<serde_json::Value>,
    /// What was typed after `/`.
    pub filter: String,
}

impl HotKeysState {
    /// What is to be asked for.
    pub fn wanted(&self) -> Option<KeysRequest> {
        let scope = self.scope.as_ref()?;
        Some(KeysRequest {
            batch: None,
            operator: Some(scope.operator),
            store: scope.store.clone(),
            by: self.by.clone(),
            top: TOP,
            weigh: self.weigh.clone(),
            partition: scope.partition,
            memory: DEFAULT_MEMORY,
        })
    }

    /// The report that answers what is wanted, whatever batch it is of.
    pub fn report(&self) -> Option<&KeysReport> {
        let wanted = self.wanted()?;
        let (asked, report) = self.answer.as_ref()?;
        same(asked, &wanted).then_some(report)
    }

    /// Why what is wanted cannot be read.
    pub fn trouble(&self) -> Option<&str> {
        let wanted = self.wanted()?;
        let (asked, why) = self.trouble.as_ref()?;
        same(asked, &wanted).then_some(why)
    }

    /// The keys that are listed.
    pub fn listed(&self) -> Vec<&KeyReport> {
        let keys = self.report().map_or(&[][..], |report| &report.keys);
        let listed =
            |key: &&KeyReport| mentions(&self.filter, &[&key_words(&key.key, Reveal::Shown)]);
        keys.iter().filter(listed).collect()
    }
}

/// Whether two requests differ in nothing but the batch.
fn same(one: &KeysRequest, other: &KeysRequest) -> bool {
    KeysRequest { batch: other.batch, ..one.clone() } == *other
}

impl State {
    /// The selected key: the first when what was selected is gone.
    pub fn selected_key(&self) -> Option<&KeyReport> {
        let listed = self.hot_keys.listed();
        let selected = self.hot_keys.selected.as_ref();
        let found = listed.iter().find(|key| Some(&key.key) == selected);
        found.or(listed.first()).copied()
    }

    /// The selected key, as the rows of it are asked for.
    pub fn selected_pin(&self) -> Option<KeyPin> {
        let report = self.hot_keys.report()?;
        let key = self.selected_key()?;
        let partitions = if key.more_partitions { Vec::new() } else { key.partitions.clone() };
        Some(KeyPin { by: report.by.clone(), key: key.key.clone(), partitions })
    }
}
