//! Questions that secrets were written into.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::Disguise;
use crate::source::cluster::{Cluster, ClusterError, ListQuery, Page, Resource, Resources};
use crate::value::{Text, Value};

use super::answer;
use super::question::Question;
use super::write::RecordingCluster;

/// A cluster that is asked with secrets, and whose answers are written down as those to the questions that stand in for
/// them. What nothing stands in for is not written down.
#[derive(Debug)]
pub(super) struct DisguisedCluster<'a> {
    recording: &'a RecordingCluster,
    disguise: &'a Disguise,
}

impl<'a> DisguisedCluster<'a> {
    pub(super) const fn new(recording: &'a RecordingCluster, disguise: &'a Disguise) -> Self {
        Self { recording, disguise }
    }

    /// What stands in for a text; `None` where nothing does.
    fn other(&self, text: &str) -> Option<Text> {
        let place = self.disguise.texts.iter().position(|known| **known == *text);
        match (place, &self.disguise.stand_in) {
            (None, _) => Some(text.into()),
            (Some(place), Some(others)) => others.get(place).cloned(),
            (Some(_), None) => None,
        }
    }

    /// The same for a query of labels or fields, word by word.
    fn other_query(&self, query: &str) -> Option<String> {
        let is_word = |c: char| !matches!(c, '=' | ',' | '(' | ')' | ' ' | '!');
        let mut out = String::new();
        let mut rest = query;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            out.push_str(&self.other(word)?);
            rest = behind;
        }
        Some(out)
    }

    /// Writes an answer down.
    fn keep(
        &self,
        question: Option<Question>,
        answer: Result<Value, &ClusterError>,
    ) -> Result<(), ClusterError> {
        let Some(question) = question else {
            self.recording.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        let secrets = &self.disguise.secrets;
        let replaced = |words: &str| match secrets.stand_in(&Value::from(words)) {
            Value::String(other) => other.to_string(),
            _ => self.disguise.hide(words),
        };
        match answer {
            Ok(value) => {
                let other = secrets.stand_in_object(&value, self.disguise.shows_names);
                self.recording.keep(&question, Ok(other))
            }
            Err(error) => {
                let error = error.clone().with_words(|words| {
                    let pairs = self.disguise.texts.iter().zip(self.disguise.stand_in.iter().flatten());
                    let named = |words: String, (text, other): (&Text, &Text)| {
                        if text.is_empty() {
                            words
                        } else {
                            words.replace(&format!("\"{text}\""), &format!("\"{other}\""))
                        }
                    };
                    replaced(&pairs.fold(words.to_owned(), named))
                });
                self.recording.keep(&question, Err(&error))
            }
        }
    }
}

impl Cluster for DisguisedCluster<'_> {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        self.recording.resources()
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
        let namespace = query.namespace.map(|namespace| self.other(namespace));
        let [labels, fields] =
            [query.labels, query.fields].map(|query| query.map(|query| self.other_query(query)));
        let all =
            [namespace.as_ref().is_none_or(Option::is_some), labels != Some(None), fields != Some(None)];
        let (namespace, labels, fields) = (namespace.flatten(), labels.flatten(), fields.flatten());
        let other = ListQuery {
            namespace: namespace.as_deref(),
            labels: labels.as_deref(),
            fields: fields.as_deref(),
            ..query.clone()
        };
        let other = all.iter().all(|known| *known).then_some(&other);
        self.recording.list_as(query, other, &|question, answer| self.keep(question, answer))
    }

    fn get(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, ClusterError> {
        let answer = self.recording.inner.get(resource, namespace, name);
        let other = namespace.map(|namespace| self.other(namespace));
        let question = match (other.as_ref().is_none_or(Option::is_some), self.other(name)) {
            (true, Some(name)) => Some(Question::get(resource, other.flatten().as_deref(), &name)),
            _ => None,
        };
        self.keep(question, answer.as_ref().map(|object| self.recording.covered(object)))?;
        answer
    }

    fn ask(&self, path: &str) -> Result<Value, ClusterError> {
        let answer = self.recording.inner.ask(path);
        // A target's subresource is asked for by a path that its name is only a part of.
        let other = if self.disguise.texts.iter().any(|text| **text == *path) {
            self.other(path)
        } else {
            let parts = path.split('/').map(|part| self.other(part)).collect::<Option<Vec<_>>>();
            parts.map(|parts| parts.join("/").into())
        };
        let question = other.map(|path| Question::ask(&path));
        self.keep(question, answer.as_ref().map(|object| self.recording.covered(object)))?;
        answer
    }

    fn default_namespace(&self) -> &str {
        self.recording.inner.default_namespace()
    }
}

/// A page as it is written down.
pub(super) fn page(
    answer: &Result<Page, ClusterError>,
    next: usize,
    covered: impl Fn(&Value) -> Value,
) -> Result<Value, &ClusterError> {
    answer.as_ref().map(|page| {
        let objects = page.objects.iter().map(covered).collect();
        answer::of_page(&Page { objects, ..page.clone() }, next)
    })
}
