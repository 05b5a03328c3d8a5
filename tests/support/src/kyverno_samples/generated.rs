//! Objects that differ from given ones in a few places: fields that are gone, `null`, empty, of another type or with the
//! value of another object, and lists that are longer or shorter.

use std::collections::{BTreeMap, BTreeSet};

use crate::random::SplitMix64;
use kyv::value::{ObjectRef, Pointer, Segment, Value};

/// How often an object of a kind that the policy names is looked for.
const TRIES: usize = 20;

/// Makes objects from those of a folder.
pub struct Generator<'v> {
    objects: Vec<&'v Value>,
    /// The values of the members with each name.
    values: BTreeMap<String, Vec<Value>>,
    random: SplitMix64,
    /// The identities of the objects that were made.
    made: BTreeSet<String>,
}

impl<'v> Generator<'v> {
    pub fn new(objects: impl Iterator<Item = &'v Value>, seed: u64) -> Self {
        let objects: Vec<_> = objects.collect();
        let mut values: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for object in &objects {
            for at in places(object) {
                if let Some(Segment::Key(key)) = at.segments().last() {
                    values.entry(key.to_string()).or_default().extend(object.pointed(&at).cloned());
                }
            }
        }
        Self { objects, values, random: SplitMix64(seed), made: BTreeSet::new() }
    }

    /// An object for a policy, most often of a kind that the policy names, that differs from a given one in at most so
    /// many places, and at least in one if it may. No two that are made have the same identity.
    pub fn object(&mut self, policy: &Value, changes: usize) -> Value {
        let policy = policy.to_json();
        let is_named = |object: &Value| {
            object.get("kind").and_then(Value::as_str).is_some_and(|kind| policy.contains(kind))
        };
        let mut object = self.objects[self.random.index(self.objects.len())];
        for _ in 0..TRIES {
            if is_named(object) {
                break;
            }
            object = self.objects[self.random.index(self.objects.len())];
        }
        let mut object = object.clone();
        if changes > 0 {
            for _ in 0..=self.random.index(changes) {
                self.change(&mut object);
            }
        }
        let name = ObjectRef::of(&object).map(|name| name.name.to_string()).unwrap_or_default();
        for further in 1.. {
            let own = if further == 1 { name.clone() } else { format!("{name}-{further}") };
            if let Some(metadata) = object.as_object_mut().and_then(|object| object.get_mut("metadata")) {
                metadata.insert("name", own.into());
            }
            let identity = ObjectRef::of(&object).expect("an object with a name");
            // The CLI takes no namespace for `default`.
            let namespace = identity.namespace.as_deref().unwrap_or("default");
            if self.made.insert(format!("{}/{namespace}/{}", identity.kind.kind, identity.name)) {
                break;
            }
        }
        object
    }

    fn change(&mut self, object: &mut Value) {
        let places = places(object);
        let Some(at) = places.get(self.random.index(places.len())) else { return };
        let Some((last, above)) = at.segments().split_last() else { return };
        let parent = object.pointed_mut(above).expect("a place of the object");
        match last {
            Segment::Key(key) => {
                let found = parent.get(key).cloned().unwrap_or_default();
                if self.random.below(3) == 0 {
                    parent.remove(key);
                } else {
                    let others = self.values.get(&**key).map_or(&[][..], Vec::as_slice);
                    let value = other(&mut self.random, found, others);
                    // The CLI reads `null` as an empty map, but for members of list elements.
                    let is_in_list = above.iter().any(|segment| matches!(segment, Segment::Index(_)));
                    let is_map = value.is_null() && !is_in_list;
                    parent.insert(key.clone(), if is_map { Value::empty_object() } else { value });
                }
            }
            Segment::Index(index) => {
                let elements = parent.as_array_mut().expect("a list");
                match self.random.below(3) {
                    0 => drop(elements.remove(*index)),
                    1 => elements.push(elements[*index].clone()),
                    _ => {
                        let found = elements[*index].clone();
                        elements[*index] = other(&mut self.random, found, &[]);
                    }
                }
            }
        }
    }
}

/// The places of an object that may be changed: all but its identity.
pub fn places(object: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    let mut open = vec![Pointer::ROOT];
    while let Some(at) = open.pop() {
        let below: Vec<Pointer> = match object.pointed(&at) {
            Some(Value::Object(members)) => members.keys().map(|key| at.key(key.clone())).collect(),
            Some(Value::Array(items)) => (0..items.len()).map(|index| at.index(index)).collect(),
            _ => Vec::new(),
        };
        let is_fixed = |at: &Pointer| {
            matches!(
                at.to_json_pointer().as_str(),
                "/apiVersion" | "/kind" | "/metadata" | "/metadata/name" | "/metadata/namespace"
            )
        };
        found.extend(below.iter().filter(|at| !is_fixed(at)).cloned());
        open.extend(below);
    }
    found
}

/// A value instead of another one.
fn other(random: &mut SplitMix64, found: Value, others: &[Value]) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => Value::empty_object(),
        2 => Value::array(Vec::new()),
        3 => "".into(),
        4 => 0.into(),
        5 => Value::Bool(false),
        6 => match found {
            Value::Number(number) => number.to_string().into(),
            Value::Bool(flag) => flag.to_string().into(),
            Value::String(text) => {
                text.parse::<i64>().map_or_else(|_| format!("x{text}").into(), Value::from)
            }
            other => other,
        },
        _ => others.get(random.index(others.len())).cloned().unwrap_or(found),
    }
}
