//! From the list of plans to microbatches: which run, which are done.
//!
//! A microbatch is a plan whose description names query, run and batch. Within it other plans
//! run, under the same description or, from Spark 4.1 on, with its id as their root: the one that
//! writes the sink, or those that a `foreachBatch` function starts. A run does one batch after the
//! other. Must not know tasks, nor how plans are asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::api::{Execution, ExecutionStatus};
use crate::telemetry::description;
use crate::telemetry::event::QueryRef;
use crate::units::BatchId;

/// Runs that are remembered. More of them come from a source that is made up.
const RUNS: usize = 1_000;
/// Plans of a microbatch that are kept. Functions of `foreachBatch` start some dozens.
const PLANS: usize = 1_000;

/// A microbatch with its plans.
#[derive(Debug, Clone)]
pub(super) struct Microbatch {
    /// Which query.
    pub(super) query: QueryRef,
    /// The batch.
    pub(super) batch: BatchId,
    /// The plan that is the microbatch; others run within it.
    pub(super) whole: Execution,
    /// The plans within it, by id, without their nodes.
    pub(super) within: BTreeMap<u64, Execution>,
}

impl Microbatch {
    /// The plans that ran jobs, in their order.
    pub(super) fn with_jobs(&self) -> impl Iterator<Item = &Execution> {
        let all = std::iter::once(&self.whole).chain(self.within.values());
        all.filter(|plan| plan.jobs().next().is_some())
    }
}

/// The microbatches that run.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// By the id of the plan that is the microbatch.
    open: BTreeMap<u64, Microbatch>,
    runs: HashMap<Arc<str>, Run>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    /// The plan that is its microbatch.
    open: Option<u64>,
    /// The last microbatch that ended.
    done: Option<BatchId>,
}

/// What became known of microbatches.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// The runs that were not known, with the first microbatch that was seen of each.
    pub(super) begun: Vec<(QueryRef, BatchId)>,
    /// The microbatches that ended. Of one whose end was not seen the plan still runs.
    pub(super) ended: Vec<Microbatch>,
}

impl Batches {
    /// Takes plans, as they are listed now, in the order of their ids.
    pub(super) fn take(&mut self, plans: Vec<Execution>) -> Taken {
        let mut taken = Taken::default();
        for plan in plans {
            self.add(plan, &mut taken);
        }
        let over =
            |(_, batch): &(&u64, &Microbatch)| batch.whole.status != ExecutionStatus::Running;
        let over: Vec<u64> = self.open.iter().filter(over).map(|(id, _)| *id).collect();
        taken.ended.extend(over.into_iter().filter_map(|id| self.end(id)));
        taken.ended.sort_by_key(|batch| batch.whole.id);
        taken
    }

    /// The oldest plan that is not at its end.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.open.keys().next().copied()
    }

    fn add(&mut self, plan: Execution, taken: &mut Taken) {
        let Some((query, batch)) = about(&plan) else { return self.add_within(plan) };
        let Some(run) = query.run.clone() else { return };
        if !self.runs.contains_key(&run) {
            if self.runs.len() >= RUNS {
                self.runs.clear();
                self.open.clear();
            }
            taken.begun.push((query.clone(), batch));
        }
        let known = self.runs.entry(run).or_default();
        if known.done >= Some(batch) {
            return;
        }
        let open = known.open.and_then(|id| self.open.get_mut(&id));
        match open {
            Some(open) if open.batch == batch => open.add(plan),
            Some(open) if open.batch > batch => {}
            open => {
                let unseen = open.map(|open| open.whole.id);
                known.open = Some(plan.id);
                let within = BTreeMap::new();
                self.open.insert(plan.id, Microbatch { query, batch, whole: plan, within });
                // The end of the one before was not listed; the next one shows it.
                taken.ended.extend(unseen.and_then(|id| self.end(id)));
            }
        }
    }

    /// A plan with another description: a function of `foreachBatch` may have set one.
    fn add_within(&mut self, plan: Execution) {
        let root = plan.root_execution_id.filter(|root| *root != plan.id);
        if let Some(open) = root.and_then(|root| self.open.get_mut(&root)) {
            open.add(plan);
        }
    }

    fn end(&mut self, id: u64) -> Option<Microbatch> {
        let batch = self.open.remove(&id)?;
        let run = batch.query.run.as_ref().and_then(|run| self.runs.get_mut(run));
        if let Some(run) = run {
            run.done = run.done.max(Some(batch.batch));
            run.open = run.open.filter(|open| *open != id);
        }
        Some(batch)
    }
}

impl Microbatch {
    fn add(&mut self, plan: Execution) {
        if plan.id == self.whole.id {
            self.whole = plan;
        } else if self.within.len() < PLANS || self.within.contains_key(&plan.id) {
            self.within.insert(plan.id, plan);
        }
    }
}

/// The query and the microbatch that a plan's description names.
fn about(plan: &Execution) -> Option<(QueryRef, BatchId)> {
    let told = description::parse(&plan.description)?;
    let query = QueryRef {
        id: Some(told.id.into()),
        run: Some(told.run.into()),
        name: told.name.map(Arc::from),
    };
    Some((query, told.batch?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: ExecutionStatus = ExecutionStatus::Running;
    const DONE: ExecutionStatus = ExecutionStatus::Completed;

    fn plan(id: u64, run: &str, batch: u64, status: ExecutionStatus) -> Execution {
        let description = format!("agg\nid = q\nrunId = {run}\nbatch = {batch}");
        Execution { id, status, description, ..Execution::default() }
    }

    fn job(id: u64, run: &str, batch: u64) -> Execution {
        Execution { success_job_ids: vec![id], ..plan(id, run, batch, DONE) }
    }

    /// Run, batch and plans within, of each that ended.
    fn told(taken: &Taken) -> Vec<(String, u64, Vec<u64>)> {
        let one = |batch: &Microbatch| {
            let run = batch.query.run.as_deref().unwrap().to_owned();
            (run, batch.batch.0, batch.within.keys().copied().collect())
        };
        taken.ended.iter().map(one).collect()
    }

    fn batch(run: &str, batch: u64, within: &[u64]) -> (String, u64, Vec<u64>) {
        (run.to_owned(), batch, within.to_vec())
    }

    #[test]
    fn a_microbatch_is_done_when_its_own_plan_is() {
        let mut batches = Batches::default();
        assert!(batches.take(vec![plan(0, "r", 0, RUNNING), job(1, "r", 0)]).ended.is_empty());
        assert_eq!(batches.oldest(), Some(0));
        let taken = batches.take(vec![plan(0, "r", 0, DONE), job(1, "r", 0)]);
        assert_eq!(told(&taken), [batch("r", 0, &[1])]);
        let jobs: Vec<u64> = taken.ended[0].with_jobs().map(|plan| plan.id).collect();
        assert_eq!(jobs, [1]);
        assert_eq!(batches.oldest(), None);
        assert!(batches.take(vec![plan(0, "r", 0, DONE)]).ended.is_empty(), "listed again");
    }

    #[test]
    fn queries_that_run_at_once_are_told_apart() {
        let taken = Batches::default().take(vec![
            plan(0, "r", 0, DONE),
            plan(1, "s", 0, DONE),
            job(2, "r", 0),
            plan(3, "r", 1, DONE),
            job(4, "s", 0),
            job(5, "r", 1),
        ]);
        assert_eq!(told(&taken), [batch("r", 0, &[2]), batch("s", 0, &[4]), batch("r", 1, &[5])]);
        let begun = taken.begun.iter().map(|(query, batch)| (query.run.as_deref(), batch.0));
        assert_eq!(begun.collect::<Vec<_>>(), [(Some("r"), 0), (Some("s"), 0)]);
    }

    #[test]
    fn plans_with_another_description_belong_to_their_root() {
        let mut stranger = job(2, "r", 0);
        stranger.description = "merge into table".to_owned();
        stranger.root_execution_id = Some(0);
        let mut other = stranger.clone();
        (other.id, other.root_execution_id) = (3, Some(3));
        let taken = Batches::default().take(vec![plan(0, "r", 0, DONE), stranger, other]);
        assert_eq!(told(&taken), [batch("r", 0, &[2])]);
    }

    #[test]
    fn a_batch_ends_when_the_next_one_begins() {
        let mut batches = Batches::default();
        let taken = batches.take(vec![plan(0, "r", 7, RUNNING), plan(1, "r", 8, RUNNING)]);
        assert_eq!(told(&taken), [batch("r", 7, &[])]);
        assert_eq!(taken.ended[0].whole.status, RUNNING);
        assert_eq!(batches.oldest(), Some(1));
        assert!(batches.take(vec![job(2, "r", 7)]).ended.is_empty(), "late");
    }

    #[test]
    fn other_plans_and_the_beginning_of_a_query_are_no_microbatches() {
        let mut init = plan(0, "r", 0, DONE);
        init.description = "agg\nid = q\nrunId = r\nbatch = init".to_owned();
        let mut count = plan(1, "r", 0, DONE);
        count.description = "count at Job.scala:12".to_owned();
        assert!(Batches::default().take(vec![init, count]).ended.is_empty());
    }

    #[test]
    fn runs_do_not_pile_up() {
        let mut batches = Batches::default();
        for run in 0..5_000 {
            batches.take(vec![plan(run, &run.to_string(), 0, RUNNING)]);
        }
        assert!(batches.runs.len() <= RUNS && batches.open.len() <= RUNS);
    }
}
