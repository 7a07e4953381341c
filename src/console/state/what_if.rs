//! The what-if screen's own state: the keys' hashes once they are read, and the count in question.

use std::sync::Arc;

use crate::analysis::DEFAULT_BOUND;
use crate::analysis::layout::{CurvePoint, MAX_PARTITIONS};
use crate::analysis::recommend;
use crate::reader::{PlanBasis, PlanQuestion, PlanRequest};
use crate::report::PlanReport;
use crate::units::OperatorId;

/// Counts on the curve, besides the present one.
const CURVE: u32 = 64;
/// The curve reaches from the present count divided by this to its multiple.
const REACH: u32 = 8;

/// What was read once, and answers every count.
#[derive(Debug, Clone)]
pub struct Basis {
    /// Hash and weight of every key.
    pub plan: Arc<PlanBasis>,
    /// How uneven it would be at many counts.
    pub curve: Arc<[CurvePoint]>,
}

/// The what-if screen's own state.
#[derive(Debug, Clone, Default)]
pub struct WhatIfState {
    /// The operator; none before the screen was opened.
    pub operator: Option<OperatorId>,
    /// What was read, and what was asked for.
    pub answer: Option<(PlanRequest, Basis)>,
    /// What could not be read, and why.
    pub trouble: Option<(PlanRequest, String)>,
    /// The count in question.
    pub to: u32,
    /// Nodes of the cluster, when the operator has said so.
    pub nodes: Option<u32>,
    /// The answer at that count.
    pub report: Option<Arc<PlanReport>>,
}

impl WhatIfState {
    /// What is to be asked for.
    pub fn wanted(&self) -> Option<PlanRequest> {
        self.operator
            .map(|operator| PlanRequest { operator: Some(operator), ..PlanRequest::default() })
    }

    /// What answers the operator in question, whatever batch it is of.
    pub fn basis(&self) -> Option<&Basis> {
        let (asked, basis) = self.answer.as_ref()?;
        (asked.operator == self.operator).then_some(basis)
    }

    /// Why it cannot be read.
    pub fn trouble(&self) -> Option<&str> {
        let (asked, why) = self.trouble.as_ref()?;
        (asked.operator == self.operator).then_some(why)
    }

    /// Goes to a count: the answer at it, from the hashes.
    pub fn go(&mut self, to: u32) {
        self.to = to.clamp(1, MAX_PARTITIONS);
        let question = PlanQuestion {
            to: Some(self.to),
            curve: Vec::new(),
            cores: None,
            bound: DEFAULT_BOUND,
            nodes: self.nodes,
            cap: None,
            price: None,
        };
        self.report = self.basis().map(|basis| Arc::new(basis.plan.report(&question)));
    }

    /// The smallest count of the curve that is within the bound.
    pub fn recommended(&self) -> Option<u32> {
        let found = recommend(&self.basis()?.curve, None, DEFAULT_BOUND)?;
        found.within_bound.then_some(found.partitions)
    }
}

/// The counts of the curve: about as far apart from each other in proportion, round where they
/// are large, the present one among them.
pub fn curve_counts(from: u32) -> Vec<u32> {
    let from = from.clamp(1, MAX_PARTITIONS);
    let (low, high) = (f64::from((from / REACH).max(1)), f64::from(from.saturating_mul(REACH)));
    let factor = (high / low).powf(1.0 / f64::from(CURVE));
    let mut counts: Vec<u32> = (0..=CURVE)
        .scan(low, |count, _| {
            let here = *count;
            *count *= factor;
            Some(round(here))
        })
        .chain([from])
        .map(|count| count.clamp(1, MAX_PARTITIONS))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Two digits and a half: 203 is 205, 1,640 is 1,650.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn round(count: f64) -> u32 {
    let unit = match count {
        ..100.0 => 1.0,
        _ => 10_f64.powf(count.log10().floor() - 1.0) / 2.0,
    };
    ((count / unit).round() * unit).round() as u32
}

/// The next greater count: by one up to 100, by ten up to 1,000, and so on.
pub fn step_up(count: u32) -> u32 {
    let step = step(count);
    (count / step + 1).saturating_mul(step)
}

/// The next smaller count.
pub fn step_down(count: u32) -> u32 {
    let below = count.saturating_sub(1).max(1);
    let step = step(below);
    (below / step * step).max(1)
}

fn step(count: u32) -> u32 {
    let mut step: u32 = 1;
    while count >= step.saturating_mul(100) && step < MAX_PARTITIONS {
        step = step.saturating_mul(10);
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_with_the_count_and_end_on_round_ones() {
        let ups = [1, 99, 100, 205, 990, 1_000, 1_050].map(step_up);
        assert_eq!(ups, [2, 100, 110, 210, 1_000, 1_100, 1_100]);
        let downs = [1, 2, 100, 110, 205, 1_000, 1_100].map(step_down);
        assert_eq!(downs, [1, 1, 99, 100, 200, 990, 1_000]);
    }

    #[test]
    fn a_curve_has_the_present_count_and_reaches_far() {
        for from in [1, 2, 7, 200, 10_000, MAX_PARTITIONS] {
            let counts = curve_counts(from);
            assert!(counts.contains(&from));
            assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
            assert!(counts.len() <= 66 && counts.iter().all(|count| *count <= MAX_PARTITIONS));
        }
        let counts = curve_counts(200);
        assert_eq!((counts.first(), counts.last()), (Some(&25), Some(&1_600)));
    }
}
