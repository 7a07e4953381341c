//! The table of a scan: as many columns as fit, the most telling first.

use super::super::inspect::grade_word;
use super::super::look::{Look, Role};
use super::super::number::{count_or_dash, duration, ratio_or_dash};
use super::super::table::{Align, Cell, Table};
use super::super::text;
use crate::console::text::cut_middle;
use crate::diagnosis::candidate::Standing;
use crate::figures::{bytes, count, ratio, span};
use crate::report::{ScanReport, ScannedCheckpoint, scan_words};

/// Spaces before the first column.
const INDENT: usize = 2;
/// Spaces between two columns, as [`Table`] has them.
const GAP: usize = 2;
/// Cells that a path keeps when there are columns to choose from.
const PATH: usize = 20;
/// Cells of a query's id that tell it from others at a glance.
const ID: usize = 8;

/// A column that may be left out.
struct Column {
    title: &'static str,
    align: Align,
    /// Its place in the order of importance.
    rank: u8,
    cell: CellOf,
}

/// What a column says of a checkpoint.
type CellOf = fn(&ScannedCheckpoint) -> (Role, String);

/// All columns but the path, from left to right; those of the configuration's queries in the order
/// of importance. Each has two places in the order of importance:
/// in a list of checkpoints, and in one of the configuration's queries.
fn columns(look: Look, named: bool) -> [Column; 15] {
    let column = |title, align, (found, watched), cell| {
        let rank = if named { watched } else { found };
        Column { title, align, rank, cell }
    };
    let query = if look.columns == usize::MAX { id } else { short_id };
    let (batch, batches): (_, CellOf) =
        if named { ("batch", last_batch) } else { ("batches", batches) };
    let mut columns = [
        column("query", Align::Left, (12, 14), query),
        column("operators", Align::Left, (10, 12), operators),
        column("provider", Align::Left, (9, 11), provider),
        column("parts", Align::Right, (1, 7), partitions),
        column("rows", Align::Right, (2, 3), |one| plain(count_or_dash(one.rows))),
        column("grade", Align::Left, (11, 13), |one| {
            (Role::Muted, grade_word(one.rows_grade).into())
        }),
        column("rows/part", Align::Right, (6, 10), rows_per_partition),
        column("bytes", Align::Right, (4, 9), |one| plain(bytes(one.bytes))),
        column(look.max_over_mean(), Align::Right, (3, 4), max_over_mean),
        column(batch, Align::Right, (8, 1), batches),
        column("age", Align::Right, (5, 2), age),
        column("status", Align::Left, (7, 0), |one| {
            plain(scan_words::status(one.status).to_owned())
        }),
        column("batch time", Align::Right, (13, 5), batch_time),
        column("findings", Align::Left, (14, 6), findings),
        column("resize", Align::Left, (0, 8), resize),
    ];
    if named {
        columns.sort_by_key(|column| column.rank);
    }
    columns
}

/// The heading and a line per checkpoint.
pub(super) fn lines(report: &ScanReport, shown: &[ScannedCheckpoint], look: Look) -> Vec<String> {
    let paths: Vec<String> = shown.iter().map(|one| path(report, one)).collect();
    let path_width = paths.iter().map(|path| text::width(path)).max().unwrap_or(0).max(4);
    let named = scan_words::are_named(&shown.iter().collect::<Vec<_>>());
    let columns = columns(look, named).map(|column| {
        let cells: Vec<(Role, String)> = shown.iter().map(column.cell).collect();
        let widths = cells.iter().map(|(_, text)| text::width(&text::clean(text)));
        let width = widths.fold(text::width(column.title), usize::max);
        (column, cells, width)
    });

    let mut order: Vec<(u8, usize)> =
        columns.iter().map(|(column, _, width)| (column.rank, *width)).collect();
    order.sort_unstable();
    let room = look.columns.saturating_sub(INDENT);
    let mut used = path_width.min(PATH);
    // The first that does not fit ends it: a lesser column beside a gap would be taken for it.
    let fitting = order.iter().take_while(|(_, width)| {
        used = used.saturating_add(GAP).saturating_add(*width);
        used <= room
    });
    let fitting = u8::try_from(fitting.count()).unwrap_or(u8::MAX).max(1);
    let chosen: Vec<_> = columns.into_iter().filter(|(column, ..)| column.rank < fitting).collect();

    let others: usize = chosen.iter().map(|(_, _, width)| width + GAP).sum();
    let path_room = room.saturating_sub(others).max(ID);
    let mut headings = vec![(if named { "name" } else { "path" }, Align::Left)];
    headings.extend(chosen.iter().map(|(column, ..)| (column.title, column.align)));
    let mut table = Table::new(headings);
    for (index, path) in paths.iter().enumerate() {
        let mut row = vec![Cell::plain(&cut_middle(path, path_room, look.ellipsis()))];
        let cells = chosen.iter().filter_map(|(_, cells, _)| cells.get(index));
        row.extend(cells.map(|(role, text)| Cell::new(*role, text)));
        table.push(row);
    }
    table.lines(look, INDENT)
}

fn path(report: &ScanReport, one: &ScannedCheckpoint) -> String {
    text::clean(scan_words::title(&report.roots, one)).into_owned()
}

fn plain(text: String) -> (Role, String) {
    (Role::Text, text)
}

fn id(one: &ScannedCheckpoint) -> (Role, String) {
    plain(one.query_id.clone().unwrap_or_else(|| "-".to_owned()))
}

fn short_id(one: &ScannedCheckpoint) -> (Role, String) {
    plain(id(one).1.chars().take(ID).collect())
}

fn operators(one: &ScannedCheckpoint) -> (Role, String) {
    plain(scan_words::operators(one))
}

fn provider(one: &ScannedCheckpoint) -> (Role, String) {
    plain(scan_words::provider(one.provider).to_owned())
}

fn partitions(one: &ScannedCheckpoint) -> (Role, String) {
    plain(one.partitions.map_or_else(|| "-".to_owned(), |partitions| partitions.to_string()))
}

fn rows_per_partition(one: &ScannedCheckpoint) -> (Role, String) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of rows")]
    let text = match one.rows_per_partition {
        None => "-".to_owned(),
        Some(mean) if mean < 100.0 => ratio(mean),
        Some(mean) => count(mean.round() as u64),
    };
    plain(text)
}

fn max_over_mean(one: &ScannedCheckpoint) -> (Role, String) {
    let text = ratio_or_dash(one.max_over_mean);
    if one.reasons.iter().any(|reason| reason.kind == "skewed") {
        (Role::Warning, format!("{text} !"))
    } else {
        plain(text)
    }
}

fn batches(one: &ScannedCheckpoint) -> (Role, String) {
    plain(scan_words::batches(one))
}

fn last_batch(one: &ScannedCheckpoint) -> (Role, String) {
    plain(one.last_batch.map_or_else(|| "-".to_owned(), |batch| batch.to_string()))
}

fn batch_time(one: &ScannedCheckpoint) -> (Role, String) {
    plain(one.batch_ms.map_or_else(|| "-".to_owned(), span))
}

fn findings(one: &ScannedCheckpoint) -> (Role, String) {
    let role = match (one.errors, one.warnings) {
        (1.., _) => Role::Error,
        (0, 1..) => Role::Warning,
        (0, 0) => Role::Muted,
    };
    (role, scan_words::findings(one))
}

fn age(one: &ScannedCheckpoint) -> (Role, String) {
    plain(one.last_commit_age.map_or_else(|| "-".to_owned(), duration))
}

fn resize(one: &ScannedCheckpoint) -> (Role, String) {
    let role = match one.standing {
        Standing::Gain => Role::Warning,
        Standing::Forbidden if one.errors > 0 => Role::Error,
        Standing::Forbidden | Standing::Healthy => Role::Muted,
    };
    (role, scan_words::verdict(one))
}
