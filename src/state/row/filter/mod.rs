//! The language of `--where`: which rows of a state store are wanted.
//!
//! ```text
//! text ──parse──► Parsed ──bind(columns of a family)──► Filter ──matches(row)──► yes / no
//! ```
//! Comparisons of columns with literals or with each other, joined by `and`, `or` and `not`,
//! with SQL's three-valued logic: a comparison with null is neither true nor false, and a row
//! is wanted only where the whole is true. Types are checked when a filter is bound, before
//! any row is read. Numbers of all types compare exactly. A literal takes the type of its
//! column: `0.1` beside a `float` is the float nearest to 0.1.
//!
//! Knows values and types; must not know stores, files or the command line.

mod ast;
mod bind;
mod compare;
mod error;
mod eval;
mod lexer;
mod literal;
mod parser;
mod path;
mod time;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use ast::Parsed;
pub use compare::compare;
pub use error::{FilterError, FilterErrorKind};
pub use eval::Filter;

/// What the language can do, for `--help`.
pub const SYNTAX: &str = "\
CONDITIONS:
  = <> < <= > >=, between, in (...), like (with % and _), is null, is not null,
  joined by and, or, not and parentheses.

  account_id              a column of the key, else of the value
  key.id, value.id        a column of the key, of the value
  window.start            a field of a struct
  tags[0], labels['eu']   an element, counted from 0; the value of a map's key
  value[1], `odd name`    a column by its position; a name in backticks
  'it''s'                 text; a quote inside is doubled
  42  -0.5  1e6           numbers, compared exactly
  '2026-11-01T10:00:00Z'  beside a timestamp; also with an offset, with a blank
                          for T, without zone (then UTC), or a date alone
  true  false  x'00ff'    booleans, bytes

Null is neither equal nor unequal to anything: only `is null` finds it.";
