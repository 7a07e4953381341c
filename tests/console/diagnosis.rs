//! The diagnosis screen: a preflight that fills in while it runs.

use std::sync::Arc;

use statetop::console::asking::{Question, Reply};
use statetop::console::msg::{Msg, Ticket};
use statetop::console::state::Screen;
use statetop::console::update;
use statetop::report::{
    CheckStatus, LegalNext, NextAction, PreflightCheck, PreflightOutcome, PreflightReport,
};
use statetop::units::BatchId;

use crate::sizes::*;
use crate::support::*;

fn made(id: &'static str, status: CheckStatus, summary: &str) -> PreflightCheck {
    let remedy = if status == CheckStatus::Passed { "" } else { "Do what this sentence says." };
    PreflightCheck {
        id,
        status,
        summary: summary.to_owned(),
        evidence: format!("what was found of {id}, and where"),
        remedy: remedy.to_owned(),
    }
}

fn checks(operators: CheckStatus) -> Vec<PreflightCheck> {
    use CheckStatus::{Passed, Unknown, Warning};
    let mut all = vec![
        made("parameters", Passed, "The count is one"),
        made("committed-batch", Passed, "A batch has been committed"),
        made("last-batch", Passed, "The last batch is committed"),
        made("offset-entry", Passed, "The offset entry of the last committed batch is there"),
        made("count", Passed, "The count is a change"),
        made("checkpoint-format", Passed, "The session has the checkpoint's format"),
        made("operator-metadata", Passed, "The operators are described"),
        made("schemas", Passed, "The schemas are readable"),
        made("operators", operators, "All operators can be rehashed, or one of them cannot"),
    ];
    for id in ["provider", "partition-directories", "state-files", "result", "rows", "retention"] {
        all.push(made(id, Passed, "Nothing is in the way"));
    }
    all.push(made("query-stopped", Warning, "The query may be running"));
    all.push(made("node-memory", Unknown, "Memory per node is not known"));
    all.push(made("plan", Warning, "This count will not help"));
    all
}

pub(crate) fn report(outcome: PreflightOutcome, to: i64) -> PreflightReport {
    let broken = outcome == PreflightOutcome::WouldBreak;
    let class = "STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_STATEFUL_OPERATOR";
    PreflightReport {
        checkpoint: "s3://ckpt/fraud_join".to_owned(),
        from: Some(200),
        to,
        engine: "spark-4.3".to_owned(),
        engine_reason: "asked for".to_owned(),
        batch: Some(BatchId(BATCH)),
        outcome,
        summary: if broken {
            format!("Would break: spark-4.3 would write offsets/1842, then fail with {class}")
        } else {
            format!("Ready: spark-4.3 would resize to {to}, and the state would be right.")
        },
        error_class: broken.then(|| class.to_owned()),
        parameters: std::collections::BTreeMap::new(),
        legal_next: vec![LegalNext {
            action: NextAction::Start,
            partitions: None,
            summary: "start the query as it is".to_owned(),
        }],
        checks: checks(if broken { CheckStatus::Refused } else { CheckStatus::Passed }),
        partial: false,
    }
}

fn opened(width: u16, height: u16) -> Console {
    let mut console = Console::new(width, height);
    console.observe(&usual(), BATCH);
    console.keys("7");
    console
}

/// The count that was asked for last, and the ticket.
fn asked(console: &Console) -> Option<(Ticket, u32)> {
    match console.last_question()? {
        (ticket, Question::Preflight(asked)) => Some((ticket, asked.to)),
        _ => None,
    }
}

fn answered(width: u16, height: u16, outcome: PreflightOutcome) -> Console {
    let mut console = opened(width, height);
    let to = asked(&console).unwrap().1;
    console.reply(Reply::Preflight(Arc::new(report(outcome, to.into()))));
    console
}

#[test]
fn ready_broken_and_while_it_runs() {
    check("diagnosis-ready", "", |w, h| answered(w, h, PreflightOutcome::Ready));
    check("diagnosis-broken", "", |w, h| answered(w, h, PreflightOutcome::WouldBreak));
    check("diagnosis-selected", "G", |w, h| answered(w, h, PreflightOutcome::WouldBreak));
    check("diagnosis-running", "", |width, height| {
        let mut console = opened(width, height);
        let ticket = asked(&console).unwrap().0;
        for check in checks(CheckStatus::Passed).into_iter().take(6) {
            console.send(Msg::Checked(ticket, Box::new(check)));
        }
        console
    });
    check("diagnosis-asked", "", opened);
}

#[test]
fn another_count_is_asked_anew() {
    let mut console = answered(80, 24, PreflightOutcome::Ready);
    let (first, to) = asked(&console).unwrap();
    console.keys("l");
    let (second, more) = asked(&console).unwrap();
    assert!(second != first && more > to, "{to} {more}");
    assert!(!console.screen().contains("Ready:"), "{}", console.screen());
    // What the one before still tells is not for this count.
    console.send(Msg::Checked(first, Box::new(made("plan", CheckStatus::Refused, "too late"))));
    assert!(!console.screen().contains("too late"), "{}", console.screen());
    console.keys("c64\n");
    assert_eq!(asked(&console).unwrap().1, 64);
    console.keys("0");
    let from =
        inspect_report(&usual(), BATCH, statetop::reader::Depth::Snapshot).partitions.unwrap();
    assert_eq!(asked(&console).unwrap().1, from);
}

#[test]
fn it_takes_the_count_of_the_what_if_screen_and_its_nodes() {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH);
    console.keys("4").answer_all();
    console.keys("c90\n7");
    assert_eq!(asked(&console).unwrap().1, 90);
    console.keys("n4\n");
    let Some((_, Question::Preflight(question))) = console.last_question() else { panic!() };
    assert_eq!(question.nodes, Some(4));
}

#[test]
fn trouble_is_told_and_tried_again() {
    let mut console = opened(80, 24);
    let first = asked(&console).unwrap().0;
    console.reply(Reply::Failed("s3://ckpt/fraud_join: access denied".to_owned()));
    assert!(console.screen().contains("access denied"), "{}", console.screen());
    console.keys("r");
    assert_ne!(asked(&console).unwrap().0, first);
}

/// What Spark 4.2.1 said when it refused repartitions.
const REFUSALS: &str =
    include_str!("../telemetry/samples/driverlog-oss-4.2.1-repartition-refusals.log");

#[test]
fn a_pasted_error_is_explained() {
    let all = SIZES.map(|(width, height)| {
        let mut console = opened(width, height);
        console.keys("E").send(Msg::Pasted(REFUSALS.to_owned()));
        update::settle(&mut console.state);
        format!("{width}x{height}\n{}\n", console.screen())
    });
    snapshot("diagnosis-paste", &all.concat());
}

#[test]
fn what_was_pasted_stays_and_letters_are_no_commands() {
    let mut console = opened(80, 24);
    console.keys("Eq1\n");
    assert_eq!(console.state.screen, Screen::Diagnosis);
    console.keys("\u{1b}");
    assert!(!console.screen().contains("paste a stack trace"), "{}", console.screen());
    console.keys("E");
    assert!(console.screen().contains("q1"), "{}", console.screen());
    // Elsewhere a paste does nothing but say where it would.
    console.keys("\u{1b}").send(Msg::Pasted("q".to_owned()));
    assert!(console.screen().contains("E takes a pasted error"), "{}", console.screen());
}
