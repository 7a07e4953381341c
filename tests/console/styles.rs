//! Which style covers which cell: `TestBackend` and plain snapshots hold text only.
//!
//! Each distinct style gets a letter, in order of appearance; the legend below the screen
//! says what the letters mean.

use insta::{Settings as Insta, assert_snapshot};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use statetop::console::look::{Charset, Level, Look};

use crate::support::*;

type Shown = (Color, Color, Modifier);

fn shown(cell: &Cell) -> Shown {
    (cell.fg, cell.bg, cell.modifier)
}

/// Text, letters and legend.
fn layers(buffer: &Buffer) -> String {
    let mut styles: Vec<Shown> = Vec::new();
    let mut letters = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = shown(cell);
            let plain = style.1 == Color::Reset && style.2.is_empty();
            if cell.symbol() == " " && plain {
                line.push(' ');
                continue;
            }
            let at = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            line.push(char::from(b'a' + u8::try_from(at).unwrap()));
        }
        letters.push_str(line.trim_end());
        letters.push('\n');
    }
    let legend: Vec<String> = (b'a'..)
        .zip(styles)
        .map(|(letter, (fg, bg, modifier))| {
            format!("{} = {fg:?} on {bg:?} {modifier:?}", char::from(letter))
        })
        .collect();
    let legend = legend.join("\n");
    format!("{}\n{letters}\n{legend}", text(buffer))
}

fn check(name: &str, look: &Look) {
    let mut console = Console::new(80, 24);
    let mut stores = usual();
    stores[0].rows[12] = None;
    stores[0].rows[13] = Some(0);
    stores[0].rows[64] = Some(14_000);
    stores[0].rows[95] = Some(1_000);
    console.observe_with(&stores, BATCH - 1, |inspect| inspect.findings = findings());
    stores[0].rows[70] = stores[0].rows[70].map(|rows| rows + 400);
    console.observe_with(&stores, BATCH, |inspect| inspect.findings = findings());
    let overview = layers(&console.buffer(look));
    console.keys("2\t");
    let partitions = layers(&console.buffer(look));
    let mut insta = Insta::clone_current();
    insta.set_prepend_module_to_snapshot(false);
    insta.set_omit_expression(true);
    insta.bind(|| assert_snapshot!(format!("style-{name}"), format!("{overview}\n\n{partitions}")));
}

#[test]
fn every_theme() {
    for theme in ["default", "light", "high-contrast", "colour-blind", "mono"] {
        check(theme, &look(theme, Level::Ansi256, Charset::Utf8));
    }
}

#[test]
fn every_level() {
    check("default-16", &look("default", Level::Ansi16, Charset::Utf8));
    check("default-rgb", &look("default", Level::Rgb, Charset::Utf8));
}

#[test]
fn ascii_without_colour() {
    let look = look("default", Level::Mono, Charset::Ascii);
    check("mono-ascii", &look);
}

/// Without colours everything must still be told apart: no colour, and only ASCII.
#[test]
fn mono_and_ascii_are_complete() {
    let look = look("colour-blind", Level::Mono, Charset::Ascii);
    for keys in [
        "", "2", "2\t", "?", "\n", "2d", "2m\n L", "2/empty", "3", "2\n", "2v", "2v\n", "2vh",
        "2vfa >\n", "4", "4\n", "5", "2m", "e",
    ] {
        let mut console = Console::new(80, 24);
        let mut stores = usual();
        stores[0].rows[12] = None;
        stores[0].name = "café";
        console.observe_with(&stores, BATCH, |inspect| inspect.findings = findings());
        for key in keys.chars() {
            console.keys(&key.to_string()).answer_all();
        }
        for cell in console.buffer(&look).content() {
            assert!(cell.symbol().is_ascii(), "{cell:?} after {keys:?}");
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{cell:?}");
        }
    }
}

/// Heat in the colour-blind theme only gets lighter, so that hue does not matter.
#[test]
fn the_colour_blind_scale_rises_in_lightness() {
    use statetop::console::look::Role;
    let look = look("colour-blind", Level::Rgb, Charset::Utf8);
    let lightness = Role::HEAT.map(|role| match look.style(role).fg {
        Some(Color::Rgb(r, g, b)) => {
            0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
        }
        other => panic!("{other:?}"),
    });
    assert!(lightness.windows(2).all(|pair| pair[0] + 10.0 < pair[1]), "{lightness:?}");
}
