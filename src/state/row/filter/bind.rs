//! A condition fitted to the columns of a family: every name found, every type checked.

use super::ast::{Condition, Literal, Operand, Parsed, PathText, Place, Sign};
use super::error::{FilterError, FilterErrorKind};
use super::eval::{Filter, Node, Other};
use super::literal::{Class, Misfit, advice, called, typed};
use super::path::{Columns, Path};
use crate::state::row::types::{DataType, Field};
use crate::state::row::value::Value;

pub(super) fn bind(parsed: &Parsed, key: &[Field], value: &[Field]) -> Result<Filter, FilterError> {
    let binder = Binder { columns: Columns { text: &parsed.text, key, value } };
    Ok(Filter { root: binder.node(&parsed.root)? })
}

struct Binder<'f> {
    columns: Columns<'f>,
}

impl Binder<'_> {
    fn node(&self, condition: &Condition) -> Result<Node, FilterError> {
        let all = |parts: &[Condition]| -> Result<Vec<Node>, FilterError> {
            parts.iter().map(|part| self.node(part)).collect()
        };
        match condition {
            Condition::All(parts) => all(parts).map(Node::All),
            Condition::Any(parts) => all(parts).map(Node::Any),
            Condition::Not(inside) => Ok(Node::Not(Box::new(self.node(inside)?))),
            Condition::Plain(operand) => self.plain(operand),
            Condition::Compare(left, sign, right, place) => self.compare(left, *sign, right, place),
            Condition::In(path, literals) => self.one_of(path, literals),
            Condition::Like(path, pattern) => self.like(path, pattern),
            Condition::IsNull(path) => Ok(Node::IsNull(self.columns.find(path)?.0)),
        }
    }

    fn error(&self, place: &Place, message: impl Into<String>) -> FilterError {
        self.columns.error(FilterErrorKind::Type, place.clone(), message)
    }

    fn misfit(&self, path: &PathText, place: &Place, misfit: &Misfit) -> FilterError {
        let name = self.columns.text.get(path.place.clone()).unwrap_or_default();
        self.error(place, format!("{name}: {}", misfit.message)).hint(misfit.hint.as_str())
    }

    /// A boolean column, or `true` and `false`, as a whole condition.
    fn plain(&self, operand: &Operand) -> Result<Node, FilterError> {
        const HINT: &str = "compare it: account_id = 'acct-7'";
        match operand {
            Operand::Literal(Literal::Boolean(value), _) => Ok(Node::Always(*value)),
            Operand::Literal(literal, place) => {
                let message = format!("{} alone is no condition", literal.what());
                Err(self.error(place, message).hint(HINT))
            }
            Operand::Path(path) => {
                let (found, data_type) = self.columns.find(path)?;
                if data_type == DataType::Boolean {
                    let yes = Other::Literal(Value::Boolean(true));
                    return Ok(Node::Compare(found, Sign::Equal, yes));
                }
                let message = format!("it is {}, which alone is no condition", called(&data_type));
                Err(self.error(&path.place, message).hint(advice(&data_type)))
            }
        }
    }

    fn compare(
        &self,
        left: &Operand,
        sign: Sign,
        right: &Operand,
        place: &Place,
    ) -> Result<Node, FilterError> {
        match (left, right) {
            (Operand::Path(path), Operand::Literal(literal, at)) => {
                self.with_literal(path, sign, literal, at)
            }
            (Operand::Literal(literal, at), Operand::Path(path)) => {
                self.with_literal(path, sign.turned(), literal, at)
            }
            (Operand::Path(left), Operand::Path(right)) => self.with_path(left, sign, right),
            (Operand::Literal(..), Operand::Literal(..)) => Err(self
                .error(place, "neither side is a column")
                .hint("quotes make text: a column is written without them, or in backticks")),
        }
    }

    fn with_literal(
        &self,
        path: &PathText,
        sign: Sign,
        literal: &Literal,
        at: &Place,
    ) -> Result<Node, FilterError> {
        let (found, data_type) = self.columns.find(path)?;
        let value = typed(literal, &data_type).map_err(|misfit| self.misfit(path, at, &misfit))?;
        Ok(Node::Compare(found, sign, Other::Literal(value)))
    }

    fn with_path(
        &self,
        left: &PathText,
        sign: Sign,
        right: &PathText,
    ) -> Result<Node, FilterError> {
        let (first, data_type) = self.columns.find(left)?;
        let (second, other) = self.columns.find(right)?;
        for (path, data_type) in [(left, &data_type), (right, &other)] {
            if Class::of(data_type) == Class::Opaque {
                let message = format!("it is {}, which has no order", called(data_type));
                return Err(self.error(&path.place, message).hint(advice(data_type)));
            }
        }
        if Class::of(&data_type) != Class::of(&other) {
            let message =
                format!("{} cannot be compared with {}", called(&data_type), called(&other));
            return Err(self.error(&(left.place.start..right.place.end), message));
        }
        Ok(Node::Compare(first, sign, Other::Path(second)))
    }

    fn one_of(&self, path: &PathText, literals: &[(Literal, Place)]) -> Result<Node, FilterError> {
        let (found, data_type) = self.columns.find(path)?;
        let values: Result<Vec<Value<'static>>, FilterError> = literals
            .iter()
            .map(|(literal, place)| {
                typed(literal, &data_type).map_err(|misfit| self.misfit(path, place, &misfit))
            })
            .collect();
        Ok(Node::In(found, values?))
    }

    fn like(&self, path: &PathText, pattern: &str) -> Result<Node, FilterError> {
        let (found, data_type): (Path, DataType) = self.columns.find(path)?;
        if data_type != DataType::String {
            let message = format!("it is {}: like is for strings", called(&data_type));
            return Err(self.error(&path.place, message).hint(advice(&data_type)));
        }
        Ok(Node::Like(found, pattern.to_owned()))
    }
}
