//! The plans of the executions that run, so that an accumulator's id tells operator and metric.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;

use super::plan::Operator;
use crate::telemetry::metric::Metric;

/// Executions that are kept when their ends are not in the log: the newest.
const MAX_EXECUTIONS: usize = 1000;

/// What accumulators count. Forgets an execution when it ends.
#[derive(Debug, Default)]
pub(super) struct Plans {
    executions: BTreeMap<u64, Vec<Arc<Operator>>>,
    accumulators: HashMap<u64, (Arc<Operator>, Metric)>,
}

impl Plans {
    /// The operator and metric that an accumulator is of; `None` when no plan that is known has
    /// it.
    pub(super) fn metric(&self, accumulator: u64) -> Option<(&Arc<Operator>, Metric)> {
        self.accumulators.get(&accumulator).map(|(operator, metric)| (operator, *metric))
    }

    /// Adds the stateful operators of an execution's plan. A microbatch is an execution within
    /// an execution, both with the same nodes: these are one operator.
    pub(super) fn add(&mut self, execution: u64, operators: Vec<Operator>) {
        if operators.is_empty() {
            return;
        }
        let operators = operators.into_iter().map(|operator| self.operator(operator)).collect();
        if let Some(before) = self.executions.insert(execution, operators) {
            self.forget(&before);
        }
        while self.executions.len() > MAX_EXECUTIONS {
            if let Some((_, operators)) = self.executions.pop_first() {
                self.forget(&operators);
            }
        }
    }

    /// An execution has ended.
    pub(super) fn end(&mut self, execution: u64) {
        if let Some(operators) = self.executions.remove(&execution) {
            self.forget(&operators);
        }
    }

    fn operator(&mut self, operator: Operator) -> Arc<Operator> {
        let first = operator.metrics.first().and_then(|(_, id)| self.accumulators.get(id));
        if let Some((known, _)) = first.filter(|(known, _)| **known == operator) {
            return Arc::clone(known);
        }
        let operator = Arc::new(operator);
        for (metric, accumulator) in &operator.metrics {
            self.accumulators.insert(*accumulator, (Arc::clone(&operator), *metric));
        }
        operator
    }

    /// Drops the accumulators of operators that no execution has any more.
    fn forget(&mut self, operators: &[Arc<Operator>]) {
        for operator in operators {
            let held = self.executions.values().flatten().any(|held| Arc::ptr_eq(held, operator));
            if held {
                continue;
            }
            for (_, accumulator) in &operator.metrics {
                let own = |(known, _): &(Arc<Operator>, Metric)| Arc::ptr_eq(known, operator);
                if self.accumulators.get(accumulator).is_some_and(own) {
                    self.accumulators.remove(accumulator);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::OperatorId;

    fn operator(accumulator: u64) -> Operator {
        let metrics = vec![(Metric::Rows, accumulator), (Metric::Memory, accumulator + 1)];
        Operator { id: OperatorId(0), name: "StateStoreSave".into(), metrics }
    }

    #[test]
    fn an_inner_execution_has_the_operators_of_the_outer_one() {
        let mut plans = Plans::default();
        plans.add(1, vec![operator(10)]);
        plans.add(2, vec![operator(10)]);
        plans.end(2);
        assert_eq!(plans.metric(11).map(|(_, metric)| metric), Some(Metric::Memory));
        plans.end(1);
        assert!(plans.metric(11).is_none() && plans.accumulators.is_empty());
    }

    #[test]
    fn an_adaptive_update_replaces_the_plan() {
        let mut plans = Plans::default();
        plans.add(1, vec![operator(10)]);
        plans.add(1, vec![operator(20)]);
        assert!(plans.metric(10).is_none());
        assert!(plans.metric(20).is_some());
    }

    #[test]
    fn executions_without_an_end_do_not_pile_up() {
        let mut plans = Plans::default();
        for execution in 0..5000 {
            plans.add(execution, vec![operator(execution * 10)]);
        }
        assert_eq!(plans.executions.len(), MAX_EXECUTIONS);
        assert_eq!(plans.accumulators.len(), 2 * MAX_EXECUTIONS);
        assert!(plans.metric(49_990).is_some());
    }
}
