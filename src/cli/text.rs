//! Text for plain output: cleaned by the console's own gate, measured in cells, wrapped.
//!
//! Everything that a checkpoint says passes [`clean`] before it is printed. Must not know
//! about reports or commands.

pub(crate) use crate::console::text::{cut, sanitise as clean, width};

/// Lines of at most `cells`, broken at spaces; a longer word stands alone and sticks out, so
/// that paths can still be copied.
pub(crate) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && width(&line) + 1 + width(word) > cells {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_breaks_at_spaces_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrap("state/0/37/1842_verylong.zip x", 8),
            ["state/0/37/1842_verylong.zip", "x"]
        );
        assert!(wrap("  ", 10).is_empty());
    }
}
