//! What keys do.

use statetop::console::ConsoleExit;
use statetop::console::commands::help_markdown;
use statetop::console::effect::{Effect, Lane};
use statetop::console::msg::{Key, Mouse, Msg, Outcome};
use statetop::console::state::{Focus, Screen, Settings, SortBy, Subject};
use statetop::reader::Depth;
use statetop::units::{OperatorId, PartitionId};

use crate::support::*;

fn ready() -> Console {
    let mut console = Console::new(80, 24);
    console.observe(&usual(), BATCH);
    console.effects.clear();
    console
}

fn selected(console: &Console) -> u32 {
    console.state.partitions.selected.unwrap().0
}

fn quits(console: &Console) -> bool {
    console.effects.contains(&Effect::Exit(ConsoleExit::Quit))
}

#[test]
fn q_goes_back_and_quits_only_from_the_top() {
    let mut console = ready();
    console.keys("2?q");
    assert_eq!((console.state.overlay.is_none(), quits(&console)), (true, false));
    console.keys("q");
    assert_eq!((console.state.screen, quits(&console)), (Screen::Overview, false));
    console.keys("q");
    assert!(quits(&console));
}

#[test]
fn control_c_quits_from_anywhere() {
    for keys in ["", "2", "?", "/abc", "2\n", "2d", "2vfx", "4", "5", "2m"] {
        let mut console = ready();
        console.keys(keys).send(Msg::Key(Key::Interrupt));
        assert!(quits(&console), "{keys:?}");
    }
}

#[test]
fn escape_goes_one_level_up_and_never_out() {
    let mut console = ready();
    console.keys("2/37\nxd");
    assert!(console.state.overlay.is_some());
    console.keys("\u{1b}");
    assert!(console.state.overlay.is_none());
    console.keys("\u{1b}");
    assert!(console.effects.contains(&Effect::Cancel(Lane::Exact)), "counting is given up");
    console.keys("\u{1b}");
    assert_eq!(console.state.partitions.filter, "");
    console.keys("\u{1b}");
    assert_eq!(console.state.screen, Screen::Overview);
    console.keys("\u{1b}\u{1b}");
    assert!(!quits(&console));
    assert!(console.state.notice.is_some());
}

#[test]
fn enter_on_a_store_shows_its_partitions() {
    let mut console = ready();
    console.keys("jj\n");
    assert_eq!(console.state.screen, Screen::Partitions);
    assert_eq!(console.state.store().unwrap().key.operator, OperatorId(1));
}

#[test]
fn enter_on_a_finding_shows_it_in_full() {
    let mut console = Console::new(80, 24);
    console.observe_with(&usual(), BATCH, |inspect| inspect.findings = findings());
    console.keys("\tj\n");
    let overlay = console.state.overlay.as_ref().unwrap();
    let Subject::Finding(key) = &overlay.subject else { panic!("{overlay:?}") };
    assert!(key.names(&findings()[1]));
}

#[test]
fn the_hottest_partition_is_selected_first_and_stays_selected_when_rows_move() {
    let mut console = ready();
    console.keys("2");
    assert_eq!(selected(&console), 37);
    console.keys("j");
    let second = selected(&console);
    let mut stores = usual();
    for rows in stores[0].rows.iter_mut().skip(50) {
        *rows = rows.map(|rows| rows + 5_000);
    }
    console.observe(&stores, BATCH + 1);
    assert_eq!(selected(&console), second);
}

#[test]
fn moving_in_the_map_moves_in_the_table() {
    let mut console = ready();
    console.keys("2\t");
    assert_eq!(console.state.partitions.focus, Focus::Map);
    console.keys("l");
    assert_eq!(selected(&console), 38);
    console.keys("j");
    assert_eq!(selected(&console), 68, "rows of 30 cells");
    console.keys("hk");
    assert_eq!(selected(&console), 37);
    console.keys("G");
    assert_eq!(selected(&console), 199);
    console.keys("ljj");
    assert_eq!(selected(&console), 199, "the map ends");
    console.keys("gk");
    assert_eq!(selected(&console), 0);
    console.keys("\t").send(Msg::Key(Key::Down));
    assert_eq!(console.state.partitions.focus, Focus::Table);
    assert_ne!(selected(&console), 0);
}

#[test]
fn left_and_right_in_the_table_say_why_not() {
    let mut console = ready();
    console.keys("2l");
    assert!(console.state.notice.as_ref().unwrap().contains("Tab"));
}

#[test]
fn groups_are_moved_through_by_their_hottest() {
    let mut stores = usual();
    stores[0].rows = hot(10_000, 4_000, 4_711, 40);
    let mut console = Console::new(80, 24);
    console.observe(&stores[..1], BATCH).keys("2\t");
    assert_eq!(selected(&console), 4_711);
    console.keys("lh");
    assert_eq!(selected(&console), 4_711);
}

#[test]
fn sorting_goes_through_the_columns_and_reverses() {
    let mut console = ready();
    console.keys("2");
    assert_eq!(console.state.partitions.order[0], PartitionId(37));
    console.keys("sssss");
    assert_eq!(console.state.partitions.sort, SortBy::Partition);
    assert_eq!(console.state.partitions.order[0], PartitionId(0));
    console.keys("S");
    assert_eq!(console.state.partitions.order[0], PartitionId(199));
    assert_eq!(selected(&console), 37, "sorting does not move the selection");
}

#[test]
fn filters_narrow_the_table() {
    let mut console = ready();
    console.keys("2/30-40\n");
    assert_eq!(console.state.partitions.order.len(), 11);
    console.keys("/\u{1b}/>40k\n");
    assert_eq!(console.state.partitions.order, [PartitionId(37)]);
    console.keys("/\u{1b}/nonsense\n");
    assert_eq!(console.state.partitions.order.len(), 200);
    assert!(console.state.notice.is_some());
    console.keys("1/dedupe\n");
    assert_eq!(console.state.listed_stores().len(), 1);
}

#[test]
fn stores_are_stepped_through_in_a_ring() {
    let mut console = ready();
    console.keys("2");
    let names = |console: &Console| console.state.store().unwrap().key.clone();
    let first = names(&console);
    console.keys("o");
    assert_ne!(names(&console), first);
    console.keys("oo");
    assert_eq!(names(&console), first);
    console.keys("O");
    assert_eq!(names(&console).operator, OperatorId(1));
}

#[test]
fn pausing_holds_the_view_and_counts_what_waits() {
    let mut console = ready();
    console.keys(" ");
    let mut stores = usual();
    stores[0].rows[37] = Some(99_999);
    console.observe(&stores, BATCH + 1).observe(&stores, BATCH + 2);
    let hold = console.state.hold.as_ref().unwrap();
    assert_eq!(hold.newer, 2);
    assert_eq!(console.state.data().unwrap().batch().unwrap().0, BATCH);
    console.keys(" ");
    assert_eq!(console.state.data().unwrap().batch().unwrap().0, BATCH + 2);
}

#[test]
fn the_store_asked_for_is_shown_first() {
    let settings = Settings {
        operator: Some(OperatorId(1)),
        screen: Screen::Partitions,
        ..Settings::default()
    };
    let mut console = Console::with(settings, 80, 24);
    console.observe(&usual(), BATCH);
    assert_eq!(console.state.store().unwrap().key.operator, OperatorId(1));

    let settings = Settings { store: Some("nowhere".to_owned()), ..Settings::default() };
    let mut console = Console::with(settings, 80, 24);
    console.observe(&usual(), BATCH);
    assert!(console.state.notice.as_ref().unwrap().contains("not in this checkpoint"));
}

#[test]
fn the_mouse_is_off_until_asked_for_and_then_selects() {
    let mut console = ready();
    assert!(!console.state.mouse);
    console.keys("M");
    assert_eq!(console.effects, [Effect::CaptureMouse(true)]);
    console.send(Msg::Mouse(Mouse::Click(15, 1)));
    assert_eq!(console.state.screen, Screen::Partitions);
    console.send(Msg::Mouse(Mouse::Click(9, 4)));
    assert_eq!(selected(&console), 0);
    console.send(Msg::Mouse(Mouse::ScrollDown));
    assert_eq!(selected(&console), 30);
    console.send(Msg::Mouse(Mouse::Click(10, 13)));
    assert_eq!(console.state.partitions.focus, Focus::Table);
}

#[test]
fn exact_counting_is_refused_without_state() {
    let mut console = Console::new(80, 24);
    console.observe(&[], BATCH).keys("x");
    assert!(console.state.notice.as_ref().unwrap().contains("no state"));
}

#[test]
fn a_cancelled_count_leaves_the_snapshots_numbers() {
    let mut console = ready();
    console.keys("x");
    let (ticket, depth) = console.last_read().unwrap();
    assert_eq!(depth, Depth::Exact);
    console.keys("\u{1b}").send(Msg::Read(ticket, Box::new(Outcome::Cancelled)));
    assert_eq!(console.state.data().unwrap().depth(), Depth::Snapshot);
    let reads = console.effects.iter().filter(|effect| matches!(effect, Effect::Read(..)));
    assert_eq!(reads.count(), 1, "nothing is read instead");
}

#[test]
fn the_key_reference_names_every_key() {
    let text = help_markdown();
    for key in ["`q`", "`Ctrl-C`", "`space`", "`Tab`", "`x`", "`L`", "`M`"] {
        assert!(text.contains(key), "{key}");
    }
}
