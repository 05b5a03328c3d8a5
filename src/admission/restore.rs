//! From the admitted view back to the object as written: the changes of policies alone.

use std::collections::{BTreeSet, VecDeque};

use crate::value::{Map, Text, Value, aligned, are_aligned};

use super::fields::field_mut;
use super::token_volume;

/// How often values that admission would set otherwise are written out, until the objects are equal.
const MAX_ROUNDS: usize = 4;

/// So many elements are compared with one that was moved.
const MAX_CANDIDATES: usize = 100;

/// The object as written with the changes of policies, which ran on its admitted view.
///
/// `admitted` is the view of `written`, `after` the same after the policies. `admit` is the view of an object; `None` if
/// the API server would refuse it. The view of the result is that of `after`: where a default depends on what policies
/// changed, its value is written out. What only the API server added and no policy changed is left out. `keeps_defaults`
/// says that no default depends on what policies changed: then there is nothing to look at.
pub fn restore(
    written: &Value,
    (admitted, after): (&Value, &Value),
    keeps_defaults: impl FnOnce() -> bool,
    admit: impl Fn(&Value) -> Option<Value>,
) -> Value {
    if after == admitted {
        return written.clone();
    }
    if written == admitted {
        return after.clone();
    }
    let mut restored = rewritten(Some(written), admitted, after).unwrap_or_else(|| written.clone());
    remove_overwritten_texts(&mut restored, admitted, after);
    if keeps_defaults() {
        return restored;
    }
    let mut goal = None;
    for round in 1..=MAX_ROUNDS {
        let Some(view) = admit(&restored) else { return restored };
        // The view of a view is the view itself.
        if view == *after {
            return restored;
        }
        if goal.is_none() {
            goal = admit(after);
        }
        let Some(goal) = &goal else { return restored };
        if is_same(&view, goal) {
            return restored;
        }
        let next = rewritten(Some(&restored), &view, goal);
        let next = next.filter(|next| round < MAX_ROUNDS && *next != restored);
        if let Some(next) = next.or_else(|| replaced(Some(&restored), &view, goal)) {
            restored = next;
        }
    }
    restored
}

/// Removes the texts of a Secret from `stringData` that policies changed or removed in `data`, which the API server moved
/// them to: they would come before what the policies set.
fn remove_overwritten_texts(restored: &mut Value, before: &Value, after: &Value) {
    let is_secret = before.get("apiVersion").and_then(Value::as_str) == Some("v1")
        && before.get("kind").and_then(Value::as_str) == Some("Secret");
    let texts = restored.get("stringData").and_then(Value::as_object).filter(|_| is_secret);
    let is_other = |key: &Text| before.path(&["data", key]) != after.path(&["data", key]);
    let Some(texts) = texts.filter(|texts| texts.keys().any(is_other)) else { return };
    let kept: Map = texts
        .iter()
        .filter(|(key, _)| !is_other(key))
        .map(|(key, text)| (key.clone(), text.clone()))
        .collect();
    if kept.is_empty() {
        restored.remove("stringData");
    } else {
        restored.insert("stringData", Value::object(kept));
    }
}

/// Writes the changes from `before` to `after` into the written value. `None`: the value is left out.
fn rewritten(written: Option<&Value>, before: &Value, after: &Value) -> Option<Value> {
    if after.same_storage(before) {
        return written.cloned();
    }
    match (written, before, after) {
        (Some(written), ..) if written.same_storage(before) => Some(after.clone()),
        // Their members are compared once, on the way down.
        (_, Value::Object(old), Value::Object(new)) => {
            rewritten_members(written, old, new, rewritten).map(Value::object)
        }
        _ if after == before => written.cloned(),
        (Some(written), ..) if written == before => Some(after.clone()),
        (_, Value::Array(old), Value::Array(new)) => rewritten_elements(written, old, new).map(Value::array),
        _ => Some(after.clone()),
    }
}

/// The same, with changed lists and default maps that have too many members replaced as a whole.
fn replaced(written: Option<&Value>, before: &Value, after: &Value) -> Option<Value> {
    match (before, after) {
        _ if after == before => written.cloned(),
        (Value::Object(old), Value::Object(new))
            if written.is_none() && old.keys().any(|key| !new.contains_key(key)) =>
        {
            Some(after.clone())
        }
        (Value::Object(old), Value::Object(new)) => {
            rewritten_members(written, old, new, replaced).map(Value::object)
        }
        _ => Some(after.clone()),
    }
}

fn rewritten_members(
    written: Option<&Value>,
    old: &Map,
    new: &Map,
    rewrite: fn(Option<&Value>, &Value, &Value) -> Option<Value>,
) -> Option<Map> {
    let members = written.and_then(Value::as_object);
    let mut result = members.cloned().unwrap_or_default();
    // What the API server dropped is none of the policies' business.
    let mut places = 0..;
    result.retain(|key, _| {
        let is_new = places.next().and_then(|place| new.get_near(key, place)).is_some();
        is_new || !old.contains_key(key)
    });
    for (index, (key, is)) in new.iter().enumerate() {
        let value = match old.get_near(key, index) {
            // As it is written.
            Some(old) if old.same_storage(is) => continue,
            Some(old) => rewrite(members.and_then(|members| members.get_near(key, index)), old, is),
            None => Some(is.clone()),
        };
        if let Some(value) = value {
            result.insert(key.clone(), value);
        }
    }
    // Large objects take much memory.
    result.shrink_to_fit();
    (members.is_some() || !result.is_empty()).then_some(result)
}

fn rewritten_elements(written: Option<&Value>, old: &[Value], new: &[Value]) -> Option<Vec<Value>> {
    let elements = written.and_then(Value::as_array);
    // Admission adds elements at the end only.
    let written_of = |index: usize| elements.and_then(|elements| elements.get(index));
    let result = new.iter().zip(origins(old, new)).filter_map(|(is, origin)| match origin {
        Some(index) => rewritten(written_of(index), &old[index], is),
        None => Some(is.clone()),
    });
    let result: Vec<Value> = result.collect();
    (elements.is_some() || !result.is_empty()).then_some(result)
}

/// The index of the old element for each element of a new list, moved ones included.
fn origins(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    if are_aligned(old, new) {
        return (0..old.len()).map(Some).collect();
    }
    let mut origins = aligned(old, new);
    let used: BTreeSet<usize> = origins.iter().copied().flatten().collect();
    let mut free: VecDeque<usize> = (0..old.len()).filter(|index| !used.contains(index)).collect();
    for (origin, element) in origins.iter_mut().zip(new).filter(|(origin, _)| origin.is_none()) {
        let candidates = free.iter().enumerate().take(MAX_CANDIDATES);
        let scores = candidates.map(|(place, index)| (place, common_members(&old[*index], element)));
        let best = scores
            .filter(|(_, common)| *common > 0)
            .max_by_key(|(place, common)| (*common, usize::MAX - place));
        *origin = best.and_then(|(place, _)| free.remove(place));
    }
    if old.len() == new.len() {
        // What is left was renamed.
        let renamed = origins.iter_mut().enumerate().filter(|(_, origin)| origin.is_none());
        renamed.for_each(|(index, origin)| *origin = free.binary_search(&index).is_ok().then_some(index));
    }
    origins
}

/// How many members two objects share; none if their names differ.
fn common_members(old: &Value, new: &Value) -> usize {
    let (Some(was), Some(is)) = (old.as_object(), new.as_object()) else { return 0 };
    if was.get("name") != is.get("name") {
        return 0;
    }
    was.iter().filter(|(key, value)| is.get(key) == Some(value)).count()
}

/// Whether two views are equal. The order of tolerations has no meaning: admission appends its own. The volume with the
/// token of the service account is never written, and so stays out of the comparison.
fn is_same(view: &Value, goal: &Value) -> bool {
    if view == goal {
        return true;
    }
    let [view, goal] = [view, goal].map(without_token_volume);
    if view == goal {
        return true;
    }
    const TOLERATIONS: [&str; 2] = ["spec", "tolerations"];
    let lists = [&view, &goal].map(|object| object.path(&TOLERATIONS).and_then(Value::as_array));
    let [Some(of_view), Some(of_goal)] = lists else { return false };
    let is_set = of_view.len() == of_goal.len() && of_view.iter().all(|element| of_goal.contains(element));
    if !is_set {
        return false;
    }
    let [view, goal] = [&view, &goal].map(without_tolerations);
    view == goal
}

fn without_token_volume(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = field_mut(&mut object, "spec") {
        token_volume::remove(spec);
    }
    object
}

fn without_tolerations(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object.as_object_mut().and_then(|members| members.get_mut("spec")) {
        spec.remove("tolerations");
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    /// An API server of one kind: `p` is 1 by default, `q` is the value of `p`, `m` has a member `d`, each element of `l` has
    /// `e`, `s` is a list of 1; zero is not kept, `x` is unknown.
    fn admit(object: &Value) -> Option<Value> {
        let mut view = object.clone();
        let members = view.as_object_mut()?;
        members.shift_remove("x");
        members.retain(|_, value| *value != Value::from(0));
        if let Some(Value::String(_)) = members.get("p") {
            return None;
        }
        let p = members.entry("p".into()).or_insert(Value::from(1)).clone();
        members.entry("q".into()).or_insert(p);
        members.entry("s".into()).or_insert(Value::array(vec![Value::from(1)]));
        let m = members.entry("m".into()).or_insert_with(Value::empty_object);
        m.as_object_mut()?.entry("d".into()).or_insert(Value::from(true));
        for element in members.get_mut("l").and_then(Value::as_array_mut).into_iter().flatten() {
            element.as_object_mut()?.entry("e".into()).or_insert(Value::from(5));
        }
        Some(view)
    }

    #[test]
    fn only_the_changes_of_policies_are_written() {
        for (case, written, change, expected) in [
            ("nothing", r#"{"x":1,"z":0}"#, r#"{}"#, r#"{"x":1,"z":0}"#),
            ("a new member", r#"{"x":1,"z":0}"#, r#"{"a":2}"#, r#"{"x":1,"z":0,"a":2}"#),
            ("a dropped zero", r#"{"z":0}"#, r#"{"z":3}"#, r#"{"z":3}"#),
            ("a default that others follow", r#"{"a":1}"#, r#"{"p":2}"#, r#"{"a":1,"p":2,"q":1}"#),
            ("below a default", r#"{"a":1}"#, r#"{"m":{"d":true,"n":1}}"#, r#"{"a":1,"m":{"n":1}}"#),
            ("a default map emptied", r#"{"a":1}"#, r#"{"m":{}}"#, r#"{"a":1}"#),
            ("a removed member", r#"{"a":1,"x":2}"#, r#"{"a":null}"#, r#"{"x":2}"#),
            ("a removed default", r#"{"a":1}"#, r#"{"p":null}"#, r#"{"a":1}"#),
            ("a default list grows", r#"{"a":1}"#, r#"{"s":[1,2]}"#, r#"{"a":1,"s":[1,2]}"#),
            (
                "a changed element",
                r#"{"l":[{"name":"a"},{"name":"b"}]}"#,
                r#"{"l":[{"name":"a","e":5},{"name":"b","e":6}]}"#,
                r#"{"l":[{"name":"a"},{"name":"b","e":6}]}"#,
            ),
            (
                "an element before another",
                r#"{"l":[{"name":"a","v":1}]}"#,
                r#"{"l":[{"name":"b","v":2},{"name":"a","v":3,"e":5}]}"#,
                r#"{"l":[{"name":"b","v":2},{"name":"a","v":3}]}"#,
            ),
            (
                "a renamed element",
                r#"{"l":[{"name":"a","v":1},{"name":"b"}]}"#,
                r#"{"l":[{"name":"c","v":1,"e":5},{"name":"b","e":5}]}"#,
                r#"{"l":[{"name":"c","v":1},{"name":"b"}]}"#,
            ),
            (
                "another element in the place of one",
                r#"{"l":[{"name":"a","v":1},{"name":"b"}]}"#,
                r#"{"l":[{"name":"c","e":6},{"name":"b","e":5}]}"#,
                r#"{"l":[{"name":"c","e":6},{"name":"b"}]}"#,
            ),
            (
                "elements in another order",
                r#"{"l":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#,
                r#"{"l":[{"name":"c","e":5},{"name":"a","e":5},{"name":"b","e":5}]}"#,
                r#"{"l":[{"name":"c"},{"name":"a"},{"name":"b"}]}"#,
            ),
            (
                "elements without names in another order",
                r#"{"l":[{"id":"a","f":1},{"id":"b","g":2}]}"#,
                r#"{"l":[{"id":"b","g":2,"e":5,"n":1},{"id":"a","f":1,"e":5}]}"#,
                r#"{"l":[{"id":"b","g":2,"n":1},{"id":"a","f":1}]}"#,
            ),
            ("a value that is refused", r#"{"a":1}"#, r#"{"p":"one"}"#, r#"{"a":1,"p":"one"}"#),
        ] {
            let written = json(written);
            let admitted = admit(&written).unwrap();
            let mut after = admitted.clone();
            for (key, value) in json(change).as_object().unwrap() {
                if value.is_null() {
                    after.remove(key);
                } else {
                    after.insert(key.clone(), value.clone());
                }
            }
            let restored = restore(&written, (&admitted, &after), || false, admit);
            assert_eq!(restored.to_json(), json(expected).to_json(), "{case}");
            if let (Some(view), Some(goal)) = (admit(&restored), admit(&after)) {
                assert_eq!(view, goal, "{case}");
            }
        }
    }

    #[test]
    fn a_default_that_is_a_copy_of_what_policies_change_is_written() {
        let admit = |object: &Value| {
            let mut view = object.clone();
            let labels = view.get("labels").cloned()?;
            view.as_object_mut()?.entry("selector".into()).or_insert(labels);
            Some(view)
        };
        for (after, expected) in [
            (
                r#"{"labels":{"app":"a","color":"red"},"selector":{"app":"a"}}"#,
                r#"{"labels":{"app":"a","color":"red"},"selector":{"app":"a"}}"#,
            ),
            (
                r#"{"labels":{"app":"b"},"selector":{"app":"a"}}"#,
                r#"{"labels":{"app":"b"},"selector":{"app":"a"}}"#,
            ),
            (r#"{"labels":{"app":"a"},"selector":{}}"#, r#"{"labels":{"app":"a"},"selector":{}}"#),
        ] {
            let written = json(r#"{"labels":{"app":"a"}}"#);
            let restored = restore(&written, (&admit(&written).unwrap(), &json(after)), || false, admit);
            assert_eq!(restored.to_json(), expected);
        }
    }

    #[test]
    fn tolerations_of_admission_are_not_written() {
        let admit = |object: &Value| {
            let mut view = object.clone();
            let spec = view.as_object_mut()?.get_mut("spec")?.as_object_mut()?;
            let list = spec.entry("tolerations".into()).or_insert_with(|| Value::array(Vec::new()));
            let list = list.as_array_mut()?;
            if !list.contains(&Value::from("own")) {
                list.push(Value::from("own"));
            }
            Some(view)
        };
        for (written, after, expected) in [
            (
                r#"{"spec":{}}"#,
                r#"{"spec":{"tolerations":["own","a"]}}"#,
                r#"{"spec":{"tolerations":["a"]}}"#,
            ),
            (
                r#"{"spec":{"tolerations":["b"]}}"#,
                r#"{"spec":{"tolerations":["b","own","a"]}}"#,
                r#"{"spec":{"tolerations":["b","a"]}}"#,
            ),
        ] {
            let written = json(written);
            let restored = restore(&written, (&admit(&written).unwrap(), &json(after)), || false, admit);
            assert_eq!(restored.to_json(), expected);
        }
    }
}
