//! The words of a condition.

use super::ast::{Place, Sign};
use super::error::{FilterError, FilterErrorKind, shown};

/// Bytes of the longest condition.
pub(super) const LONGEST: usize = 16 * 1024;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword.
    Word(String),
    /// A name in backticks.
    Quoted(String),
    Number(String),
    Text(String),
    Bytes(Vec<u8>),
    Sign(Sign),
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Comma,
    Dot,
    End,
}

/// All words and their places; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Place)>, FilterError> {
    if text.len() > LONGEST {
        let message = format!("the condition is longer than {LONGEST} bytes");
        return Err(FilterError::new(FilterErrorKind::Syntax, text, 0..0, message));
    }
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.take_while(char::is_whitespace);
        let start = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push((token, start..lexer.at));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, prefix: &str) -> bool {
        let there = self.rest().starts_with(prefix);
        if there {
            self.at += prefix.len();
        }
        there
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn error(&self, from: usize, message: impl Into<String>) -> FilterError {
        FilterError::new(FilterErrorKind::Syntax, self.text, from..self.at, message)
    }

    fn token(&mut self) -> Result<Token, FilterError> {
        const SIGNS: [(&str, Token); 14] = [
            ("==", Token::Sign(Sign::Equal)),
            ("=", Token::Sign(Sign::Equal)),
            ("!=", Token::Sign(Sign::Unequal)),
            ("<>", Token::Sign(Sign::Unequal)),
            ("<=", Token::Sign(Sign::AtMost)),
            (">=", Token::Sign(Sign::AtLeast)),
            ("<", Token::Sign(Sign::Less)),
            (">", Token::Sign(Sign::Greater)),
            ("(", Token::Open),
            (")", Token::Close),
            ("[", Token::OpenIndex),
            ("]", Token::CloseIndex),
            (",", Token::Comma),
            (".", Token::Dot),
        ];
        let Some(c) = self.peek() else { return Ok(Token::End) };
        if self.rest().starts_with("x'") || self.rest().starts_with("X'") {
            return self.bytes();
        }
        match c {
            '\'' | '"' => return self.quoted(c).map(Token::Text),
            '`' => return self.quoted(c).map(Token::Quoted),
            '0'..='9' | '-' => return self.number(),
            c if starts_name(c) => {
                return Ok(Token::Word(self.take_while(continues_name).to_owned()));
            }
            _ => {}
        }
        for (sign, token) in SIGNS {
            if self.take(sign) {
                return Ok(token);
            }
        }
        Err(self.unknown(c))
    }

    fn unknown(&mut self, c: char) -> FilterError {
        let from = self.at;
        self.at += c.len_utf8();
        let error =
            self.error(from, format!("{:?} is not part of the language", shown(&c.to_string())));
        match c {
            '&' => error.hint("write `and`"),
            '|' => error.hint("write `or`"),
            '!' => error.hint("write `not`"),
            '‘' | '’' | '“' | '”' => {
                error.hint("write text between straight quotes: 'acct-7'")
            }
            _ => error.hint("names with other than letters, digits and _ go in backticks"),
        }
    }

    /// Text between quotes; a doubled quote is one.
    fn quoted(&mut self, quote: char) -> Result<String, FilterError> {
        let from = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != quote));
            if self.peek().is_none() {
                let hint = format!("a {quote} is missing; inside, write it twice");
                return Err(self.error(from, "the quotes are not closed").hint(hint));
            }
            self.at += 1;
            if self.peek() != Some(quote) {
                return Ok(text);
            }
            self.at += 1;
            text.push(quote);
        }
    }

    fn bytes(&mut self) -> Result<Token, FilterError> {
        let from = self.at;
        self.at += 1;
        let digits = self.quoted('\'')?;
        let nibbles: Option<Vec<u8>> = digits
            .chars()
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect();
        let pairs = nibbles.as_deref().map(<[u8]>::as_chunks::<2>);
        match pairs {
            Some((pairs, [])) => {
                Ok(Token::Bytes(pairs.iter().map(|[high, low]| high << 4 | low).collect()))
            }
            _ => Err(self
                .error(from, "binary is written as pairs of hexadecimal digits")
                .hint("such as x'00ff'")),
        }
    }

    /// `-? digits (. digits)? (e [+-]? digits)?`
    fn number(&mut self) -> Result<Token, FilterError> {
        let from = self.at;
        let digit = |c: char| c.is_ascii_digit();
        self.take("-");
        let mut sound = !self.take_while(digit).is_empty();
        if self.take(".") {
            sound &= !self.take_while(digit).is_empty();
        }
        if self.take("e") || self.take("E") {
            if !self.take("-") {
                self.take("+");
            }
            sound &= !self.take_while(digit).is_empty();
        }
        let glued = self.take_while(continues_name);
        if !sound || !glued.is_empty() {
            return Err(self
                .error(from, "this is not a number")
                .hint("numbers are written as 42, -0.5 or 1e6; text goes in quotes: '7b'"));
        }
        Ok(Token::Number(self.text.get(from..self.at).unwrap_or_default().to_owned()))
    }
}

/// Whether a name needs no backticks to begin so.
pub(super) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

/// Whether a name needs no backticks to go on so.
pub(super) fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
