//! What is asked about rows: whatever the shown screen needs and does not have.
//!
//! As with reads, nothing is queued: after every message [`pump`] compares what the screen has
//! with what it is about. An answer to a question that nobody asks any more is dropped.

use super::super::asking::{Asked, Question, Reply};
use super::super::effect::Effect;
use super::super::msg::Ticket;
use super::super::state::{KeysScope, Prompt, PromptKind, RowsScope, Screen, State, Subject};
use crate::reader::KeysRequest;
use crate::report::PreflightCheck;
use crate::task::Progress;

/// What is said where nothing was read.
const STOPPED: &str = "Stopped before anything was read; r reads it.";

/// Asks what is missing.
pub(super) fn pump(state: &mut State) -> Vec<Effect> {
    let stateful = state.data().is_some_and(|data| data.inspect().stateful);
    // A resize of a query without state is a question too.
    if !stateful && state.screen != Screen::Diagnosis {
        return Vec::new();
    }
    prepare(state);
    let Some(question) = missing(state) else { return Vec::new() };
    let question = at_batch(question, state);
    let running = state.asking.asked().map(|asked| at_batch(asked.question.clone(), state));
    if running.as_ref() == Some(&question) {
        return Vec::new();
    }
    state.dirty = true;
    state.asking.ask(question, state.now)
}

/// A screen that was opened without saying of what is about the store that is looked at.
fn prepare(state: &mut State) {
    if state.screen == Screen::Diagnosis
        && state.diagnosis.to == 0
        && let Some(to) = state.count_to_diagnose()
    {
        state.diagnosis.go(to);
    }
    let Some(operator) = state.operator() else { return };
    match state.screen {
        Screen::Keys if state.hot_keys.scope.is_none() => {
            state.hot_keys.scope = Some(KeysScope { operator, store: None, partition: None });
        }
        Screen::Rows if state.rows.scope.is_none() => {
            state.rows.scope =
                Some(RowsScope { operator, store: None, partition: None, key: None });
        }
        Screen::WhatIf if state.what_if.operator.is_none() => {
            state.what_if.operator = Some(operator);
        }
        _ => {}
    }
}

/// What the screen needs and does not have, or is to have anew.
fn missing(state: &State) -> Option<Question> {
    if let Some(Subject::History(wanted)) = state.overlay.as_ref().map(|overlay| &overlay.subject) {
        let known = state.rows.history.as_ref().is_some_and(|(of, _)| of == wanted);
        return (!known).then(|| Question::History(wanted.clone()));
    }
    let again = state.asking.again();
    match state.screen {
        Screen::Overview | Screen::Partitions | Screen::Batches => None,
        Screen::Keys => {
            let keys = &state.hot_keys;
            let known = keys.report().is_some() || keys.trouble().is_some();
            keys.wanted().filter(|_| again || !known).map(Question::Keys)
        }
        Screen::Rows => {
            let rows = &state.rows;
            let known = rows.page().is_some() || rows.trouble().is_some();
            rows.wanted().filter(|_| again || !known).map(Question::Rows)
        }
        Screen::Diagnosis => {
            let known = state.diagnosis.report().is_some() || state.diagnosis.trouble().is_some();
            state.preflight().filter(|_| again || !known).map(Question::Preflight)
        }
        Screen::Pauses => {
            let known = state.pauses_are_known() || state.pauses_trouble().is_some();
            state.resizes().filter(|_| again || !known).map(Question::Pauses)
        }
        Screen::WhatIf => {
            let what_if = &state.what_if;
            let known = what_if.basis().is_some() || what_if.trouble().is_some();
            what_if.wanted().filter(|_| again || !known).map(Question::Plan)
        }
    }
}

/// The question about the batch that is looked at: the one that is held still, the one that was
/// chosen or asked for on the command line, else the last committed when it is read.
fn at_batch(question: Question, state: &State) -> Question {
    let held = state.hold.as_ref().and_then(|hold| hold.data.as_ref()?.batch());
    let batch = held.or(state.reading.pinned());
    match question {
        Question::Keys(mut keys) => {
            keys.batch = batch;
            Question::Keys(keys)
        }
        Question::Rows(mut rows) => {
            rows.batch = batch;
            Question::Rows(rows)
        }
        Question::Plan(mut plan) => {
            plan.batch = batch;
            Question::Plan(plan)
        }
        // Its batch is the one of the page.
        Question::History(history) => Question::History(history),
        // They are of all batches.
        Question::Pauses(resizes) => Question::Pauses(resizes),
        // A resize is of the last committed batch.
        Question::Preflight(resize) => Question::Preflight(resize),
    }
}

/// Whether what is being asked is for the screen or window that is shown.
pub(super) fn is_ours(state: &State) -> bool {
    let Some(asked) = state.asking.asked() else { return false };
    let window = state.overlay.as_ref().map(|overlay| &overlay.subject);
    match &asked.question {
        Question::Keys(_) => state.screen == Screen::Keys,
        Question::Rows(_) => state.screen == Screen::Rows,
        Question::Plan(_) => state.screen == Screen::WhatIf,
        Question::Pauses(_) => state.screen == Screen::Pauses,
        Question::Preflight(_) => state.screen == Screen::Diagnosis,
        Question::History(_) => matches!(window, Some(Subject::History(_))),
    }
}

/// A question tells how far it is.
pub(super) fn progressed(state: &mut State, ticket: Ticket, progress: Progress) {
    let now = state.now;
    state.dirty |= state.asking.progressed(ticket, progress, now);
}

/// A preflight has made a check.
pub(super) fn checked(state: &mut State, ticket: Ticket, check: PreflightCheck) {
    let asked = state.asking.asked().filter(|asked| asked.ticket == ticket);
    let ours = |asked: &Asked| match &asked.question {
        Question::Preflight(asked) => asked.to == state.diagnosis.to,
        _ => false,
    };
    if asked.is_some_and(ours) {
        state.diagnosis.told(check);
        state.dirty = true;
    }
}

/// A question is answered.
pub(super) fn answered(state: &mut State, ticket: Ticket, reply: Reply) -> Vec<Effect> {
    let Some(question) = state.asking.finished(ticket) else { return Vec::new() };
    state.dirty = true;
    match (question, reply) {
        (Question::Keys(asked), Reply::Keys(report)) => {
            let keys = &mut state.hot_keys;
            // A report of a weight names only the families that have it: columns stay known.
            if !report.offers.columns.is_empty() {
                keys.offers.columns.clone_from(&report.offers.columns);
            }
            if keys.offers.numbers.is_empty() || asked.store.is_none() {
                keys.offers.numbers.clone_from(&report.offers.numbers);
            }
            keys.trouble = None;
            keys.answer = Some((asked, report));
        }
        (Question::Rows(asked), Reply::Rows(page)) => {
            state.rows.trouble = None;
            state.rows.selected = state.rows.selected.min(page.rows.len().saturating_sub(1));
            state.rows.answer = Some((asked, page));
        }
        (Question::History(asked), Reply::History(history)) => {
            state.rows.history = Some((asked, Ok(history)));
        }
        (Question::Plan(asked), Reply::Plan(basis)) => {
            let what_if = &mut state.what_if;
            let fresh = what_if.to == 0;
            // The question that is asked most: would twice as many help?
            let to = if fresh { basis.plan.from().saturating_mul(2) } else { what_if.to };
            what_if.trouble = None;
            what_if.answer = Some((asked, basis));
            what_if.go(to);
        }
        (Question::Preflight(asked), Reply::Preflight(report)) => {
            let diagnosis = &mut state.diagnosis;
            if asked.to == diagnosis.to {
                diagnosis.checks.clone_from(&report.checks);
            }
            diagnosis.trouble = None;
            diagnosis.answer = Some((asked, report));
        }
        (Question::Pauses(asked), Reply::Pauses(report)) => {
            state.pauses.trouble = None;
            state.diagnosis.trouble = None;
            state.pauses.answer = Some((asked, report));
            state.pauses.join(&state.remembered.pauses);
        }
        (question, Reply::Refused(why)) => refused(state, question, why),
        (question, Reply::Failed(why)) => failed(state, question, why),
        (question, _) => failed(state, question, STOPPED.to_owned()),
    }
    pump(state)
}

/// Something typed does not fit what is read: it is put back to be mended, with what is wrong.
/// What was shown before it is shown again.
fn refused(state: &mut State, question: Question, why: String) {
    let free = state.prompt.is_none() && state.overlay.is_none();
    let (kind, text, restored) = match &question {
        Question::Rows(asked) if !asked.condition.is_empty() && state.screen == Screen::Rows => {
            let rows = &mut state.rows;
            let before = rows.answer.as_ref().filter(|(before, _)| before.scope == asked.scope);
            let restored = before.map(|(before, _)| before.condition.clone());
            if let Some(condition) = restored.clone().filter(|_| free) {
                rows.condition = condition;
            }
            (PromptKind::Where, asked.condition.clone(), restored.is_some())
        }
        Question::Keys(asked) if !asked.by.is_empty() && state.screen == Screen::Keys => {
            let keys = &mut state.hot_keys;
            let before = keys.answer.as_ref().filter(|(before, _)| {
                let scope =
                    |keys: &KeysRequest| (keys.operator, keys.store.clone(), keys.partition);
                scope(before) == scope(asked)
            });
            let restored = before.map(|(before, _)| (before.by.clone(), before.weigh.clone()));
            if let Some((by, weigh)) = restored.clone().filter(|_| free) {
                (keys.by, keys.weigh) = (by, weigh);
            }
            (PromptKind::By, asked.by.join(","), restored.is_some())
        }
        _ => return failed(state, question, why),
    };
    if free {
        state.prompt = Some(Prompt { kind, text, error: Some(why.clone()) });
    }
    if !(free && restored) {
        failed(state, question, why);
    }
}

fn failed(state: &mut State, question: Question, why: String) {
    match question {
        Question::Keys(asked) => state.hot_keys.trouble = Some((asked, why)),
        Question::Rows(asked) => state.rows.trouble = Some((asked, why)),
        Question::Plan(asked) => state.what_if.trouble = Some((asked, why)),
        Question::History(asked) => state.rows.history = Some((asked, Err(why))),
        Question::Pauses(asked) => state.pauses.trouble = Some((asked, why)),
        Question::Preflight(asked) => state.diagnosis.trouble = Some((asked, why)),
    }
}

/// Another batch is looked at: what is known is of the one before.
pub(super) fn another_batch(state: &mut State) {
    (state.hot_keys.answer, state.hot_keys.trouble) = (None, None);
    (state.rows.answer, state.rows.trouble) = (None, None);
    (state.what_if.answer, state.what_if.trouble) = (None, None);
}

/// Everything that was read is read again. What is shown stays until then.
pub(super) fn again(state: &mut State) {
    state.hot_keys.trouble = None;
    state.rows.trouble = None;
    state.what_if.trouble = None;
    state.pauses.trouble = None;
    if !is_ours(state) {
        state.asking.set_again();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::asking::Asking;
    use crate::reader::PlanRequest;
    use crate::units::UnixMillis;

    #[test]
    fn only_the_newest_question_is_waited_for() {
        let mut asking = Asking::default();
        let plan = || Question::Plan(PlanRequest::default());
        let first = asking.ask(plan(), UnixMillis(0));
        assert!(matches!(first.as_slice(), [Effect::Ask(Ticket(1), _)]));
        let second = asking.ask(plan(), UnixMillis(0));
        assert!(matches!(second.as_slice(), [Effect::StopAsking, Effect::Ask(Ticket(2), _)]));
        assert_eq!(asking.finished(Ticket(1)), None);
        assert_eq!(asking.stop(), [Effect::StopAsking]);
        assert_eq!(asking.stop(), [], "once is enough");
        assert_eq!(asking.finished(Ticket(2)), Some(plan()));
    }
}
