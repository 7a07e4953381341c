//! Pieces that several printed pages share: labelled lines, flowing facts, findings.

use super::look::{Look, Role};
use super::text;
use crate::diagnosis::{Finding, Severity};
use crate::figures::plural;

/// Cells of a label and the gap behind it.
const LABEL: usize = 11;

/// A page under construction: lines without line ends.
#[derive(Debug)]
pub(crate) struct Page {
    look: Look,
    lines: Vec<String>,
}

impl Page {
    pub(crate) fn new(look: Look) -> Self {
        Self { look, lines: Vec::new() }
    }

    /// The page as text, in characters that the terminal can show.
    pub(crate) fn into_text(self) -> String {
        let charset = self.look.charset;
        self.lines.iter().flat_map(|line| [charset.encode(line), "\n".into()]).collect()
    }

    pub(crate) fn blank(&mut self) {
        self.lines.push(String::new());
    }

    pub(crate) fn push(&mut self, line: String) {
        self.lines.push(line);
    }

    pub(crate) fn extend(&mut self, lines: Vec<String>) {
        self.lines.extend(lines);
    }

    /// A sentence of any length.
    pub(crate) fn sentence(&mut self, role: Role, sentence: &str) {
        for line in text::wrap(sentence, self.look.columns) {
            self.lines.push(self.look.paint(role, &line));
        }
    }

    /// `label      text`, wrapped beside the label.
    pub(crate) fn labelled(&mut self, label: &str, text: &str) {
        self.labelled_lines(label, &text::wrap(text, self.look.columns.saturating_sub(LABEL)));
    }

    /// `label      fact  fact  fact`, broken between facts only.
    pub(crate) fn facts(&mut self, label: &str, facts: &[String]) {
        self.labelled_lines(label, &flow(facts, self.look.columns.saturating_sub(LABEL)));
    }

    fn labelled_lines(&mut self, label: &str, lines: &[String]) {
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let padding = " ".repeat(LABEL.saturating_sub(text::width(label)));
            self.lines.push(format!("{}{padding}{line}", self.look.paint(Role::Muted, label)));
        }
    }

    /// All findings, most severe first, with their files and remedies.
    pub(crate) fn findings(&mut self, findings: &[&Finding]) {
        self.findings_and(findings, |_| None);
    }

    /// The same, with a last line below each.
    pub(crate) fn findings_and(
        &mut self,
        findings: &[&Finding],
        last: impl Fn(&Finding) -> Option<String>,
    ) {
        if findings.is_empty() {
            return;
        }
        self.blank();
        self.push(self.look.paint(Role::Title, &tally(findings)));
        for finding in findings {
            self.finding(finding);
            if let Some(line) = last(finding) {
                self.push(format!("{}{}", " ".repeat(LABEL), self.look.paint(Role::Muted, &line)));
            }
        }
    }

    fn finding(&mut self, finding: &Finding) {
        let (word, role) = match finding.severity {
            Severity::Error => ("ERROR", Role::Error),
            Severity::Warning => ("WARNING", Role::Warning),
            Severity::Info => ("INFO", Role::Info),
        };
        let head = format!("{} ({})", text::clean(&finding.summary), finding.id.0);
        let room = self.look.columns.saturating_sub(LABEL);
        let indent = " ".repeat(LABEL);
        let padding = " ".repeat(LABEL - 2 - word.len());
        for (index, line) in text::wrap(&head, room).into_iter().enumerate() {
            let start = match index {
                0 => format!("  {}{padding}", self.look.paint(role, word)),
                _ => indent.clone(),
            };
            self.push(format!("{start}{line}"));
        }
        if let Some(file) = &finding.file {
            self.push(format!("{indent}{}", self.look.paint(Role::Muted, &text::clean(file))));
        }
        // A note needs no evidence; a fault does.
        let detail = (finding.severity > Severity::Info).then_some(&finding.detail);
        for part in detail.into_iter().chain([&finding.remedy]) {
            for line in text::wrap(&text::clean(part), room) {
                self.push(format!("{indent}{line}"));
            }
        }
    }
}

/// `3 findings: 1 error, 2 warnings`.
fn tally(findings: &[&Finding]) -> String {
    let of = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let parts: Vec<String> = [
        (of(Severity::Error), "error", "errors"),
        (of(Severity::Warning), "warning", "warnings"),
        (of(Severity::Info), "note", "notes"),
    ]
    .into_iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, one, many)| plural(number as u64, one, many))
    .collect();
    format!("{}: {}", plural(findings.len() as u64, "finding", "findings"), parts.join(", "))
}

/// Facts on lines of at most `cells`, two spaces apart.
pub(crate) fn flow(facts: &[String], cells: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if text::width(line) + 2 + text::width(fact) <= cells => {
                line.push_str("  ");
                line.push_str(fact);
            }
            _ => lines.push(fact.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_break_between_each_other() {
        let facts = ["total 842,113", "mean 4,210", "p50 4,102"].map(str::to_owned);
        assert_eq!(flow(&facts, 26), ["total 842,113  mean 4,210", "p50 4,102"]);
    }
}
