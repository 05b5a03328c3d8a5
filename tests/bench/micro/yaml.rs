//! Reading, printing, and editing what was read.

use std::hint::black_box;

use kyv::value::Value;
use kyv::yaml::{Document, print};

use crate::inputs::{self, CONFIG_MAP, DEPLOYMENT, document, documents, manifests, source};
use crate::{Work, Workload};

pub(crate) const WORKLOADS: &[Workload] = &[
    ("read-deployment", || read(DEPLOYMENT)),
    ("read-texts", || read(CONFIG_MAP)),
    ("read-json", || read(&inputs::value(DEPLOYMENT).to_json())),
    ("read-96-manifests", || read(&manifests(96))),
    ("print-deployment", || printed(DEPLOYMENT)),
    ("print-texts", || printed(CONFIG_MAP)),
    ("print-96-manifests", || printed(&manifests(96))),
    ("edit-label", || edited(labelled, Document::edited)),
    ("edit-containers", || edited(pulled, Document::edited)),
    // Without the self-check, and as `--canonical` prints it: what the check and faithful edits cost.
    ("edit-containers-unchecked", || edited(pulled, Document::edited_unchecked)),
    ("edit-containers-canonical", || edited(pulled, Document::with_value)),
];

fn read(text: &str) -> Work {
    let source = source(text);
    Work::new(move || documents(&source))
}

fn printed(text: &str) -> Work {
    let documents = documents(&source(text));
    Work::new(move || {
        let mut out = String::new();
        documents.iter().filter_map(Document::value).for_each(|value| print(value, &mut out));
        out
    })
}

/// Makes another object of the Deployment, and the text of it.
fn edited<R: 'static>(change: fn(&mut Value), edit: fn(&Document, &Value) -> R) -> Work {
    let document = document(DEPLOYMENT);
    let mut value = document.value().expect("there is one").clone();
    change(&mut value);
    Work::new(move || edit(&document, black_box(&value)))
}

/// One label more.
fn labelled(value: &mut Value) {
    if let Some(labels) = member(value, &["metadata", "labels"]) {
        labels.insert("edited", Value::from("yes"));
    }
}

/// A policy for pulling in each container.
fn pulled(value: &mut Value) {
    let containers = member(value, &["spec", "template", "spec", "containers"]);
    for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
        container.insert("imagePullPolicy", Value::from("Always"));
    }
}

fn member<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, key| value.as_object_mut()?.get_mut(key))
}
