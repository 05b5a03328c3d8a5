//! Questions that secrets were written into.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::Disguise;
use crate::resources::{ApiResource, Resources};
use crate::source::cluster::{Cluster, ClusterError, ListQuery, Page};
use crate::value::{Text, Value};

use super::answer;
use super::question::Question;
use super::replay::RecordedCluster;
use super::write::RecordingCluster;

/// What would be asked if all were made of what stands in for Secrets; `None` where nobody knows.
#[derive(Clone, Copy, Debug)]
struct Others<'a>(&'a Disguise);

impl Others<'_> {
    fn text(self, text: &str) -> Option<Text> {
        let place = self.0.texts.iter().position(|known| **known == *text);
        match (place, &self.0.stand_in) {
            (None, _) => Some(text.into()),
            (Some(place), Some(others)) => others.get(place).cloned(),
            (Some(_), None) => None,
        }
    }

    /// The same for a query of labels or fields, word by word.
    fn query(self, query: Option<&str>) -> Option<Option<String>> {
        let Some(mut rest) = query else { return Some(None) };
        let is_word = |c: char| !matches!(c, '=' | ',' | '(' | ')' | ' ' | '!');
        let mut out = String::new();
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            out.push_str(&self.text(word)?);
            rest = behind;
        }
        Some(Some(out))
    }

    /// The namespace, labels and fields of a list.
    fn list(self, query: &ListQuery<'_>) -> Option<(Option<Text>, Option<String>, Option<String>)> {
        Some((self.namespace(query.namespace)?, self.query(query.labels)?, self.query(query.fields)?))
    }

    fn namespace(self, namespace: Option<&str>) -> Option<Option<Text>> {
        namespace.map_or(Some(None), |namespace| self.text(namespace).map(Some))
    }

    /// A target's subresource is asked for by a path that its name is only a part of.
    fn path(self, path: &str) -> Option<Text> {
        if self.0.texts.iter().any(|text| **text == *path) {
            return self.text(path);
        }
        let parts = path.split('/').map(|part| self.text(part)).collect::<Option<Vec<_>>>()?;
        Some(parts.join("/").into())
    }
}

/// A cluster that is asked with secrets, and whose answers are written down as those to the questions that stand in for
/// them. What nothing stands in for is not written down.
#[derive(Debug)]
pub(super) struct DisguisedCluster<'a> {
    recording: &'a RecordingCluster,
    disguise: &'a Disguise,
    others: Others<'a>,
}

impl<'a> DisguisedCluster<'a> {
    pub(super) const fn new(recording: &'a RecordingCluster, disguise: &'a Disguise) -> Self {
        Self { recording, disguise, others: Others(disguise) }
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
        let others = self.others.list(query);
        let other = others.as_ref().map(|(namespace, labels, fields)| ListQuery {
            namespace: namespace.as_deref(),
            labels: labels.as_deref(),
            fields: fields.as_deref(),
            ..query.clone()
        });
        self.recording.list_as(query, other.as_ref(), &|question, answer| self.keep(question, answer))
    }

    fn get(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        let answer = self.recording.inner.get(resource, namespace, name);
        let others = self.others.namespace(namespace).zip(self.others.text(name));
        let question = others.map(|(namespace, name)| Question::get(resource, namespace.as_deref(), &name));
        self.keep(question, answer.as_ref().map(|object| self.recording.covered(object)))?;
        answer
    }

    fn ask(&self, path: &str) -> Result<Value, ClusterError> {
        let answer = self.recording.inner.ask(path);
        let question = self.others.path(path).map(|path| Question::ask(&path));
        self.keep(question, answer.as_ref().map(|object| self.recording.covered(object)))?;
        answer
    }

    fn default_namespace(&self) -> &str {
        self.recording.inner.default_namespace()
    }
}

/// A recording that is asked with secrets: it answers what it was asked for with what stands in for them.
#[derive(Debug)]
pub(super) struct DisguisedReplay<'a> {
    replay: &'a RecordedCluster,
    disguise: &'a Disguise,
    others: Others<'a>,
}

impl<'a> DisguisedReplay<'a> {
    pub(super) const fn new(replay: &'a RecordedCluster, disguise: &'a Disguise) -> Self {
        Self { replay, disguise, others: Others(disguise) }
    }
}

impl Cluster for DisguisedReplay<'_> {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        self.replay.resources()
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
        let Some((namespace, labels, fields)) = self.others.list(query) else {
            return self.replay.list(query);
        };
        let (namespace, labels, fields) = (namespace.as_deref(), labels.as_deref(), fields.as_deref());
        let page = self.replay.list(&ListQuery { namespace, labels, fields, ..query.clone() })?;
        let objects = page.objects.iter().map(|object| self.disguise.secrets.uncovered(object)).collect();
        Ok(Page { objects, ..page })
    }

    fn get(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        let Some((other, called)) = self.others.namespace(namespace).zip(self.others.text(name)) else {
            return self.replay.get(resource, namespace, name);
        };
        let object = self.replay.get(resource, other.as_deref(), &called)?;
        Ok(self.disguise.secrets.uncovered(&object))
    }

    fn ask(&self, path: &str) -> Result<Value, ClusterError> {
        let Some(other) = self.others.path(path) else { return self.replay.ask(path) };
        Ok(self.disguise.secrets.uncovered(&self.replay.ask(&other)?))
    }

    fn default_namespace(&self) -> &str {
        self.replay.default_namespace()
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
