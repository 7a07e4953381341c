//! Pure functions from what was read to numbers. Must not know about I/O.

pub mod consequences;
pub mod heavy;
pub mod layout;
pub mod pauses;
mod recommend;
mod skew;
pub mod spread;
pub mod times;
pub mod traffic;
pub mod verdict;

pub use recommend::{DEFAULT_BOUND, Recommendation, candidates, recommend};
pub use skew::{Distribution, Largest, Skew};
pub use spread::Spread;
