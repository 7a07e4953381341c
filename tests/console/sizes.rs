//! A screen in the sizes that people have, as one snapshot.

use insta::{Settings as Insta, assert_snapshot};

use crate::support::*;

pub const SIZES: [(u16, u16); 3] = [(60, 15), (80, 24), (120, 40)];

pub fn snapshot(name: &str, text: &str) {
    let mut insta = Insta::clone_current();
    insta.set_prepend_module_to_snapshot(false);
    insta.set_omit_expression(true);
    insta.bind(|| assert_snapshot!(name, text));
}

/// A screen in each size, one below the other. No cell holds a control character.
pub fn check(name: &str, keys: &str, prepare: impl Fn(u16, u16) -> Console) {
    let all = SIZES.map(|(width, height)| {
        let mut console = prepare(width, height);
        console.keys(keys);
        for cell in console.buffer(&look_of_tests()).content() {
            assert!(!cell.symbol().chars().any(char::is_control), "{cell:?}");
        }
        format!("{width}x{height}\n{}\n", console.screen())
    });
    snapshot(name, &all.concat());
}
