//! A line being typed: a condition, columns, a count. What is wrong with it is said beside it.

use super::super::msg::Key;
use super::super::state::{Prompt, PromptKind, Screen, State};
use crate::analysis::layout::MAX_PARTITIONS;
use crate::state::row::filter::Parsed;

/// The longest line that is kept.
const LONGEST: usize = 400;

/// A key goes into the line.
pub(super) fn press(state: &mut State, key: Key) {
    let Some(prompt) = &mut state.prompt else { return };
    match key {
        Key::Char(c) if prompt.text.chars().count() < LONGEST && !c.is_control() => {
            prompt.text.push(c);
            prompt.error = None;
        }
        Key::Backspace => {
            prompt.error = None;
            if prompt.text.pop().is_none() {
                state.prompt = None;
            }
        }
        Key::Esc => state.prompt = None,
        Key::Enter => accept(state),
        _ => {}
    }
}

fn accept(state: &mut State) {
    let Some(prompt) = state.prompt.take() else { return };
    let text = prompt.text.trim().to_owned();
    let result = match prompt.kind {
        PromptKind::Where => condition(state, text),
        PromptKind::By => {
            let columns = text.split(',').map(str::trim).filter(|column| !column.is_empty());
            state.hot_keys.by = columns.map(str::to_owned).collect();
            state.hot_keys.selected = None;
            state.hot_keys.trouble = None;
            Ok(())
        }
        PromptKind::Count => number(&text, MAX_PARTITIONS).map(|count| match count {
            Some(count) if state.screen == Screen::Diagnosis => state.diagnosis.go(count),
            Some(count) => state.what_if.go(count),
            None => {}
        }),
        PromptKind::Nodes => number(&text, 100_000).map(|nodes| {
            state.what_if.nodes = nodes;
            let to = state.what_if.to;
            state.what_if.go(to);
        }),
    };
    if let Err(error) = result {
        state.prompt = Some(Prompt { error: Some(error), ..prompt });
    }
}

/// A condition that can be read; whether it fits the columns is seen when rows are.
fn condition(state: &mut State, text: String) -> Result<(), String> {
    if !text.is_empty() {
        Parsed::of(&text).map_err(|error| error.to_string())?;
    }
    state.rows.condition = text;
    state.rows.selected = 0;
    state.rows.trouble = None;
    Ok(())
}

/// A whole number from 1; `None` for an empty line.
fn number(text: &str, most: u32) -> Result<Option<u32>, String> {
    let digits = text.replace([',', '_', ' '], "");
    if digits.is_empty() {
        return Ok(None);
    }
    let number = digits.parse::<u32>().ok().filter(|number| (1..=most).contains(number));
    number.map(Some).ok_or_else(|| format!("{text:?} is no whole number from 1 to {most}"))
}
