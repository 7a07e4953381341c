//! A condition as it was written: names and literals that no schema has been asked about.

use std::ops::Range;

use super::error::FilterError;
use super::eval::Filter;
use super::{bind, parser};
use crate::state::row::types::Field;

/// A condition that has been read but not yet fitted to the columns of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub(super) text: String,
    pub(super) root: Condition,
}

impl Parsed {
    /// Reads a condition.
    ///
    /// # Errors
    /// What cannot be read, and where; also a condition that is too long or nested too deep.
    pub fn of(text: &str) -> Result<Self, FilterError> {
        let root = parser::parse(text)?;
        Ok(Self { text: text.to_owned(), root })
    }

    /// Fits the condition to the key and value columns of a family.
    ///
    /// # Errors
    /// A column that is not there, or a comparison that its type does not allow.
    pub fn bind(&self, key: &[Field], value: &[Field]) -> Result<Filter, FilterError> {
        bind::bind(self, key, value)
    }

    /// The condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Bytes of the text that something was read from.
pub(super) type Place = Range<usize>;

/// A condition: true, false, or neither.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    /// True where all are.
    All(Vec<Self>),
    /// True where one is.
    Any(Vec<Self>),
    Not(Box<Self>),
    /// An operand alone: a boolean.
    Plain(Operand),
    /// `left sign right`; the place is the sign's.
    Compare(Operand, Sign, Operand, Place),
    /// `path in (literals)`
    In(PathText, Vec<(Literal, Place)>),
    /// `path like 'pattern'`
    Like(PathText, String),
    /// `path is null`
    IsNull(PathText),
}

/// What a comparison asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Sign {
    /// The sign after its two sides have changed places.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            same @ (Self::Equal | Self::Unequal) => same,
        }
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Path(PathText),
    Literal(Literal, Place),
}

/// A column by its names: `window.start`, `labels['eu']`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathText {
    pub(super) first: String,
    pub(super) quoted: bool,
    pub(super) steps: Vec<(StepText, Place)>,
    /// Of the first name.
    pub(super) first_place: Place,
    pub(super) place: Place,
}

/// What follows a column's name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepText {
    /// `.name`
    Name(String),
    /// `[literal]`
    Index(Literal),
}

/// A literal; its type is its column's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Null,
    Boolean(bool),
    /// As it was written.
    Number(String),
    Text(String),
    Bytes(Vec<u8>),
}

impl Literal {
    /// What it is, for messages.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Bytes(_) => "binary",
        }
    }
}
