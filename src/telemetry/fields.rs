//! The fields of a JSON object, read one by one; what nobody reads is left over.

use serde_json::{Map, Value};

use super::number;

/// An object in reading. A field that is read, or says that it is not known, leaves it; one that
/// is not what was expected stays, so that nothing is lost.
#[derive(Debug)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Begins to read an object.
    pub(super) fn of(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// Reads a field; `None` where it is missing, not known or not what was expected.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.0.get(name)?;
        let read = read(value);
        if read.is_some() || number::is_unknown(value) {
            self.0.shift_remove(name);
        }
        read
    }

    /// Takes a field as it is; `null` is none.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Takes a field that is an object.
    pub(super) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(object) => Some(object),
            other => self.put_back(name, other),
        }
    }

    /// Takes a field that is an array of objects. Items that are none of them are left over.
    pub(super) fn objects(&mut self, name: &str) -> Vec<Map<String, Value>> {
        let items = match self.take(name) {
            Some(Value::Array(items)) => items,
            Some(other) => return self.put_back(name, other).unwrap_or_default(),
            None => return Vec::new(),
        };
        let (mut objects, mut others) = (Vec::with_capacity(items.len()), Vec::new());
        for item in items {
            match item {
                Value::Object(object) => objects.push(object),
                other => others.push(other),
            }
        }
        if !others.is_empty() {
            self.put_back::<()>(name, Value::Array(others));
        }
        objects
    }

    /// Leaves a value over under this name, unless it is an object without fields.
    pub(super) fn put_back<T>(&mut self, name: &str, value: Value) -> Option<T> {
        if value.as_object().is_none_or(|object| !object.is_empty()) {
            self.0.insert(name.to_owned(), value);
        }
        None
    }

    /// What nobody read.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.0
    }
}
