//! A cluster whose answers are recorded.

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
use crate::source::cluster::{Access, Cluster, ClusterError, DryRunRequest, ListQuery, Page, Subject};
use crate::source::write::write_file;
use crate::value::{ObjectRef, Text, Value};

use super::head::{self, Head, SecretValues};
use super::question::Question;
use super::{answer, dry_run};

/// A cluster whose answers are written to a directory before they are used.
#[derive(Debug)]
pub struct RecordingCluster {
    inner: Arc<dyn Cluster>,
    folder: PathBuf,
    now: Timestamp,
    /// Whether values of Secrets are recorded.
    shows_secrets: bool,
    /// Whether some value of a Secret was redacted.
    has_redacted: AtomicBool,
    /// Whether some lookup was made of secrets, and so not recorded.
    has_left_out: AtomicBool,
    is_interrupted: AtomicBool,
    /// Whether the files of an earlier recording are deleted.
    begun: OnceLock<Result<(), ClusterError>>,
    state: Mutex<State>,
    resources: OnceLock<Result<Arc<Resources>, ClusterError>>,
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

/// Checks that a directory takes files, before the cluster is asked for what could not be kept.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let trial = folder.join(format!(".kubectl-kyv-{}", std::process::id()));
    fs::File::create(&trial)?;
    fs::remove_file(trial)
}

impl RecordingCluster {
    /// Prepares the directory, which is created if it does not exist; nothing in it is touched before the first answer.
    /// `now` is the time that the run sees.
    ///
    /// # Errors
    ///
    /// A directory that holds something else than a recording, or takes no files.
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
        try_to_write(folder).map_err(unwritable)?;
        Ok(Self {
            inner,
            folder: folder.to_owned(),
            now,
            shows_secrets,
            has_redacted: AtomicBool::new(false),
            has_left_out: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
            begun: OnceLock::new(),
            state: Mutex::default(),
            resources: OnceLock::new(),
        })
    }

    /// Redacts an object in the answers recorded so far. Its evaluation came across these Secrets, and the object may hold
    /// what rules made of their values before.
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

    /// Deletes the answers of an earlier recording, so that none of them passes for one of this run.
    fn begin(&self) -> Result<(), ClusterError> {
        let clear = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            for entry in fs::read_dir(&self.folder)? {
                let entry = entry?;
                if entry.file_name().to_str().is_some_and(Question::is_file_name)
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

    fn write_head(&self, is_complete: bool) -> Result<(), ClusterError> {
        let secrets = match (self.shows_secrets, self.has_redacted.load(Ordering::Relaxed)) {
            (true, _) => SecretValues::Shown,
            (false, false) => SecretValues::None,
            (false, true) => SecretValues::Redacted,
        };
        let namespace = self.inner.default_namespace().to_owned();
        self.write(head::FILE, &Head { namespace, now: self.now, secrets, is_complete }.to_value())
    }

    fn write(&self, name: &str, content: &Value) -> Result<(), ClusterError> {
        let text = format!("{}\n", content.to_pretty_json(2));
        write_file(&self.folder.join(name), text.as_bytes())
            .map_err(|error| ClusterError::NotWritten(error.to_string()))
    }

    fn not_written(&self, cause: &io::Error) -> ClusterError {
        ClusterError::NotWritten(format!("{}: {cause}", self.folder.display()))
    }

    /// Records an answer. An earlier answer to the same question stays.
    fn keep(&self, question: &Question, answer: Result<Value, &ClusterError>) -> Result<(), ClusterError> {
        self.begun.get_or_init(|| self.begin()).clone()?;
        if matches!(answer, Err(ClusterError::Interrupted)) {
            self.is_interrupted.store(true, Ordering::Relaxed);
            return self.write_head(false);
        }
        let name = question.file_name();
        if !self.state().written.insert(name.clone()) {
            return Ok(());
        }
        let (member, value) = match answer {
            Ok(value) => ("answer", value),
            Err(error) => ("error", answer::of_error(error)),
        };
        let content = [("question", question.asked.clone()), (member, value)].into_iter().collect();
        self.write(&name, &content)
    }

    /// An answer as it is recorded.
    fn redacted(&self, answer: &Value) -> Value {
        if self.shows_secrets {
            return answer.clone();
        }
        let redacted = redact(answer);
        if redacted != *answer {
            self.has_redacted.store(true, Ordering::Relaxed);
        }
        redacted
    }

    fn kept_object(
        &self,
        question: &Question,
        answer: Result<Value, ClusterError>,
    ) -> Result<Value, ClusterError> {
        self.keep(question, answer.as_ref().map(|object| self.redacted(object)))?;
        answer
    }

    /// Redacts objects in the files, because it came to light later that they hold secrets.
    fn write_redacted(&self) -> Result<(), ClusterError> {
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
            if let Some(answer) = changed.as_object_mut().and_then(|members| members.get_mut("answer")) {
                redact_objects(answer, &objects);
            }
            if changed != content {
                self.write(name, &changed)?;
            }
        }
        Ok(())
    }
}

/// What objects are known by.
fn key(object: &Value) -> Option<String> {
    let object = ObjectRef::of(object)?;
    (!object.name.is_empty()).then(|| object.to_string())
}

/// Redacts objects in an answer, which is an object or has a list of them.
fn redact_objects(answer: &mut Value, objects: &BTreeMap<String, Secrets>) {
    let redacted = |object: &Value| Some(objects.get(&key(object)?)?.redact(object));
    if let Some(object) = redacted(answer) {
        *answer = object;
        return;
    }
    let Some(members) = answer.as_object_mut() else { return };
    for field in ["objects", "items"] {
        for item in members.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(object) = redacted(item) {
                *item = object;
            }
        }
    }
}

impl Cluster for RecordingCluster {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        // They are needed for every object.
        let read = || {
            let answer = self.inner.resources();
            self.keep(&Question::kinds(), answer.as_ref().map(|served| answer::of_kinds(served)))?;
            answer
        };
        self.resources.get_or_init(read).clone()
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError> {
        let list = Question::list(query, 1).file_name();
        let number = match query.after {
            Some(after) => self.state().pages.get(&(list.clone(), after.into())).copied().unwrap_or_default(),
            None => 1,
        };
        let answer = self.inner.list(query);
        let recorded = answer.as_ref().map(|page| {
            let objects = page.objects.iter().map(|object| self.redacted(object)).collect();
            answer::of_page(&Page { objects, ..page.clone() }, number + 1)
        });
        self.keep(&Question::list(query, number), recorded)?;
        if let Some(next) = answer.as_ref().ok().and_then(|page| page.next.clone()) {
            self.state().pages.insert((list, next), number + 1);
        }
        answer
    }

    fn get(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        let question = Question::get(resource, namespace, name);
        self.kept_object(&question, self.inner.get(resource, namespace, name))
    }

    fn get_path(&self, path: &str) -> Result<Value, ClusterError> {
        self.kept_object(&Question::path(path), self.inner.get_path(path))
    }

    fn is_allowed(&self, subject: Option<&Subject>, access: &Access<'_>) -> Result<bool, ClusterError> {
        let answer = self.inner.is_allowed(subject, access);
        self.keep(&Question::review(subject, access), answer.as_ref().map(|allowed| Value::Bool(*allowed)))?;
        answer
    }

    fn dry_run(&self, request: &DryRunRequest<'_>) -> Result<Value, ClusterError> {
        let answer = self.inner.dry_run(request);
        if self.shows_secrets {
            return self.kept_object(&Question::dry_run(request, request.object), answer);
        }
        if request.shown != request.object {
            self.has_redacted.store(true, Ordering::Relaxed);
        }
        let texts = request.secrets.texts_with(&[request.object]);
        let question = Question::dry_run(request, request.shown);
        match &answer {
            Ok(stored) => self.keep(&question, Ok(dry_run::masked(stored, request, &texts)))?,
            Err(error) => {
                let hide = |words: &str| texts.redacted(words).unwrap_or_else(|| words.to_owned());
                self.keep(&question, Err(&error.clone().with_words(hide)))?;
            }
        }
        answer
    }

    fn unrecorded(&self) -> Option<&dyn Cluster> {
        if self.shows_secrets {
            return None;
        }
        self.has_left_out.store(true, Ordering::Relaxed);
        Some(&*self.inner)
    }

    fn default_namespace(&self) -> &str {
        self.inner.default_namespace()
    }

    fn notes(&self) -> Vec<String> {
        let mut remarks = self.inner.notes();
        if let Err(error) = self.write_redacted() {
            remarks.push(format!("the recording may hold values of Secrets: {error}"));
        }
        if self.has_redacted.load(Ordering::Relaxed) {
            remarks.push(
                "values of Secrets are not recorded: a replay reports rules that need them as not replayable \
                 (--show-secrets records them)"
                    .to_owned(),
            );
        }
        if self.has_left_out.load(Ordering::Relaxed) {
            remarks.push(
                "lookups by values of Secrets are not recorded: a replay reports rules that make them as not \
                 replayable (--show-secrets records them)"
                    .to_owned(),
            );
        }
        let is_interrupted = self.is_interrupted.load(Ordering::Relaxed);
        if self.begun.get().is_some()
            && let Err(error) = self.write_head(!is_interrupted)
        {
            remarks.push(format!("the recording is not complete: {error}"));
        }
        if is_interrupted {
            remarks.push("the recording is not complete: the run was interrupted".to_owned());
        }
        remarks
    }
}

/// A run may end before its remarks are collected, as when its result cannot be written.
impl Drop for RecordingCluster {
    fn drop(&mut self) {
        let _unreported = self.write_redacted();
    }
}
