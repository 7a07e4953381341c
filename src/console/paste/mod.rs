//! The area for pasting a stack trace or a log: text above, what it means below.
//!
//! ```text
//!  Key, Pasted ─> Paste::update ─> Leave?      once per frame: Paste::settle ─> explanation
//!                                              draw(buffer, area, paste, look)
//! ```
//! A widget of its own: whoever shows it passes keys, calls [`Paste::settle`] before a frame, and
//! draws. Both are pure. Must not know which screen it is on, nor where a checkpoint comes from.

mod rows;
mod view;

use tui_textarea::{CursorMove, TextArea};

use super::msg::Key;
use super::text::sanitise;
use crate::explain::catalogue::Catalogue;
use crate::explain::reading::Reading;
use crate::report::{ExplainReport, Here};

pub use rows::{explanation, of_text};
pub use view::draw;

/// The longest text that is taken, in bytes. A log that is longer goes to `statetop explain FILE`.
pub const LONGEST: usize = 1 << 20;
/// Lines that a page key moves in the text.
const PAGE: usize = 10;

/// Which half takes the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    /// The text.
    #[default]
    Text,
    /// The explanation, which scrolls.
    Explanation,
}

/// Something that happened to the area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasteMsg {
    /// A key was pressed.
    Key(Key),
    /// The terminal passed a whole paste on.
    Pasted(String),
}

/// What the area wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasteEffect {
    /// The operator leaves it.
    Leave,
}

/// The area.
#[derive(Debug, Clone, Default)]
pub struct Paste {
    text: TextArea<'static>,
    bytes: usize,
    full: bool,
    stale: bool,
    focus: Focus,
    scroll: usize,
    report: Option<ExplainReport>,
}

impl Paste {
    /// Applies a message. The explanation follows at [`Paste::settle`].
    pub fn update(&mut self, msg: PasteMsg) -> Option<PasteEffect> {
        match msg {
            PasteMsg::Pasted(text) => self.insert(&text),
            PasteMsg::Key(Key::Esc) => return Some(PasteEffect::Leave),
            PasteMsg::Key(Key::Tab | Key::BackTab) => {
                self.focus = match self.focus {
                    Focus::Text => Focus::Explanation,
                    Focus::Explanation => Focus::Text,
                };
            }
            PasteMsg::Key(key) => match self.focus {
                Focus::Text => self.type_key(key),
                Focus::Explanation => self.scroll_key(key),
            },
        }
        None
    }

    /// Explains what has been typed or pasted since the last time; about a checkpoint where one
    /// is attached. Keys come one by one where a terminal does not tell pastes, so this is not
    /// done for each.
    pub fn settle(&mut self, here: Option<Here<'_>>) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.scroll = 0;
        self.report = None;
        let Ok(catalogue) = Catalogue::builtin() else { return };
        let Some(mut reading) = Reading::of(catalogue) else { return };
        for line in self.text.lines() {
            reading.feed(line.as_bytes());
            reading.feed(b"\n");
        }
        let report = ExplainReport::of_text("pasted text", reading.finish(), catalogue);
        self.report = Some(match here {
            Some(here) => report.about(here),
            None => report,
        });
    }

    /// What the text means, as of the last [`Paste::settle`].
    pub fn report(&self) -> Option<&ExplainReport> {
        self.report.as_ref()
    }

    /// Which half takes the keys.
    pub fn focus(&self) -> Focus {
        self.focus
    }

    /// Whether nothing has been typed or pasted.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn insert(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.bytes);
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.full = end < text.len();
        let taken = text.get(..end).unwrap_or_default();
        self.bytes += taken.len();
        self.stale = true;
        self.text.insert_str(clean(taken));
    }

    fn type_key(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Enter => self.insert("\n"),
            Key::Backspace => {
                self.stale |= self.text.delete_char();
                self.bytes = self.bytes.saturating_sub(1);
                self.full = false;
            }
            Key::Up => self.text.move_cursor(CursorMove::Up),
            Key::Down => self.text.move_cursor(CursorMove::Down),
            Key::Left => self.text.move_cursor(CursorMove::Back),
            Key::Right => self.text.move_cursor(CursorMove::Forward),
            Key::Home => self.text.move_cursor(CursorMove::Head),
            Key::End => self.text.move_cursor(CursorMove::End),
            Key::PageUp => (0..PAGE).for_each(|_| self.text.move_cursor(CursorMove::Up)),
            Key::PageDown => (0..PAGE).for_each(|_| self.text.move_cursor(CursorMove::Down)),
            Key::Esc | Key::Tab | Key::BackTab | Key::Interrupt => {}
        }
    }

    fn scroll_key(&mut self, key: Key) {
        self.scroll = match key {
            Key::Up | Key::Char('k') => self.scroll.saturating_sub(1),
            Key::Down | Key::Char('j') => self.scroll.saturating_add(1),
            Key::PageUp => self.scroll.saturating_sub(PAGE),
            Key::PageDown => self.scroll.saturating_add(PAGE),
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => usize::MAX,
            Key::Char('c') => {
                *self = Self::default();
                0
            }
            _ => self.scroll,
        };
    }
}

/// A text whose characters cannot steer the terminal; tabs are blanks, as they look.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
    text.split('\n').map(sanitise).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
