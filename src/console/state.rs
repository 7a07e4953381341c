//! The model: everything that a frame is drawn from. Changed only by `update`.

mod attached;
mod diagnosis;
mod findings;
mod freshness;
mod hot_keys;
mod overlays;
mod partitions;
mod pauses;
mod remembered;
mod rows;
mod what_if;

use std::sync::Arc;

use super::Above;
use super::asking::Asking;
use super::data::{Data, StoreData, StoreKey};
use super::filter::mentions;
use super::msg::Size;
use super::paste::Paste;
use super::reading::{Counting, Reading};
use super::text::sanitise;
use crate::diagnosis::{Finding, Rules};
use crate::reader::Depth;
use crate::report::{PartitionReport, Reveal, Status};
use crate::telemetry::timeline::Timeline;
use crate::units::{BatchId, OperatorId, UnixMillis};

use partitions::order;

pub use attached::{Chosen, SPAN, TaskSpan};
pub use diagnosis::DiagnosisState;
pub use findings::Findings;
pub use freshness::Freshness;
pub use hot_keys::{HotKeysState, KeysScope};
pub use overlays::{FindingKey, Overlay, Prompt, PromptKind, Subject};
pub use partitions::{Direction, Focus, PartitionsState, SortBy};
pub use pauses::PausesState;
pub use remembered::{Keeping, Remembered};
pub use rows::{RowsScope, RowsState};
pub use what_if::{Basis, WhatIfState, curve_counts, step_down, step_up};

/// What is fixed for a session.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The target as the operator named it.
    pub target: String,
    /// Milliseconds between two looks at the newest log entries.
    pub refresh: u64,
    /// The batch asked for; `None` follows the newest.
    pub batch: Option<BatchId>,
    /// The operator to show first.
    pub operator: Option<OperatorId>,
    /// The store to show first.
    pub store: Option<String>,
    /// Whether to count exactly from the start.
    pub counting: Counting,
    /// The screen to show first.
    pub screen: Screen,
    /// What lies above the overview.
    pub above: Above,
    /// The sources of the running query, by the names that the operator gave them.
    pub sources: Vec<String>,
    /// Which findings are shown.
    pub rules: Rules,
    /// Whether anything is remembered.
    pub keeping: Keeping,
}

/// The screens, in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    /// Is anything wrong, and where?
    #[default]
    Overview,
    /// How is it spread?
    Partitions,
    /// Which keys are the heaviest?
    Keys,
    /// What would another count do?
    WhatIf,
    /// What does the running query do?
    Batches,
    /// How long did past resizes take, and how long may the next?
    Pauses,
    /// What would a resize come to?
    Diagnosis,
    /// What is in it?
    Rows,
}

impl Screen {
    /// All screens. The number of one is its place here, counted from 1; rows have none: they are
    /// always the rows of something.
    pub const ALL: [Self; 8] = [
        Self::Overview,
        Self::Partitions,
        Self::Keys,
        Self::WhatIf,
        Self::Batches,
        Self::Pauses,
        Self::Diagnosis,
        Self::Rows,
    ];

    /// Its name on the tabs line.
    pub fn title(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Partitions => "partitions",
            Self::Keys => "keys",
            Self::WhatIf => "what-if",
            Self::Batches => "batches",
            Self::Pauses => "pauses",
            Self::Diagnosis => "diagnosis",
            Self::Rows => "rows",
        }
    }
}

/// A line of the overview that can be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A store.
    Store(StoreKey),
    /// A finding.
    Finding(FindingKey),
}

/// The overview's own state.
#[derive(Debug, Clone, Default)]
pub struct OverviewState {
    /// The selected line; the first when it is not there (any more).
    pub selected: Option<Item>,
    /// What was typed after `/`.
    pub filter: String,
}

/// A view that the operator holds still.
#[derive(Debug, Clone)]
pub struct Hold {
    /// What was shown.
    pub data: Option<Arc<Data>>,
    /// What was told of the running query.
    pub timeline: Option<Arc<Timeline>>,
    /// Since when.
    pub at: UnixMillis,
    /// Observations that came in since.
    pub newer: u32,
}

/// Whether the area for pasting an error has the screen, and all keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pasting {
    /// No; what was pasted is kept.
    #[default]
    Closed,
    /// Yes.
    Open,
}

/// The model.
#[derive(Debug)]
pub struct State {
    /// What is fixed for a session.
    pub settings: Settings,
    /// The terminal.
    pub size: Size,
    /// The time, as last told.
    pub now: UnixMillis,
    /// Whether the screen would look different from the last frame.
    pub dirty: bool,
    /// The newest observation.
    pub newest: Option<Arc<Data>>,
    /// What was told of the running query; `None` when no source is attached.
    pub timeline: Option<Arc<Timeline>>,
    /// The batch that was chosen from the past; `None` follows the newest.
    pub chosen: Option<Chosen>,
    /// The view, while it is held still.
    pub hold: Option<Hold>,
    /// What is wrong.
    pub found: Findings,
    /// What is being read.
    pub reading: Reading,
    /// The screen shown.
    pub screen: Screen,
    /// What is laid over it.
    pub overlay: Option<Overlay>,
    /// Whether keys go into the filter.
    pub typing: bool,
    /// The line that keys go into, where one is asked for.
    pub prompt: Option<Prompt>,
    /// The screens that were left for what they showed, to go back to.
    pub trail: Vec<Screen>,
    /// Whether keys and values are shown.
    pub reveal: Reveal,
    /// What is being asked of the rows.
    pub asking: Asking,
    /// The overview.
    pub overview: OverviewState,
    /// The partitions screen.
    pub partitions: PartitionsState,
    /// The keys screen.
    pub hot_keys: HotKeysState,
    /// The rows screen.
    pub rows: RowsState,
    /// The what-if screen.
    pub what_if: WhatIfState,
    /// The pauses screen.
    pub pauses: PausesState,
    /// The diagnosis screen.
    pub diagnosis: DiagnosisState,
    /// What is remembered of the query.
    pub remembered: Remembered,
    /// The area for pasting an error.
    pub paste: Paste,
    /// Whether it has the screen.
    pub pasting: Pasting,
    /// A word to the operator, until the next key.
    pub notice: Option<String>,
    /// Whether the mouse is taken from the terminal.
    pub mouse: bool,
}

impl State {
    /// The state before anything is read.
    pub fn new(settings: Settings, size: Size, now: UnixMillis) -> Self {
        let settings = Settings { target: sanitise(&settings.target).into_owned(), ..settings };
        let sources = settings.sources.iter().map(|name| Arc::from(name.as_str()));
        let keeping = settings.keeping.clone();
        let timeline = (!settings.sources.is_empty()).then(|| Arc::new(Timeline::new(sources)));
        Self {
            reading: Reading::new(settings.refresh, settings.batch, settings.counting),
            screen: settings.screen,
            settings,
            size,
            now,
            dirty: true,
            newest: None,
            timeline,
            chosen: None,
            hold: None,
            found: Findings::default(),
            overlay: None,
            typing: false,
            prompt: None,
            trail: Vec::new(),
            reveal: Reveal::Masked,
            asking: Asking::default(),
            overview: OverviewState::default(),
            partitions: PartitionsState::default(),
            hot_keys: HotKeysState::default(),
            rows: RowsState::default(),
            what_if: WhatIfState::default(),
            pauses: PausesState::default(),
            diagnosis: DiagnosisState::default(),
            remembered: Remembered { keeping, ..Remembered::default() },
            paste: Paste::default(),
            pasting: Pasting::Closed,
            notice: None,
            mouse: false,
        }
    }

    /// The data on screen: the newest, unless the view is held still.
    pub fn data(&self) -> Option<&Data> {
        match &self.hold {
            Some(hold) => hold.data.as_deref(),
            None => self.newest.as_deref(),
        }
    }

    /// The time that ages on screen are counted to: it stands while the view is held.
    pub fn shown_now(&self) -> UnixMillis {
        self.hold.as_ref().map_or(self.now, |hold| hold.at)
    }

    /// The store on the partitions screen.
    pub fn store(&self) -> Option<&StoreData> {
        let data = self.data()?;
        let chosen = self.partitions.store.as_ref().and_then(|key| data.store(key));
        chosen.or_else(|| data.stores.first())
    }

    /// The selected partition of that store.
    pub fn selected_partition(&self) -> Option<&PartitionReport> {
        self.store()?.partition(self.partitions.selected?)
    }

    /// The stores that the overview lists.
    pub fn listed_stores(&self) -> Vec<&StoreData> {
        let stores = self.data().map_or(&[][..], |data| &data.stores);
        let filter = &self.overview.filter;
        let listed =
            |store: &&StoreData| mentions(filter, &[&store.operator_name, &store.key.store]);
        stores.iter().filter(listed).collect()
    }

    /// The findings that the overview lists.
    pub fn listed_findings(&self) -> Vec<&Finding> {
        let findings = self.found.shown();
        let filter = &self.overview.filter;
        let listed = |finding: &&Finding| mentions(filter, &[finding.id.0, &finding.summary]);
        findings.iter().filter(listed).collect()
    }

    /// The lines of the overview that can be selected.
    pub fn items(&self) -> Vec<Item> {
        let stores = self.listed_stores().into_iter().map(|store| Item::Store(store.key.clone()));
        let findings = self.listed_findings();
        let findings = findings.into_iter().map(|finding| Item::Finding(FindingKey::of(finding)));
        stores.chain(findings).collect()
    }

    /// The selected line of the overview: the first when what was selected is gone.
    pub fn selected_item(&self) -> Option<Item> {
        let items = self.items();
        let selected = self.overview.selected.as_ref();
        selected.filter(|item| items.contains(item)).or(items.first()).cloned()
    }

    /// What was typed after `/` on this screen.
    pub fn filter(&self) -> &str {
        match self.screen {
            Screen::Overview => &self.overview.filter,
            Screen::Partitions => &self.partitions.filter,
            Screen::Keys => &self.hot_keys.filter,
            Screen::Rows => &self.rows.filter,
            Screen::WhatIf | Screen::Batches | Screen::Pauses | Screen::Diagnosis => "",
        }
    }

    /// The same, to be changed; none where there is nothing to filter.
    pub fn filter_mut(&mut self) -> Option<&mut String> {
        match self.screen {
            Screen::Overview => Some(&mut self.overview.filter),
            Screen::Partitions => Some(&mut self.partitions.filter),
            Screen::Keys => Some(&mut self.hot_keys.filter),
            Screen::Rows => Some(&mut self.rows.filter),
            Screen::WhatIf | Screen::Batches | Screen::Pauses | Screen::Diagnosis => None,
        }
    }

    /// The operators that keep state, by id.
    pub fn operators(&self) -> Vec<OperatorId> {
        let stores = self.data().map_or(&[][..], |data| &data.stores);
        let mut operators: Vec<OperatorId> =
            stores.iter().map(|store| store.key.operator).collect();
        operators.dedup();
        operators
    }

    /// The stores of an operator.
    pub fn stores_of(&self, operator: OperatorId) -> impl Iterator<Item = &StoreData> {
        let stores = self.data().map_or(&[][..], |data| &data.stores);
        stores.iter().filter(move |store| store.key.operator == operator)
    }

    /// The operator that a screen is about.
    pub fn operator(&self) -> Option<OperatorId> {
        let scope = match self.screen {
            Screen::Keys => self.hot_keys.scope.as_ref().map(|scope| scope.operator),
            Screen::Rows => self.rows.scope.as_ref().map(|scope| scope.operator),
            Screen::WhatIf => self.what_if.operator,
            Screen::Overview
            | Screen::Partitions
            | Screen::Batches
            | Screen::Pauses
            | Screen::Diagnosis => None,
        };
        scope.or_else(|| self.store().map(|store| store.key.operator))
    }

    /// Whether partitions were looked at, not only logs.
    pub fn has_partitions(&self) -> bool {
        self.data().is_some_and(|data| data.depth() > Depth::Logs)
    }

    /// Brings the table's order and the selection in line with what is shown.
    pub fn refresh_order(&mut self) {
        let Some(store) = self.store() else {
            self.partitions.order.clear();
            return;
        };
        let compared = self.compared(store);
        let order = order(store, &compared, &self.partitions);
        let key = store.key.clone();
        let hottest = compared.hottest(store);
        let known = self.partitions.selected.is_some_and(|id| store.partition(id).is_some());
        let loaded = !store.partitions().is_empty();
        self.partitions.order = order;
        if loaded && !known {
            self.partitions.selected = hottest;
        }
        if loaded {
            // A store that is gone for one observation keeps its place.
            self.partitions.store.get_or_insert(key);
        }
    }
}

/// Whether a batch is planned and not committed.
pub fn is_open(status: Status) -> bool {
    matches!(status, Status::Pending | Status::UnfinishedRepartition | Status::NoCommittedBatch)
}
