//! The rows screen's own state: which rows, which of them is selected.

use std::sync::Arc;

use super::super::asking::RowsQuestion;
use super::super::filter::mentions;
use super::super::page::RowsPage;
use super::State;
use crate::reader::{HistoryRequest, KeyHistory, KeyPin, OwnedHalf, OwnedRow};
use crate::report::{Reveal, key_words};
use crate::units::{OperatorId, PartitionId};

/// Whose rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsScope {
    /// The operator.
    pub operator: OperatorId,
    /// Only this store of it.
    pub store: Option<String>,
    /// Only this partition.
    pub partition: Option<PartitionId>,
    /// Only this key.
    pub key: Option<KeyPin>,
}

/// The rows screen's own state.
#[derive(Debug, Clone, Default)]
pub struct RowsState {
    /// Whose rows; none before the screen was opened.
    pub scope: Option<RowsScope>,
    /// The condition on them, as it was typed; empty for none.
    pub condition: String,
    /// The last page, and what was asked for.
    pub answer: Option<(RowsQuestion, Arc<RowsPage>)>,
    /// What could not be read, and why.
    pub trouble: Option<(RowsQuestion, String)>,
    /// The selected row, by its place on the page.
    pub selected: usize,
    /// What was typed after `/`.
    pub filter: String,
    /// The last history, and whose it is.
    pub history: Option<(HistoryRequest, Result<Arc<KeyHistory>, String>)>,
}

impl RowsState {
    /// What is to be asked for.
    pub fn wanted(&self) -> Option<RowsQuestion> {
        let scope = self.scope.clone()?;
        Some(RowsQuestion { batch: None, scope, condition: self.condition.clone() })
    }

    /// The page that answers what is wanted, whatever batch it is of.
    pub fn page(&self) -> Option<&RowsPage> {
        let wanted = self.wanted()?;
        let (asked, page) = self.answer.as_ref()?;
        same(asked, &wanted).then_some(page)
    }

    /// Why what is wanted cannot be read.
    pub fn trouble(&self) -> Option<&str> {
        let wanted = self.wanted()?;
        let (asked, why) = self.trouble.as_ref()?;
        same(asked, &wanted).then_some(why)
    }

    /// The places of the rows that are listed.
    pub fn listed(&self) -> Vec<usize> {
        let rows = self.page().map_or(&[][..], |page| &page.rows);
        let all = rows.iter().enumerate();
        if self.filter.trim().is_empty() {
            return all.map(|(place, _)| place).collect();
        }
        let fits = |row: &OwnedRow| {
            let partition = row.partition.to_string();
            let words = [words(&row.key), words(&row.value)];
            mentions(&self.filter, &[&words[0], &words[1], &row.family, &partition])
        };
        all.filter(|(_, row)| fits(row)).map(|(place, _)| place).collect()
    }
}

/// Whether two questions differ in nothing but the batch.
fn same(one: &RowsQuestion, other: &RowsQuestion) -> bool {
    one.scope == other.scope && one.condition == other.condition
}

/// All of a key or value, as a filter looks at it.
fn words(half: &OwnedHalf) -> String {
    match half {
        OwnedHalf::Columns(columns) => {
            let words = columns
                .iter()
                .map(|(name, value)| format!("{name}={}", key_words(value, Reveal::Shown)));
            words.collect::<Vec<_>>().join(" ")
        }
        OwnedHalf::Single(value) => key_words(value, Reveal::Shown),
        OwnedHalf::Undecodable { reason, hex } => format!("{reason} {hex}"),
        OwnedHalf::None => String::new(),
    }
}

impl State {
    /// The place of the selected row: the first listed when what was selected is not.
    pub fn selected_place(&self) -> Option<usize> {
        let listed = self.rows.listed();
        let selected = self.rows.selected;
        listed.contains(&selected).then_some(selected).or(listed.first().copied())
    }

    /// The selected row.
    pub fn selected_row(&self) -> Option<&OwnedRow> {
        self.rows.page()?.rows.get(self.selected_place()?)
    }
}
