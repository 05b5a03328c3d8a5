//! Changes that leave the defaults of all other fields as they are.

use crate::value::{Map, Value, aligned, are_aligned};

use super::defaults::States;
use super::types::{Kind, Named, Shape, Struct, TypeId};

/// Whether an object has the same defaults with the changes from `before` to `after` as without them, but for what is added.
/// `before` is the view of `written`. The answer is `false` where that is not clear.
pub(super) fn keeps_defaults(id: TypeId, written: Option<&Value>, before: &Value, after: &Value) -> bool {
    let named = id.get();
    let has_setters = !named.defaults.is_empty() || named.conversion.is_some();
    if has_setters && named.reads.is_none() {
        return false;
    }
    match (&named.shape, before, after) {
        (Shape::Collection(kind), ..) => keeps_below(kind, written, before, after),
        (Shape::Struct(shape), Value::Object(old), Value::Object(new)) => {
            is_open(written, old)
                && keeps_fields((named, shape), States { written, before, after }, [old, new])
        }
        _ => false,
    }
}

/// Whether a map is there without defaults too. An empty one has none.
fn is_open(written: Option<&Value>, old: &Map) -> bool {
    written.is_some_and(|written| written.as_object().is_some()) || old.is_empty()
}

fn keeps_fields((named, shape): (&Named, &Struct), states: States<'_>, [old, new]: [&Map; 2]) -> bool {
    let reads = named.reads.unwrap_or_default();
    let mut common = 0;
    for (index, (key, is)) in new.iter().enumerate() {
        let was = old.get_near(key, index);
        common += usize::from(was.is_some());
        if was.is_some_and(|was| was.same_storage(is)) {
            continue;
        }
        let is_read = reads.contains(&key.as_str())
            && !named.indifference.is_some_and(|is_indifferent| is_indifferent(key, &states));
        let keeps = match was {
            Some(was) => shape.find(key).is_some_and(|place| {
                let written = states.written.and_then(|written| written.get(key));
                keeps_below(&shape.fields[place].kind, written, was, is)
            }),
            None => true,
        };
        if is_read && was != Some(is) || !keeps {
            return false;
        }
    }
    common == old.len()
}

fn keeps_below(kind: &Kind, written: Option<&Value>, before: &Value, after: &Value) -> bool {
    if after.same_storage(before) {
        return true;
    }
    match (kind, before, after) {
        (_, Value::Null, Value::Null) => true,
        (Kind::Scalar(_), ..) => is_scalar(before) && is_scalar(after),
        (Kind::Named(id), ..) => keeps_defaults(*id, written, before, after),
        (Kind::Pointer(kind), ..) => keeps_below(kind, written, before, after),
        (Kind::Map(kind), Value::Object(old), Value::Object(new)) => {
            let keeps = |(key, is): (&_, &Value)| match old.get(key) {
                Some(was) => keeps_below(kind, written.and_then(|written| written.get(key)), was, is),
                None => !is.is_null(),
            };
            is_open(written, old) && old.keys().all(|key| new.contains_key(key)) && new.iter().all(keeps)
        }
        (Kind::List(kind), Value::Array(old), Value::Array(new)) => {
            let elements = written.and_then(Value::as_array).unwrap_or_default();
            let keeps = |index: usize| keeps_below(kind, elements.get(index), &old[index], &new[index]);
            elements.len() == old.len() && begins_with(new, old) && (0..old.len()).all(keeps)
        }
        _ => false,
    }
}

const fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_))
}

/// Whether the elements of a list are the first ones of a new list.
fn begins_with(new: &[Value], old: &[Value]) -> bool {
    are_aligned(old, new)
        || old.len() <= new.len() && {
            let origins = aligned(old, new);
            origins.iter().enumerate().all(|(index, origin)| *origin == (index < old.len()).then_some(index))
        }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::admission::defaults::READS;
    use crate::admission::types::Scalar;
    use crate::admission::{Admission, restore};
    use crate::value::{GroupVersionKind, Pointer, Text};

    use super::*;

    /// Values of a field.
    fn samples(kind: &Kind) -> Vec<Value> {
        let json = |text| Value::from_json(text).unwrap();
        match kind {
            Kind::Scalar(Scalar::Bool) => vec![json("true")],
            Kind::Scalar(Scalar::Int32 | Scalar::Int64) => vec![json("7")],
            Kind::Scalar(_) => vec![json(r#""text""#)],
            Kind::List(_) => vec![json("[]"), json("[{}]")],
            Kind::Map(_) => vec![json(r#"{"a":"b"}"#)],
            Kind::Pointer(kind) => samples(kind),
            Kind::Named(_) => vec![json("{}")],
        }
    }

    /// What the defaults and the conversion of a type itself make of a value, without one of its fields.
    fn set(id: TypeId, fields: &[(&str, &Value)], without: &str) -> Value {
        let mut value: Value =
            fields.iter().map(|(field, value)| (field.to_string(), (*value).clone())).collect();
        id.get().defaults.iter().chain(&id.get().conversion).for_each(|set| set(&mut value));
        value.remove(without);
        value
    }

    #[test]
    fn defaults_depend_on_no_field_that_is_not_named() {
        for (name, reads) in READS {
            let id = TypeId::of_name(name).unwrap_or_else(|| panic!("{name}: no such type"));
            let Shape::Struct(shape) = &id.get().shape else { continue };
            for field in reads {
                assert!(shape.find(*field).is_some(), "{name} has no field {field}");
            }
            for field in shape.fields.iter().filter(|field| !reads.contains(&field.name)) {
                for value in samples(&field.kind) {
                    for other in shape.fields.iter().filter(|other| other.name != field.name) {
                        for beside in samples(&other.kind) {
                            let other = (other.name, &beside);
                            let with = set(id, &[other, (field.name, &value)], field.name);
                            assert_eq!(
                                with,
                                set(id, &[other], field.name),
                                "{name}: {}, {}",
                                field.name,
                                other.0
                            );
                        }
                    }
                }
            }
        }
    }

    const MANIFESTS: [&str; 11] = [
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"b":"c"}},"spec":{
            "template":{"spec":{"serviceAccountName":"s","tolerations":[{"operator":"Exists"}],"hostNetwork":true,
            "initContainers":[{"name":"i","image":"i","resources":{"requests":{"cpu":"1"}}}],
            "containers":[{"name":"a","image":"a:1","resources":{"limits":{"cpu":"1e-5"}},"ports":[{"containerPort":1}],
                "volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","secret":{"secretName":"s"}}]}}}}"#,
        r#"{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[
            {"name":"a","image":"a","livenessProbe":{"httpGet":{"port":1}}}]}}}}"#,
        r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a","finalizers":["f"]},"spec":{
            "updateStrategy":{"type":"RollingUpdate"},"volumeClaimTemplates":[{"metadata":{"name":"v"}}],
            "template":{"spec":{"serviceAccount":"s"}}}}"#,
        r#"{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"a"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{
            "template":{"spec":{"restartPolicy":"Never","volumes":[{"name":"c","configMap":{"name":"c"}}]}}}}}}"#,
        r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","labels":{"b":"c"}},"spec":{
            "template":{"metadata":{"labels":{"d":"e"}},"spec":{"restartPolicy":"Never"}}}}"#,
        r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"parallelism":2,
            "template":{"metadata":{"labels":{"d":"e"}},"spec":{"restartPolicy":"Never"}}}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","annotations":{"b":"c"}},"spec":{
            "initContainers":[{"name":"i","image":"i","resources":{"limits":{"cpu":"1"}}}],
            "containers":[{"name":"a","image":"a:1","resources":{"requests":{"cpu":"1"}},"ports":[{"containerPort":1}]}]}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"hostNetwork":true,
            "resources":{"limits":{"cpu":"1"}},"containers":[{"name":"a","ports":[{"containerPort":1}]}]}}"#,
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":1}]}}"#,
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"LoadBalancer","ports":[{"port":1}]},
            "status":{"loadBalancer":{"ingress":[{"ip":"10.0.0.1"}]}}}"#,
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"a":"b"},"data":{"c":"ZA=="}}"#,
    ];

    /// All members of a value and of those below it, with their names.
    fn members(value: &Value) -> Vec<(Pointer, Text, Value)> {
        let (mut open, mut found) = (vec![(Pointer::ROOT, value)], Vec::new());
        while let Some((at, value)) = open.pop() {
            for (key, member) in value.as_object().into_iter().flatten() {
                found.push((at.clone(), key.clone(), member.clone()));
                open.push((at.key(key.clone()), member));
            }
            let elements = value.as_array().unwrap_or_default();
            open.extend(elements.iter().enumerate().map(|(index, element)| (at.index(index), element)));
        }
        found
    }

    #[test]
    fn an_object_that_keeps_its_defaults_has_them_after_the_change() {
        let admission = Admission::default();
        let admit = |object: &Value, kind: &GroupVersionKind| admission.view(object, kind).ok();
        let objects = MANIFESTS.map(|text| {
            let written = Value::from_json(text).unwrap();
            let kind = GroupVersionKind::of(&written).unwrap();
            let view = admit(&written, &kind).unwrap();
            (written, kind, view)
        });
        let views = objects.iter().map(|(_, _, view)| view);
        let known: BTreeSet<_> =
            views.flat_map(members).map(|(_, key, value)| (key, value.to_json())).collect();
        let (mut kept, mut tried) = (0, 0);
        for (written, kind, view) in &objects {
            let places: BTreeSet<Pointer> = members(view).into_iter().map(|(at, ..)| at).collect();
            for at in places.iter().map(Pointer::segments) {
                for (key, value) in &known {
                    let mut after = view.clone();
                    after.pointed_mut(at).unwrap().insert(key.clone(), Value::from_json(value).unwrap());
                    let Some(goal) = admit(&after, kind) else { continue };
                    tried += 1;
                    if admission.keeps_defaults(kind, (written, view, &after)) {
                        kept += 1;
                        let result = restore(written, (view, &after), || true, |_| None);
                        assert_eq!(
                            admit(&result, kind),
                            Some(goal),
                            "{key}: {value} at {at:?} of {written:?}"
                        );
                    }
                }
            }
        }
        assert!(kept > 1000 && kept < tried, "{kept} of {tried}");
    }
}
