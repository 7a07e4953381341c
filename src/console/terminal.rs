//! The terminal: what is switched on, how it is given back, how a frame gets out.
//!
//! Everything that is switched on is noted in one place and switched off in reverse order
//! by `restore`, whatever ends the console: an exit, an error, a panic or a signal. A
//! frame leaves in one write, wrapped in a synchronized update, and a frame without
//! differences leaves not at all.

use std::cell::RefCell;
use std::io::{self, Write};
use std::panic;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, ThreadId};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

const RAW: u8 = 1;
const SCREEN: u8 = 2;
const MOUSE: u8 = 4;

/// What is switched on. Global, because panic hooks and signals must reach it.
static ENABLED: AtomicU8 = AtomicU8::new(0);

/// Presses and the wheel only, in the form without limits on columns. No motion: it would
/// wake the console at every move of the hand.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1000l";

type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync + 'static>;

/// Holds the terminal; gives it back when dropped.
pub struct Guard {
    hook: Arc<Hook>,
}

impl Guard {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is no terminal.
    pub fn enter() -> io::Result<Self> {
        let hook = Arc::new(panic::take_hook());
        install_hook(Arc::clone(&hook), thread::current().id());
        let guard = Self { hook };
        enable_raw_mode()?;
        ENABLED.fetch_or(RAW, Ordering::SeqCst);
        ENABLED.fetch_or(SCREEN, Ordering::SeqCst);
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore(&mut io::stdout());
        // Setting a hook while panicking would be a second panic.
        if !thread::panicking() {
            let hook = Arc::clone(&self.hook);
            panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

/// A panic of the console's thread is told after the terminal is given back. Panics of
/// readers are caught and shown as failed reads: their text must not go into the screen.
fn install_hook(previous: Arc<Hook>, console: ThreadId) {
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == console {
            restore(&mut io::stdout());
            previous(info);
        }
    }));
}

/// Gives the terminal back, as far as it still listens. Doing it twice does nothing.
pub(super) fn restore(out: &mut impl Write) {
    let enabled = ENABLED.swap(0, Ordering::SeqCst);
    if enabled & MOUSE != 0 {
        let _ = out.write_all(MOUSE_OFF);
    }
    if enabled & SCREEN != 0 {
        let _ =
            execute!(out, EndSynchronizedUpdate, DisableBracketedPaste, Show, LeaveAlternateScreen);
    }
    if enabled & RAW != 0 {
        let _ = disable_raw_mode();
    }
}

/// Ends raw mode only, which cannot hang.
pub(super) fn restore_modes() {
    if ENABLED.fetch_and(!RAW, Ordering::SeqCst) & RAW != 0 {
        let _ = disable_raw_mode();
    }
}

/// Takes the mouse from the terminal, or gives it back.
pub(super) fn capture_mouse(capture: bool) -> io::Result<()> {
    let mut out = io::stdout();
    if capture {
        ENABLED.fetch_or(MOUSE, Ordering::SeqCst);
        out.write_all(MOUSE_ON)?;
    } else {
        out.write_all(MOUSE_OFF)?;
        ENABLED.fetch_and(!MOUSE, Ordering::SeqCst);
    }
    out.flush()
}

/// The size of this process's terminal. Serial lines and some containers say 0x0: then the
/// size that everything was once made for.
pub(super) fn size() -> io::Result<Size> {
    Ok(match crossterm::terminal::size()? {
        (0, _) | (_, 0) => Size::new(80, 24),
        (width, height) => Size::new(width, height),
    })
}

/// Where a backend learns the size of the screen from.
#[derive(Debug, Clone, Copy)]
pub enum Extent {
    /// The terminal of this process.
    Terminal,
    /// Fixed, for tests.
    Fixed(Size),
}

/// Collects what a frame writes.
#[derive(Debug, Clone, Default)]
struct Pending(Rc<RefCell<Vec<u8>>>);

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A backend that sends each frame in one write and an unchanged frame not at all.
pub struct FrameBackend<W: Write> {
    inner: CrosstermBackend<Pending>,
    pending: Pending,
    out: W,
    extent: Extent,
}

impl<W: Write> FrameBackend<W> {
    /// A backend that writes frames to `out`.
    pub fn new(out: W, extent: Extent) -> Self {
        let pending = Pending::default();
        Self { inner: CrosstermBackend::new(pending.clone()), pending, out, extent }
    }

    /// Where frames go.
    pub fn out(&self) -> &W {
        &self.out
    }
}

impl<W: Write> Backend for FrameBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        // Without this an empty difference would still write its closing reset.
        let mut content = content.peekable();
        if content.peek().is_none() { Ok(()) } else { self.inner.draw(content) }
    }

    /// Nothing: the cursor is hidden for as long as the console runs.
    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Not asked: answers are slow or lost over SSH.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _position: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        match self.extent {
            Extent::Terminal => size(),
            Extent::Fixed(size) => Ok(size),
        }
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut frame = Vec::new();
        std::mem::swap(&mut frame, &mut self.pending.0.borrow_mut());
        if frame.is_empty() {
            return Ok(());
        }
        let mut whole = Vec::with_capacity(frame.len() + 16);
        queue!(whole, BeginSynchronizedUpdate)?;
        whole.append(&mut frame);
        queue!(whole, EndSynchronizedUpdate)?;
        self.out.write_all(&whole)?;
        self.out.flush()
    }
}
