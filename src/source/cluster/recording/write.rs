//! A cluster whose answers are written down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;

use crate::engine::Disguise;
use crate::resources::{ApiResource, Resources};
use crate::secrets::{MASK, Secrets, Texts, is_secret, mask_further};
use crate::source::SourceError;
use crate::source::cluster::{Access, Cluster, ClusterError, Draft, ListQuery, Page, Subject};
use crate::source::write::write_file;
use crate::value::{Text, Value};

use super::copies::Copies;
use super::disguised::{DisguisedCluster, page};
use super::question::Question;
use super::replay::{RecordedCluster, told_otherwise};
use super::{API_VERSION, COMPLETE, Cover, HEAD, KIND, LEFT_OUT, OTHERWISE, STANDS_IN, answer};

/// A cluster whose answers are written to a directory before they are given.
#[derive(Debug)]
pub struct RecordingCluster {
    pub(super) inner: Arc<dyn Cluster>,
    folder: PathBuf,
    now: Timestamp,
    cover: Option<Cover>,
    is_covered: AtomicBool,
    begun: OnceLock<Result<(), ClusterError>>,
    /// Answers that cannot be written down without a secret.
    pub(super) lost: AtomicUsize,
    /// Why objects could not be written anew.
    failed: OnceLock<ClusterError>,
    copies: Arc<Mutex<Copies>>,
    is_interrupted: AtomicBool,
    /// The rules that come out otherwise in a replay, as was tried, or may: for how many objects, and the first of them.
    otherwise: Mutex<BTreeMap<(String, bool), (usize, String)>>,
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

/// What is said of answers that are not in the recording.
const LOST: &str = " to what a policy asks for by values of Secrets cannot be recorded without them, and will be missing \
                    in a replay (--show-secrets records them)";

/// Writes an answer down as that to a question, if there is one.
type Keep<'k> = &'k dyn Fn(Option<Question>, Result<Value, &ClusterError>) -> Result<(), ClusterError>;

/// What a dry run would store, without secrets.
fn mask_stored(stored: &Value, texts: &Texts) -> Value {
    let mut masked = texts.replaced(stored);
    if is_secret(stored)
        && let Some(members) = masked.as_object_mut()
    {
        for field in ["data", "stringData"] {
            for member in members.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
                *member.1 = MASK.into();
            }
        }
    }
    masked
}

/// What a dry run would store, masked: with the mask of what was sent wherever it is as it was sent, and with another one
/// where only the masks are alike.
fn beside(stored: &Value, masked: &Value, (sent, shown): (&Value, &Value)) -> Value {
    if stored == sent {
        return shown.clone();
    }
    match (stored, masked, sent, shown) {
        (Value::Object(stored), Value::Object(masked), Value::Object(sent), Value::Object(shown))
            if stored.len() == masked.len() && sent.len() == shown.len() =>
        {
            let member = |((key, stored), (name, masked)): ((&Text, &Value), (&Text, &Value))| {
                let known = sent.get_full(key).and_then(|(at, _, sent)| Some((sent, shown.get_index(at)?.1)));
                (name.clone(), known.map_or_else(|| masked.clone(), |known| beside(stored, masked, known)))
            };
            stored.iter().zip(masked.iter()).map(member).collect()
        }
        _ if masked == shown && *masked != *stored => format!("{MASK}*").into(),
        _ => masked.clone(),
    }
}

/// Looks whether a directory takes files, before anything is asked for that could not be kept.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let trial = folder.join(format!(".kubectl-kyv-{}", std::process::id()));
    fs::File::create(&trial)?;
    fs::remove_file(trial)
}

impl RecordingCluster {
    /// Looks at the directory, which is made if it is not there; nothing in it is touched before the first
    /// answer. `now` is the time that the run sees. With a `cover`, objects are written as it leaves them.
    ///
    /// # Errors
    ///
    /// A directory that holds something else than a recording, or takes no files.
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
            cover,
            is_covered: AtomicBool::new(false),
            begun: OnceLock::new(),
            lost: AtomicUsize::new(0),
            failed: OnceLock::new(),
            copies: Arc::default(),
            is_interrupted: AtomicBool::new(false),
            otherwise: Mutex::default(),
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
        self.write_head(false)
    }

    /// Tells of the recording as a whole.
    fn write_head(&self, is_complete: bool) -> Result<(), ClusterError> {
        let lost = self.lost.load(Ordering::Relaxed);
        let secrets = if self.cover.is_some() { "masked" } else { "shown" };
        let mut head: Value = [
            ("apiVersion", Value::from(API_VERSION)),
            ("kind", KIND.into()),
            ("namespace", self.inner.default_namespace().into()),
            ("now", self.now.to_string().into()),
            ("secrets", secrets.into()),
            (COMPLETE, is_complete.into()),
        ]
        .into_iter()
        .collect();
        if self.is_covered.load(Ordering::Relaxed) {
            head.insert(STANDS_IN, true.into());
        }
        let otherwise = self.otherwise.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = otherwise.iter().map(|((rule, is_tried), (objects, first))| {
            let row = [
                ("rule", Value::from(rule.as_str())),
                ("tried", (*is_tried).into()),
                ("objects", i64::try_from(*objects).unwrap_or(i64::MAX).into()),
                ("first", first.as_str().into()),
            ];
            row.into_iter().collect()
        });
        let rows: Vec<Value> = rows.collect();
        if !rows.is_empty() {
            head.insert(OTHERWISE, Value::array(rows));
        }
        if lost > 0 {
            head.insert(LEFT_OUT, i64::try_from(lost).unwrap_or(i64::MAX).into());
        }
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
    pub(super) fn keep(
        &self,
        question: &Question,
        answer: Result<Value, &ClusterError>,
    ) -> Result<(), ClusterError> {
        self.begun.get_or_init(|| self.begin()).clone()?;
        if matches!(answer, Err(ClusterError::Interrupted)) {
            self.is_interrupted.store(true, Ordering::Relaxed);
            return self.write_head(false);
        }
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
    pub(super) fn covered(&self, object: &Value) -> Value {
        let Some(cover) = self.cover else { return object.clone() };
        let covered = cover(object);
        if covered != *object {
            self.is_covered.store(true, Ordering::Relaxed);
        }
        covered
    }

    /// Asks for a page, and has the answer kept as that to another question, if there is one.
    pub(super) fn list_as(
        &self,
        query: &ListQuery<'_>,
        other: Option<&ListQuery<'_>>,
        keep: Keep<'_>,
    ) -> Result<Page, ClusterError> {
        let list = Question::list(query, 1).file_name();
        let number = match query.after {
            Some(after) => {
                let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.pages.get(&(list.clone(), after.into())).copied().unwrap_or_default()
            }
            None => 1,
        };
        let answer = self.inner.list(query);
        let value = page(&answer, number + 1, |object| self.covered(object));
        keep(other.map(|other| Question::list(other, number)), value)?;
        if let Some(next) = answer.as_ref().ok().and_then(|page| page.next.clone()) {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.pages.insert((list, next), number + 1);
        }
        answer
    }

    /// Writes objects anew that turned out to hold what was made of secrets.
    fn write_copies(&self) -> Result<(), ClusterError> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.known.lock().unwrap_or_else(PoisonError::into_inner).written.clone();
        let write = |name: &str, content: &Value| {
            self.write(name, content).map_err(|error| io::Error::other(error.to_string()))
        };
        copies.write(&self.folder, files.iter(), write).map_err(|cause| self.not_written(&cause.to_string()))
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
        self.list_as(query, Some(query), &|question, answer| match question {
            Some(question) => self.keep(&question, answer),
            None => Ok(()),
        })
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

    fn ask(&self, path: &str) -> Result<Value, ClusterError> {
        self.kept_object(&Question::ask(path), self.inner.ask(path))
    }

    fn may(&self, subject: Option<&Subject>, access: &Access<'_>) -> Result<bool, ClusterError> {
        let answer = self.inner.may(subject, access);
        self.keep(&Question::may(subject, access), answer.as_ref().map(|allowed| Value::Bool(*allowed)))?;
        answer
    }

    fn dry_run(&self, draft: &Draft<'_>) -> Result<Value, ClusterError> {
        let answer = self.inner.dry_run(draft);
        if self.cover.is_none() {
            return self.kept_object(&Question::dry_run(draft, draft.object), answer);
        }
        if draft.shown != draft.object {
            self.is_covered.store(true, Ordering::Relaxed);
        }
        let texts = draft.secrets.texts_with(&[draft.object]);
        let question = Question::dry_run(draft, draft.shown);
        match &answer {
            Ok(stored) => {
                let stored = mask_further(draft.object, stored);
                let masked = mask_stored(&stored, &texts);
                self.keep(&question, Ok(beside(&stored, &masked, (draft.object, draft.shown))))?;
            }
            Err(error) => {
                let hidden =
                    error.clone().with_words(|words| texts.hide(words).unwrap_or_else(|| words.to_owned()));
                self.keep(&question, Err(&hidden))?;
            }
        }
        answer
    }

    fn keeps_stand_ins(&self) -> bool {
        self.cover.is_some()
    }

    fn disguised<'a>(&'a self, disguise: &'a Disguise) -> Option<Box<dyn Cluster + 'a>> {
        self.cover?;
        self.is_covered.store(true, Ordering::Relaxed);
        Some(Box::new(DisguisedCluster::new(self, disguise)))
    }

    fn take_secrets(&self, object: &Value, secrets: &Secrets) {
        if self.cover.is_none() {
            return;
        }
        let is_time = {
            let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
            copies.take(object, &self.covered(object), secrets)
        };
        if is_time && let Err(error) = self.write_copies() {
            self.failed.get_or_init(|| error);
        }
    }

    fn rehearsal(&self) -> Option<Arc<dyn Cluster>> {
        self.cover?;
        let namespace = self.inner.default_namespace().to_owned();
        let copies = Arc::clone(&self.copies);
        Some(Arc::new(RecordedCluster::growing(&self.folder, namespace, self.now, copies)))
    }

    fn take_difference(&self, rule: &str, object: &str, is_tried: bool) {
        let mut otherwise = self.otherwise.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = (rule.to_owned(), is_tried);
        match otherwise.get_mut(&rule) {
            Some((objects, first)) => {
                *objects += 1;
                // Threads come in any order.
                if object < first.as_str() {
                    object.clone_into(first);
                }
            }
            None => drop(otherwise.insert(rule, (1, object.to_owned()))),
        }
    }

    fn default_namespace(&self) -> &str {
        self.inner.default_namespace()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.inner.remarks();
        if let Err(error) = self.write_copies() {
            self.failed.get_or_init(|| error);
        }
        if let Some(error) = self.failed.get() {
            remarks.push(format!("the recording may hold values of Secrets: {error}"));
        }
        if self.is_covered.load(Ordering::Relaxed) {
            remarks.push(
                "values of Secrets are masked in the recording: a policy that looks at them may do something else \
                 in a replay (--show-secrets records them)"
                    .to_owned(),
            );
        }
        let lost = self.lost.load(Ordering::Relaxed);
        let is_interrupted = self.is_interrupted.load(Ordering::Relaxed);
        if self.begun.get().is_some()
            && let Err(error) = self.write_head(!is_interrupted)
        {
            remarks.push(format!("the recording is not complete: {error}"));
        }
        if is_interrupted {
            remarks.push("the recording is not complete: the run was interrupted".to_owned());
        }
        let otherwise = self.otherwise.lock().unwrap_or_else(PoisonError::into_inner);
        for tried in [true, false] {
            let named = otherwise.iter().filter(|((_, is_tried), _)| *is_tried == tried);
            let named = named.map(|((rule, _), (objects, first))| (rule.as_str(), *objects, first.as_str()));
            remarks.extend(told_otherwise(named, tried));
        }
        drop(otherwise);
        if lost > 0 {
            let answers = if lost == 1 { "answer" } else { "answers" };
            remarks.push(format!("{lost} {answers}{LOST}"));
        }
        remarks
    }
}

/// A run may end before it tells of its look-ups, as when its result cannot be written.
impl Drop for RecordingCluster {
    fn drop(&mut self) {
        let _unheard = self.write_copies();
    }
}
