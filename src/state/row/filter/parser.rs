//! From words to a condition. Depth is bounded, so that no text can exhaust the stack.

use super::ast::{Condition, Literal, Operand, PathText, Place, Sign, StepText};
use super::error::{FilterError, FilterErrorKind, shown};
use super::lexer::{self, Token};

/// How deep parentheses and `not` may nest.
const DEEPEST: usize = 64;

/// Words that mean something; a column of such a name goes in backticks.
pub(super) const KEYWORDS: [&str; 10] =
    ["and", "or", "not", "in", "is", "like", "between", "null", "true", "false"];

const COMPARISONS: &str = "= <> < <= > >=, between, in, like or is null";

/// Reads a whole condition.
pub(super) fn parse(text: &str) -> Result<Condition, FilterError> {
    let mut parser = Parser { text, tokens: lexer::tokens(text)?, at: 0, depth: 0 };
    let condition = parser.any()?;
    match parser.peek() {
        Token::End => Ok(condition),
        Token::Close => Err(parser.error("this parenthesis closes nothing")),
        Token::Sign(_) => Err(parser.unexpected("`and`, `or` or the end").hint(
            "a comparison has two sides: a = 1 and b = 2; parentheses go around whole conditions",
        )),
        _ => Err(parser.unexpected("`and`, `or` or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Place)>,
    at: usize,
    depth: usize,
}

type Parse<T> = Result<T, FilterError>;

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn place(&self) -> Place {
        let end = self.text.len();
        self.tokens.get(self.at).map_or(end..end, |(_, place)| place.clone())
    }

    /// Where the last word that was taken ends.
    fn end(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|last| self.tokens.get(last));
        last.map_or(0, |(_, place)| place.end)
    }

    fn error(&self, message: impl Into<String>) -> FilterError {
        FilterError::new(FilterErrorKind::Syntax, self.text, self.place(), message)
    }

    fn unexpected(&self, expected: &str) -> FilterError {
        let place = self.place();
        let found = match self.peek() {
            Token::End => "the end".to_owned(),
            _ => shown(self.text.get(place).unwrap_or_default()),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    fn take(&mut self, token: &Token) -> bool {
        let there = self.peek() == token;
        if there {
            self.at += 1;
        }
        there
    }

    fn expect(&mut self, token: &Token, called: &str) -> Parse<()> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected(called)) }
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        let there = self.is_keyword(keyword);
        if there {
            self.at += 1;
        }
        there
    }

    fn any(&mut self) -> Parse<Condition> {
        let first = self.all()?;
        if !self.is_keyword("or") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.keyword("or") {
            parts.push(self.all()?);
        }
        Ok(Condition::Any(parts))
    }

    fn all(&mut self) -> Parse<Condition> {
        let first = self.one()?;
        if !self.is_keyword("and") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.keyword("and") {
            parts.push(self.one()?);
        }
        Ok(Condition::All(parts))
    }

    fn one(&mut self) -> Parse<Condition> {
        if self.depth >= DEEPEST {
            return Err(self.error(format!("more than {DEEPEST} levels of parentheses and `not`")));
        }
        self.depth += 1;
        let condition = if self.keyword("not") {
            self.one().map(negated)
        } else if self.take(&Token::Open) {
            self.any().and_then(|inside| {
                self.expect(&Token::Close, "`)`")?;
                Ok(inside)
            })
        } else {
            self.predicate()
        };
        self.depth -= 1;
        condition
    }

    fn predicate(&mut self) -> Parse<Condition> {
        let left = self.operand()?;
        let place = self.place();
        if let Token::Sign(sign) = *self.peek() {
            self.at += 1;
            let right = self.operand()?;
            return Ok(Condition::Compare(left, sign, right, place));
        }
        if self.keyword("is") {
            let not = self.keyword("not");
            if !self.keyword("null") {
                return Err(self.unexpected("`null`").hint("write `is null` or `is not null`"));
            }
            return Ok(negated_if(not, Condition::IsNull(self.column(left)?)));
        }
        let not = self.keyword("not");
        let condition = if self.keyword("in") {
            Condition::In(self.column(left)?, self.list()?)
        } else if self.keyword("like") {
            Condition::Like(self.column(left)?, self.pattern()?)
        } else if self.keyword("between") {
            self.between(&left, &place)?
        } else if not {
            return Err(self.unexpected("in, like or between"));
        } else {
            return match (&left, self.peek()) {
                (_, Token::End | Token::Close) => Ok(Condition::Plain(left)),
                (_, Token::Word(_)) if self.is_keyword("and") || self.is_keyword("or") => {
                    Ok(Condition::Plain(left))
                }
                _ => Err(self
                    .unexpected(COMPARISONS)
                    .hint("such as account_id = 'acct-7'; odd names go in backticks: `a b`")),
            };
        };
        Ok(negated_if(not, condition))
    }

    fn between(&mut self, left: &Operand, place: &Place) -> Parse<Condition> {
        let low = self.operand()?;
        if !self.keyword("and") {
            return Err(self.unexpected("`and`").hint("such as value.count between 10 and 20"));
        }
        let high = self.operand()?;
        Ok(Condition::All(vec![
            Condition::Compare(left.clone(), Sign::AtLeast, low, place.clone()),
            Condition::Compare(left.clone(), Sign::AtMost, high, place.clone()),
        ]))
    }

    fn list(&mut self) -> Parse<Vec<(Literal, Place)>> {
        const HINT: &str = "such as account_id in ('acct-7', 'acct-8')";
        self.expect(&Token::Open, "`(`").map_err(|error| error.hint(HINT))?;
        let mut literals = Vec::new();
        loop {
            let place = self.place();
            let Some(literal) = self.literal() else {
                return Err(self.unexpected("a literal").hint(HINT));
            };
            literals.push((literal, place));
            if !self.take(&Token::Comma) {
                break;
            }
        }
        self.expect(&Token::Close, "`,` or `)`").map_err(|error| error.hint(HINT))?;
        Ok(literals)
    }

    fn pattern(&mut self) -> Parse<String> {
        let Token::Text(pattern) = self.peek() else {
            return Err(self
                .unexpected("a pattern in quotes")
                .hint("% stands for any text, _ for one character: account_id like 'acct-%'"));
        };
        let pattern = pattern.clone();
        self.at += 1;
        Ok(pattern)
    }

    /// The column that `in`, `like` and `is null` want on their left.
    fn column(&self, operand: Operand) -> Parse<PathText> {
        match operand {
            Operand::Path(path) => Ok(path),
            Operand::Literal(literal, place) => Err(FilterError::new(
                FilterErrorKind::Syntax,
                self.text,
                place,
                format!("expected a column, found {}", literal.what()),
            )),
        }
    }

    fn literal(&mut self) -> Option<Literal> {
        let literal = match self.peek() {
            Token::Number(number) => Literal::Number(number.clone()),
            Token::Text(text) => Literal::Text(text.clone()),
            Token::Bytes(bytes) => Literal::Bytes(bytes.clone()),
            Token::Word(_) if self.is_keyword("null") => Literal::Null,
            Token::Word(_) if self.is_keyword("true") => Literal::Boolean(true),
            Token::Word(_) if self.is_keyword("false") => Literal::Boolean(false),
            _ => return None,
        };
        self.at += 1;
        Some(literal)
    }

    fn operand(&mut self) -> Parse<Operand> {
        let place = self.place();
        if let Some(literal) = self.literal() {
            return Ok(Operand::Literal(literal, place));
        }
        let (first, quoted) = match self.peek() {
            Token::Word(word) if !is_keyword(word) => (word.clone(), false),
            Token::Quoted(name) => (name.clone(), true),
            Token::Word(word) => {
                let hint = format!("for a column of this name, write `{}`", word.clone());
                return Err(self.unexpected("a column or a literal").hint(hint));
            }
            _ => {
                return Err(self
                    .unexpected("a column or a literal")
                    .hint("such as account_id = 'acct-7'"));
            }
        };
        self.at += 1;
        self.path(first, quoted, place).map(Operand::Path)
    }

    fn path(&mut self, first: String, quoted: bool, first_place: Place) -> Parse<PathText> {
        let mut steps = Vec::new();
        loop {
            let start = self.place().start;
            let step = if self.take(&Token::Dot) {
                let (Token::Word(name) | Token::Quoted(name)) = self.peek() else {
                    return Err(self
                        .unexpected("a name")
                        .hint("odd names go in backticks: a.`b c`"));
                };
                let name = name.clone();
                self.at += 1;
                StepText::Name(name)
            } else if self.take(&Token::OpenIndex) {
                let Some(literal) = self.literal() else {
                    return Err(self
                        .unexpected("an index")
                        .hint("such as tags[0] or labels['eu']"));
                };
                self.expect(&Token::CloseIndex, "`]`")?;
                StepText::Index(literal)
            } else {
                let place = first_place.start..self.end();
                return Ok(PathText { first, quoted, steps, first_place, place });
            };
            if steps.len() >= DEEPEST {
                return Err(self.error(format!("a path of more than {DEEPEST} steps")));
            }
            steps.push((step, start..self.end()));
        }
    }
}

/// Whether a column of this name needs backticks.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn negated(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

fn negated_if(not: bool, condition: Condition) -> Condition {
    if not { negated(condition) } else { condition }
}
