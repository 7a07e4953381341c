//! The screens that read rows: what they ask, what keys do there, what they look like.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, unbounded};
use insta::{Settings as Insta, assert_snapshot};
use statetop::console::asking::{Question, Reply};
use statetop::console::effect::Effect;
use statetop::console::msg::{Key, Msg, Ticket};
use statetop::console::runtime::{Incoming, Lanes};
use statetop::console::state::{PromptKind, Screen, Subject};
use statetop::reader::{KeysRequest, Mark, Observation, Observe, ReadError, ReadState, Weighing};
use statetop::report::{Grade, Reveal};
use statetop::task::{Cancel, Progress};
use statetop::units::{BatchId, Bytes, OperatorId, PartitionId};

use crate::rows_support::*;
use crate::support::*;

const SIZES: [(u16, u16); 3] = [(60, 15), (80, 24), (120, 40)];

fn ready(width: u16, height: u16) -> Console {
    let mut console = Console::new(width, height);
    console.observe(&usual(), BATCH);
    console.effects.clear();
    console
}

fn keys_request(console: &Console) -> KeysRequest {
    match console.last_question() {
        Some((_, Question::Keys(request))) => request,
        other => panic!("{other:?}"),
    }
}

fn asked(console: &Console) -> usize {
    console.effects.iter().filter(|effect| matches!(effect, Effect::Ask(..))).count()
}

/// A screen in each size, one below the other.
fn check(name: &str, prepare: impl Fn(&mut Console)) {
    let all = SIZES.map(|(width, height)| {
        let mut console = ready(width, height);
        prepare(&mut console);
        for cell in console.buffer(&look_of_tests()).content() {
            assert!(!cell.symbol().chars().any(char::is_control), "{cell:?}");
        }
        format!("{width}x{height}\n{}\n", console.screen())
    });
    let mut insta = Insta::clone_current();
    insta.set_prepend_module_to_snapshot(false);
    insta.set_omit_expression(true);
    insta.bind(|| assert_snapshot!(name, all.concat()));
}

#[test]
fn keys_of_an_operator_and_of_a_partition() {
    check("row-keys", |console| {
        console.keys("3").answer_all();
    });
    check("row-keys-partition", |console| {
        console.keys("2\n").answer_all().keys("bjj").answer_all().keys("m");
    });
}

#[test]
fn keys_being_read_and_stopped() {
    check("row-keys-reading", |console| {
        console.keys("3").after(4_000);
        let (ticket, _) = console.last_question().unwrap();
        let progress = Progress { done: 40, total: 200, rows: 168_422, bytes: Bytes(17_600_000) };
        console.send(Msg::Asking(ticket, progress));
    });
    check("row-keys-partial", |console| {
        console.keys("3");
        let report = keys_report(&keys_request(console));
        let report = statetop::report::KeysReport { partial: true, partitions_read: 12, ..report };
        console.keys("\u{1b}").reply(Reply::Keys(Arc::new(report)));
    });
}

#[test]
fn keys_with_an_error_bound_and_unread_partitions() {
    check("row-keys-bounded", |console| {
        console.keys("3");
        let mut report = keys_report(&keys_request(console));
        (report.exact, report.error_bound) = (false, 120);
        for key in &mut report.keys {
            key.error = 120;
        }
        console.reply(Reply::Keys(Arc::new(report)));
    });
    check("row-keys-broken", |console| {
        console.keys("3");
        let mut report = keys_report(&keys_request(console));
        (report.grade, report.unreadable) =
            (Grade::Unknown, vec![PartitionId(12), PartitionId(13)]);
        console.reply(Reply::Keys(Arc::new(report)));
    });
}

#[test]
fn keys_that_cannot_be_told() {
    check("row-keys-failed", |console| {
        let why = "the operator has no grouping key: all its state is in partition 0";
        console.keys("3").reply(Reply::Refused(why.to_owned()));
    });
}

#[test]
fn rows_of_a_key() {
    check("row-rows", |console| {
        console.keys("2\n").answer_all().keys("\n").answer_all().keys("jj");
    });
    check("row-rows-shown", |console| {
        console.keys("2v").reply(page(rows(1_000), true)).keys("mjj");
    });
    check("row-rows-mixed", |console| {
        console.keys("2v").reply(page(mixed_rows(), false)).keys("mjj");
    });
    check("row-rows-none", |console| {
        console.keys("2v").reply(page(Vec::new(), false));
    });
}

#[test]
fn a_row_and_its_history_in_full() {
    check("row-detail", |console| {
        console.keys("2v").answer_all().keys("mjj\n");
    });
    check("row-history", |console| {
        console.keys("2v").answer_all().keys("h").answer_all();
    });
}

#[test]
fn a_condition_that_does_not_fit() {
    check("row-condition", |console| {
        console.keys("2v").answer_all().keys("famount > \n");
    });
}

#[test]
fn what_if_in_every_size() {
    check("row-what-if", |console| {
        console.keys("4").answer_all();
    });
    check("row-what-if-nodes", |console| {
        console.keys("4").answer_all().keys("0n4\n,m");
    });
    check("row-what-if-reading", |console| {
        console.keys("4");
    });
}

/// The layouts of made-up keys, by the arithmetic of the reader's own tests: here only that
/// the screen shows what the basis says.
#[test]
fn the_count_moves_and_the_answer_with_it() {
    let mut console = ready(80, 24);
    console.keys("4").answer_all();
    let to = |console: &Console| console.state.what_if.report.as_ref().unwrap().to;
    assert_eq!(to(&console), 400, "twice as many is the first question");
    console.send(Msg::Key(Key::Right));
    assert_eq!(to(&console), 410);
    console.keys("h,");
    assert_eq!(to(&console), 200);
    console.keys("\n1,600\n");
    assert_eq!(to(&console), 1_600);
    console.keys("c0\n");
    assert!(console.state.prompt.as_ref().unwrap().error.is_some());
    console.keys("\u{1b}0");
    assert_eq!(to(&console), 200);
    console.keys(".");
    let report = console.state.what_if.report.as_ref().unwrap();
    assert_eq!(report.after.partitions.len(), 400);
    assert_eq!(report.consequences.numbers.instances.after, 400);
    assert_eq!(asked(&console), 1, "moving the count asks nothing");
}

#[test]
fn from_a_partition_to_its_keys_to_rows_and_back() {
    let mut console = ready(80, 24);
    console.keys("2\n");
    let request = keys_request(&console);
    assert_eq!((request.operator, request.partition), (Some(OperatorId(0)), Some(PartitionId(37))));
    console.answer_all().keys("\n");
    let Some((_, Question::Rows(question))) = console.last_question() else { panic!() };
    let key = question.scope.key.unwrap();
    assert_eq!(key.key["account_id"], "acct-7");
    assert_eq!(key.partitions, [PartitionId(37)]);
    console.answer_all();
    let screens: Vec<Screen> = (0..3)
        .map(|_| {
            console.keys("\u{1b}");
            console.state.screen
        })
        .collect();
    assert_eq!(screens, [Screen::Keys, Screen::Partitions, Screen::Overview]);
    assert_eq!(asked(&console), 2, "what is known is not asked again");
}

#[test]
fn from_the_overview_to_the_operators_keys() {
    let mut console = ready(80, 24);
    console.keys("jj3");
    assert_eq!(keys_request(&console).operator, Some(OperatorId(1)));
    assert_eq!(keys_request(&console).partition, None);
}

#[test]
fn columns_weights_and_stores_are_stepped_through() {
    let mut console = ready(80, 24);
    console.keys("3").answer_all();
    let mut by = Vec::new();
    for _ in 0..3 {
        console.keys("b").answer_all();
        by.push(keys_request(&console).by);
    }
    assert_eq!(by, [vec!["account_id".to_owned()], vec!["window".to_owned()], Vec::new()]);
    let mut weights = Vec::new();
    for _ in 0..4 {
        console.keys("w").answer_all();
        weights.push(keys_request(&console).weigh.name());
    }
    assert_eq!(weights, ["bytes", "updates", "value:count", "value:sum"]);
    console.keys("o").answer_all();
    assert_eq!(keys_request(&console).store.as_deref(), Some("left-keyWithIndexToValue"));
    console.keys("Baccount_id, window.start\n");
    assert_eq!(keys_request(&console).by, ["account_id", "window.start"]);
    console.answer_all();
    assert_eq!(console.state.hot_keys.weigh, Weighing::Value("sum".to_owned()));
}

#[test]
fn columns_that_are_not_there_are_put_back_to_be_mended() {
    let mut console = ready(80, 24);
    console.keys("3").answer_all().keys("Bnope\n");
    console.reply(Reply::Refused("there is no grouping column \"nope\"".to_owned()));
    let prompt = console.state.prompt.as_ref().unwrap();
    assert_eq!((prompt.kind, prompt.text.as_str()), (PromptKind::By, "nope"));
    assert!(console.screen().contains("there is no grouping column"));
    console.keys("\u{1b}");
    assert!(console.state.hot_keys.report().is_some(), "what was shown before is shown again");
    assert_eq!(asked(&console), 2);
}

#[test]
fn a_condition_is_read_before_rows_are() {
    let mut console = ready(80, 24);
    console.keys("2v").answer_all().keys("famount >\n");
    assert!(console.state.prompt.as_ref().unwrap().error.is_some());
    assert_eq!(asked(&console), 1);
    console.keys(" 7\n");
    let Some((_, Question::Rows(question))) = console.last_question() else { panic!() };
    assert_eq!(question.condition, "amount > 7");
    console.reply(Reply::Refused("there is no column amount".to_owned()));
    assert_eq!(console.state.prompt.as_ref().unwrap().text, "amount > 7");
    assert!(console.state.rows.page().is_some());
}

#[test]
fn escape_keeps_what_was_read_and_late_answers_are_dropped() {
    let mut console = ready(80, 24);
    console.keys("3");
    let (first, _) = console.last_question().unwrap();
    console.keys("w");
    let (second, _) = console.last_question().unwrap();
    assert_ne!(first, second);
    assert!(console.effects.contains(&Effect::StopAsking), "the old one is given up");
    let report = keys_report(&keys_request(&console));
    console.send(Msg::Answer(first, Box::new(Reply::Keys(Arc::new(report.clone())))));
    assert!(console.state.hot_keys.report().is_none(), "its answer is nobody's");
    console.keys("\u{1b}");
    assert_eq!(console.state.screen, Screen::Keys);
    let partial = statetop::report::KeysReport { partial: true, ..report };
    console.reply(Reply::Keys(Arc::new(partial)));
    assert!(console.screen().contains("PARTIAL"));
    console.keys("r");
    assert!(console.last_question().unwrap().0 > second, "r reads all");
    console.reply(Reply::Cancelled);
    assert!(console.screen().contains("Stopped before anything was read"), "{}", console.screen());
}

#[test]
fn nothing_shows_data_until_it_is_asked_for() {
    for keys in ["3", "2\n", "4", "2v", "2v\n", "2vh", "3\n"] {
        let mut console = ready(120, 40);
        for key in keys.chars() {
            console.keys(&key.to_string()).answer_all();
        }
        let screen = console.screen();
        assert!(!screen.contains("acct-"), "{keys:?}\n{screen}");
        assert!(screen.contains("MASKED"), "{screen}");
        console.keys("m");
        assert_eq!(console.state.reveal, Reveal::Shown);
        assert!(console.screen().contains("acct-7"), "{keys:?}\n{}", console.screen());
    }
}

#[test]
fn a_history_is_of_the_selected_row() {
    let mut console = ready(80, 24);
    console.keys("2v").answer_all().keys("jh");
    let Some((_, Question::History(request))) = console.last_question() else { panic!() };
    assert_eq!(request.key, rows(2)[1].key);
    assert_eq!(request.batch, Some(BatchId(BATCH)), "up to the batch of the page");
    assert!(matches!(console.state.overlay.as_ref().unwrap().subject, Subject::History(_)));
    console.answer_all().keys("\u{1b}h").answer_all();
    assert_eq!(console.state.rows.history.as_ref().unwrap().1.as_ref().unwrap().changes.len(), 3);
}

#[test]
fn a_filter_narrows_rows_and_keys() {
    let mut console = ready(80, 24);
    console.keys("3").answer_all().keys("/acct-29\n");
    assert_eq!(console.state.hot_keys.listed().len(), 1);
    console.keys("2v").answer_all().keys("/note 7\n");
    assert_eq!(console.state.rows.listed(), [7]);
    assert_eq!(console.state.selected_place(), Some(7));
}

#[test]
fn a_stateless_query_has_no_keys() {
    let mut console = Console::new(80, 24);
    console.observe(&[], BATCH).keys("3");
    assert_eq!(console.state.screen, Screen::Overview);
    assert!(console.state.notice.as_ref().unwrap().contains("no state"));
}

struct Source;

impl Observe for Source {
    fn name(&self) -> &'static str {
        "made-up"
    }

    fn state(&self) -> Option<&dyn ReadState> {
        Some(&MadeUpState)
    }

    fn mark(&self) -> Result<Mark, ReadError> {
        Ok(mark(BATCH))
    }

    fn observe(
        &self,
        request: &statetop::reader::Request,
        _: &Cancel,
        _: &(dyn Fn(Progress) + Sync),
    ) -> Result<Observation, ReadError> {
        Ok(observation(&usual(), BATCH, request.depth))
    }
}

fn answer(inbox: &Receiver<Incoming>) -> (Ticket, Reply) {
    loop {
        match inbox.recv_timeout(Duration::from_secs(20)).unwrap() {
            Incoming::Msg(Msg::Answer(ticket, reply)) => return (ticket, *reply),
            Incoming::Msg(Msg::Asking(..)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_lane_of_questions_answers_bounds_and_gives_up() {
    let (sender, inbox) = unbounded();
    let mut lanes = Lanes::new(Arc::new(Source), &sender).unwrap();
    let mut console = ready(80, 24);
    console.keys("2v");
    let (_, rows) = console.last_question().unwrap();
    lanes.ask(Ticket(1), Box::new(rows));
    let (Ticket(1), Reply::Rows(page)) = answer(&inbox) else { panic!() };
    assert_eq!((page.rows.len(), page.more), (1_000, true));

    console.keys("3");
    let (_, keys) = console.last_question().unwrap();
    lanes.ask(Ticket(2), Box::new(keys));
    lanes.stop_asking();
    match answer(&inbox) {
        (Ticket(2), Reply::Keys(report)) => assert!(report.partial),
        // Given up before it began.
        (Ticket(2), Reply::Cancelled) => {}
        other => panic!("{other:?}"),
    }

    console.answer_all().keys("Bx\n");
    let (_, refused) = console.last_question().unwrap();
    lanes.ask(Ticket(3), Box::new(refused));
    assert!(matches!(answer(&inbox), (Ticket(3), Reply::Refused(_))));

    console.keys("4");
    let (_, plan) = console.last_question().unwrap();
    lanes.ask(Ticket(4), Box::new(plan));
    let (Ticket(4), Reply::Plan(basis)) = answer(&inbox) else { panic!() };
    assert!(basis.curve.iter().any(|point| point.partitions == 200));
}
