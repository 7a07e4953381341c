//! The table: of checkpoints, or of what could not be read. As many columns as fit, the most
//! telling last to go.

use ratatui::layout::Rect;

use super::super::super::format;
use super::super::super::geometry::window;
use super::super::super::look::{Role, Symbols};
use super::super::super::paint::Canvas;
use super::super::super::state::Direction;
use super::super::super::text::{Row, cut_middle, sanitise, width};
use super::super::super::view::columns::{self, Column};
use super::super::model::{Model, Sort, Tab};
use crate::diagnosis::candidate::Standing;
use crate::report::{Grade, ScannedCheckpoint, Unreadable, UnreadableKind, scan_words};

/// Columns that a path keeps when there are others to show.
const PATH: usize = 20;
/// Columns of a query's id that tell it from others at a glance.
const ID: usize = 8;
/// The widest that words other than the path are shown.
const WORDS: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    Path,
    Query,
    Operators,
    Provider,
    Partitions,
    Rows,
    Grade,
    RowsPerPartition,
    Bytes,
    MaxOverMean,
    Batches,
    /// The last batch alone.
    Batch,
    Age,
    Status,
    BatchTime,
    Findings,
    Resize,
    /// Of what could not be read: what it is.
    Kind,
    /// And why not.
    Reason,
}

impl Id {
    fn sort(self) -> Option<Sort> {
        match self {
            Self::Path => Some(Sort::Path),
            Self::Partitions => Some(Sort::Partitions),
            Self::Rows => Some(Sort::Rows),
            Self::RowsPerPartition => Some(Sort::RowsPerPartition),
            Self::Bytes => Some(Sort::Bytes),
            Self::MaxOverMean => Some(Sort::MaxOverMean),
            Self::Age => Some(Sort::Age),
            Self::Resize => Some(Sort::Rank),
            _ => None,
        }
    }
}

/// Draws head and the lines around the selection.
pub(super) fn draw(canvas: &mut Canvas<'_>, model: &Model, area: Rect) {
    let symbols = canvas.symbols();
    let room = usize::from(area.width).saturating_sub(3);
    match model.tab {
        Tab::Checkpoints => {
            let listed = model.listed();
            let columns = columns::fit(checkpoint_columns(model, &listed, symbols), room);
            let cell = |one: &ScannedCheckpoint, id, room| cell(model, one, id, room, symbols);
            lines(canvas, model, &columns, &listed, cell, area);
        }
        Tab::Unreadable => {
            let lost = model.lost();
            let columns = columns::fit(lost_columns(model, &lost), room);
            let cell = |one: &Unreadable, id, room| lost_cell(model, one, id, room, symbols);
            lines(canvas, model, &columns, &lost, cell, area);
        }
    }
}

fn lines<T>(
    canvas: &mut Canvas<'_>,
    model: &Model,
    columns: &[Column<Id>],
    listed: &[&T],
    cell: impl Fn(&T, Id, usize) -> (String, Role),
    area: Rect,
) {
    let symbols = canvas.symbols();
    let mut head = Row::of("  ", Role::Text);
    head.append(columns::line(columns, symbols, |id| {
        let title = columns.iter().find(|column| column.id == id).map(|one| one.title.clone());
        let sorted = model.tab == Tab::Checkpoints && id.sort() == Some(model.sort);
        (title.unwrap_or_default(), if sorted { Role::Strong } else { Role::Muted })
    }));
    canvas.row(area, &head);
    let below = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
    if listed.is_empty() {
        canvas.row(below, &Row::of("  nothing fits the filter; Esc clears it", Role::Muted));
        return;
    }
    let place = model.place();
    let shown = window(place, listed.len(), usize::from(below.height));
    let first = shown.start;
    let rows: Vec<Row> = (first..)
        .zip(listed.get(shown).unwrap_or_default())
        .map(|(at, one)| {
            let room = |id| columns.iter().find(|column| column.id == id).map_or(0, |c| c.width);
            let cells = columns::line(columns, symbols, |id| cell(one, id, room(id)));
            let mark = if at == place { "> " } else { "  " };
            let row = Row::of(mark, Role::Strong).joined(cells);
            if at == place { row.in_role(Role::Selection) } else { row }
        })
        .collect();
    canvas.rows(below, &rows);
}

/// All columns with the widths that all lines need, so that scrolling moves nothing.
fn checkpoint_columns(
    model: &Model,
    listed: &[&ScannedCheckpoint],
    symbols: &Symbols,
) -> Vec<Column<Id>> {
    let widest = |id: Id| {
        let cells = listed.iter().map(|one| cell(model, one, id, usize::MAX, symbols).0);
        cells.map(|text| width(&sanitise(&text))).max().unwrap_or(0)
    };
    let title = |id: Id, name: &str| {
        let mark = if model.direction == Direction::Down { "v" } else { "^" };
        if id.sort() == Some(model.sort) { format!("{name} {mark}") } else { name.to_owned() }
    };
    // Room for the sort mark is kept, so that sorting moves nothing.
    let number = |id: Id, name: &str, rank: u8| {
        let mark = if id.sort().is_some() { 2 } else { 0 };
        Column::number(id, title(id, name), widest(id).max(width(name) + mark), rank)
    };
    let words = |id: Id, name: &str, least: usize, rank: u8| {
        let wide = widest(id).min(WORDS).max(width(name));
        Column::words(id, title(id, name), wide, least, rank)
    };
    let over = format!("max{}mean", symbols.over);
    let path = Column::words(Id::Path, title(Id::Path, "path"), widest(Id::Path).max(6), PATH, 255);
    if scan_words::are_named(listed) {
        // Of the configuration's queries one wants to know how they do.
        let name =
            Column::words(Id::Path, title(Id::Path, "name"), widest(Id::Path).max(6), 8, 255);
        return vec![
            name,
            words(Id::Status, "status", WORDS, 250),
            number(Id::Batch, "batch", 240),
            number(Id::Age, "age", 230),
            number(Id::Rows, "rows", 220),
            number(Id::MaxOverMean, &over, 210),
            number(Id::BatchTime, "batch time", 200),
            words(Id::Findings, "findings", WORDS, 190),
            number(Id::Partitions, "parts", 99),
            number(Id::Bytes, "bytes", 96),
            words(Id::Operators, "operators", 12, 90),
            words(Id::Resize, "resize", 14, 98),
        ];
    }
    vec![
        path,
        words(Id::Query, "query", ID, 88),
        words(Id::Operators, "operators", 12, 90),
        words(Id::Provider, "provider", WORDS, 91),
        number(Id::Partitions, "parts", 99),
        number(Id::Rows, "rows", 98),
        words(Id::Grade, "grade", WORDS, 89),
        number(Id::RowsPerPartition, "rows/part", 94),
        number(Id::Bytes, "bytes", 96),
        number(Id::MaxOverMean, &over, 97),
        number(Id::Batches, "batches", 92),
        number(Id::Age, "age", 95),
        words(Id::Status, "status", WORDS, 93),
        number(Id::BatchTime, "batch time", 87),
        words(Id::Findings, "findings", WORDS, 86),
        words(Id::Resize, "resize", 14, 200),
    ]
}

fn cell(
    model: &Model,
    one: &ScannedCheckpoint,
    id: Id,
    room: usize,
    symbols: &Symbols,
) -> (String, Role) {
    let number = |text: Option<String>| match text {
        Some(text) => (text, Role::Text),
        None => ("-".to_owned(), Role::Muted),
    };
    match id {
        Id::Path => {
            let path = sanitise(scan_words::title(&model.roots, one)).into_owned();
            (cut_middle(&path, room, symbols.ellipsis), Role::Strong)
        }
        Id::Query => number(one.query_id.as_deref().map(|id| id.chars().take(ID).collect())),
        Id::Operators => (scan_words::operators(one), Role::Text),
        Id::Provider => (scan_words::provider(one.provider).to_owned(), Role::Text),
        Id::Partitions => number(one.partitions.map(|count| format::count(count.into()))),
        Id::Rows => number(one.rows.map(format::count)),
        Id::Grade => (grade(one.rows_grade).to_owned(), Role::Muted),
        Id::RowsPerPartition => number(one.rows_per_partition.map(|mean| {
            if mean < 100.0 { format::ratio(mean) } else { format::count(format::whole(mean)) }
        })),
        Id::Bytes => (format::bytes(one.bytes), Role::Text),
        Id::MaxOverMean => {
            let skewed = one.reasons.iter().any(|reason| reason.kind == "skewed");
            match one.max_over_mean.map(format::ratio) {
                Some(ratio) if skewed => (format!("{ratio} !"), Role::Warning),
                ratio => number(ratio),
            }
        }
        Id::Batches => (scan_words::batches(one), Role::Text),
        Id::Batch => number(one.last_batch.map(|batch| batch.to_string())),
        Id::BatchTime => number(one.batch_ms.map(format::millis)),
        Id::Findings => {
            let role = match (one.errors, one.warnings) {
                (1.., _) => Role::Error,
                (0, 1..) => Role::Warning,
                (0, 0) => Role::Muted,
            };
            (scan_words::findings(one), role)
        }
        Id::Age => number(one.last_commit_age.map(format::age)),
        Id::Status => (scan_words::status(one.status).to_owned(), Role::Text),
        Id::Resize => (scan_words::verdict(one), standing(one)),
        Id::Kind | Id::Reason => (String::new(), Role::Text),
    }
}

fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::Exact => "exact",
        Grade::Snapshot => "snapshot",
        Grade::Unknown => "unknown",
    }
}

/// The role of what is said of a resize.
pub(super) fn standing(one: &ScannedCheckpoint) -> Role {
    match one.standing {
        Standing::Gain => Role::Warning,
        Standing::Forbidden if one.errors > 0 => Role::Error,
        Standing::Forbidden | Standing::Healthy => Role::Muted,
    }
}

fn lost_columns(model: &Model, lost: &[&Unreadable]) -> Vec<Column<Id>> {
    let widest =
        |text: &dyn Fn(&Unreadable) -> usize| lost.iter().map(|one| text(one)).max().unwrap_or(0);
    let path = widest(&|one| width(&sanitise(scan_words::below(&model.roots, &one.path))));
    let reason = widest(&|one| width(&sanitise(&one.reason)));
    vec![
        Column::words(Id::Path, "path", path.max(4), PATH, 255),
        Column::words(Id::Kind, "what", 10, 10, 90),
        Column::words(Id::Reason, "why", reason, 16, 100),
    ]
}

fn lost_cell(
    model: &Model,
    one: &Unreadable,
    id: Id,
    room: usize,
    symbols: &Symbols,
) -> (String, Role) {
    match id {
        Id::Path => {
            let path = sanitise(scan_words::below(&model.roots, &one.path)).into_owned();
            (cut_middle(&path, room, symbols.ellipsis), Role::Strong)
        }
        Id::Kind => (kind(one.kind).to_owned(), Role::Muted),
        Id::Reason => {
            let role = if one.kind == UnreadableKind::Link { Role::Muted } else { Role::Error };
            (one.reason.clone(), role)
        }
        _ => (String::new(), Role::Text),
    }
}

/// What could not be read, in a word.
pub(super) fn kind(kind: UnreadableKind) -> &'static str {
    match kind {
        UnreadableKind::Root => "root",
        UnreadableKind::Directory => "directory",
        UnreadableKind::Checkpoint => "checkpoint",
        UnreadableKind::Link => "link",
    }
}
