//! Where things are on the screens that read rows. Like [`geometry`](super::geometry): pure
//! functions of the terminal's size, which both `update` and the views call.
//!
//! ```text
//!  keys          rows             what-if
//!  facts         facts            200 now -> 400
//!  table head    table head       ┌ now ────┐ ┌ at 400 ─┐  curve
//!  table rows    table rows       │         │ │         │
//!  detail        ─ row 3 of 40 ─  └─────────┘ └─────────┘
//!  bar           detail           legend
//!                bar              table
//! ```

use ratatui::layout::Rect;

use super::geometry::{Chrome, chrome};
use super::msg::Size;

/// From this height on there is room for more than the content itself.
const ROOMY: u16 = 20;

/// The parts of the keys and of the rows screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    /// The lines every screen has.
    pub chrome: Chrome,
    /// What is looked at.
    pub facts: Rect,
    /// The table with its head.
    pub table: Rect,
    /// What is known about the selected line.
    pub detail: Rect,
}

impl List {
    /// Lines of the table on view.
    pub fn page(&self) -> usize {
        usize::from(self.table.height.saturating_sub(1)).max(1)
    }

    fn of(chrome: Chrome, facts: u16, detail: u16) -> Self {
        let body = chrome.body;
        let line = |y: u16, height: u16| Rect { y, height, ..body };
        let table = body.height.saturating_sub(facts + detail);
        Self {
            chrome,
            facts: line(body.y, facts),
            table: line(body.y + facts, table),
            detail: line(body.y + facts + table, detail),
        }
    }
}

/// The keys screen: facts and warnings above the table, the whole key below it.
pub fn keys(size: Size) -> Option<List> {
    let chrome = chrome(size)?;
    let (facts, detail) = if size.height >= ROOMY { (2, 2) } else { (1, 1) };
    Some(List::of(chrome, facts, detail))
}

/// The rows screen: the selected row in the lower half.
pub fn rows(size: Size) -> Option<List> {
    let chrome = chrome(size)?;
    let detail = chrome.body.height / 2;
    Some(List::of(chrome, 1, detail))
}

/// The diagnosis screen: the count above the checklist, evidence and remedy of the selected check
/// below it.
pub fn diagnosis(size: Size) -> Option<List> {
    let chrome = chrome(size)?;
    let detail = (chrome.body.height / 3).max(4);
    Some(List::of(chrome, 1, detail))
}

/// The parts of the what-if screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WhatIf {
    /// The lines every screen has.
    pub chrome: Chrome,
    /// The counts.
    pub counts: Rect,
    /// The heatmap now, with its frame.
    pub before: Rect,
    /// The heatmap at the count in question, with its frame.
    pub after: Rect,
    /// max÷mean over counts.
    pub curve: Rect,
    /// What the marks stand for.
    pub legend: Rect,
    /// The numbers.
    pub table: Rect,
}

/// Lines of the table of numbers, its head among them, that are always wanted.
const NUMBERS: u16 = 6;
/// The same with the consequences.
const ALL_NUMBERS: u16 = 11;
/// The tallest that a heatmap is drawn.
const TALLEST: u16 = 16;

/// The what-if screen.
pub fn what_if(size: Size) -> Option<WhatIf> {
    let chrome = chrome(size)?;
    let body = chrome.body;
    let roomy = size.height >= ROOMY;
    let numbers = if roomy { ALL_NUMBERS } else { NUMBERS };
    let legend_rows = u16::from(roomy);
    let maps = body.height.saturating_sub(1 + legend_rows + numbers).clamp(3, TALLEST);
    let third = body.width / 3;
    let y = body.y + 1;
    let map = |at: u16| Rect { x: third * at, y, width: third, height: maps };
    let legend = Rect { y: y + maps, height: legend_rows, ..body };
    let table =
        Rect { y: legend.bottom(), height: body.bottom().saturating_sub(legend.bottom()), ..body };
    Some(WhatIf {
        chrome,
        counts: Rect { height: 1, ..body },
        before: map(0),
        after: map(1),
        curve: Rect { width: body.width - 2 * third, ..map(2) },
        legend,
        table,
    })
}

/// The parts of the batches screen: a chart, lines below it over the same columns, and labels
/// and values beside both.
///
/// ```text
///  label | chart                | values
///        | axis                 |
///  label | lines                | values
///  legend
///  detail
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batches {
    /// The lines every screen has.
    pub chrome: Chrome,
    /// Columns of the labels on the left.
    pub label: u16,
    /// Columns of the values on the right.
    pub values: u16,
    /// The bars, with labels and values.
    pub chart: Rect,
    /// The batches' ids.
    pub axis: Rect,
    /// The lines, with labels and values.
    pub lines: Rect,
    /// What the marks stand for.
    pub legend: Rect,
    /// What is known of the batch that is looked at.
    pub detail: Rect,
    /// Lines of it that what is remembered has.
    pub remembered: u16,
}

/// Lines below the chart that are always there.
const FEW_LINES: u16 = 3;
/// The least that a chart with more lines below it is high.
const CHART: u16 = 8;
/// From this width on there is room for two words beside a chart.
const WORDY: u16 = 74;

/// The batches screen, with so many lines below the chart if there is room.
pub fn batches(size: Size, lines: u16) -> Option<Batches> {
    let chrome = chrome(size)?;
    let body = chrome.body;
    let (label, values) = if size.width >= WORDY { (13, 18) } else { (11, 12) };
    let remembered = u16::from(size.height >= TALL);
    let detail = remembered + if size.height >= ROOMY { 3 } else { 1 };
    let rest = body.height.saturating_sub(detail + 2);
    let lines = lines.min(rest.saturating_sub(CHART).max(FEW_LINES));
    let part = |y: u16, height: u16| Rect { y: body.y + y, height, ..body };
    let chart = rest.saturating_sub(lines);
    Some(Batches {
        chrome,
        label,
        values,
        chart: part(0, chart),
        axis: part(chart, 1),
        lines: part(chart + 1, lines),
        legend: part(chart + 1 + lines, 1),
        detail: part(chart + 2 + lines, detail),
        remembered,
    })
}

impl Batches {
    /// Whether there is room for two values beside a line.
    pub fn has_words(&self) -> bool {
        self.values > 12
    }

    /// Columns of chart and lines: batches on view.
    pub fn columns(&self) -> usize {
        usize::from(self.chrome.body.width.saturating_sub(self.label + self.values))
    }
}

/// The parts of the pauses screen: plots side by side, a table below them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pauses {
    /// The lines every screen has.
    pub chrome: Chrome,
    /// The plots that there is room for.
    pub plots: Vec<Rect>,
    /// The table with its head.
    pub table: Rect,
    /// What is known of the selected one.
    pub detail: Rect,
}

/// The narrowest plot.
const PLOT: u16 = 38;
/// From this height on there is room for two rows of plots.
const TALL: u16 = 34;
/// Plots that there are.
const PLOTS: u16 = 5;

/// The pauses screen, with so many lines in its table.
pub fn pauses(size: Size, lines: usize) -> Option<Pauses> {
    let chrome = chrome(size)?;
    let body = chrome.body;
    let detail = if size.height >= ROOMY { 3 } else { 1 };
    let beside = (body.width / PLOT).clamp(1, 3);
    let rows = if size.height >= TALL { PLOTS.div_ceil(beside).min(2) } else { 1 };
    // The table takes what it needs, as long as the plots have their least.
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(1).clamp(3, 12);
    let least = if size.height >= ROOMY { 7 } else { 6 };
    let room = body.height.saturating_sub(detail);
    let plots_high = room.saturating_sub(wanted).max(least * rows).min(room.saturating_sub(3));
    let high = (plots_high / rows).min(TALLEST);
    let wide = body.width / beside;
    let places = (0..rows).flat_map(|row| (0..beside).map(move |at| (row, at)));
    let plots = places.take(usize::from(PLOTS)).map(|(row, at)| Rect {
        x: at * wide,
        y: body.y + row * high,
        width: wide,
        height: high,
    });
    let table_y = body.y + high * rows;
    let table = room.saturating_sub(high * rows);
    Some(Pauses {
        chrome,
        plots: plots.collect(),
        table: Rect { y: table_y, height: table, ..body },
        detail: Rect { y: table_y + table, height: detail, ..body },
    })
}

impl Pauses {
    /// Lines of the table on view.
    pub fn page(&self) -> usize {
        usize::from(self.table.height.saturating_sub(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_fill_the_screen() {
        for width in [60, 80, 120, 300] {
            for height in [15, 19, 20, 24, 40, 100] {
                let size = Size { width, height };
                for list in [keys(size).unwrap(), rows(size).unwrap()] {
                    assert_eq!(list.facts.bottom(), list.table.y);
                    assert_eq!(list.table.bottom(), list.detail.y);
                    assert_eq!(list.detail.bottom(), list.chrome.bar.y);
                    assert!(list.page() >= 4, "{size:?}");
                }
                let plan = what_if(size).unwrap();
                assert_eq!(plan.before.right(), plan.after.x);
                assert_eq!(plan.after.right(), plan.curve.x);
                assert_eq!(plan.curve.right(), width);
                assert_eq!(plan.before.bottom(), plan.legend.y);
                assert_eq!(plan.table.bottom(), plan.chrome.bar.y);
                assert!(plan.table.height >= NUMBERS, "{size:?} {plan:?}");
                for lines in [0, 1, 5, 40] {
                    let plan = pauses(size, lines).unwrap();
                    assert_eq!(plan.detail.bottom(), plan.chrome.bar.y);
                    assert_eq!(plan.table.bottom(), plan.detail.y);
                    assert!(plan.table.height >= 3, "{size:?} {plan:?}");
                    for plot in &plan.plots {
                        assert!(plot.bottom() <= plan.table.y && plot.right() <= width);
                        assert!(plot.height >= 6, "{size:?} {plan:?}");
                    }
                }
                for lines in [0, 3, 7, 40] {
                    let plan = batches(size, lines).unwrap();
                    assert_eq!(plan.chart.bottom(), plan.axis.y);
                    assert_eq!(plan.axis.bottom(), plan.lines.y);
                    assert_eq!(plan.lines.bottom(), plan.legend.y);
                    assert_eq!(plan.legend.bottom(), plan.detail.y);
                    assert_eq!(plan.detail.bottom(), plan.chrome.bar.y);
                    assert!(plan.chart.height >= 5, "{size:?} {plan:?}");
                    assert!(plan.columns() >= 37, "{size:?} {plan:?}");
                }
            }
        }
    }
}
