//! The list of plans that a Spark UI keeps, read page by page without reading it all each time.
//!
//! Plans are listed by their id, the newest last, and the oldest are dropped as new ones come
//! (`spark.sql.ui.retainedExecutions`): what stood at a place stands before it a moment later.
//! So reading begins a little before the place where the oldest wanted plan stood, and goes back
//! where that is not enough. Must not know how pages are asked for, nor what plans are.

use super::api::Execution;

/// Plans on a page.
pub(super) const PAGE: usize = 100;
/// Plans that are read of a list that is read for the first time: what Spark keeps by default.
const FIRST: usize = 1_000;
/// Plans that are read at once.
const MOST: usize = 5_000;

/// A place in the list.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The ids that were read last, in their order.
    ids: Vec<u64>,
    /// The place of the first of them.
    start: usize,
    /// How much earlier to begin: twice what was dropped since the reading before.
    ahead: usize,
    /// The newest plan that was read.
    newest: Option<u64>,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// The plans that are wanted, the newest last.
    pub(super) executions: Vec<Execution>,
    /// Plans that were dropped before they could be read.
    pub(super) dropped: u64,
}

impl Listing {
    /// Reads what is new, and again what came after `open`, the oldest plan that was not at its
    /// end. `page` gives so many plans from a place on.
    pub(super) fn read<E>(
        &mut self,
        open: Option<u64>,
        page: &mut dyn FnMut(usize, usize) -> Result<Vec<Execution>, E>,
    ) -> Result<Listed, E> {
        let Some(newest) = self.newest else { return self.read_first(page) };
        let wanted = open.unwrap_or(newest).min(newest);
        let (start, first) = self.find(wanted, page)?;
        let after = first.first().map(|plan| plan.id).filter(|_| start == 0);
        let dropped = after.map_or(0, |first| first.saturating_sub(newest.saturating_add(1)));
        let mut executions = self.pages(start, first, page)?;
        let from = open.unwrap_or(newest.saturating_add(1));
        executions.retain(|plan| plan.id >= from);
        Ok(Listed { executions, dropped })
    }

    fn read_first<E>(
        &mut self,
        page: &mut dyn FnMut(usize, usize) -> Result<Vec<Execution>, E>,
    ) -> Result<Listed, E> {
        let start = if page(FIRST, 1)?.is_empty() { 0 } else { end(page)?.saturating_sub(FIRST) };
        let first = page(start, PAGE)?;
        let executions = self.pages(start, first, page)?;
        Ok(Listed { executions, dropped: 0 })
    }

    /// A page that begins with the wanted plan or before it, or is the first of all; and its place.
    fn find<E>(
        &mut self,
        wanted: u64,
        page: &mut dyn FnMut(usize, usize) -> Result<Vec<Execution>, E>,
    ) -> Result<(usize, Vec<Execution>), E> {
        let expected = self.start + self.ids.partition_point(|id| *id < wanted);
        let mut start = expected.saturating_sub(self.ahead);
        let mut step = 1;
        loop {
            let read = page(start, PAGE)?;
            let reaches = read.first().is_some_and(|plan| plan.id <= wanted);
            if reaches || start == 0 {
                let actual = start + read.iter().take_while(|plan| plan.id < wanted).count();
                self.ahead = expected.saturating_sub(actual).saturating_mul(2).min(PAGE / 2);
                return Ok((start, read));
            }
            start = start.saturating_sub(step);
            step *= 4;
        }
    }

    /// This page and those after it.
    fn pages<E>(
        &mut self,
        start: usize,
        first: Vec<Execution>,
        page: &mut dyn FnMut(usize, usize) -> Result<Vec<Execution>, E>,
    ) -> Result<Vec<Execution>, E> {
        let (mut plans, mut full) = (first, true);
        while full && plans.len() < MOST {
            full = plans.len() >= PAGE;
            if full {
                let next = page(start + plans.len(), PAGE)?;
                full = next.len() >= PAGE;
                plans.extend(next);
            }
        }
        plans.sort_by_key(|plan| plan.id);
        plans.dedup_by_key(|plan| plan.id);
        self.ids = plans.iter().map(|plan| plan.id).collect();
        self.start = start;
        self.newest = self.newest.max(self.ids.last().copied());
        Ok(plans)
    }
}

/// How many plans are listed, by looking at few of them.
fn end<E>(page: &mut dyn FnMut(usize, usize) -> Result<Vec<Execution>, E>) -> Result<usize, E> {
    let (mut inside, mut outside) = (FIRST, FIRST * 2);
    while !page(outside, 1)?.is_empty() {
        (inside, outside) = (outside, outside.saturating_mul(2));
        if outside > 1 << 30 {
            break;
        }
    }
    while outside - inside > 1 {
        let middle = inside.midpoint(outside);
        if page(middle, 1)?.is_empty() { outside = middle } else { inside = middle }
    }
    Ok(outside)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::ops::Range;

    use super::*;

    /// A list of plans that keeps the newest.
    struct Kept {
        ids: Vec<u64>,
        asked: usize,
    }

    impl Kept {
        fn of(ids: Range<u64>) -> Self {
            Self { ids: ids.collect(), asked: 0 }
        }

        fn read(&mut self, listing: &mut Listing, open: Option<u64>) -> (Vec<u64>, u64) {
            self.asked = 0;
            let mut page = |from: usize, length: usize| {
                self.asked += 1;
                let ids = self.ids.iter().skip(from).take(length);
                Ok::<_, Infallible>(
                    ids.map(|id| Execution { id: *id, ..Execution::default() }).collect(),
                )
            };
            let Ok(listed) = listing.read(open, &mut page);
            (listed.executions.iter().map(|plan| plan.id).collect(), listed.dropped)
        }
    }

    fn ids(range: Range<u64>) -> Vec<u64> {
        range.collect()
    }

    #[test]
    fn what_is_new_is_read_once_and_with_one_question() {
        let (mut listing, mut kept) = (Listing::default(), Kept::of(0..0));
        assert_eq!(kept.read(&mut listing, None), (vec![], 0));
        kept.ids = ids(0..3);
        assert_eq!(kept.read(&mut listing, None), (ids(0..3), 0));
        assert_eq!(kept.read(&mut listing, None), (vec![], 0));
        kept.ids = ids(0..5);
        assert_eq!(kept.read(&mut listing, None), (ids(3..5), 0));
        assert_eq!(kept.asked, 1);
    }

    #[test]
    fn what_is_open_is_read_again() {
        let (mut listing, mut kept) = (Listing::default(), Kept::of(0..10));
        kept.read(&mut listing, None);
        kept.ids = ids(0..12);
        assert_eq!(kept.read(&mut listing, Some(7)), (ids(7..12), 0));
        assert_eq!(kept.asked, 1);
    }

    #[test]
    fn the_list_moves_on_while_it_is_read() {
        let (mut listing, mut kept) = (Listing::default(), Kept::of(0..1_000));
        kept.read(&mut listing, None);
        let mut questions = 0;
        for newest in (1_004..2_000_u64).step_by(4) {
            kept.ids = ids(newest - 1_000..newest);
            assert_eq!(kept.read(&mut listing, None), (ids(newest - 4..newest), 0), "{newest}");
            questions += kept.asked;
        }
        assert!(questions <= 249 + 5, "one question each but for the first: {questions}");
    }

    #[test]
    fn what_was_dropped_unread_is_counted() {
        let (mut listing, mut kept) = (Listing::default(), Kept::of(0..1_000));
        kept.read(&mut listing, None);
        kept.ids = ids(1_200..2_200);
        assert_eq!(kept.read(&mut listing, None), (ids(1_200..2_200), 200));
        kept.ids = ids(2_200..2_201);
        assert_eq!(kept.read(&mut listing, Some(2_150)), (ids(2_200..2_201), 0));
    }

    #[test]
    fn of_a_long_list_the_newest_are_read() {
        for length in [999_u64, 1_000, 1_001, 12_345] {
            let (mut listing, mut kept) = (Listing::default(), Kept::of(0..length));
            let (read, _) = kept.read(&mut listing, None);
            assert_eq!(read, ids(length.saturating_sub(1_000)..length), "{length}");
            assert!(kept.asked < 40, "{}", kept.asked);
        }
    }

    #[test]
    fn a_list_that_begins_anew_or_has_holes_does_no_harm() {
        let (mut listing, mut kept) = (Listing::default(), Kept::of(50..90));
        kept.read(&mut listing, None);
        kept.ids = vec![];
        assert_eq!(kept.read(&mut listing, None), (vec![], 0));
        kept.ids = vec![60, 61, 75, 95, 99];
        assert_eq!(kept.read(&mut listing, None), (vec![95, 99], 0));
        assert_eq!(kept.read(&mut listing, Some(75)), (vec![75, 95, 99], 0));
    }
}
