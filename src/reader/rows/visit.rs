//! Decodes the rows of one partition, and checks them by the way.

use std::ops::ControlFlow;

use super::selection::{Condition, Selection};
use super::{Half, StateRow, Whereabouts};
use crate::reader::checks::Checks;
use crate::reader::pin::Pin;
use crate::state::families::Mapping;
use crate::state::reading::{Positions, StoreReading};
use crate::state::row::checksum::ChecksumMismatch;
use crate::state::row::decoder::FamilyDecoder;
use crate::state::row::filter::Filter;
use crate::state::row::value::{Undecodable, Value};
use crate::state::whole::Rows;
use crate::units::PartitionId;

/// Decodes the rows of one partition.
pub(super) struct RowVisit<'a, 'e> {
    pub(super) selection: &'a Selection<'a>,
    pub(super) reading: &'a StoreReading,
    pub(super) positions: Positions<'a>,
    /// By position: whether the family is wanted, and what its rows are compared with.
    pub(super) chosen: Vec<Option<&'a Condition>>,
    /// By position: the key that is asked for.
    pub(super) pins: Vec<Option<Pin<'a>>>,
    pub(super) checks: Checks,
    pub(super) partition: PartitionId,
    pub(super) not_compared: u64,
    pub(super) keys: u64,
    pub(super) emit: &'e mut dyn FnMut(&StateRow<'_>) -> ControlFlow<()>,
}

impl RowVisit<'_, '_> {
    /// Passes a row on whose key or whole value cannot be decoded. It cannot be compared either.
    fn odd(
        &mut self,
        at: Whereabouts<'_>,
        filter: Option<&Filter>,
        key: Half<'_>,
        value: Half<'_>,
    ) -> ControlFlow<()> {
        for half in [&key, &value] {
            if let Half::Undecodable(why) = half {
                self.checks.undecodable(&why.reason);
            }
        }
        if filter.is_some() {
            self.not_compared += 1;
            return ControlFlow::Continue(());
        }
        (self.emit)(&StateRow { at, change: None, key, value })
    }

    /// Passes on the elements of a value that fit, each with the key.
    fn values(
        &mut self,
        at: Whereabouts<'_>,
        filter: Option<&Filter>,
        decoder: &FamilyDecoder,
        key: Value<'_>,
        value: &[u8],
    ) -> ControlFlow<()> {
        let mut key = key;
        for value in decoder.values(value) {
            let value = match value {
                Ok(value) if filter.is_none_or(|filter| filter.matches(&key, &value)) => {
                    Half::Decoded(value)
                }
                Ok(_) => continue,
                Err(why) => {
                    self.checks.undecodable(&why.reason);
                    if filter.is_some() {
                        self.not_compared += 1;
                        continue;
                    }
                    Half::Undecodable(why)
                }
            };
            let row = StateRow { at, change: None, key: Half::Decoded(key), value };
            (self.emit)(&row)?;
            let Half::Decoded(again) = row.key else { break };
            key = again;
        }
        ControlFlow::Continue(())
    }
}

impl Rows for RowVisit<'_, '_> {
    fn families(&mut self, mapping: &Mapping) {
        self.positions = Positions::new(self.reading, mapping);
        let all = 0..self.positions.len();
        let choose = |at| {
            let (name, family) = self.positions.at(at)?;
            self.selection.wants(self.reading, name, family)
        };
        self.chosen = all.clone().map(choose).collect();
        let pin = |at| {
            let (_, family) = self.positions.at(at)?;
            self.selection.pin(self.reading, &family?.name)
        };
        self.pins = all.map(pin).collect();
    }

    fn row<'v>(&mut self, stored: &[u8], value: &'v dyn Fn() -> &'v [u8]) -> ControlFlow<()> {
        self.keys += 1;
        let Some((position, key)) = self.positions.split(stored) else {
            self.checks.foreign();
            return ControlFlow::Continue(());
        };
        let Some(Some(condition)) = self.chosen.get(position).copied() else {
            return ControlFlow::Continue(());
        };
        let filter = condition.filter();
        let Some((name, family)) = self.positions.at(position) else {
            return ControlFlow::Continue(());
        };
        // A family's own name lives as long as the reading; copying one costs as much as a row.
        let unlisted;
        let name = if let Some(family) = family {
            family.name.as_str()
        } else {
            unlisted = name.to_owned();
            &unlisted
        };
        let reading = self.reading;
        let at = Whereabouts {
            partition: self.partition,
            operator: reading.store.operator,
            store: &reading.store.name,
            family: name,
        };
        let as_it_is = |bytes, reason: &str| {
            Half::Undecodable(Undecodable { reason: reason.to_owned(), bytes })
        };
        let (family, decoder) = match family.map(|family| (family, &family.decoder)) {
            Some((family, Ok(decoder))) => (family, decoder),
            Some((_, Err(reason))) => {
                return self.odd(at, filter, as_it_is(key, reason), as_it_is(value(), reason));
            }
            None => {
                let reason = "no schema file lists this column family";
                return self.odd(at, filter, as_it_is(key, reason), as_it_is(value(), reason));
            }
        };
        let columns = decoder.key_columns(key);
        if let Ok(columns) = &columns {
            self.checks.place(family, columns);
        }
        if let Some(Some(pin)) = self.pins.get_mut(position)
            && !columns.as_ref().is_ok_and(|columns| pin.fits(columns))
        {
            return ControlFlow::Continue(());
        }
        let key = match columns.and_then(|columns| decoder.key_of(key, columns)) {
            Ok(key) => key,
            Err(why) => {
                let value = as_it_is(value(), "its key cannot be decoded");
                return self.odd(at, filter, Half::Undecodable(why), value);
            }
        };
        if filter.is_some_and(|f| !f.needs_value() && !f.matches(&key, &Value::Null)) {
            return ControlFlow::Continue(());
        }
        let value = value();
        match decoder.verify(stored, value) {
            Ok(checked) => self.checks.checksums_fit(checked),
            // What cannot be taken apart cannot be decoded either, and is told as that.
            Err(ChecksumMismatch::Layout { .. }) => {}
            Err(mismatch) => {
                self.checks.checksum_differs();
                let value = as_it_is(value, &mismatch.to_string());
                return self.odd(at, filter, Half::Decoded(key), value);
            }
        }
        self.values(at, filter, decoder, key, value)
    }
}
