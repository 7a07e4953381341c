//! The only place where the list changes: `update(model, message) -> effects`. Pure.

use super::super::ConsoleExit;
use super::super::msg::Key;
use super::super::overlay;
use super::super::state::Direction;
use super::commands::{self, Action};
use super::model::{Model, Overlay, Run, Tab};
use super::view;
use super::{Effect, Msg};
use crate::reader::ScanProgress;

/// The longest filter that is kept.
const LONGEST_FILTER: usize = 60;

/// What to do when the list is first shown.
pub fn start(_: &Model) -> Vec<Effect> {
    vec![Effect::Scan]
}

/// Applies a message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Resize(size) if size == model.size => return Vec::new(),
        Msg::Resize(size) => model.size = size,
        Msg::Key(key) => {
            model.dirty = true;
            return press(model, key);
        }
        Msg::Signal(signal) => return vec![Effect::Exit(ConsoleExit::Signal(signal))],
        Msg::Progress(progress) => {
            if let Run::Scanning { progress: shown, .. } = &mut model.run {
                *shown = progress;
            }
        }
        Msg::Found(checkpoint) => {
            if model.is_scanning() {
                model.unreadable.retain(|lost| lost.path != checkpoint.path);
                model.checkpoints.insert(checkpoint.path.clone(), *checkpoint);
            }
        }
        Msg::Lost(lost) => {
            if model.is_scanning() {
                match model.unreadable.binary_search_by(|one| one.path.cmp(&lost.path)) {
                    Ok(_) => {}
                    Err(at) => model.unreadable.insert(at, lost),
                }
            }
        }
        Msg::Scanned(Ok(report)) => model.take(*report),
        Msg::Scanned(Err(why)) => model.run = Run::Failed(why),
        Msg::NotOpened(why) => model.notice = Some(why),
    }
    model.dirty = true;
    Vec::new()
}

fn press(model: &mut Model, key: Key) -> Vec<Effect> {
    model.notice = None;
    if key == Key::Interrupt {
        return vec![Effect::Exit(ConsoleExit::Quit)];
    }
    if model.typing {
        type_key(model, key);
        return Vec::new();
    }
    let Some(command) = commands::lookup(key) else { return Vec::new() };
    if model.overlay.is_some() {
        return in_overlay(model, command.action);
    }
    run(model, command.action)
}

/// A key goes into the filter.
fn type_key(model: &mut Model, key: Key) {
    match key {
        Key::Char(c) if model.filter.chars().count() < LONGEST_FILTER && !c.is_control() => {
            model.filter.push(c);
        }
        Key::Backspace if model.filter.pop().is_none() => model.typing = false,
        Key::Enter => model.typing = false,
        Key::Esc => {
            model.filter.clear();
            model.typing = false;
        }
        _ => {}
    }
}

fn in_overlay(model: &mut Model, action: Action) -> Vec<Effect> {
    let page = overlay::page(model.size);
    let most = view::overlay_rows(model).saturating_sub(page);
    let help = commands::help_is_open(model);
    match (&mut model.overlay, action) {
        (_, Action::Help) if !help => model.overlay = Some(Overlay::Help(0)),
        (_, Action::Quit | Action::Back | Action::Open | Action::Help | Action::Details) => {
            model.overlay = None;
        }
        (Some(Overlay::Help(scroll) | Overlay::Details(scroll)), action) => {
            *scroll = moved((*scroll).min(most), action, page).min(most);
        }
        (None, _) => {}
    }
    Vec::new()
}

/// Where a movement leads to.
fn moved(from: usize, action: Action, page: usize) -> usize {
    match action {
        Action::Up => from.saturating_sub(1),
        Action::Down => from.saturating_add(1),
        Action::PageUp => from.saturating_sub(page),
        Action::PageDown => from.saturating_add(page),
        Action::First => 0,
        Action::Last => usize::MAX,
        _ => from,
    }
}

fn run(model: &mut Model, action: Action) -> Vec<Effect> {
    if let Some(why) = commands::obstacle(action, model) {
        model.notice = Some(why.to_owned());
        return Vec::new();
    }
    match action {
        Action::Interrupt | Action::Quit => return vec![Effect::Exit(ConsoleExit::Quit)],
        Action::Back => return back(model),
        Action::Stop => return stop(model),
        Action::Again => return again(model),
        Action::Open => {
            let path = model.checkpoint().map(|one| one.path.clone());
            // Whatever is found meanwhile, this is the line to come back to.
            model.selected.clone_from(&path);
            return path.map(Effect::Open).into_iter().collect();
        }
        Action::Help => model.overlay = Some(Overlay::Help(0)),
        Action::Details => model.overlay = Some(Overlay::Details(0)),
        Action::Filter => model.typing = true,
        Action::Switch => {
            model.tab = match model.tab {
                Tab::Checkpoints => Tab::Unreadable,
                Tab::Unreadable => Tab::Checkpoints,
            };
        }
        Action::Sort => {
            model.sort = model.sort.next();
            model.direction = model.sort.usual();
            model.notice = Some(format!("sorted by {}", model.sort.word()));
        }
        Action::Reverse => {
            model.direction = match model.direction {
                Direction::Down => Direction::Up,
                Direction::Up => Direction::Down,
            };
        }
        Action::Up
        | Action::Down
        | Action::PageUp
        | Action::PageDown
        | Action::First
        | Action::Last => {
            let to = moved(model.place(), action, view::page(model.size));
            model.select(to);
        }
    }
    Vec::new()
}

/// One step back: what was begun last ends first.
fn back(model: &mut Model) -> Vec<Effect> {
    match model.run {
        Run::Scanning { stopping: false, .. } => return stop(model),
        _ if !model.filter.is_empty() => model.filter.clear(),
        _ if model.tab == Tab::Unreadable => model.tab = Tab::Checkpoints,
        _ => model.notice = Some("this is the top: q quits".to_owned()),
    }
    Vec::new()
}

fn stop(model: &mut Model) -> Vec<Effect> {
    if let Run::Scanning { stopping, .. } = &mut model.run {
        *stopping = true;
    }
    vec![Effect::Stop]
}

/// Lines stay until their checkpoint is read again or found to be gone.
fn again(model: &mut Model) -> Vec<Effect> {
    if let Run::Ended(ended) = model.run {
        model.earlier = model.earlier.or(Some(ended.began));
    }
    model.unreadable.clear();
    model.tab = Tab::Checkpoints;
    model.run = Run::Scanning { progress: ScanProgress::default(), stopping: false };
    vec![Effect::Scan]
}
