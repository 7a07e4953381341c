//! Diagnosis: what would a resize come to?
//!
//! ```text
//!  200 now → [ 400 ]   spark-4.3   22 checks: 20 passed, 2 warnings
//!    passed   committed-batch        A batch has been committed
//!  > WARNING  node-memory            The cap leaves little memory for each instance
//!  ─ node-memory ────────────────────────────────────────────────────────────────
//!  evidence, remedy
//!  next  resize to 400 with spark-4.3
//! ```

use ratatui::layout::Rect;

use super::super::format;
use super::super::geometry::window;
use super::super::look::{Role, Symbols};
use super::super::paint::Canvas;
use super::super::places;
use super::super::state::{PromptKind, State};
use super::super::text::{Row, sanitise, wrap};
use super::asked;
use crate::report::{CheckStatus, PreflightCheck, PreflightOutcome, PreflightReport};

/// Columns of the status and of the id.
const STATUS: usize = 9;
const ID: usize = 23;

/// The predicted outcome in one line.
pub(super) fn answer(state: &State) -> Row {
    let Some(report) = state.diagnosis.report() else {
        return Row::of(
            format!("What would a resize to {} come to?", state.diagnosis.to),
            Role::Text,
        );
    };
    Row::of(sanitise(&report.summary), role(report.outcome))
}

fn role(outcome: PreflightOutcome) -> Role {
    match outcome {
        PreflightOutcome::Ready | PreflightOutcome::Noop => Role::Text,
        PreflightOutcome::Refused | PreflightOutcome::Unknown => Role::Warning,
        PreflightOutcome::WouldBreak | PreflightOutcome::WouldLoseState => Role::Error,
    }
}

/// Draws the diagnosis screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, state: &State) {
    let Some(plan) = places::diagnosis(state.size) else { return };
    if let Some(why) = state.diagnosis.trouble() {
        let hint = "r tries again, another count asks anew, Esc goes back.";
        asked::trouble(canvas, why, hint, plan.chrome.body);
        return;
    }
    let symbols = canvas.symbols();
    canvas.row(plan.facts, &counts(state, symbols));
    let checks = &state.diagnosis.checks;
    if checks.is_empty() {
        let body =
            Rect { y: plan.table.y, height: plan.table.height + plan.detail.height, ..plan.table };
        asked::waiting(canvas, state, "what a resize needs to know", body);
        return;
    }
    let at = state.diagnosis.at();
    let shown = window(at, checks.len(), usize::from(plan.table.height));
    let rows: Vec<Row> = checks
        .iter()
        .enumerate()
        .skip(shown.start)
        .take(shown.len())
        .map(|(place, check)| line(check, place == at))
        .collect();
    canvas.rows(plan.table, &rows);
    if let Some(check) = checks.get(at) {
        canvas.rows(plan.detail, &detail(state, check, usize::from(plan.detail.width), symbols));
    }
}

/// `200 now → [ 400 ]   spark-4.3   22 checks: 1 warning`.
fn counts(state: &State, symbols: &Symbols) -> Row {
    let diagnosis = &state.diagnosis;
    let typed = state.prompt.as_ref().filter(|prompt| prompt.kind == PromptKind::Count);
    let chosen = match typed {
        Some(prompt) => format!("[ {}_ ]", prompt.text),
        None => format!("[ {} ]", format::count(diagnosis.to.into())),
    };
    let from = state.data().and_then(|data| data.inspect().partitions);
    let from = from.map_or_else(|| "?".to_owned(), |from| format::count(from.into()));
    let mut row = Row::of(format!(" {from} now "), Role::Strong);
    row.push(format!("{} ", symbols.arrow), Role::Muted);
    row.push(chosen, Role::Input);
    if let Some(report) = diagnosis.report() {
        row.push(format!("   {}", report.engine), Role::Text);
        if report.partial {
            row.push("   PARTIAL: r checks all", Role::Warning);
        } else {
            row.push("  ", Role::Muted);
            row.append(super::batch_read(state, report.batch));
        }
    }
    row.push("   ", Role::Text);
    row.append(tally(&diagnosis.checks));
    row
}

/// `22 checks: 2 warnings, 1 unknown`.
fn tally(checks: &[PreflightCheck]) -> Row {
    let mut row = Row::of(format::plural(checks.len() as u64, "check", "checks"), Role::Muted);
    for (status, one, many) in [
        (CheckStatus::Refused, "refused", "refused"),
        (CheckStatus::Warning, "warning", "warnings"),
        (CheckStatus::Unknown, "unknown", "unknown"),
    ] {
        let number = checks.iter().filter(|check| check.status == status).count() as u64;
        if number > 0 {
            row.push(", ", Role::Muted);
            row.push(format::plural(number, one, many), word(status).1);
        }
    }
    row
}

fn word(status: CheckStatus) -> (&'static str, Role) {
    match status {
        CheckStatus::Passed => ("passed", Role::Muted),
        CheckStatus::Warning => ("WARNING", Role::Warning),
        CheckStatus::Refused => ("REFUSED", Role::Error),
        CheckStatus::Unknown => ("unknown", Role::Info),
    }
}

fn line(check: &PreflightCheck, selected: bool) -> Row {
    let (word, role) = word(check.status);
    let mut row = Row::of(if selected { ">" } else { " " }, Role::Key);
    row.push(" ", Role::Text);
    row.push(word, role);
    row.pad_to(STATUS + 2, Role::Text);
    row.push(check.id, Role::Muted);
    row.pad_to(STATUS + 2 + ID, Role::Text);
    row.with(&check.summary, if selected { Role::Strong } else { Role::Text })
}

/// Evidence and remedy of the selected check, then what can be done next.
fn detail(state: &State, check: &PreflightCheck, columns: usize, symbols: &Symbols) -> Vec<Row> {
    let title = format!("{} {} ", symbols.line, check.id);
    let mut head = Row::of(title, Role::Border);
    head.push(symbols.line.repeat(columns.saturating_sub(head.width())), Role::Border);
    let mut rows = vec![head];
    let room = columns.saturating_sub(2);
    for (role, text) in [(Role::Text, &check.evidence), (Role::Info, &check.remedy)] {
        if !text.is_empty() {
            let lines = wrap(&sanitise(text), room).into_iter();
            rows.extend(lines.map(|line| Row::of(format!(" {line}"), role)));
        }
    }
    rows.extend(state.diagnosis.report().into_iter().flat_map(|report| next(report, room)));
    rows
}

fn next(report: &PreflightReport, room: usize) -> Vec<Row> {
    let all: Vec<&str> = report.legal_next.iter().map(|next| next.summary.as_str()).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let text = format!("next: {}", all.join("; or "));
    wrap(&text, room).into_iter().map(|line| Row::of(format!(" {line}"), Role::Strong)).collect()
}
