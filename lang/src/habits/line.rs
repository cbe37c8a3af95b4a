//! Whole lines in another tool's shape: `from: x`, `a = 1`, `[table]`, `- item`, `# note`, `kdl-version 1`.

use super::{Page, Role};
use crate::code;
use crate::diag::Diagnostic;
use crate::lex::Kind;
use crate::table;

impl Page<'_> {
    pub(super) fn hash_comment(&self, at: usize, found: &mut Vec<Diagnostic>) -> usize {
        let range = self.range(at);
        let mark = range.start..range.start + 1;
        let message = "`#` does not start a comment";
        let fixed = self.habit(
            code::FOREIGN_SYNTAX,
            &mark,
            message,
            "a shell's habit",
            "//".into(),
        );
        found.push(fixed);
        at + 1
    }

    /// A node's name: what follows it tells what the line was meant to be.
    pub(super) fn name(&self, at: usize, found: &mut Vec<Diagnostic>) -> usize {
        let word = self.written(at);
        let range = self.range(at);
        let next = self.significant(at + 1);
        if next.and_then(|next| self.kind(next)) == Some(Kind::Equals) {
            return self.assignment(at, next.unwrap_or(at), found);
        }
        if self.kind(at) != Some(Kind::Word) {
            return at + 1;
        }
        if word == "kdl-version" && next.is_some_and(|next| self.written(next) == "1") {
            found.push(self.old_version(at, next.unwrap_or(at)));
            return self.line_end(at);
        }
        if word.starts_with('[') {
            let message = "`[…]` is no statement";
            let table = Diagnostic::error(
                code::FOREIGN_SYNTAX,
                self.span(&range),
                message,
                "a TOML table",
            );
            found.push(table.help("blocks are written NAME { … }"));
            return self.line_end(at);
        }
        if word == "-" && next.is_some_and(|next| self.roles[next] != Role::Other) {
            let message = "`-` starts no list";
            let item = range.start..self.tokens[next.unwrap_or(at)].start;
            let label = "a YAML habit";
            found.push(self.habit(code::FOREIGN_SYNTAX, &item, message, label, String::new()));
            return self.line_end(at);
        }
        if let Some(name) = word.strip_suffix(':').filter(|name| is_statement(name)) {
            let message = format!("`{name}:` has a colon too many");
            let fixed = name.to_owned();
            found.push(self.habit(code::FOREIGN_SYNTAX, &range, message, "a YAML habit", fixed));
            return at + 1;
        }
        self.value(at, found)
    }

    /// `/- kdl-version 1`, with or without the slashdash.
    fn old_version(&self, at: usize, number: usize) -> Diagnostic {
        let before = (0..at)
            .rev()
            .find(|before| !self.tokens[*before].is_blank());
        let slashdash = before.filter(|before| self.kind(*before) == Some(Kind::Slashdash));
        let line = self.tokens[slashdash.unwrap_or(at)].start..self.tokens[number].end;
        let message = "a file of KDL 1 cannot be read";
        let label = "KDL 1's marker";
        Diagnostic::error(code::KDL_1, self.span(&line), message, label)
            .help("this language is KDL 2: delete the line, then follow the other findings")
            .fix(self.span(&line), "")
    }

    /// `a = 1`: a node takes arguments, only a property has `=`.
    fn assignment(&self, at: usize, equals: usize, found: &mut Vec<Diagnostic>) -> usize {
        let name = self.written(at);
        let end = self
            .significant(equals + 1)
            .map_or(self.text.len(), |next| self.tokens[next].start);
        let range = self.range(at);
        let gap = range.end..end;
        let message = format!("`{name}` is a statement, it takes no `=`");
        found.push(
            Diagnostic::error(
                code::FOREIGN_SYNTAX,
                self.span(&self.range(equals)),
                message,
                "a TOML or shell habit",
            )
            .help(format!(
                "write {name} and the value behind it, or env {name}=…"
            ))
            .fix(self.span(&gap), " "),
        );
        self.line_end(at)
    }

    /// The end of the line: its other faults show once this one is put right.
    pub(super) fn line_end(&self, from: usize) -> usize {
        let ends = |at: &usize| matches!(self.tokens[*at].kind, Kind::Newline | Kind::Semicolon);
        (from..self.tokens.len())
            .find(ends)
            .unwrap_or(self.tokens.len())
    }
}

fn is_statement(name: &str) -> bool {
    table::find(name).is_some() || table::LATER.contains(&name)
}
