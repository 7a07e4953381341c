//! Finds every checkpoint below some roots and reads each as deep as the snapshots' own counts.
//!
//! Directories are listed level by level; a checkpoint is read as soon as it is found, so that a
//! scan which is given up keeps what it has. One crew of threads lists, reads logs and looks at
//! partitions: many small checkpoints are read beside each other, and the last large one by all.

mod line;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::{CheckpointReader, Depth, Observe, ReadError, Request};
use crate::checkpoint::find::{self, Kind};
use crate::diagnosis::Rules;
use crate::report::{Extent, ScanReport, ScannedCheckpoint, Unreadable, UnreadableKind};
use crate::storage::{EntryKind, Name, Storage, StorageError, is_plain_name};
use crate::task::{Cancel, Crew, map_parallel};
use crate::units::UnixMillis;

/// Most directories that are listed: a minute or two on a local disk, and far more than any
/// folder of checkpoints has outside of the checkpoints themselves.
const MAX_DIRECTORIES: usize = 1_000_000;

/// Links that are told one by one for a directory.
const LINKS_TOLD: usize = 20;

/// What to look through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScanRequest {
    /// Plain paths or URLs of directories.
    pub roots: Vec<String>,
    /// Levels below a root that are looked at; 0 is the root alone.
    pub depth: u32,
    /// Names of checkpoints, by their addresses.
    pub names: BTreeMap<String, String>,
    /// Which findings count, for all of them.
    pub rules: Rules,
    /// Which count for single ones beside those, by their addresses.
    pub own_rules: BTreeMap<String, Rules>,
}

impl ScanRequest {
    fn named(&self, one: &ScannedCheckpoint) -> ScannedCheckpoint {
        let named = ScannedCheckpoint { name: self.names.get(&one.path).cloned(), ..one.clone() };
        match self.own_rules.get(&one.path) {
            Some(own) => named.under(&self.rules.and(own)),
            None => named.under(&self.rules),
        }
    }
}

/// How far a scan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanProgress {
    /// Directories listed.
    pub directories: u64,
    /// Checkpoints found.
    pub found: u64,
    /// Checkpoints read.
    pub read: u64,
    /// Directories and checkpoints that cannot be read.
    pub unreadable: u64,
}

/// What a scan tells while it runs. Everything in it comes back in the report.
#[derive(Debug, Clone, Copy)]
pub enum ScanNews<'a> {
    /// It has come this far.
    Progress(ScanProgress),
    /// This checkpoint is read.
    Checkpoint(&'a ScannedCheckpoint),
    /// This cannot be read.
    Unreadable(&'a Unreadable),
}

/// A directory to list.
struct Place {
    /// The root it lies below.
    root: Storage,
    /// What the root is told apart by from others that lie in or around it.
    identity: String,
    /// Its path below the root; empty for the root itself.
    dir: String,
}

/// What one directory turned out to hold.
#[derive(Default)]
struct Visit {
    children: Vec<String>,
    found: bool,
    checkpoint: Option<ScannedCheckpoint>,
    unreadable: Vec<Unreadable>,
}

/// What all threads of a scan share.
struct Scan<'a> {
    now: UnixMillis,
    cancel: &'a Cancel,
    news: &'a (dyn Fn(ScanNews<'_>) + Sync),
    directories: AtomicU64,
    found: AtomicU64,
    read: AtomicU64,
    unreadable: AtomicU64,
}

/// Scans the roots. When `cancel` fires, the report holds what was read until then and says so.
///
/// # Errors
/// [`ReadError::Unreadable`] when not one of the roots can be listed.
pub fn scan(
    request: &ScanRequest,
    cancel: &Cancel,
    news: &(dyn Fn(ScanNews<'_>) + Sync),
) -> Result<ScanReport, ReadError> {
    let opened = request.roots.iter().map(|root| (root.clone(), Storage::open(root)));
    let mut report = scan_storages(opened.collect(), request.depth, cancel, &|told| match told {
        ScanNews::Checkpoint(one) => news(ScanNews::Checkpoint(&request.named(one))),
        other => news(other),
    })?;
    for one in &mut report.checkpoints {
        *one = request.named(one);
    }
    Ok(report)
}

/// As [`scan`], over storages that are open, or could not be opened, under their names.
///
/// # Errors
/// As [`scan`].
pub fn scan_storages(
    roots: Vec<(String, Result<Storage, StorageError>)>,
    depth: u32,
    cancel: &Cancel,
    news: &(dyn Fn(ScanNews<'_>) + Sync),
) -> Result<ScanReport, ReadError> {
    let scan = Scan {
        now: UnixMillis::from(SystemTime::now()),
        cancel,
        news,
        directories: AtomicU64::new(0),
        found: AtomicU64::new(0),
        read: AtomicU64::new(0),
        unreadable: AtomicU64::new(0),
    };
    let mut report = ScanReport {
        roots: roots.iter().map(|(name, _)| name.clone()).collect(),
        extent: Extent::Complete,
        observed_at: scan.now,
        directories: 0,
        too_deep: 0,
        found: 0,
        checkpoints: Vec::new(),
        unreadable: Vec::new(),
    };
    let places = open(roots, &mut report.unreadable);
    scan.walk(places, depth, &mut report);
    let lost = report.unreadable.iter().filter(|one| one.kind == UnreadableKind::Root);
    if lost.clone().count() == report.roots.len() {
        let reasons: Vec<&str> = lost.map(|one| one.reason.as_str()).collect();
        return Err(ReadError::Unreadable(reasons.join("\n")));
    }
    report.checkpoints.sort_by(ScannedCheckpoint::by_rank);
    report.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(report)
}

/// The roots as places, all read by one crew.
fn open(
    roots: Vec<(String, Result<Storage, StorageError>)>,
    unreadable: &mut Vec<Unreadable>,
) -> Vec<Place> {
    let workers = roots.iter().filter_map(|(_, root)| Some(root.as_ref().ok()?.workers())).max();
    let Some(crew) = workers.map(Crew::new) else {
        let lost = |(name, root): (String, Result<_, _>)| Some(lost_root(name, &root.err()?));
        unreadable.extend(roots.into_iter().filter_map(lost));
        return Vec::new();
    };
    let mut places = Vec::new();
    for (name, root) in roots {
        match root {
            Ok(root) => places.push(Place {
                identity: identity(&root),
                root: root.with_crew(crew.clone()),
                dir: String::new(),
            }),
            Err(error) => unreadable.push(lost_root(name, &error)),
        }
    }
    places
}

fn lost_root(path: String, error: &StorageError) -> Unreadable {
    Unreadable { path, kind: UnreadableKind::Root, reason: error.to_string() }
}

/// The same for two names of one directory.
fn identity(root: &Storage) -> String {
    let real = root.local_path("").and_then(|path| path.canonicalize().ok());
    let name =
        real.map_or_else(|| root.address().into(), |path| path.to_string_lossy().into_owned());
    name.trim_end_matches('/').to_owned()
}

impl Scan<'_> {
    /// Lists level by level. Roots are on the first level, so a directory that lies below two of
    /// them is met first where most levels are left below it.
    fn walk(&self, roots: Vec<Place>, depth: u32, report: &mut ScanReport) {
        let mut seen = HashSet::new();
        let mut level = roots;
        let mut left = depth;
        loop {
            level.retain(|place| seen.insert(place.key()));
            let Some(crew) = level.first().map(|place| place.root.crew()) else { return };
            let room = MAX_DIRECTORIES.saturating_sub(seen.len() - level.len());
            if level.len() > room {
                level.truncate(room);
                report.extent = Extent::TooManyDirectories;
            }
            let visits = map_parallel(&level, crew, self.cancel, |place| self.visit(place));
            let mut next = Vec::new();
            for (place, visit) in level.iter().zip(visits) {
                let Some(visit) = visit else { continue };
                report.directories += 1;
                report.found += u64::from(visit.found);
                report.checkpoints.extend(visit.checkpoint);
                report.unreadable.extend(visit.unreadable);
                next.extend(visit.children.into_iter().map(|dir| Place {
                    root: place.root.clone(),
                    identity: place.identity.clone(),
                    dir,
                }));
            }
            if self.cancel.is_cancelled() {
                report.extent = Extent::Cancelled;
                return;
            }
            if left == 0 || report.extent == Extent::TooManyDirectories {
                next.retain(|place| !seen.contains(&place.key()));
                report.too_deep = next.len() as u64;
                return;
            }
            left -= 1;
            level = next;
        }
    }

    fn visit(&self, place: &Place) -> Visit {
        let visit = self.look(place);
        for lost in &visit.unreadable {
            self.unreadable
                .fetch_add(u64::from(lost.kind != UnreadableKind::Link), Ordering::Relaxed);
            (self.news)(ScanNews::Unreadable(lost));
        }
        if let Some(checkpoint) = &visit.checkpoint {
            (self.news)(ScanNews::Checkpoint(checkpoint));
        }
        self.tell();
        visit
    }

    fn look(&self, place: &Place) -> Visit {
        let names = match place.root.names(&place.dir) {
            Ok(names) => names,
            // Deleted since its parent was listed.
            Err(error) if error.is_not_found() && !place.dir.is_empty() => return Visit::default(),
            Err(error) => return lost(place, &error),
        };
        self.directories.fetch_add(1, Ordering::Relaxed);
        self.tell();
        let kind = match find::kind(&names) {
            Kind::Undecided if named(place) => Kind::Checkpoint,
            kind => kind,
        };
        // Whatever a link inside the root leads to is met under its own name.
        let children = find::worth_a_look(kind, &names).map(|name| place.path(name));
        let children = children.filter(|dir| !place.root.is_link(dir)).collect();
        let mut visit =
            Visit { children, unreadable: links(place, kind, &names), ..Visit::default() };
        visit.unreadable.extend(strange(place, &names));
        if kind == Kind::Checkpoint {
            visit.found = true;
            self.found.fetch_add(1, Ordering::Relaxed);
            match self.read(place) {
                Ok(checkpoint) => visit.checkpoint = Some(checkpoint),
                Err(ReadError::Cancelled(_)) => {}
                Err(error) => visit.unreadable.push(Unreadable {
                    path: place.address(),
                    kind: UnreadableKind::Checkpoint,
                    reason: reason(place, &error.to_string()),
                }),
            }
            self.read.fetch_add(1, Ordering::Relaxed);
        }
        visit
    }

    fn read(&self, place: &Place) -> Result<ScannedCheckpoint, ReadError> {
        let storage = place.root.below(&place.dir);
        let storage = storage.map_err(|error| ReadError::Unreadable(error.to_string()))?;
        let request = Request { batch: None, depth: Depth::Snapshot, operator: None, store: None };
        let reader = CheckpointReader::over(storage);
        let seen = reader.observe(&request, self.cancel, &|_| {})?;
        Ok(line::of(&seen, reader.batch_ms(), self.now))
    }

    fn tell(&self) {
        (self.news)(ScanNews::Progress(ScanProgress {
            directories: self.directories.load(Ordering::Relaxed),
            found: self.found.load(Ordering::Relaxed),
            read: self.read.load(Ordering::Relaxed),
            unreadable: self.unreadable.load(Ordering::Relaxed),
        }));
    }
}

impl Place {
    fn path(&self, name: &str) -> String {
        if self.dir.is_empty() { name.to_owned() } else { format!("{}/{name}", self.dir) }
    }

    /// The same for a directory below two roots.
    fn key(&self) -> String {
        match self.dir.as_str() {
            "" => self.identity.clone(),
            dir => format!("{}/{dir}", self.identity),
        }
    }

    fn address(&self) -> String {
        match self.dir.as_str() {
            "" => self.root.address().to_owned(),
            dir => format!("{}/{dir}", self.root.address().trim_end_matches('/')),
        }
    }
}

/// The visit of a directory that cannot be listed.
fn lost(place: &Place, error: &StorageError) -> Visit {
    let kind = if place.dir.is_empty() { UnreadableKind::Root } else { UnreadableKind::Directory };
    let reason = match (kind, error.is_not_found()) {
        (UnreadableKind::Root, true) => format!("{}: not found", place.root.address()),
        (UnreadableKind::Root, false) => error.to_string(),
        _ => reason(place, &error.to_string()),
    };
    let unreadable = vec![Unreadable { path: place.address(), kind, reason }];
    Visit { unreadable, ..Visit::default() }
}

/// Whether the file `metadata` of a directory that has nothing else of a checkpoint names a query.
fn named(place: &Place) -> bool {
    let content = place.root.read(&place.path("metadata"), find::MAX_METADATA_ALONE);
    content.is_ok_and(|content| find::names_a_query(&content))
}

/// The links of a directory that are not followed. Those that are parts of a checkpoint are left
/// to its reader.
fn links(place: &Place, kind: Kind, names: &[Name]) -> Vec<Unreadable> {
    let others = names.iter().filter(|name| name.kind == EntryKind::Other);
    let mut links: Vec<Unreadable> = others
        .filter(|name| !(kind == Kind::Checkpoint && find::is_part(&name.name)))
        .map(|name| Place {
            root: place.root.clone(),
            identity: String::new(),
            dir: place.path(&name.name),
        })
        .filter(|link| link.root.is_link(&link.dir))
        .map(|link| Unreadable {
            path: link.address(),
            kind: UnreadableKind::Link,
            reason: "a symbolic link that leads nowhere or out of the root is not followed".into(),
        })
        .collect();
    if links.len() > LINKS_TOLD {
        let more = links.len() - LINKS_TOLD;
        links.truncate(LINKS_TOLD);
        links.push(Unreadable {
            path: place.address(),
            kind: UnreadableKind::Link,
            reason: format!("{more} more symbolic links in it are not followed"),
        });
    }
    links
}

/// What has a name that cannot be part of an address. It may be a checkpoint.
fn strange(place: &Place, names: &[Name]) -> Vec<Unreadable> {
    let strange = |name: &&Name| {
        !is_plain_name(&name.name) || name.name.contains(char::REPLACEMENT_CHARACTER)
    };
    let told = names.iter().filter(strange).take(LINKS_TOLD).map(|name| Unreadable {
        path: format!("{}/{}", place.address().trim_end_matches('/'), name.name),
        kind: UnreadableKind::Directory,
        reason: "its name has control characters or is not UTF-8, so it is not looked into: \
                 rename it, or give its address"
            .to_owned(),
    });
    told.collect()
}

/// A message without the address in front, which stands beside it.
fn reason(place: &Place, message: &str) -> String {
    let address = format!("{}: ", place.address());
    let dir = format!("{}: ", place.dir);
    let message = message.strip_prefix(&address).unwrap_or(message);
    message.strip_prefix(&dir).unwrap_or(message).to_owned()
}
