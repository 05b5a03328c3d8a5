//! The smallest manifest that still shows a difference.

use kyv::admission::Admission;
use kyv::value::{Pointer, Segment, Value};
use test_support::admission_recorder::AdmissionRecorder;

use super::compare::{Difference, Verdict, compare};

/// Removes members and elements as long as a difference of the group remains; returns the manifest and the difference.
pub(crate) fn shrink(
    recorder: &mut AdmissionRecorder,
    admission: &Admission,
    manifest: &Value,
    difference: &Difference,
) -> (Value, Difference) {
    let group = difference.group();
    let mut smallest = (manifest.clone(), difference.clone());
    loop {
        let mut candidates: Vec<Value> =
            removable(&smallest.0).iter().map(|at| without(&smallest.0, at.segments())).collect();
        candidates.sort_by_key(Value::weight);
        let recordings = recorder.record(&candidates);
        let smaller = candidates.into_iter().zip(recordings).find_map(|(candidate, recording)| {
            let Verdict::Different(found) = compare(admission, &candidate, &recording) else { return None };
            let same = found.into_iter().find(|difference| difference.group() == group)?;
            Some((candidate, same))
        });
        match smaller {
            Some(found) => smallest = found,
            None => return smallest,
        }
    }
}

/// All members and elements but those that name the kind.
fn removable(manifest: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    let mut open = vec![(Pointer::ROOT, manifest)];
    while let Some((at, node)) = open.pop() {
        let is_kind = at.segments().len() == 1
            && matches!(at.segments(), [Segment::Key(key)] if matches!(&**key, "apiVersion" | "kind"));
        if is_kind {
            continue;
        }
        match node {
            Value::Object(members) => {
                open.extend(members.iter().map(|(key, member)| (at.key(key.clone()), member)));
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (at.index(index), item)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        if !at.is_root() {
            found.push(at);
        }
    }
    found
}

fn without(value: &Value, at: &[Segment]) -> Value {
    let mut value = value.clone();
    match at {
        [] => {}
        [Segment::Key(key)] => drop(value.remove(key)),
        [Segment::Index(index)] => {
            if let Some(items) = value.as_array_mut() {
                drop(items.remove(*index));
            }
        }
        [Segment::Key(key), rest @ ..] => {
            if let Some(member) = value.as_object_mut().and_then(|members| members.get_mut(key)) {
                *member = without(member, rest);
            }
        }
        [Segment::Index(index), rest @ ..] => {
            if let Some(item) = value.as_array_mut().and_then(|items| items.get_mut(*index)) {
                *item = without(item, rest);
            }
        }
    }
    value
}
