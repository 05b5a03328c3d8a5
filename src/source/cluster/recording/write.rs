//! A cluster whose answers are written down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;

use crate::source::SourceError;
use crate::source::cluster::{
    Access, Cluster, ClusterError, Draft, ListQuery, Page, Resource, Resources, Subject,
};
use crate::source::write::write_file;
use crate::value::{Text, Value};

use super::question::Question;
use super::{API_VERSION, Cover, HEAD, KIND, answer};

/// A cluster whose answers are written to a directory before they are given.
#[derive(Debug)]
pub struct RecordingCluster {
    inner: Arc<dyn Cluster>,
    folder: PathBuf,
    now: Timestamp,
    cover: Option<Cover>,
    is_covered: AtomicBool,
    begun: OnceLock<Result<(), ClusterError>>,
    known: Mutex<Known>,
    resources: OnceLock<Result<Arc<Resources>, ClusterError>>,
}

/// What was met so far.
#[derive(Debug, Default)]
struct Known {
    /// The files of this run.
    written: BTreeSet<String>,
    /// The numbers of the pages that are to come: by the list's first file, and what they are asked for by.
    pages: BTreeMap<(String, Text), usize>,
}

impl RecordingCluster {
    /// Looks at the directory, which is made if it is not there; nothing in it is touched before the first
    /// answer. `now` is the time that the run sees. With a `cover`, objects are written as it leaves them.
    ///
    /// # Errors
    ///
    /// A directory that holds something else than a recording.
    pub fn new(
        inner: Arc<dyn Cluster>,
        folder: &Path,
        now: Timestamp,
        cover: Option<Cover>,
    ) -> Result<Self, SourceError> {
        let unwritable = |cause| SourceError::unwritable(folder.display().to_string(), cause);
        match fs::read_dir(folder) {
            Ok(mut entries) => {
                if entries.next().is_some() && !super::replay::is_recording(folder) {
                    return Err(SourceError::Occupied { path: folder.display().to_string() });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unwritable(error)),
        }
        Ok(Self {
            inner,
            folder: folder.to_owned(),
            now,
            cover,
            is_covered: AtomicBool::new(false),
            begun: OnceLock::new(),
            known: Mutex::default(),
            resources: OnceLock::new(),
        })
    }

    /// Takes the answers of an earlier run away, so that none of them passes for one of this run.
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
        clear().map_err(|cause| self.not_written(&cause.to_string()))?;
        let secrets = if self.cover.is_some() { "masked" } else { "shown" };
        let head: Value = [
            ("apiVersion", Value::from(API_VERSION)),
            ("kind", KIND.into()),
            ("namespace", self.inner.default_namespace().into()),
            ("now", self.now.to_string().into()),
            ("secrets", secrets.into()),
        ]
        .into_iter()
        .collect();
        self.write(HEAD, &head)
    }

    fn write(&self, name: &str, content: &Value) -> Result<(), ClusterError> {
        let text = format!("{}\n", content.to_pretty_json(2));
        write_file(&self.folder.join(name), text.as_bytes())
            .map_err(|error| ClusterError::NotWritten(error.to_string()))
    }

    fn not_written(&self, why: &str) -> ClusterError {
        ClusterError::NotWritten(format!("{}: {why}", self.folder.display()))
    }

    /// Writes an answer down. An answer to the same question that was given before stays.
    fn keep(&self, question: &Question, answer: Result<Value, &ClusterError>) -> Result<(), ClusterError> {
        if matches!(answer, Err(ClusterError::Interrupted)) {
            return Ok(());
        }
        self.begun.get_or_init(|| self.begin()).clone()?;
        let name = question.file_name();
        if !self.known.lock().unwrap_or_else(PoisonError::into_inner).written.insert(name.clone()) {
            return Ok(());
        }
        let (member, value) = match answer {
            Ok(value) => ("answer", value),
            Err(error) => ("error", answer::of_error(error)),
        };
        let content = [("question", question.asked.clone()), (member, value)].into_iter().collect();
        self.write(&name, &content)
    }

    /// An object as it may be written.
    fn covered(&self, object: &Value) -> Value {
        let Some(cover) = self.cover else { return object.clone() };
        let covered = cover(object);
        if covered != *object {
            self.is_covered.store(true, Ordering::Relaxed);
        }
        covered
    }

    fn kept_object(
        &self,
        question: &Question,
        answer: Result<Value, ClusterError>,
    ) -> Result<Value, ClusterError> {
        self.keep(question, answer.as_ref().map(|object| self.covered(object)))?;
        answer
    }
}

impl Cluster for RecordingCluster {
    fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
        // Every object asks for them.
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
            Some(after) => {
                let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.pages.get(&(list.clone(), after.into())).copied().unwrap_or_default()
            }
            None => 1,
        };
        let answer = self.inner.list(query);
        let value = answer.as_ref().map(|page| {
            let objects = page.objects.iter().map(|object| self.covered(object)).collect();
            answer::of_page(&Page { objects, ..page.clone() }, number + 1)
        });
        self.keep(&Question::list(query, number), value)?;
        if let Some(next) = answer.as_ref().ok().and_then(|page| page.next.clone()) {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.pages.insert((list, next), number + 1);
        }
        answer
    }

    fn get(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, ClusterError> {
        let question = Question::get(resource, namespace, name);
        self.kept_object(&question, self.inner.get(resource, namespace, name))
    }

    fn ask(&self, path: &str) -> Result<Value, ClusterError> {
        self.kept_object(&Question::ask(path), self.inner.ask(path))
    }

    fn may(&self, subject: Option<&Subject>, access: &Access<'_>) -> Result<bool, ClusterError> {
        let answer = self.inner.may(subject, access);
        self.keep(&Question::may(subject, access), answer.as_ref().map(|allowed| Value::Bool(*allowed)))?;
        answer
    }

    fn dry_run(&self, draft: &Draft<'_>) -> Result<Value, ClusterError> {
        let question = Question::dry_run(draft, &self.covered(draft.object));
        self.kept_object(&question, self.inner.dry_run(draft))
    }

    fn default_namespace(&self) -> &str {
        self.inner.default_namespace()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.inner.remarks();
        if self.is_covered.load(Ordering::Relaxed) {
            remarks.push(
                "values of Secrets are masked in the recording: a policy that looks at them may do something else \
                 in a replay (--show-secrets records them)"
                    .to_owned(),
            );
        }
        remarks
    }
}
