//! A cluster that is a recording.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::source::SourceError;
use crate::source::cluster::{
    Access, Cluster, ClusterError, Draft, ListQuery, Page, Resource, Resources, Subject,
};
use crate::value::{Text, Value};

use super::question::Question;
use super::{API_VERSION, Cover, HEAD, KIND, answer};

/// A cluster that answers what a recording holds, and nothing else.
#[derive(Debug)]
pub struct RecordedCluster {
    folder: PathBuf,
    namespace: String,
    now: Timestamp,
    cover: Option<Cover>,
    resources: OnceLock<Result<Arc<Resources>, ClusterError>>,
}

/// What a recording says of itself, if it is one.
fn head(folder: &Path) -> Option<Value> {
    let text = fs::read_to_string(folder.join(HEAD)).ok()?;
    let head = Value::from_json(&text).ok()?;
    let says = |name, text| head.get(name).and_then(Value::as_str) == Some(text);
    (says("apiVersion", API_VERSION) && says("kind", KIND)).then_some(head)
}

/// Whether a directory is a recording.
pub(super) fn is_recording(folder: &Path) -> bool {
    head(folder).is_some()
}

impl RecordedCluster {
    /// Opens a recording. `cover` makes of an object what recordings with masked values hold.
    ///
    /// # Errors
    ///
    /// A directory that is none.
    pub fn open(folder: &Path, cover: Cover) -> Result<Self, SourceError> {
        let path = || folder.display().to_string();
        fs::read_dir(folder).map_err(|cause| SourceError::unreadable(path(), cause))?;
        let none = || SourceError::NoRecording { path: path() };
        let head = head(folder).ok_or_else(none)?;
        let text = |name| head.get(name).and_then(Value::as_str);
        let now = text("now").and_then(|now| now.parse().ok()).ok_or_else(none)?;
        let namespace = text("namespace").unwrap_or("default").to_owned();
        let cover = (text("secrets") != Some("shown")).then_some(cover);
        Ok(Self { folder: folder.to_owned(), namespace, now, cover, resources: OnceLock::new() })
    }

    /// What the recording answers, as `read` understands it.
    fn find<T>(
        &self,
        question: &Question,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, ClusterError> {
        let malformed = |fault: String| ClusterError::Malformed { asked: question.to_string(), fault };
        let text = match fs::read_to_string(self.folder.join(question.file_name())) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ClusterError::NotRecorded(question.to_string()));
            }
            Err(error) => return Err(malformed(error.to_string())),
        };
        let content = Value::from_json(&text).map_err(|error| malformed(error.to_string()))?;
        if content.get("question") != Some(&question.asked) {
            return Err(malformed("its file answers another question".into()));
        }
        if let Some(error) = content.get("error").and_then(answer::error) {
            return Err(error);
        }
        let answer = content.get("answer").and_then(read);
        answer.ok_or_else(|| malformed("its file holds no answer".into()))
    }
}

/// An answer with what was sent, wherever it says the same of it once that is covered.
fn uncovered(answer: &Value, covered: &Value, sent: &Value) -> Value {
    if answer == covered {
        return sent.clone();
    }
    let (Some(members), Some(covered), Some(sent)) =
        (answer.as_object(), covered.as_object(), sent.as_object())
    else {
        return answer.clone();
    };
    let member = |(key, value): (&Text, &Value)| {
        let known = covered.get(key).zip(sent.get(key));
        (key.clone(), known.map_or_else(|| value.clone(), |(covered, sent)| uncovered(value, covered, sent)))
    };
    members.iter().map(member).collect()
}

impl Cluster for RecordedCluster {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        self.resources.get_or_init(|| self.find(&Question::kinds(), answer::kinds)).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
        let number = query.after.map_or(Ok(1), str::parse);
        let number = number.map_err(|_| ClusterError::NotRecorded("a page without a number".into()))?;
        self.find(&Question::list(query, number), answer::page)
    }

    fn get(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, ClusterError> {
        self.find(&Question::get(resource, namespace, name), |answer| Some(answer.clone()))
    }

    fn ask(&self, path: &str) -> Result<Value, ClusterError> {
        self.find(&Question::ask(path), |answer| Some(answer.clone()))
    }

    fn may(&self, subject: Option<&Subject>, access: &Access<'_>) -> Result<bool, ClusterError> {
        self.find(&Question::may(subject, access), Value::as_bool)
    }

    fn dry_run(&self, draft: &Draft<'_>) -> Result<Value, ClusterError> {
        let covered = self.cover.map(|cover| cover(draft.object));
        let question = Question::dry_run(draft, covered.as_ref().unwrap_or(draft.object));
        self.find(&question, |answer| {
            let sent = draft.object;
            Some(covered.as_ref().map_or_else(|| answer.clone(), |covered| uncovered(answer, covered, sent)))
        })
    }

    fn default_namespace(&self) -> &str {
        &self.namespace
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.now)
    }
}
