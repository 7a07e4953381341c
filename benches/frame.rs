//! One frame of the partitions screen at 200x60 with 10,000 partitions, and what comes
//! before it: joining a new observation and sorting the table.
#![allow(missing_docs, unreachable_pub, clippy::indexing_slicing, reason = "a benchmark")]

#[path = "../tests/console/support.rs"]
mod support;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use statetop::console::data::Data;
use statetop::console::view;
use statetop::reader::{Depth, MadeUpPlan, PlanBasis, PlanQuestion};

fn frame(criterion: &mut Criterion) {
    let mut stores = support::usual();
    stores[0].rows = support::hot(10_000, 4_000, 4_711, 40);
    let mut console = support::Console::new(200, 60);
    console.observe(&stores, 1).keys("2");
    let look = support::look_of_tests();
    let area = Rect::new(0, 0, 200, 60);
    criterion.bench_function("frame, 10,000 partitions, 200x60", |bencher| {
        let mut buffer = Buffer::empty(area);
        bencher.iter(|| {
            buffer.reset();
            view::draw(&console.state, &look, &mut buffer);
            black_box(&buffer);
        });
    });
    criterion.bench_function("sort, 10,000 partitions", |bencher| {
        bencher.iter(|| console.state.refresh_order());
    });
    let observation = support::observation(&stores[..1], 2, Depth::Snapshot);
    criterion.bench_function("join an observation, 10,000 partitions", |bencher| {
        bencher.iter(|| {
            let before = console.state.newest.as_deref();
            black_box(Data::new(observation.clone(), None, None, before))
        });
    });
}

/// Another count on the what-if screen: the whole answer from three million hashes.
fn count(criterion: &mut Criterion) {
    let keys = (0..3_000_000_u64).map(|n| {
        let hash = u32::try_from(support::noise(n) >> 32).unwrap_or_default().cast_signed();
        (hash, 1, 66)
    });
    let plan = MadeUpPlan { from: 200, keys: keys.collect(), ..MadeUpPlan::default() };
    let Ok(plan) = PlanBasis::made_up(plan) else { return };
    let question = |to| PlanQuestion {
        to: Some(to),
        curve: Vec::new(),
        cores: None,
        bound: 1.5,
        nodes: None,
        cap: None,
        price: None,
    };
    let mut to = 200;
    criterion.bench_function("another count, 3,000,000 keys, one thread", |bencher| {
        bencher.iter(|| {
            to = to % 2_000 + 10;
            black_box(plan.report(&question(to)))
        });
    });
}

criterion_group!(benches, frame, count);
criterion_main!(benches);
