//! Reads an event log, counts what it tells, and says how fast that was.
//!
//!     cargo run --example eventlog -- LOG [--since-millis N]
//!
//! The library alone, without printing events: what `benches/eventlog.sh` measures beside the
//! command. One thread reads, decodes and parses.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::json;
use statetop::task::Cancel;
use statetop::telemetry::EventKind;
use statetop::telemetry::event_log::{EventLog, Options};
use statetop::units::UnixMillis;

/// What a log tells.
#[derive(Debug, Default)]
struct Count {
    progress: u64,
    rows_in: u64,
    loads: u64,
    tasks: u64,
    state_rows: u64,
    notes: u64,
}

impl Count {
    fn add(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Progress(progress) => {
                self.progress += 1;
                self.rows_in += progress.rows_in.unwrap_or(0);
            }
            EventKind::PartitionLoad(load) => {
                self.loads += 1;
                self.tasks += load.tasks.len() as u64;
                self.state_rows += load.tasks.iter().filter_map(|task| task.rows).sum::<u64>();
            }
            EventKind::Interrupted(_) | EventKind::Unreadable(_) => self.notes += 1,
            _ => {}
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("usage: eventlog LOG [--since-millis N]")?;
    let mut options = Options::default();
    if arguments.next().as_deref() == Some("--since-millis") {
        let millis = arguments.next().ok_or("--since-millis needs a number")?;
        options.since = Some(UnixMillis(millis.parse()?));
    }
    let begun = Instant::now();
    let mut count = Count::default();
    EventLog::open(&target, options)?.read(&Cancel::default(), &mut |event| {
        count.add(&event.kind);
        ControlFlow::Continue(())
    });
    println!(
        "{}",
        json!({
            "seconds": begun.elapsed().as_secs_f64(),
            "progress": count.progress,
            "rows_in": count.rows_in,
            "loads": count.loads,
            "tasks": count.tasks,
            "state_rows": count.state_rows,
            "notes": count.notes,
        })
    );
    Ok(())
}
