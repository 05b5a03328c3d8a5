//! A cluster that is a recording.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;

use crate::engine::Disguise;
use crate::resources::{ApiResource, Resources};
use crate::secrets::{STAND_IN, STAND_IN_ENCODED};
use crate::source::SourceError;
use crate::source::cluster::{Access, Cluster, ClusterError, Draft, ListQuery, Page, Subject};
use crate::value::{Number, Text, Value};

use super::copies::Copies;
use super::disguised::DisguisedReplay;
use super::question::Question;
use super::{API_VERSION, COMPLETE, HEAD, KIND, LEFT_OUT, OTHERWISE, STANDS_IN, answer};

/// A cluster that answers what a recording holds, and nothing else.
#[derive(Debug)]
pub struct RecordedCluster {
    folder: PathBuf,
    namespace: String,
    now: Timestamp,
    /// Whether texts stand in for the values of Secrets.
    is_masked: bool,
    /// What it says of itself.
    head: Value,
    /// Objects that the files hold in another way than they are going to, while the recording is made.
    copies: Option<Arc<Mutex<Copies>>>,
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
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// A directory that is none.
    pub fn open(folder: &Path) -> Result<Self, SourceError> {
        let path = || folder.display().to_string();
        fs::read_dir(folder).map_err(|cause| SourceError::unreadable(path(), cause))?;
        let none = || SourceError::NoRecording { path: path() };
        let head = head(folder).ok_or_else(none)?;
        let text = |name| head.get(name).and_then(Value::as_str);
        let now = text("now").and_then(|now| now.parse().ok()).ok_or_else(none)?;
        let namespace = text("namespace").unwrap_or("default").to_owned();
        let is_masked = text("secrets") != Some("shown");
        Ok(Self {
            folder: folder.to_owned(),
            namespace,
            now,
            is_masked,
            head,
            copies: None,
            resources: OnceLock::new(),
        })
    }

    /// A masked recording that is still being made.
    pub(super) fn growing(
        folder: &Path,
        namespace: String,
        now: Timestamp,
        copies: Arc<Mutex<Copies>>,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            namespace,
            now,
            is_masked: true,
            head: Value::Null,
            copies: Some(copies),
            resources: OnceLock::new(),
        }
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
                let asked = question.to_string();
                let why = if self.is_masked && holds_stand_in(&asked) { IS_PART } else { "" };
                return Err(ClusterError::NotRecorded(format!("{asked}{why}")));
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
        let answer = content.get("answer").and_then(|answer| match &self.copies {
            Some(copies) => read(&copies.lock().unwrap_or_else(PoisonError::into_inner).within(answer)),
            None => read(answer),
        });
        answer.ok_or_else(|| malformed("its file holds no answer".into()))
    }
}

/// What is said of a question that a policy made of what stands in for a Secret.
const IS_PART: &str = " (what stands in for the value of a Secret is a part of it: --record with --show-secrets keeps the values)";

/// Whether a text was made of what stands in for a value, decoded or not.
fn holds_stand_in(text: &str) -> bool {
    text.contains(STAND_IN) || text.contains(STAND_IN_ENCODED)
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
        // A key may be masked, too.
        let known = covered.get_full(key).and_then(|(at, _, covered)| Some((covered, sent.get_index(at)?)));
        match known.filter(|_| covered.len() == sent.len()) {
            Some((covered, (key, sent))) => (key.clone(), uncovered(value, covered, sent)),
            None => (key.clone(), value.clone()),
        }
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

    fn get(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ClusterError> {
        self.find(&Question::get(resource, namespace, name), |answer| Some(answer.clone()))
    }

    fn ask(&self, path: &str) -> Result<Value, ClusterError> {
        self.find(&Question::ask(path), |answer| Some(answer.clone()))
    }

    fn may(&self, subject: Option<&Subject>, access: &Access<'_>) -> Result<bool, ClusterError> {
        self.find(&Question::may(subject, access), Value::as_bool)
    }

    fn dry_run(&self, draft: &Draft<'_>) -> Result<Value, ClusterError> {
        if !self.is_masked {
            return self.find(&Question::dry_run(draft, draft.object), |answer| Some(answer.clone()));
        }
        let question = Question::dry_run(draft, draft.shown);
        self.find(&question, |answer| Some(uncovered(answer, draft.shown, draft.object)))
    }

    fn default_namespace(&self) -> &str {
        &self.namespace
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.now)
    }

    fn keeps_stand_ins(&self) -> bool {
        self.is_masked
    }

    fn disguised<'a>(&'a self, disguise: &'a Disguise) -> Option<Box<dyn Cluster + 'a>> {
        self.is_masked.then(|| Box::new(DisguisedReplay::new(self, disguise)) as _)
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let says = |name| matches!(self.head.get(name), Some(Value::Bool(true)));
        if !says(COMPLETE) {
            remarks.push("the recording is not complete: the run that made it was interrupted".to_owned());
        }
        if says(STANDS_IN) {
            let told = "texts stand in for the values of Secrets in the recording: a policy that looks at them may do \
                        something else than on the cluster (--record with --show-secrets keeps the values)";
            remarks.push(told.to_owned());
        }
        let rows = self.head.get(OTHERWISE).and_then(Value::as_array).unwrap_or_default();
        for tried in [true, false] {
            let named = rows.iter().filter(|row| row.get("tried") == Some(&tried.into()));
            let named = named.filter_map(|row| {
                let objects = row.get("objects").and_then(number)?;
                Some((row.get("rule")?.as_str()?, objects, row.get("first")?.as_str()?))
            });
            remarks.extend(told_otherwise(named, tried));
        }
        let left_out = self.head.get(LEFT_OUT).and_then(number).unwrap_or_default();
        let answers = if left_out == 1 { "answer" } else { "answers" };
        let told = format!(
            "{left_out} {answers} to what a policy asks for by values of Secrets could not be recorded without them: rules \
             that want them fail (--show-secrets records them)"
        );
        remarks.extend((left_out > 0).then_some(told));
        remarks
    }
}

fn number(value: &Value) -> Option<usize> {
    value.as_number().and_then(Number::as_i64).and_then(|number| usize::try_from(number).ok())
}

/// So many rules are named.
const NAMED: usize = 10;

/// What is said of rules that come out otherwise in a replay: each with the number of objects, and the first of them.
pub(super) fn told_otherwise<'r>(
    rules: impl Iterator<Item = (&'r str, usize, &'r str)>,
    is_tried: bool,
) -> Option<String> {
    let mut named: Vec<String> = rules
        .map(|(rule, objects, first)| match objects {
            1 => format!("{rule} on {first}"),
            _ => format!("{rule} on {objects} objects, first {first}"),
        })
        .collect();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    let named = named.join("; ");
    let told = if is_tried {
        format!(
            "what these rules do depends on what the values of Secrets are, and a replay prints something else where \
             texts stand in for them (--record with --show-secrets keeps the values): {named}"
        )
    } else {
        format!(
            "these rules with targets look at Secrets, and it was not tried whether a replay prints the same where texts \
             stand in for the values (--record with --show-secrets keeps them): {named}"
        )
    };
    (!named.is_empty()).then_some(told)
}
