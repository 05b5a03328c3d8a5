//! Files that cannot be read, in groups by cause: messages do not grow with the number of files.

use indexmap::IndexMap;

use crate::render::{first_names, thousands};
use crate::source::SourceError;

/// How many causes are shown; the rest is counted.
const SHOWN_CAUSES: usize = 10;

/// How many further files of a cause are named; the rest is counted.
const NAMED_FILES: usize = 5;

/// A message for each cause, with the first file and the names of others.
pub(super) fn grouped<'e>(errors: impl IntoIterator<Item = &'e SourceError>) -> Vec<UnreadGroup<'e>> {
    let mut causes: IndexMap<_, UnreadGroup<'e>> = IndexMap::new();
    for error in errors {
        let file = error.file();
        let group = causes.entry(error.cause()).or_insert_with(|| UnreadGroup::new(error));
        group.files.extend(file);
    }
    let mut groups: Vec<_> = causes.into_values().collect();
    let others: Vec<String> =
        groups.drain(SHOWN_CAUSES.min(groups.len())..).flat_map(|group| group.files).collect();
    if let Some(last) = groups.last_mut() {
        last.others = others;
    }
    groups
}

/// The files with one cause.
#[derive(Debug)]
pub(super) struct UnreadGroup<'e> {
    /// The error of the first file.
    pub(super) first: &'e SourceError,
    files: Vec<String>,
    /// The files with causes that are not shown.
    others: Vec<String>,
}

impl<'e> UnreadGroup<'e> {
    const fn new(first: &'e SourceError) -> Self {
        Self { first, files: Vec::new(), others: Vec::new() }
    }

    /// Lines on the other files: of the same cause, and of causes that are not shown.
    pub(super) fn further(&self) -> Vec<String> {
        let named = |files: &[String]| first_names(NAMED_FILES, files.iter().cloned());
        let same = self.files.get(1..).filter(|files| !files.is_empty());
        let same = same.map(|files| format!("the same in {} more: {}", thousands(files.len()), named(files)));
        let others = (!self.others.is_empty()).then(|| {
            format!(
                "other errors in {} more: {}, all with --verbose",
                thousands(self.others.len()),
                named(&self.others)
            )
        });
        same.into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_policy(path: &str) -> SourceError {
        SourceError::no_policy(path)
    }

    #[test]
    fn files_with_one_cause_are_one_group() {
        let errors: Vec<_> = (0..9000).map(|number| no_policy(&format!("{number}.yaml"))).collect();
        let groups = grouped(&errors);
        assert_eq!(groups.len(), 1);
        assert_eq!(
            groups[0].further(),
            ["the same in 8,999 more: 1.yaml, 2.yaml, 3.yaml, 4.yaml, 5.yaml and 8994 more"]
        );
    }

    #[test]
    fn many_causes_are_counted() {
        let url = |number| SourceError::Url { url: format!("https://{number}") };
        let errors = [no_policy("a"), url(1), no_policy("b")];
        let groups = grouped(&errors);
        assert_eq!(
            groups.iter().map(|group| group.further()).collect::<Vec<_>>(),
            [vec!["the same in 1 more: b"], vec![]]
        );
    }
}
