//! Findings that are known: a file of them, so that only new ones are reported.

use std::collections::BTreeMap;

use crate::value::{Text, Value};

/// What is the same in a finding of a later run, whatever moved in its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaselineEntry {
    /// The file, with `/` between the parts of its path.
    pub file: Text,
    /// The code.
    pub code: Text,
    /// The policy, and with a `/` the rule.
    pub name: Text,
    /// The message.
    pub message: Text,
}

/// The names of the fields of an entry.
const FIELDS: [&str; 4] = ["file", "code", "name", "message"];

/// Why a document is no baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// It has no version, or no findings.
    #[error("expected `version: 1` and a list `findings`")]
    NoBaseline,
    /// A finding lacks a field.
    #[error("findings[{index}]: expected the texts `{}`", FIELDS.join("`, `"))]
    NoFinding {
        /// The index.
        index: usize,
    },
}

/// The known findings, each as often as it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<BaselineEntry, usize>);

impl Baseline {
    /// Those of a document of a baseline.
    ///
    /// # Errors
    ///
    /// A document of another form.
    pub fn parse(document: &Value) -> Result<Self, BaselineError> {
        let is_version_1 = document.get("version").is_some_and(|version| *version == Value::from(1));
        let entries = document.get("findings").and_then(Value::as_array);
        let (true, Some(entries)) = (is_version_1, entries) else {
            return Err(BaselineError::NoBaseline);
        };
        let mut baseline = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            let text = |name: &str| entry.get(name).and_then(Value::as_text).cloned();
            let texts = FIELDS.map(text);
            let [Some(file), Some(code), Some(name), Some(message)] = texts else {
                return Err(BaselineError::NoFinding { index });
            };
            baseline.add(BaselineEntry { file, code, name, message });
        }
        Ok(baseline)
    }

    /// Adds a finding.
    pub fn add(&mut self, entry: BaselineEntry) {
        *self.0.entry(entry).or_default() += 1;
    }

    /// Takes a finding out; `false` if it is not there.
    pub fn take(&mut self, entry: &BaselineEntry) -> bool {
        let Some(count) = self.0.get_mut(entry) else { return false };
        *count -= 1;
        if *count == 0 {
            self.0.remove(entry);
        }
        true
    }

    /// The findings that are left, in order.
    pub fn entries(&self) -> impl Iterator<Item = &BaselineEntry> {
        self.0.iter().flat_map(|(entry, count)| std::iter::repeat_n(entry, *count))
    }

    /// The document.
    pub fn to_value(&self) -> Value {
        let entry = |entry: &BaselineEntry| {
            let values = [&entry.file, &entry.code, &entry.name, &entry.message];
            let values = values.into_iter().cloned().map(Value::String);
            FIELDS.into_iter().zip(values).collect::<Value>()
        };
        let entries = self.entries().map(entry).collect();
        Value::from_iter([("version", Value::from(1)), ("findings", Value::array(entries))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_known_as_often_as_it_was_written() {
        let entry = |message: &str| BaselineEntry {
            file: "a.yaml".into(),
            code: "KYV903".into(),
            name: "p/r".into(),
            message: message.into(),
        };
        let mut baseline = Baseline::default();
        ["x", "x", "y"].into_iter().for_each(|message| baseline.add(entry(message)));
        let mut read = Baseline::parse(&baseline.to_value()).unwrap();
        assert_eq!(read, baseline);
        assert!(read.take(&entry("x")) && read.take(&entry("x")) && !read.take(&entry("x")));
        assert_eq!(read.entries().collect::<Vec<_>>(), [&entry("y")]);
    }

    #[test]
    fn a_document_that_is_no_baseline_is_refused() {
        for (text, expected) in [
            ("[]", "expected `version: 1` and a list `findings`"),
            (r#"{"version":2,"findings":[]}"#, "expected `version: 1` and a list `findings`"),
            (
                r#"{"version":1,"findings":[{"file":"a"}]}"#,
                "findings[0]: expected the texts `file`, `code`, `name`, `message`",
            ),
        ] {
            let error = Baseline::parse(&Value::from_json(text).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
