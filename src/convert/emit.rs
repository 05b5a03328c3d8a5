//! The text of a policy.

use std::sync::Arc;

use crate::value::{Pointer, Value};
use crate::yaml::{Limits, Source, print, read};

/// A document with comments.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) value: Value,
    /// Comments above nodes.
    pub(super) comments: Vec<(Pointer, Vec<String>)>,
}

impl Output {
    /// The text, with comments in front of it.
    pub(super) fn text(&self, head: &[String]) -> String {
        let mut text = String::new();
        print(&self.value, &mut text);
        let source = Arc::new(Source::new("policy", text.as_str()));
        let mut inserts: Vec<(usize, String)> = Vec::new();
        let documents = read(&source, &Limits::default()).unwrap_or_default();
        if let Some(document) = documents.iter().find(|document| document.value().is_some()) {
            for (pointer, comments) in &self.comments {
                let Some(start) = document.span(pointer).map(|span| span.start) else { continue };
                let line = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
                let rest = text.get(line..).unwrap_or_default();
                let indent = rest.len() - rest.trim_start_matches(' ').len();
                let lines: String =
                    comments.iter().map(|comment| format!("{}# {comment}\n", " ".repeat(indent))).collect();
                inserts.push((line, lines));
            }
        }
        inserts.sort_by_key(|(line, _)| *line);
        for (line, comment) in inserts.into_iter().rev() {
            text.insert_str(line, &comment);
        }
        let head: String = head.iter().map(|line| format!("{line}\n")).collect();
        head + &text
    }
}
