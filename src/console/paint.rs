//! Rows onto cells: the only code that touches the buffer with text.
//!
//! Everything is clipped to the buffer, so no arithmetic of a view can write outside it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::look::{Look, Role, Symbols};
use super::text::{Row, width};

/// A buffer, and how things look on it.
pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    look: &'a Look,
}

impl<'a> Canvas<'a> {
    /// A canvas whose whole ground is painted in the role of ordinary text.
    pub(super) fn new(buffer: &'a mut Buffer, look: &'a Look) -> Self {
        let area = buffer.area;
        buffer.set_style(area, look.style(Role::Text));
        Self { buffer, look }
    }

    /// A canvas over what is already drawn.
    pub(super) fn over(buffer: &'a mut Buffer, look: &'a Look) -> Self {
        Self { buffer, look }
    }

    /// The characters to draw with.
    pub(super) fn symbols(&self) -> &'static Symbols {
        self.look.symbols()
    }

    /// Writes a row into the first line of an area, cut at its right end.
    pub(super) fn row(&mut self, area: Rect, row: &Row) {
        let Some(area) = self.line(area) else { return };
        let row = row.clone().cut(usize::from(area.width), self.symbols().ellipsis);
        let mut x = area.x;
        for piece in row.pieces() {
            let room = usize::from(area.right().saturating_sub(x));
            let text = self.look.charset().encode(piece.text());
            let style = self.look.style(piece.role());
            (x, _) = self.buffer.set_stringn(x, area.y, text, room, style);
        }
    }

    /// Writes rows one below the other.
    pub(super) fn rows<'r>(&mut self, area: Rect, rows: impl IntoIterator<Item = &'r Row>) {
        for (y, row) in (area.y..area.bottom()).zip(rows) {
            self.row(Rect { y, height: 1, ..area }, row);
        }
    }

    /// Writes a symbol over a whole line.
    pub(super) fn line_of(&mut self, area: Rect, symbol: &str, role: Role) {
        self.row(area, &Row::of(symbol.repeat(usize::from(area.width)), role));
    }

    /// Lays a role's style over what is there.
    pub(super) fn lay_over(&mut self, area: Rect, role: Role) {
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, self.look.style(role));
    }

    /// Empties an area.
    pub(super) fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for position in area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.reset();
            }
        }
        self.lay_over(area, Role::Text);
    }

    /// Fills the cells of one line with a symbol of width 1.
    pub(super) fn cells(&mut self, area: Rect, symbol: &str, role: Role) {
        let Some(area) = self.line(area) else { return };
        let style = self.look.style(role);
        for position in area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.set_symbol(symbol).set_style(style);
            }
        }
    }

    /// Draws a box with words in its upper and lower line.
    pub(super) fn frame(&mut self, area: Rect, role: Role, upper: &Row, lower: &Row) {
        let symbols = self.symbols();
        let [top_left, top_right, bottom_left, bottom_right] = symbols.corners;
        let inner = usize::from(area.width).saturating_sub(2);
        let edge = |left, right, words: &Row| {
            let mut row = Row::of(left, role);
            if !words.is_empty() && inner > 3 {
                row.push(" ", role);
                row.append(words.clone().cut(inner - 2, symbols.ellipsis));
                row.push(" ", role);
            }
            let rest = (inner + 1).saturating_sub(row.width());
            row.with(symbols.line.repeat(rest), role).with(right, role)
        };
        let top = Rect { height: 1, ..area };
        self.row(top, &edge(top_left, top_right, upper));
        for y in area.y.saturating_add(1)..area.bottom().saturating_sub(1) {
            self.row(Rect { y, width: 1, height: 1, ..area }, &Row::of(symbols.wall, role));
            let right = Rect { x: area.right().saturating_sub(1), y, width: 1, height: 1 };
            self.row(right, &Row::of(symbols.wall, role));
        }
        let bottom = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
        self.row(bottom, &edge(bottom_left, bottom_right, lower));
    }

    /// The first line of an area, as far as it is on the buffer.
    fn line(&self, area: Rect) -> Option<Rect> {
        let line = Rect { height: area.height.min(1), ..area }.intersection(self.buffer.area);
        (!line.is_empty()).then_some(line)
    }
}

/// A horizontal bar of `columns` at most, `part` of it filled, from 0 to 1.
pub(super) fn bar(symbols: &Symbols, part: f64, columns: usize) -> String {
    let eighths =
        super::format::whole(part.clamp(0.0, 1.0) * super::format::float(columns as u64 * 8));
    let eighths = usize::try_from(eighths).unwrap_or(0);
    let [.., full] = symbols.eighths;
    let mut bar = full.repeat(eighths / 8);
    // Anything at all shows as something.
    let rest = if part > 0.0 && eighths == 0 { 1 } else { eighths % 8 };
    if let Some(symbol) = rest.checked_sub(1).and_then(|rest| symbols.eighths.get(rest)) {
        bar.push_str(symbol);
    }
    debug_assert!(width(&bar) <= columns.max(1));
    bar
}
