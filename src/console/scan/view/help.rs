//! The help: keys, and what the words in the last column mean.

use super::super::super::look::Role;
use super::super::super::overlay::{Content, labelled};
use super::super::super::text::Row;
use super::super::commands::{self, COMMANDS};
use super::super::model::Model;
use crate::report::scan_words;

pub(super) fn content(model: &Model, columns: usize) -> Content {
    let mut rows = vec![Row::of("The list of checkpoints", Role::Strong)];
    for command in COMMANDS {
        let title = match commands::obstacle(command.action, model) {
            Some(why) => format!("{} (not now: {why})", command.title),
            None => command.title.to_owned(),
        };
        labelled(&mut rows, command.label, Role::Key, &title, columns);
    }
    rows.push(Row::new());
    rows.push(Row::of("What a resize would bring", Role::Strong));
    for (word, meaning) in scan_words::KINDS.map(scan_words::word) {
        labelled(&mut rows, word, Role::Key, meaning, columns);
    }
    labelled(&mut rows, "no:", Role::Key, "something forbids a resize; what, follows", columns);
    rows.push(Row::new());
    rows.push(Row::of("Words and marks", Role::Strong));
    for (label, text) in LEGEND {
        labelled(&mut rows, label, Role::Key, text, columns);
    }
    Content { title: "keys".to_owned(), rows }
}

const LEGEND: [(&str, &str); 5] = [
    ("rows", "by the snapshots' own counts: changelogs after them are not in them"),
    ("-", "not tracked, not readable, or there is none"),
    ("age", "of the last commit, when the scan began"),
    ("PARTIAL", "the scan was stopped: there may be more checkpoints than are listed"),
    ("order", "^ smallest first, v largest first; by resize: ^ most to gain first"),
];
