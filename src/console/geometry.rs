//! Where things are on the screen, for drawing and for moving alike.
//!
//! Moving down in the heatmap needs to know how many cells a row has; a click needs to know
//! what is under it. So places are computed here, from the terminal's size and the number
//! of partitions, by functions that both `update` and the views call.
//!
//! ```text
//!  header                                    header
//!  tabs                                      tabs
//!  answer                                    answer
//!  ┌ map ───────────────┐ side               map title (legend)
//!  │ cells              │                    cells
//!  └────────────────────┘                    table head
//!  table head                                table rows
//!  table rows                                detail
//!  detail (2)                                bar
//!  bar                                       (60x15)
//! ```

use std::ops::Range;

use ratatui::layout::Rect;

use super::msg::Size;
use crate::units::PartitionId;

/// Columns without which nothing useful fits.
pub const MIN_WIDTH: u16 = 60;
/// Rows without which nothing useful fits.
pub const MIN_HEIGHT: u16 = 15;
/// From this height on there is room for boxes and a second detail line.
const ROOMY_HEIGHT: u16 = 20;
/// From this width on statistics stand beside the heatmap.
const SIDE_WIDTH: u16 = 74;
/// Columns of the row labels: the greatest partition id plus blanks.
const LABEL: u16 = 7;
/// The widest that a cell is drawn.
const CELL_WIDEST: u16 = 5;
/// Rows of statistics beside the map that are always wanted.
const SIDE_ROWS: u16 = 9;
/// The same with one histogram bar for every step of the heat scale.
const SIDE_ROWS_TALL: u16 = 15;

/// The lines that every screen has, and what is left between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chrome {
    /// Target, batch, state of the data.
    pub header: Rect,
    /// Screens, and what is going on.
    pub tabs: Rect,
    /// The answer to the screen's question.
    pub answer: Rect,
    /// The screen itself.
    pub body: Rect,
    /// Keys.
    pub bar: Rect,
}

/// The lines of a terminal of that size; `None` when it is too small.
pub fn chrome(size: Size) -> Option<Chrome> {
    let Size { width, height } = size;
    if width < MIN_WIDTH || height < MIN_HEIGHT {
        return None;
    }
    Some(Chrome {
        header: Rect::new(0, 0, width, 1),
        tabs: Rect::new(0, 1, width, 1),
        answer: Rect::new(0, 2, width, 1),
        body: Rect::new(0, 3, width, height - 4),
        bar: Rect::new(0, height - 1, width, 1),
    })
}

/// How much room the screen has for decoration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Every line is needed for content.
    Tight,
    /// There is room for boxes.
    Ample,
}

/// The parts of the partitions screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionsPlan {
    /// The lines every screen has.
    pub chrome: Chrome,
    /// Whether boxes are drawn.
    pub room: Room,
    /// The heatmap with its title and frame.
    pub map: Rect,
    /// Its cells and row labels only.
    pub cells: Rect,
    /// Statistics and histogram; `None` when there is no room beside the map.
    pub side: Option<Rect>,
    /// The table with its head.
    pub table: Rect,
    /// What is known about the selected partition.
    pub detail: Rect,
    /// How partitions are laid out in `cells`.
    pub grid: Grid,
}

/// Plans the partitions screen for a store of so many partitions.
pub fn partitions_plan(size: Size, partitions: usize) -> Option<PartitionsPlan> {
    let chrome = chrome(size)?;
    let body = chrome.body;
    let room = if size.height >= ROOMY_HEIGHT { Room::Ample } else { Room::Tight };
    let (detail_rows, frame_rows) = match room {
        Room::Ample => (2, 2),
        Room::Tight => (1, 1),
    };
    let side_width = if size.width >= SIDE_WIDTH { side_width(size.width) } else { 0 };
    let map_width = size.width - side_width;
    let most = (body.height - detail_rows) / 2;
    let cells_width = map_width - if room == Room::Ample { 3 } else { 1 };
    let grid = Grid::fit(partitions, cells_width, most.saturating_sub(frame_rows).max(1));

    // The map is no taller than its cells need, but gives the statistics beside it their rows.
    let wanted = if side_width == 0 {
        0
    } else if most >= SIDE_ROWS_TALL {
        SIDE_ROWS_TALL
    } else {
        SIDE_ROWS
    };
    let map_height = (grid.rows() + frame_rows).max(wanted).min(most);
    let map = Rect::new(0, body.y, map_width, map_height);
    let cells = match room {
        Room::Ample => Rect::new(2, map.y + 1, cells_width, map_height.saturating_sub(2)),
        Room::Tight => Rect::new(1, map.y + 1, cells_width, map_height.saturating_sub(1)),
    };
    let below = body.y + map_height;
    let table_height = (body.height - map_height).saturating_sub(detail_rows);
    Some(PartitionsPlan {
        chrome,
        room,
        map,
        cells,
        side: (side_width > 0).then(|| Rect::new(map_width, body.y, side_width, map_height)),
        table: Rect::new(0, below, size.width, table_height),
        detail: Rect::new(0, below + table_height, size.width, detail_rows),
        grid,
    })
}

fn side_width(width: u16) -> u16 {
    (width * 9 / 20).min(58)
}

/// How partitions are laid out in rows of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Partitions shown.
    pub partitions: usize,
    /// Partitions that one cell stands for; it shows the hottest.
    pub group: usize,
    /// Cells in a row.
    pub columns: usize,
    /// Columns of the terminal that a cell takes.
    pub cell_width: u16,
}

impl Grid {
    /// The largest cells with which all partitions fit in `width` × `rows`; several
    /// partitions to a cell when nothing else fits.
    fn fit(partitions: usize, width: u16, rows: u16) -> Self {
        let room = usize::from(width.saturating_sub(LABEL).max(1));
        let rows = usize::from(rows.max(1));
        for cell_width in (1..=CELL_WIDEST).rev() {
            let columns = round_columns(room / usize::from(cell_width));
            // Rows of fewer than ten would have labels that nobody can count on.
            let countable = columns >= 10 || columns >= partitions;
            if countable && partitions.div_ceil(columns.max(1)) <= rows {
                return Self { partitions, group: 1, columns, cell_width };
            }
        }
        if partitions.div_ceil(room) <= rows {
            return Self { partitions, group: 1, columns: room, cell_width: 1 };
        }
        let columns = round_columns(room);
        let least = partitions.div_ceil(columns * rows);
        let group = nice_group(least);
        Self { partitions, group, columns, cell_width: 1 }
    }

    /// The same where rows have no labels.
    pub fn bare(partitions: usize, width: u16, rows: u16) -> Self {
        Self::fit(partitions, width.saturating_add(LABEL), rows)
    }

    /// Where a cell is drawn where rows have no labels; `None` outside the area.
    pub fn place_bare(&self, cell: usize, area: Rect) -> Option<Rect> {
        let wide = Rect { x: 0, width: area.right().saturating_add(LABEL), ..area };
        let place = self.place(cell, wide)?;
        let x = (place.x - LABEL).checked_add(area.x)?;
        (x.checked_add(place.width)? <= area.right()).then_some(Rect { x, ..place })
    }

    /// Cells in use.
    pub fn cells(&self) -> usize {
        self.partitions.div_ceil(self.group.max(1))
    }

    /// Rows in use.
    pub fn rows(&self) -> u16 {
        u16::try_from(self.cells().div_ceil(self.columns.max(1))).unwrap_or(u16::MAX)
    }

    /// The cell that shows a partition.
    pub fn cell_of(&self, id: PartitionId) -> usize {
        usize::try_from(id.0).unwrap_or(usize::MAX) / self.group.max(1)
    }

    /// The partitions, by place, that a cell shows; empty for a cell not in use.
    pub fn group_of(&self, cell: usize) -> Range<usize> {
        let start = cell.saturating_mul(self.group).min(self.partitions);
        start..start.saturating_add(self.group).min(self.partitions)
    }

    /// Where a cell is drawn in the area of the cells; `None` outside it.
    pub fn place(&self, cell: usize, area: Rect) -> Option<Rect> {
        let columns = self.columns.max(1);
        let x = u16::try_from(cell % columns).ok()?.checked_mul(self.cell_width)?;
        let y = u16::try_from(cell / columns).ok()?;
        let (x, y) = (area.x.checked_add(LABEL)?.checked_add(x)?, area.y.checked_add(y)?);
        // Wide cells keep a blank between them, so that each can be told from its neighbours.
        let drawn = if self.cell_width > 2 { self.cell_width - 1 } else { self.cell_width };
        let inside = x.checked_add(drawn)? <= area.right() && y < area.bottom();
        inside.then(|| Rect::new(x, y, drawn, 1))
    }

    /// The cell under a place on the screen.
    pub fn at(&self, x: u16, y: u16, area: Rect) -> Option<usize> {
        let column = x.checked_sub(area.x.checked_add(LABEL)?)? / self.cell_width.max(1);
        let row = y.checked_sub(area.y)?;
        if usize::from(column) >= self.columns || y >= area.bottom() {
            return None;
        }
        let cell = usize::from(row) * self.columns + usize::from(column);
        (cell < self.cells()).then_some(cell)
    }
}

/// Rows of ten, twenty, thirty… so that a partition's id can be read off its place.
fn round_columns(columns: usize) -> usize {
    if columns >= 10 { columns / 10 * 10 } else { columns }
}

/// The least of 1, 2, 4, 5, 8, 10, 16, 20, 25, 40, 50, 80, 100… that is not below `least`.
fn nice_group(least: usize) -> usize {
    const STEPS: [usize; 8] = [10, 16, 20, 25, 32, 40, 50, 80];
    if let Some(small) = [1, 2, 4, 5, 8].into_iter().find(|step| *step >= least) {
        return small;
    }
    let mut tens = 1_usize;
    loop {
        for step in STEPS {
            match step.checked_mul(tens) {
                Some(group) if group >= least => return group,
                Some(_) => {}
                None => return least,
            }
        }
        tens = tens.saturating_mul(10);
    }
}

/// The part of a list that is shown, so that `selected` is in it and the list fills the room.
pub fn window(selected: usize, length: usize, room: usize) -> Range<usize> {
    let start = selected.saturating_sub(room / 2).min(length.saturating_sub(room));
    start..start.saturating_add(room).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(width: u16, height: u16, partitions: usize) -> PartitionsPlan {
        partitions_plan(Size { width, height }, partitions).unwrap()
    }

    #[test]
    fn too_small_is_no_plan() {
        assert_eq!(partitions_plan(Size { width: 59, height: 24 }, 10), None);
        assert_eq!(partitions_plan(Size { width: 80, height: 14 }, 10), None);
    }

    #[test]
    fn parts_follow_each_other_and_fill_the_screen() {
        for width in [60, 73, 74, 80, 120, 200, 500] {
            for height in [15, 19, 20, 24, 40, 60, 200] {
                for partitions in [0, 1, 7, 200, 10_000, 1_000_000] {
                    let plan = plan(width, height, partitions);
                    assert_eq!(plan.map.bottom(), plan.table.y);
                    assert_eq!(plan.table.bottom(), plan.detail.y);
                    assert_eq!(plan.detail.bottom(), plan.chrome.bar.y);
                    assert!(plan.table.height >= 3, "{width}x{height} {partitions} {plan:?}");
                    assert!(plan.grid.rows() <= plan.cells.height, "{plan:?}");
                    let cells = plan.grid.cells();
                    if cells > 0 {
                        assert!(plan.grid.place(cells - 1, plan.cells).is_some(), "{plan:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn two_hundred_partitions_are_one_cell_each_in_rows_of_thirty() {
        let plan = plan(80, 24, 200);
        assert_eq!((plan.grid.group, plan.grid.columns, plan.grid.cell_width), (1, 30, 1));
        assert_eq!(plan.table.height, 9);
    }

    #[test]
    fn ten_thousand_partitions_share_cells() {
        let plan = plan(80, 24, 10_000);
        assert_eq!(plan.grid.group, 50);
        assert_eq!(plan.grid.cell_of(PartitionId(9_999)), plan.grid.cells() - 1);
        assert_eq!(plan.grid.group_of(199), 9_950..10_000);
        assert_eq!(plan.grid.group_of(200), 10_000..10_000);
    }

    #[test]
    fn a_click_finds_the_cell_that_is_drawn_there() {
        let plan = plan(80, 24, 40);
        for cell in 0..plan.grid.cells() {
            let place = plan.grid.place(cell, plan.cells).unwrap();
            assert_eq!(plan.grid.at(place.x, place.y, plan.cells), Some(cell));
            assert_eq!(plan.grid.at(place.right() - 1, place.y, plan.cells), Some(cell));
        }
        assert_eq!(plan.grid.at(0, 0, plan.cells), None);
        assert_eq!(plan.grid.at(79, plan.cells.y, plan.cells), None);
    }

    #[test]
    fn windows_keep_the_selection_in_view_and_full() {
        assert_eq!(window(0, 100, 10), 0..10);
        assert_eq!(window(50, 100, 10), 45..55);
        assert_eq!(window(99, 100, 10), 90..100);
        assert_eq!(window(2, 5, 10), 0..5);
    }
}
