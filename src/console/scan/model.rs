//! The model of the list: everything that a frame is drawn from.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::super::filter::mentions;
use super::super::msg::Size;
use super::super::state::Direction;
use super::super::text::sanitise;
use crate::reader::ScanProgress;
use crate::report::{
    Extent, ScanReport, ScannedCheckpoint, Unreadable, UnreadableKind, scan_words,
};
use crate::units::UnixMillis;

/// What is being done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// The roots are looked through.
    Scanning {
        /// How far that is.
        progress: ScanProgress,
        /// Whether it was asked to stop.
        stopping: bool,
    },
    /// It ended, with a report.
    Ended(Ended),
    /// It ended without one; the text says why.
    Failed(String),
}

/// How a scan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How much was seen.
    pub extent: Extent,
    /// When it began.
    pub began: UnixMillis,
    /// Directories that were listed.
    pub directories: u64,
    /// Directories deeper than was asked for.
    pub too_deep: u64,
    /// Checkpoints found.
    pub found: u64,
    /// Checkpoints read.
    pub read: u64,
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    /// Checkpoints.
    #[default]
    Checkpoints,
    /// What could not be read.
    Unreadable,
}

/// What checkpoints are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Most to gain from a resize first.
    #[default]
    Rank,
    /// The path.
    Path,
    /// The partition count.
    Partitions,
    /// Rows in all stores.
    Rows,
    /// Rows for each partition.
    RowsPerPartition,
    /// Bytes in all stores.
    Bytes,
    /// The largest partition divided by the mean.
    MaxOverMean,
    /// Time since the last commit.
    Age,
}

impl Sort {
    /// In the order of the columns, beginning with the report's own order.
    pub const ALL: [Self; 8] = [
        Self::Rank,
        Self::Path,
        Self::Partitions,
        Self::Rows,
        Self::RowsPerPartition,
        Self::Bytes,
        Self::MaxOverMean,
        Self::Age,
    ];

    /// The one after this.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL.get(at + 1).copied().unwrap_or_default()
    }

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rank => "what a resize would bring",
            Self::Path => "path",
            Self::Partitions => "partitions",
            Self::Rows => "rows",
            Self::RowsPerPartition => "rows per partition",
            Self::Bytes => "bytes",
            Self::MaxOverMean => "max/mean",
            Self::Age => "age of the last commit",
        }
    }

    /// The way it is mostly wanted.
    pub fn usual(self) -> Direction {
        match self {
            Self::Rank | Self::Path => Direction::Up,
            _ => Direction::Down,
        }
    }

    fn compare(self, a: &ScannedCheckpoint, b: &ScannedCheckpoint, way: Direction) -> Ordering {
        let turned = |order: Ordering| if way == Direction::Up { order } else { order.reverse() };
        match self {
            Self::Rank => turned(a.by_rank(b)),
            Self::Path => turned(a.path.cmp(&b.path)),
            Self::Bytes => turned(a.bytes.cmp(&b.bytes)),
            Self::Partitions => known_first(a.partitions, b.partitions, Ord::cmp, way),
            Self::Rows => known_first(a.rows, b.rows, Ord::cmp, way),
            Self::Age => known_first(a.last_commit_age, b.last_commit_age, Ord::cmp, way),
            Self::RowsPerPartition => {
                known_first(a.rows_per_partition, b.rows_per_partition, f64::total_cmp, way)
            }
            Self::MaxOverMean => known_first(a.max_over_mean, b.max_over_mean, f64::total_cmp, way),
        }
    }
}

/// What is not known comes last whichever way the rest is turned.
fn known_first<T>(
    a: Option<T>,
    b: Option<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    way: Direction,
) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if way == Direction::Up => compare(&a, &b),
        (Some(a), Some(b)) => compare(&b, &a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// Something laid over the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlay {
    /// All keys, scrolled by so many lines.
    Help(usize),
    /// All about the selected line, scrolled by so many lines.
    Details(usize),
}

/// The model.
#[derive(Debug)]
pub struct Model {
    /// The roots as the operator named them.
    pub roots: Vec<String>,
    /// The terminal.
    pub size: Size,
    /// Whether the screen would look different from the last frame.
    pub dirty: bool,
    /// What is being done.
    pub run: Run,
    /// The checkpoints known, by path.
    pub checkpoints: BTreeMap<String, ScannedCheckpoint>,
    /// When the scan before this one began, while lines of it are still shown.
    pub earlier: Option<UnixMillis>,
    /// What could not be read, by path.
    pub unreadable: Vec<Unreadable>,
    /// What is listed.
    pub tab: Tab,
    /// The path of the selected checkpoint; `None` follows the first of the list.
    pub selected: Option<String>,
    /// The path of the selected one of those that could not be read.
    pub selected_lost: Option<String>,
    /// What checkpoints are ordered by.
    pub sort: Sort,
    /// Which way.
    pub direction: Direction,
    /// What was typed after `/`.
    pub filter: String,
    /// Whether keys go into the filter.
    pub typing: bool,
    /// What is laid over the list.
    pub overlay: Option<Overlay>,
    /// A word to the operator, until the next key.
    pub notice: Option<String>,
}

impl Model {
    /// The model before anything is found.
    pub fn new(roots: &[String], size: Size) -> Self {
        Self {
            roots: roots.iter().map(|root| sanitise(root).into_owned()).collect(),
            size,
            dirty: true,
            run: Run::Scanning { progress: ScanProgress::default(), stopping: false },
            checkpoints: BTreeMap::new(),
            earlier: None,
            unreadable: Vec::new(),
            tab: Tab::default(),
            selected: None,
            selected_lost: None,
            sort: Sort::default(),
            direction: Sort::default().usual(),
            filter: String::new(),
            typing: false,
            overlay: None,
            notice: None,
        }
    }

    /// Whether the roots are being looked through.
    pub fn is_scanning(&self) -> bool {
        matches!(self.run, Run::Scanning { .. })
    }

    /// The checkpoints that fit the filter, in order.
    pub fn listed(&self) -> Vec<&ScannedCheckpoint> {
        let fits = |one: &&ScannedCheckpoint| {
            let id = one.query_id.as_deref().unwrap_or_default();
            let texts = [
                &one.path,
                one.name.as_deref().unwrap_or_default(),
                id,
                &scan_words::operators(one),
                scan_words::provider(one.provider),
                scan_words::status(one.status),
                &scan_words::verdict(one),
            ];
            mentions(&self.filter, &texts)
        };
        let mut listed: Vec<_> = self.checkpoints.values().filter(fits).collect();
        listed.sort_by(|a, b| self.sort.compare(a, b, self.direction).then_with(|| a.by_rank(b)));
        listed
    }

    /// What could not be read and fits the filter.
    pub fn lost(&self) -> Vec<&Unreadable> {
        let fits = |one: &&Unreadable| mentions(&self.filter, &[&one.path, &one.reason]);
        self.unreadable.iter().filter(fits).collect()
    }

    /// Lines in the list that is shown.
    pub fn lines(&self) -> usize {
        match self.tab {
            Tab::Checkpoints => self.listed().len(),
            Tab::Unreadable => self.lost().len(),
        }
    }

    /// The place of the selected line in its list; the first when what was selected is not in it.
    pub fn place(&self) -> usize {
        let at = match self.tab {
            Tab::Checkpoints => {
                let selected = self.selected.as_ref();
                self.listed().iter().position(|one| Some(&one.path) == selected)
            }
            Tab::Unreadable => {
                let selected = self.selected_lost.as_ref();
                self.lost().iter().position(|one| Some(&one.path) == selected)
            }
        };
        at.unwrap_or(0)
    }

    /// Selects the line at a place, the last where there are fewer.
    pub(super) fn select(&mut self, place: usize) {
        let place = place.min(self.lines().saturating_sub(1));
        match self.tab {
            Tab::Checkpoints => {
                self.selected = self.listed().get(place).map(|one| one.path.clone());
            }
            Tab::Unreadable => {
                self.selected_lost = self.lost().get(place).map(|one| one.path.clone());
            }
        }
    }

    /// The selected checkpoint.
    pub fn checkpoint(&self) -> Option<&ScannedCheckpoint> {
        self.listed().get(self.place()).copied()
    }

    /// The selected one of those that could not be read.
    pub fn unread(&self) -> Option<&Unreadable> {
        self.lost().get(self.place()).copied()
    }

    /// Those that could not be read, links that lead elsewhere left out.
    pub fn faults(&self) -> usize {
        self.unreadable.iter().filter(|one| one.kind != UnreadableKind::Link).count()
    }

    /// Takes over a report. Where it is partial, lines of the scan before are kept.
    pub(super) fn take(&mut self, report: ScanReport) {
        self.run = Run::Ended(Ended {
            extent: report.extent,
            began: report.observed_at,
            directories: report.directories,
            too_deep: report.too_deep,
            found: report.found,
            read: report.checkpoints.len() as u64,
        });
        if report.extent != Extent::Cancelled {
            self.checkpoints.clear();
            self.earlier = None;
        }
        self.unreadable = report.unreadable;
        for checkpoint in report.checkpoints {
            self.checkpoints.insert(checkpoint.path.clone(), checkpoint);
        }
        // An address that was read before and cannot be read now is not both.
        for lost in &self.unreadable {
            self.checkpoints.remove(&lost.path);
        }
    }
}
