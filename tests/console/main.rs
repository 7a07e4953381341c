//! The console without a terminal: what messages do, what screens look like, what the loop
//! writes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "tests"
)]

mod batches;
mod diagnosis;
mod event_loop;
mod keys;
mod pauses;
mod row_screens;
mod rows_support;
mod scan_list;
mod screens;
mod sizes;
mod styles;
mod support;
mod told_support;
mod updates;
