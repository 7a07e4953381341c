//! Reading checkpoints through the library's public surface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod directory;
mod load;
mod logs;
mod properties;
mod samples;
