//! Replays of recordings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::resources::{ApiResource, Resources};
use crate::source::SourceError;
use crate::source::cluster::{
    Access, Cluster, ClusterError, ClusterResult, DryRunRequest, ListQuery, Page, Subject,
};
use crate::value::Value;

use super::head::{Head, SecretValues};
use super::request::RecordedRequest;
use super::{dry_run, response};

/// A cluster that responds from a recording, and sends nothing.
#[derive(Debug)]
pub struct RecordedCluster {
    folder: PathBuf,
    head: Head,
    resources: OnceLock<ClusterResult<Arc<Resources>>>,
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

    /// The recorded response, parsed by `read`.
    fn find<T>(&self, request: &RecordedRequest, read: impl FnOnce(&Value) -> Option<T>) -> ClusterResult<T> {
        let malformed = |cause: String| ClusterError::Malformed { asked: request.to_string(), cause };
        let text = match fs::read_to_string(self.folder.join(request.file_name())) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ClusterError::NotRecorded(request.to_string()));
            }
            Err(error) => return Err(malformed(error.to_string())),
        };
        let content = Value::from_json(&text).map_err(|error| malformed(error.to_string()))?;
        if content.get("question") != Some(&request.content) {
            return Err(malformed("its file has the response to another request".into()));
        }
        if let Some(error) = content.get("error").and_then(response::error) {
            return Err(error);
        }
        let response = content.get("answer").and_then(read);
        response.ok_or_else(|| malformed("its file has no response".into()))
    }
}

impl Cluster for RecordedCluster {
    fn resources(&self) -> ClusterResult<Arc<Resources>> {
        self.resources.get_or_init(|| self.find(&RecordedRequest::kinds(), response::resources)).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> ClusterResult<Page> {
        let number = query.after.map_or(Ok(1), str::parse);
        let number = number.map_err(|_| ClusterError::NotRecorded("a page without a number".into()))?;
        self.find(&RecordedRequest::list(query, number), response::page)
    }

    fn get(&self, resource: &ApiResource, namespace: Option<&str>, name: &str) -> ClusterResult {
        self.find(&RecordedRequest::get(resource, namespace, name), |response| Some(response.clone()))
    }

    fn get_path(&self, path: &str) -> ClusterResult {
        self.find(&RecordedRequest::path(path), |response| Some(response.clone()))
    }

    fn is_allowed(&self, subject: Option<&Subject>, access: &Access<'_>) -> ClusterResult<bool> {
        self.find(&RecordedRequest::review(subject, access), Value::as_bool)
    }

    fn dry_run(&self, request: &DryRunRequest<'_>) -> ClusterResult {
        if !self.is_redacted() {
            return self
                .find(&RecordedRequest::dry_run(request, request.object), |response| Some(response.clone()));
        }
        self.find(&RecordedRequest::dry_run(request, request.shown), |response| {
            Some(dry_run::unmasked(response, request.shown, request.object))
        })
    }

    fn default_namespace(&self) -> &str {
        &self.head.namespace
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.head.now)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.head.is_complete {
            notes.push("the recording is not complete: the run that made it was interrupted".to_owned());
        }
        if self.head.secrets == SecretValues::Redacted {
            let text = "the recording has no values of Secrets: rules that need them are not replayable (--record \
                        with --show-secrets keeps the values)";
            notes.push(text.to_owned());
        }
        notes
    }
}
