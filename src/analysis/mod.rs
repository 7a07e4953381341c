//! Pure functions from what was read to numbers. Must not know about I/O.

mod skew;

pub use skew::{Distribution, Largest, Skew};
