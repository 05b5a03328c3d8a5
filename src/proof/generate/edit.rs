//! One change of a request.

use std::fmt::{self, Write as _};

use crate::admission::{ListMerge, minimal_at};
use crate::policy::UserInfo;
use crate::proof::facts::{Facts, Path};
use crate::proof::request::{Answers, Case};
use crate::proof::schema::ObjectSchemas;
use crate::value::{GroupVersionKind, Number, PathSet, Step, Text, Value};

/// A change of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edit {
    /// Sets the value at a path, in the first element of lists; what is missing above it is made.
    Set(Path, Value),
    /// Removes the value at a path.
    Remove(Path),
    /// Arranges the elements of a list around its first one.
    List(Path, Arrangement),
    /// Makes it an update.
    Update(Stored),
    /// Makes it an update by this change.
    UpdateBy(Box<Self>),
    /// Another user sends it.
    User(usize),
    /// The object is in another namespace.
    Namespace(Text),
    /// The name of the object is to be generated.
    GenerateName(Text),
    /// The namespace has a label, or not.
    NamespaceLabel(Text, Option<Text>),
    /// The object is deleted.
    Delete,
    /// It is sent to another cluster.
    Cluster(usize),
    /// Lookups return something else.
    Answers(Answers),
}

/// The elements of a list; `fit` is its first one as it is, others are the smallest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    Empty,
    FitOther,
    OtherFit,
    OtherFitOther,
    FitFit,
    FitOtherFit,
    FitFitOther,
    FitFitFit,
    /// The same element twice.
    Twice,
    Null,
}

impl Arrangement {
    pub(super) const ALL: [Self; 10] = [
        Self::OtherFit,
        Self::FitFit,
        Self::Empty,
        Self::FitOther,
        Self::Twice,
        Self::FitFitOther,
        Self::OtherFitOther,
        Self::FitOtherFit,
        Self::FitFitFit,
        Self::Null,
    ];

    /// Whether each element is the fitting one; `None` for no list.
    fn elements(self) -> Option<&'static [bool]> {
        Some(match self {
            Self::Null => return None,
            Self::Empty => &[],
            Self::FitOther => &[true, false],
            Self::OtherFit => &[false, true],
            Self::OtherFitOther => &[false, true, false],
            Self::FitFit | Self::Twice => &[true, true],
            Self::FitOtherFit => &[true, false, true],
            Self::FitFitOther => &[true, true, false],
            Self::FitFitFit => &[true, true, true],
        })
    }
}

/// The stored object of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// The same object.
    Same,
    /// The object without labels and annotations.
    Bare,
    /// The smallest object of its kind.
    Base,
}

impl Edit {
    /// The request with the change; `None` if it cannot be made, or changes nothing.
    pub(super) fn apply(&self, case: &Case, context: &Context<'_>) -> Option<Case> {
        let mut changed = case.clone();
        match self {
            Self::Set(path, value) => {
                let node = context.node(&mut changed.object, path)?;
                *node = value.clone();
            }
            Self::Remove(path) => remove(&mut changed.object, path)?,
            Self::List(path, arrangement) => context.arrange(&mut changed.object, path, *arrangement)?,
            Self::Update(_) | Self::UpdateBy(_) if case.is_deletion => return None,
            Self::Update(stored) => {
                changed.old = Some(match stored {
                    Stored::Same => case.object.clone(),
                    Stored::Bare => bare(&case.object),
                    Stored::Base => crate::proof::schema::base(context.kind),
                });
            }
            Self::UpdateBy(edit) => {
                changed.object = edit.apply(case, context)?.object;
                changed.old = Some(case.object.clone());
            }
            Self::User(user) => {
                changed.user = *user;
                changed.user_name = context.facts.users.get(*user).map(named);
            }
            Self::Namespace(namespace) => {
                let metadata = changed.object.as_object_mut()?.get_mut("metadata")?;
                metadata.insert("namespace", Value::String(namespace.clone()));
            }
            Self::GenerateName(prefix) => {
                let metadata = changed.object.as_object_mut()?.get_mut("metadata")?;
                metadata.remove("name");
                metadata.insert("generateName", Value::String(prefix.clone()));
            }
            Self::NamespaceLabel(key, value) => match value {
                Some(value) => changed.namespace_labels.insert(key.clone(), Value::String(value.clone())),
                None => drop(changed.namespace_labels.remove(key)),
            },
            Self::Delete => {
                changed.is_deletion = true;
                changed.old = None;
            }
            Self::Cluster(number) => changed.cluster = *number,
            Self::Answers(answers) => changed.answers = *answers,
        }
        changed.origin = if &*case.origin == BASE {
            format!("generated: {self}").into()
        } else {
            format!("{}, {self}", case.origin).into()
        };
        (changed != *case && !is_same(&changed, case)).then_some(changed)
    }
}

/// The origin of the smallest object.
pub(super) const BASE: &str = "generated: the smallest object";

fn is_same(one: &Case, other: &Case) -> bool {
    Case { origin: other.origin.clone(), ..one.clone() } == *other
}

fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.as_object_mut().and_then(|members| members.get_mut("metadata")) {
        metadata.remove("labels");
        metadata.remove("annotations");
    }
    object
}

/// A user in words.
fn named(user: &UserInfo) -> Text {
    let more = [("groups", &user.groups), ("roles", &user.roles), ("cluster roles", &user.cluster_roles)];
    let mut text = user.username.to_string();
    for (what, names) in more {
        let names: Vec<&str> = names.iter().flatten().map(|name| &**name).collect();
        if !names.is_empty() {
            let _ = write!(text, " ({what}: {})", names.join(", "));
        }
    }
    text.into()
}

/// What edits need to know.
pub(super) struct Context<'a> {
    pub(super) facts: &'a Facts,
    pub(super) kind: &'a GroupVersionKind,
    pub(super) schemas: &'a ObjectSchemas,
}

impl Context<'_> {
    /// The node at a path, in the first elements of lists; what is missing is made.
    fn node<'v>(&self, root: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
        let mut node = root;
        for (index, step) in path.iter().enumerate() {
            node = match step {
                Step::Key(key) => {
                    if node.is_null() {
                        *node = Value::empty_object();
                    }
                    node.as_object_mut()?.entry(key.clone()).or_default()
                }
                Step::Elements => {
                    if node.is_null() || node.as_array().is_some_and(<[_]>::is_empty) {
                        *node = Value::array(vec![self.element(&path[..index], 0)]);
                    }
                    node.as_array_mut()?.first_mut()?
                }
            };
        }
        Some(node)
    }

    /// The smallest element of a list.
    fn element(&self, list: &[Step], number: usize) -> Value {
        let keys: Vec<&str> = list
            .iter()
            .filter_map(|step| if let Step::Key(key) = step { Some(&**key) } else { None })
            .collect();
        let list = minimal_at(self.kind, &keys);
        let element = list.as_ref().and_then(|list| list.at(0)).cloned();
        let mut element = element.unwrap_or_else(|| Value::from(format!("other-{number}")));
        let field = keys.last().copied().unwrap_or_default();
        if element.get("name").is_some() {
            let name = ["b", "c", "d"].get(number).copied().unwrap_or("e");
            let prefix = match field {
                "initContainers" => "init-",
                "ephemeralContainers" => "debug-",
                _ => "",
            };
            element.insert("name", Value::string(format!("{prefix}{name}")));
        }
        if field.to_lowercase().ends_with("containers") {
            element.insert("image", Value::from("i"));
        }
        if let Some(text) = element.as_str().filter(|text| *text == "a") {
            element = Value::string(format!("{text}{number}"));
        }
        element
    }

    fn arrange(&self, object: &mut Value, path: &[Step], arrangement: Arrangement) -> Option<()> {
        let inside: Path = path.iter().cloned().chain([Step::Elements]).collect();
        let fit = self.node(object, &inside)?.clone();
        let forms = self.schemas.forms(self.kind, path);
        let merge = forms.and_then(|forms| forms.list).map(|list| list.merge);
        let list = self.node(object, path)?;
        let Some(elements) = arrangement.elements() else {
            *list = Value::Null;
            return Some(());
        };
        let mut copies = 0;
        let made = elements.iter().enumerate().map(|(number, is_fit)| {
            if !is_fit {
                return self.element(path, number);
            }
            copies += 1;
            if copies == 1 || arrangement == Arrangement::Twice {
                fit.clone()
            } else {
                renamed(&fit, copies, merge)
            }
        });
        *list = Value::array(made.collect());
        Some(())
    }
}

/// A copy of an element with another key.
fn renamed(element: &Value, number: usize, merge: Option<ListMerge<'_>>) -> Value {
    let mut copy = element.clone();
    let keys: Vec<Text> = match merge {
        Some(ListMerge::Keys(keys)) => keys.iter().map(|key| key.name.clone()).collect(),
        _ => vec!["name".into()],
    };
    if let Some(text) = copy.as_str() {
        return if matches!(merge, Some(ListMerge::Set)) {
            Value::string(format!("{text}{number}"))
        } else {
            copy
        };
    }
    for key in keys {
        match copy.get(&key) {
            Some(Value::String(text)) if *key != *"protocol" => {
                let text = format!("{text}-{number}");
                copy.insert(key, Value::string(text));
            }
            Some(Value::Number(value)) => {
                let value = value.as_i64().unwrap_or_default() + i64::try_from(number).unwrap_or(1);
                copy.insert(key, Value::from(Number::from(value)));
            }
            _ => {}
        }
    }
    copy
}

/// Removes the node at a path; `None` if there is none.
fn remove(root: &mut Value, path: &[Step]) -> Option<()> {
    let (last, above) = path.split_last()?;
    let mut node = root;
    for step in above {
        node = match step {
            Step::Key(key) => node.as_object_mut()?.get_mut(key)?,
            Step::Elements => node.as_array_mut()?.first_mut()?,
        };
    }
    match last {
        Step::Key(key) => node.remove(key).map(drop),
        Step::Elements => {
            let items = node.as_array_mut()?;
            (!items.is_empty()).then(|| drop(items.remove(0)))
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &[Step]| {
            let mut set = PathSet::default();
            set.insert(path);
            set.to_string()
        };
        match self {
            Self::Set(path, Value::Null) => write!(f, "{} null", shown(path)),
            Self::Set(path, value) => {
                write!(f, "{} {}", shown(path), crate::value::shortened(&value.to_json(), 40))
            }
            Self::Remove(path) => write!(f, "{} missing", shown(path)),
            Self::List(path, Arrangement::Empty) => write!(f, "list {} empty", shown(path)),
            Self::List(path, Arrangement::Null) => write!(f, "list {} null", shown(path)),
            Self::List(path, Arrangement::Twice) => {
                write!(f, "list {} with two equal elements", shown(path))
            }
            Self::List(path, arrangement) => {
                let count = arrangement.elements().map_or(0, <[bool]>::len);
                write!(f, "list {} with {count} elements", shown(path))
            }
            Self::Update(Stored::Same) => f.write_str("UPDATE of the same object"),
            Self::Update(Stored::Bare) => f.write_str("UPDATE of an object without labels and annotations"),
            Self::Update(Stored::Base) => f.write_str("UPDATE of the smallest object"),
            Self::UpdateBy(edit) => write!(f, "UPDATE to {edit}"),
            Self::User(number) => write!(f, "user {number}"),
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
            Self::GenerateName(prefix) => write!(f, "generateName {prefix}"),
            Self::NamespaceLabel(key, Some(value)) => write!(f, "namespace with the label {key}={value}"),
            Self::NamespaceLabel(key, None) => write!(f, "namespace without the label {key}"),
            Self::Delete => f.write_str("DELETE"),
            Self::Cluster(number) => write!(f, "cluster {number}"),
            Self::Answers(answers) => write!(f, "lookups: {answers:?}"),
        }
    }
}
