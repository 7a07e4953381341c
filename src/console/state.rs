//! The model: everything that a frame is drawn from. Changed only by `update`.

use std::sync::Arc;

use super::data::{Data, StoreData, StoreKey};
use super::filter::{PartitionFilter, mentions};
use super::format;
use super::heat::{Metric, Scale};
use super::msg::Size;
use super::reading::{Counting, Reading, later};
use super::text::sanitise;
use crate::diagnosis::{Finding, FindingId};
use crate::reader::Depth;
use crate::report::{PartitionReport, Status};
use crate::units::{BatchId, OperatorId, PartitionId, UnixMillis};

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
}

/// The screens, in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    /// Is anything wrong, and where?
    #[default]
    Overview,
    /// How is it spread?
    Partitions,
}

impl Screen {
    /// All screens.
    pub const ALL: [Self; 2] = [Self::Overview, Self::Partitions];

    /// Its name on the tabs line.
    pub fn title(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Partitions => "partitions",
        }
    }
}

/// Something laid over the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// What it shows.
    pub subject: Subject,
    /// Lines scrolled off at the top.
    pub scroll: usize,
}

/// What an overlay shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All keys.
    Help,
    /// One finding in full.
    Finding(FindingKey),
    /// Everything known about the selected partition.
    Partition(PartitionId),
}

/// Names a finding across observations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingKey {
    id: FindingId,
    file: Option<String>,
    summary: String,
}

impl FindingKey {
    /// The name of a finding.
    pub fn of(finding: &Finding) -> Self {
        Self { id: finding.id, file: finding.file.clone(), summary: finding.summary.clone() }
    }

    /// Whether it is the name of that finding.
    pub fn names(&self, finding: &Finding) -> bool {
        self.id == finding.id && self.file == finding.file && self.summary == finding.summary
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

/// Which part of the partitions screen has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    /// The heatmap.
    Map,
    /// The table.
    #[default]
    Table,
}

/// What the table of partitions is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    /// Rows.
    #[default]
    Rows,
    /// Change of rows since the batch before.
    Change,
    /// Bytes.
    Bytes,
    /// Changelogs on top of the snapshot.
    Changelogs,
    /// Version of the snapshot.
    Snapshot,
    /// Partition id.
    Partition,
}

impl SortBy {
    /// The next one in the order of the keys.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Rows => Self::Change,
            Self::Change => Self::Bytes,
            Self::Bytes => Self::Changelogs,
            Self::Changelogs => Self::Snapshot,
            Self::Snapshot => Self::Partition,
            Self::Partition => Self::Rows,
        }
    }

    /// The direction that shows what one looks for first.
    pub fn usual(self) -> Direction {
        match self {
            Self::Partition | Self::Snapshot => Direction::Up,
            _ => Direction::Down,
        }
    }
}

/// The direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Smallest first.
    Up,
    /// Largest first.
    #[default]
    Down,
}

/// The partitions screen's own state.
#[derive(Debug, Clone, Default)]
pub struct PartitionsState {
    /// The store shown; the first when it is not there.
    pub store: Option<StoreKey>,
    /// The selected partition.
    pub selected: Option<PartitionId>,
    /// What has the keys.
    pub focus: Focus,
    /// What is compared.
    pub metric: Metric,
    /// How the heat scale is cut.
    pub scale: Scale,
    /// What the table is sorted by.
    pub sort: SortBy,
    /// Which way.
    pub direction: Direction,
    /// What was typed after `/`.
    pub filter: String,
    /// The table's partitions by id: filtered and sorted.
    pub order: Vec<PartitionId>,
}

impl PartitionsState {
    /// What was typed, understood; everything while it means nothing.
    pub fn parsed_filter(&self) -> PartitionFilter {
        PartitionFilter::parse(&self.filter).unwrap_or_default()
    }
}

/// A view that the operator holds still.
#[derive(Debug, Clone)]
pub struct Hold {
    /// What was shown.
    pub data: Option<Arc<Data>>,
    /// Since when.
    pub at: UnixMillis,
    /// Observations that came in since.
    pub newer: u32,
}

/// How much the numbers on screen can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing was read yet.
    Loading,
    /// Nothing could be read; the text says why.
    Failed(String),
    /// What is shown is the newest, or soon will be.
    Live,
    /// Held by the operator.
    Paused,
    /// The checkpoint does not answer; the text says why.
    Stale(String),
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
    /// The view, while it is held still.
    pub hold: Option<Hold>,
    /// What is being read.
    pub reading: Reading,
    /// The screen shown.
    pub screen: Screen,
    /// What is laid over it.
    pub overlay: Option<Overlay>,
    /// Whether keys go into the filter.
    pub typing: bool,
    /// The overview.
    pub overview: OverviewState,
    /// The partitions screen.
    pub partitions: PartitionsState,
    /// A word to the operator, until the next key.
    pub notice: Option<String>,
    /// Whether the mouse is taken from the terminal.
    pub mouse: bool,
}

impl State {
    /// The state before anything is read.
    pub fn new(settings: Settings, size: Size, now: UnixMillis) -> Self {
        let settings = Settings { target: sanitise(&settings.target).into_owned(), ..settings };
        Self {
            reading: Reading::new(settings.refresh, settings.batch, settings.counting),
            screen: settings.screen,
            settings,
            size,
            now,
            dirty: true,
            newest: None,
            hold: None,
            overlay: None,
            typing: false,
            overview: OverviewState::default(),
            partitions: PartitionsState::default(),
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

    /// How much the numbers on screen can be relied on.
    pub fn freshness(&self) -> Freshness {
        if self.hold.is_some() {
            return Freshness::Paused;
        }
        if self.newest.is_none() {
            let trouble = self.reading.trouble();
            return trouble.map_or(Freshness::Loading, |why| Freshness::Failed(why.to_owned()));
        }
        match (self.reading.stale_at(), self.reading.contact()) {
            (Some(at), Some(contact)) if self.now > at => {
                let silent = format::age(contact.until(self.now));
                Freshness::Stale(match self.reading.trouble() {
                    Some(why) => format!("Stale for {silent}: {why}"),
                    None => format!("Stale: no answer from the checkpoint for {silent}"),
                })
            }
            _ => Freshness::Live,
        }
    }

    /// When the screen is next due to change by the passing of time alone.
    pub fn next_change(&self) -> Option<UnixMillis> {
        if self.hold.is_some() {
            return None;
        }
        let ages = self.ages().into_iter().flatten().map(|since| {
            let age = since.until(self.now);
            // A moment in the future reads "0 s" until it is a second past.
            let base = if since > self.now { since } else { self.now };
            later(base, format::age_changes_in(age))
        });
        let stale = self.reading.stale_at().map(|at| later(at, 1)).filter(|at| *at > self.now);
        ages.chain(stale).min()
    }

    /// The moments whose age is on screen.
    fn ages(&self) -> [Option<UnixMillis>; 3] {
        let Some(data) = self.data() else { return [None; 3] };
        let inspect = data.inspect();
        let pending = self.screen == Screen::Overview && is_open(inspect.status);
        let stale = matches!(self.freshness(), Freshness::Stale(_));
        let pinned = self.reading.pinned().is_some();
        [
            if pinned {
                Some(data.observation.observed_at)
            } else {
                format::told(inspect.last_commit_at)
            },
            format::told(inspect.last_plan_at).filter(|_| pending),
            self.reading.contact().filter(|_| stale),
        ]
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
        let findings = self.data().map_or(&[][..], |data| &data.findings);
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
        }
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
        let order = order(store, &self.partitions);
        let key = store.key.clone();
        let hottest = hottest(store, self.partitions.metric);
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

/// The partition with the greatest value, the lowest id among equals.
pub fn hottest(store: &StoreData, metric: Metric) -> Option<PartitionId> {
    let parts = store.partitions().iter();
    parts.rev().max_by_key(|part| metric.of(part)).map(|part| part.partition)
}

fn order(store: &StoreData, view: &PartitionsState) -> Vec<PartitionId> {
    let filter = view.parsed_filter();
    let mut keyed: Vec<(Option<i128>, PartitionId)> = store
        .partitions()
        .iter()
        .filter_map(|part| {
            let change = store.change(part.partition);
            let admitted = filter.admits(part.partition, view.metric.of(part), change);
            admitted.then(|| (sort_key(part, change, view.sort), part.partition))
        })
        .collect();
    keyed.sort_unstable_by(|a, b| match view.direction {
        Direction::Up => a.cmp(b),
        Direction::Down => b.0.cmp(&a.0).then(a.1.cmp(&b.1)),
    });
    keyed.into_iter().map(|(_, id)| id).collect()
}

fn sort_key(part: &PartitionReport, change: Option<i64>, by: SortBy) -> Option<i128> {
    match by {
        SortBy::Rows => part.rows.map(i128::from),
        SortBy::Change => change.map(i128::from),
        SortBy::Bytes => Some(i128::from(part.bytes.0)),
        SortBy::Changelogs => Some(i128::from(part.changelogs)),
        SortBy::Snapshot => part.snapshot_version.map(|version| i128::from(version.0)),
        SortBy::Partition => Some(i128::from(part.partition.0)),
    }
}
