use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::*;
use crate::console::look::{Charset, Level, Look, Theme};

const TRACE: &str = "x.SparkException: Exception thrown in awaitResult: \n\tat a.B(C.scala:1)\n\
    Caused by: x.E: [STATE_STORE_INVALID_STAMP] Invalid stamp 3, current stamp: 4. SQLSTATE: XXKST\n";

fn classes(paste: &Paste) -> Vec<Option<&str>> {
    let errors = &paste.report().unwrap().errors;
    errors.iter().filter(|error| error.deepest).map(|error| error.class.as_deref()).collect()
}

fn screen(paste: &Paste, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let theme = Theme::built_in("default").unwrap();
    let look = Look::new(&theme, Level::Mono, Charset::Utf8).unwrap();
    draw(&mut buffer, area, paste, &look);
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

#[test]
fn a_paste_is_explained() {
    let mut paste = Paste::default();
    assert_eq!(paste.update(PasteMsg::Pasted(TRACE.to_owned())), None);
    assert!(paste.report().is_none(), "not before the next frame");
    paste.settle(None);
    assert_eq!(classes(&paste), [Some("STATE_STORE_INVALID_STAMP")]);
    let shown = screen(&paste, 80, 24);
    assert!(shown.contains("STATE_STORE_INVALID_STAMP  XXKST"), "{shown}");
    assert!(shown.contains("providedStamp=3"), "{shown}");
    assert_eq!(paste.update(PasteMsg::Key(Key::Esc)), Some(PasteEffect::Leave));
}

#[test]
fn keys_of_a_terminal_that_tells_no_pastes_do_the_same() {
    let mut paste = Paste::default();
    for c in TRACE.chars() {
        let key = match c {
            '\n' => Key::Enter,
            c => Key::Char(c),
        };
        paste.update(PasteMsg::Key(key));
    }
    paste.settle(None);
    assert_eq!(classes(&paste), [Some("STATE_STORE_INVALID_STAMP")]);
    // A tab is four blanks.
    for _ in 0..TRACE.len() + 3 {
        paste.update(PasteMsg::Key(Key::Backspace));
    }
    paste.settle(None);
    assert!(paste.is_empty() && paste.report().unwrap().errors.is_empty());
}

#[test]
fn the_explanation_scrolls_and_is_cleared() {
    let mut paste = Paste::default();
    paste.update(PasteMsg::Pasted(TRACE.repeat(2)));
    paste.settle(None);
    paste.update(PasteMsg::Key(Key::Tab));
    assert_eq!(paste.focus(), Focus::Explanation);
    let top = screen(&paste, 60, 14);
    paste.update(PasteMsg::Key(Key::End));
    assert_ne!(screen(&paste, 60, 14), top);
    paste.update(PasteMsg::Key(Key::Char('c')));
    assert!(paste.is_empty() && paste.focus() == Focus::Text);
}

#[test]
fn what_is_pasted_is_bounded_and_harmless() {
    let mut paste = Paste::default();
    paste.update(PasteMsg::Pasted("\u{1b}[2J\u{202e}é".repeat(LONGEST)));
    assert!(paste.full && paste.bytes <= LONGEST);
    assert!(!paste.text.lines().iter().any(|line| line.contains(['\u{1b}', '\u{202e}'])));
    paste.settle(None);
    for (width, height) in [(0, 0), (1, 1), (3, 2), (80, 5), (200, 60)] {
        screen(&paste, width, height);
    }
}

#[test]
fn findings_name_conditions() {
    let ids = |text| of_text(text).iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
    assert_eq!(
        ids("a resize is refused (LAST_BATCH_FAILED)."),
        ["STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED"]
    );
    assert_eq!(
        ids("refuse to start (STREAMING_CHECKPOINT_MISSING_METADATA_FILE); earlier"),
        ["STREAMING_CHECKPOINT_MISSING_METADATA_FILE"]
    );
    assert!(ids("IS_EMPTY, the table LEDGER_DAILY, state/0/_metadata and 200").is_empty());
    let entry = of_text("CONCURRENT_STREAM_LOG_UPDATE")[0];
    let rows = explanation(entry, 60);
    assert!(rows.iter().all(|row| row.width() <= 60) && rows.len() > 8);
}
