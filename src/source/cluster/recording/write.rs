//! Writing recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jiff::Timestamp;

use crate::resources::{ApiResource, Resources};
use crate::secrets::{Secrets, redact};
use crate::source::SourceError;
use crate::source::cluster::{
    Access, Cluster, ClusterError, ClusterResult, DryRunRequest, ListQuery, Page, Subject,
};
use crate::source::write::write_file;
use crate::value::{ObjectRef, Text, Value};

use super::head::{self, Head, SecretValues};
use super::request::RecordedRequest;
use super::{dry_run, response};

/// A cluster whose responses are written to a directory before they are used.
#[derive(Debug)]
pub struct RecordingCluster {
    inner: Arc<dyn Cluster>,
    folder: PathBuf,
    now: Timestamp,
    /// Whether values of Secrets are recorded.
    shows_secrets: bool,
    /// Whether some value of a Secret was redacted.
    has_redacted: AtomicBool,
    /// Whether some lookup was made of secrets, and is not recorded.
    has_omitted: AtomicBool,
    is_interrupted: AtomicBool,
    /// Whether the files of an earlier recording are deleted.
    begun: OnceLock<ClusterResult<()>>,
    state: Mutex<State>,
    resources: OnceLock<ClusterResult<Arc<Resources>>>,
}

/// What was recorded so far.
#[derive(Debug, Default)]
struct State {
    /// The names of the files of this run.
    written: BTreeSet<String>,
    /// The numbers of the pages to come, by the name of the list's first file and the continue token.
    pages: BTreeMap<(String, Text), usize>,
    /// Objects with secrets in them, because rules had written them there before: what to redact, by the object's name.
    tainted: BTreeMap<String, Secrets>,
}

/// Checks that files can be created in a directory, before requests are sent.
fn check_writable(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".kubectl-kyv-{}", std::process::id()));
    fs::File::create(&path)?;
    fs::remove_file(path)
}

impl RecordingCluster {
    /// Prepares the directory, which is created if it does not exist; its files are deleted after the first response.
    /// `now` is the time that the run sees.
    ///
    /// # Errors
    ///
    /// A directory with something else than a recording, or that is not writable.
    pub fn new(
        inner: Arc<dyn Cluster>,
        folder: &Path,
        now: Timestamp,
        shows_secrets: bool,
    ) -> Result<Self, SourceError> {
        let unwritable = |cause| SourceError::unwritable(folder.display().to_string(), cause);
        match fs::read_dir(folder) {
            Ok(mut entries) => {
                if entries.next().is_some() && Head::read(folder).is_none() {
                    return Err(SourceError::Occupied { path: folder.display().to_string() });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(folder).map_err(unwritable)?;
            }
            Err(error) => return Err(unwritable(error)),
        }
        check_writable(folder).map_err(unwritable)?;
        Ok(Self {
            inner,
            folder: folder.to_owned(),
            now,
            shows_secrets,
            has_redacted: AtomicBool::new(false),
            has_omitted: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
            begun: OnceLock::new(),
            state: Mutex::default(),
            resources: OnceLock::new(),
        })
    }

    /// Redacts an object in the responses recorded so far. Its evaluation used these secrets, so that an earlier evaluation
    /// may have written them into it.
    pub fn redact(&self, object: &Value, secrets: &Secrets) {
        if self.shows_secrets || secrets.is_empty() {
            return;
        }
        let Some(key) = key(object) else { return };
        let recorded = redact(object);
        if secrets.redact(&recorded) != recorded {
            self.has_redacted.store(true, Ordering::Relaxed);
            self.state().tainted.entry(key).or_default().extend(secrets);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the responses of an earlier recording.
    fn begin(&self) -> ClusterResult<()> {
        let clear = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            for entry in fs::read_dir(&self.folder)? {
                let entry = entry?;
                if entry.file_name().to_str().is_some_and(RecordedRequest::is_file_name)
                    && entry.file_type()?.is_file()
                {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        clear().map_err(|cause| self.not_written(&cause))?;
        self.write_head(false)
    }

    fn write_head(&self, is_complete: bool) -> ClusterResult<()> {
        let secrets = match (self.shows_secrets, self.has_redacted.load(Ordering::Relaxed)) {
            (true, _) => SecretValues::Shown,
            (false, false) => SecretValues::None,
            (false, true) => SecretValues::Redacted,
        };
        let namespace = self.inner.default_namespace().to_owned();
        self.write(head::FILE, &Head { namespace, now: self.now, secrets, is_complete }.to_value())
    }

    fn write(&self, name: &str, content: &Value) -> ClusterResult<()> {
        let text = format!("{}\n", content.to_pretty_json(2));
        write_file(&self.folder.join(name), text.as_bytes())
            .map_err(|error| ClusterError::NotWritten(error.to_string()))
    }

    fn not_written(&self, cause: &io::Error) -> ClusterError {
        ClusterError::NotWritten(format!("{}: {cause}", self.folder.display()))
    }

    /// Records a response, unless there is one to the same request.
    fn record(&self, request: &RecordedRequest, response: Result<Value, &ClusterError>) -> ClusterResult<()> {
        self.begun.get_or_init(|| self.begin()).clone()?;
        if matches!(response, Err(ClusterError::Interrupted)) {
            self.is_interrupted.store(true, Ordering::Relaxed);
            return self.write_head(false);
        }
        let name = request.file_name();
        if !self.state().written.insert(name.clone()) {
            return Ok(());
        }
        let (member, value) = match response {
            Ok(value) => ("answer", value),
            Err(error) => ("error", response::from_error(error)),
        };
        let content = [("question", request.content.clone()), (member, value)].into_iter().collect();
        self.write(&name, &content)
    }

    /// A response as it is recorded.
    fn redacted(&self, response: &Value) -> Value {
        if self.shows_secrets {
            return response.clone();
        }
        let redacted = redact(response);
        if redacted != *response {
            self.has_redacted.store(true, Ordering::Relaxed);
        }
        redacted
    }

    fn record_object(&self, request: &RecordedRequest, response: ClusterResult) -> ClusterResult {
        self.record(request, response.as_ref().map(|object| self.redacted(object)))?;
        response
    }

    /// Redacts the noted objects in the files.
    fn write_redacted(&self) -> ClusterResult<()> {
        let (objects, files) = {
            let mut state = self.state();
            (std::mem::take(&mut state.tainted), state.written.clone())
        };
        if objects.is_empty() {
            return Ok(());
        }
        let holds_objects =
            |name: &&String| ["list-", "get-", "ask-"].iter().any(|start| name.starts_with(start));
        for name in files.iter().filter(holds_objects) {
            let text =
                fs::read_to_string(self.folder.join(name)).map_err(|cause| self.not_written(&cause))?;
            let Ok(content) = Value::from_json(&text) else { continue };
            let mut changed = content.clone();
            if let Some(response) = changed.as_object_mut().and_then(|members| members.get_mut("answer")) {
                redact_objects(response, &objects);
            }
            if changed != content {
                self.write(name, &changed)?;
            }
        }
        Ok(())
    }
}

/// The key of an object.
fn key(object: &Value) -> Option<String> {
    let object = ObjectRef::of(object)?;
    (!object.name.is_empty()).then(|| object.to_string())
}

/// Redacts objects in a response, which is an object or has a list of them.
fn redact_objects(response: &mut Value, objects: &BTreeMap<String, Secrets>) {
    let redacted = |object: &Value| Some(objects.get(&key(object)?)?.redact(object));
    if let Some(object) = redacted(response) {
        *response = object;
        return;
    }
    let Some(members) = response.as_object_mut() else { return };
    for field in ["objects", "items"] {
        for item in members.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(object) = redacted(item) {
                *item = object;
            }
        }
    }
}

impl Cluster for RecordingCluster {
    fn resources(&self) -> ClusterResult<Arc<Resources>> {
        // They are needed for every object.
        let read = || {
            let response = self.inner.resources();
            self.record(
                &RecordedRequest::kinds(),
                response.as_ref().map(|served| response::from_resources(served)),
            )?;
            response
        };
        self.resources.get_or_init(read).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> ClusterResult<Page> {
        let list = RecordedRequest::list(query, 1).file_name();
        let number = match query.after {
            Some(after) => self.state().pages.get(&(list.clone(), after.into())).copied().unwrap_or_default(),
            None => 1,
        };
        let response = self.inner.list(query);
        let recorded = response.as_ref().map(|page| {
            let objects = page.objects.iter().map(|object| self.redacted(object)).collect();
            response::from_page(&Page { objects, ..page.clone() }, number + 1)
        });
        self.record(&RecordedRequest::list(query, number), recorded)?;
        if let Some(next) = response.as_ref().ok().and_then(|page| page.next.clone()) {
            self.state().pages.insert((list, next), number + 1);
        }
        response
    }

    fn get(&self, resource: &ApiResource, namespace: Option<&str>, name: &str) -> ClusterResult {
        let recorded = RecordedRequest::get(resource, namespace, name);
        self.record_object(&recorded, self.inner.get(resource, namespace, name))
    }

    fn get_path(&self, path: &str) -> ClusterResult {
        self.record_object(&RecordedRequest::path(path), self.inner.get_path(path))
    }

    fn is_allowed(&self, subject: Option<&Subject>, access: &Access<'_>) -> ClusterResult<bool> {
        let response = self.inner.is_allowed(subject, access);
        self.record(
            &RecordedRequest::review(subject, access),
            response.as_ref().map(|allowed| Value::Bool(*allowed)),
        )?;
        response
    }

    fn dry_run(&self, request: &DryRunRequest<'_>) -> ClusterResult {
        let response = self.inner.dry_run(request);
        if self.shows_secrets {
            return self.record_object(&RecordedRequest::dry_run(request, request.object), response);
        }
        if request.shown != request.object {
            self.has_redacted.store(true, Ordering::Relaxed);
        }
        let texts = request.secrets.texts_with([request.object]);
        let recorded = RecordedRequest::dry_run(request, request.shown);
        match &response {
            Ok(stored) => self.record(&recorded, Ok(dry_run::masked(stored, request, &texts)))?,
            Err(error) => {
                let hide = |words: &str| texts.redacted(words).unwrap_or_else(|| words.to_owned());
                self.record(&recorded, Err(&error.clone().with_words(hide)))?;
            }
        }
        response
    }

    fn unrecorded(&self) -> Option<&dyn Cluster> {
        if self.shows_secrets {
            return None;
        }
        self.has_omitted.store(true, Ordering::Relaxed);
        Some(&*self.inner)
    }

    fn default_namespace(&self) -> &str {
        self.inner.default_namespace()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.inner.notes();
        if let Err(error) = self.write_redacted() {
            notes.push(format!("the recording may contain values of Secrets: {error}"));
        }
        if self.has_redacted.load(Ordering::Relaxed) {
            notes.push(
                "values of Secrets are not recorded: a replay reports rules that need them as not replayable \
                 (--show-secrets records them)"
                    .to_owned(),
            );
        }
        if self.has_omitted.load(Ordering::Relaxed) {
            notes.push(
                "lookups by values of Secrets are not recorded: a replay reports rules that make them as not \
                 replayable (--show-secrets records them)"
                    .to_owned(),
            );
        }
        let is_interrupted = self.is_interrupted.load(Ordering::Relaxed);
        if self.begun.get().is_some()
            && let Err(error) = self.write_head(!is_interrupted)
        {
            notes.push(format!("the recording is not complete: {error}"));
        }
        if is_interrupted {
            notes.push("the recording is not complete: the run was interrupted".to_owned());
        }
        notes
    }
}

/// A run may end before its notes are collected, for example if its output cannot be written.
impl Drop for RecordingCluster {
    fn drop(&mut self) {
        let _unreported = self.write_redacted();
    }
}
