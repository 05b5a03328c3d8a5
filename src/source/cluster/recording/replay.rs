//! A cluster that is a recording.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::resources::{ApiResource, Resources};
use crate::source::SourceError;
use crate::source::cluster::{Access, Cluster, ClusterError, DryRunRequest, ListQuery, Page, Subject};
use crate::value::Value;

use super::head::{Head, SecretValues};
use super::question::Question;
use super::{answer, dry_run};

/// A cluster that answers from a recording, and sends nothing.
#[derive(Debug)]
pub struct RecordedCluster {
    folder: PathBuf,
    head: Head,
    resources: OnceLock<Result<Arc<Resources>, ClusterError>>,
}

impl RecordedCluster {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// A directory that cannot be read or is no recording.
    pub fn open(folder: &Path) -> Result<Self, SourceError> {
        let path = || folder.display().to_string();
        fs::read_dir(folder).map_err(|cause| SourceError::unreadable(path(), cause))?;
        let head = Head::read(folder).ok_or_else(|| SourceError::NoRecording { path: path() })?;
        Ok(Self { folder: folder.to_owned(), head, resources: OnceLock::new() })
    }

    /// Whether values of Secrets are redacted.
    pub fn is_redacted(&self) -> bool {
        self.head.secrets != SecretValues::Shown
    }

    /// The recorded answer, parsed by `read`.
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

impl Cluster for RecordedCluster {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        self.resources.get_or_init(|| self.find(&Question::kinds(), answer::kinds)).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
        let number = query.after.map_or(Ok(1), str::parse);
        let number = number.map_err(|_| ClusterError::NotRecorded("a page without a number".into()))?;
        self.find(&Question::list(query, number), answer::page)
    }

    fn get(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        self.find(&Question::get(resource, namespace, name), |answer| Some(answer.clone()))
    }

    fn get_path(&self, path: &str) -> Result<Value, ClusterError> {
        self.find(&Question::path(path), |answer| Some(answer.clone()))
    }

    fn is_allowed(&self, subject: Option<&Subject>, access: &Access<'_>) -> Result<bool, ClusterError> {
        self.find(&Question::review(subject, access), Value::as_bool)
    }

    fn dry_run(&self, request: &DryRunRequest<'_>) -> Result<Value, ClusterError> {
        if !self.is_redacted() {
            return self.find(&Question::dry_run(request, request.object), |answer| Some(answer.clone()));
        }
        self.find(&Question::dry_run(request, request.shown), |answer| {
            Some(dry_run::unmasked(answer, request.shown, request.object))
        })
    }

    fn default_namespace(&self) -> &str {
        &self.head.namespace
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.head.now)
    }

    fn notes(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.head.is_complete {
            remarks.push("the recording is not complete: the run that made it was interrupted".to_owned());
        }
        if self.head.secrets == SecretValues::Redacted {
            let text = "the recording holds no values of Secrets: rules that need them are not replayable (--record \
                        with --show-secrets keeps the values)";
            remarks.push(text.to_owned());
        }
        remarks
    }
}
