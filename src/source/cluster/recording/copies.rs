//! Objects of a recording that hold what was made of secrets.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::secrets::Secrets;
use crate::value::{ObjectRef, Value};

/// So many objects are kept before the files are written anew.
const MOST: usize = 500;

/// Objects that are to be written otherwise than they came, because it came to light later what of them is secret.
#[derive(Debug, Default)]
pub(super) struct Copies(BTreeMap<String, Value>);

fn key(object: &Value) -> Option<String> {
    let object = ObjectRef::of(object)?;
    (!object.name.is_empty()).then(|| object.to_string())
}

impl Copies {
    /// Takes in what is known of secrets in an object, written as this; whether it is time to write the files.
    pub(super) fn take(&mut self, object: &Value, written: &Value, secrets: &Secrets) -> bool {
        let other = secrets.stand_in_object(object, true);
        if other != *written
            && let Some(key) = key(object)
        {
            self.0.insert(key, other);
        }
        self.0.len() >= MOST
    }

    /// An answer with the objects as they are to be written.
    pub(super) fn within(&self, answer: &Value) -> Value {
        let mut other = answer.clone();
        if !self.0.is_empty() {
            replace(&mut other, &self.0);
        }
        other
    }

    /// Writes the objects into the files of a recording.
    pub(super) fn write<'f>(
        &mut self,
        folder: &Path,
        files: impl Iterator<Item = &'f String>,
        write: impl Fn(&str, &Value) -> io::Result<()>,
    ) -> io::Result<()> {
        let others = std::mem::take(&mut self.0);
        if others.is_empty() {
            return Ok(());
        }
        let holds_objects =
            |name: &&String| ["list-", "get-", "ask-"].iter().any(|start| name.starts_with(start));
        for name in files.filter(holds_objects) {
            let Ok(content) = Value::from_json(&fs::read_to_string(folder.join(name))?) else { continue };
            let mut changed = content.clone();
            if let Some(answer) = changed.as_object_mut().and_then(|members| members.get_mut("answer")) {
                replace(answer, &others);
            }
            if changed != content {
                write(name, &changed)?;
            }
        }
        Ok(())
    }
}

/// Puts the other objects in their places: an answer is an object, or has a list of them.
fn replace(answer: &mut Value, others: &BTreeMap<String, Value>) {
    if let Some(other) = key(answer).and_then(|key| others.get(&key)) {
        *answer = other.clone();
        return;
    }
    let Some(members) = answer.as_object_mut() else { return };
    for field in ["objects", "items"] {
        for item in members.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(other) = key(item).and_then(|key| others.get(&key)) {
                *item = other.clone();
            }
        }
    }
}
