//! Text from a checkpoint cannot break out of the document.

use super::markdown::{block, code, plain, python, shell, table};

#[test]
fn hostile_names_stay_in_their_place() {
    assert_eq!(plain("a|b\n# c\u{1b}[2J"), "a\\|b \\# c\\\\u{1b}\\[2J");
    assert_eq!(code("a`b\nc"), "`a'b c`");
    assert_eq!(block("sh", "x\n```\n# out"), "```sh\nx\n'''\n# out\n```\n");
    assert_eq!(shell("/data/ckpt/fraud-1"), "/data/ckpt/fraud-1");
    assert_eq!(shell("it's $(rm)"), "'it'\\''s $(rm)'");
    assert_eq!(python("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000ad\"");
}

#[test]
fn a_bar_in_code_does_not_end_the_cell() {
    let made = table(&["a"], &[vec![code("x|y")], vec![plain("x|y")]]);
    assert_eq!(made, "| a |\n| --- |\n| `x\\|y` |\n| x\\|y |\n");
}
