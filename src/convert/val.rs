//! Values of expressions: what JMESPath has there, and how CEL writes it.

use crate::value::{Number, Value};

use super::cel_text::{Cel, Entry, Operator};
use super::path::Path;
use super::ty::Ty;

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) struct Val<'a> {
    pub(super) form: Form<'a>,
    pub(super) ty: Ty<'a>,
}

/// How it is written.
#[derive(Clone, Debug)]
pub(super) enum Form<'a> {
    /// A constant.
    Literal(Value),
    /// A value of an object. A missing key is an error in both languages.
    Path(Path<'a>),
    /// A value that is always there, or fails.
    Sure { cel: Cel, fails: bool },
    /// A text that is never empty, and fails where it is missing.
    Missing {
        cel: Cel,
        /// Whether it is there; never fails, unless the value itself does.
        soft: Cel,
    },
    /// A value that may be null.
    Nullable {
        /// Whether it is not null; fails where JMESPath fails.
        present: Cel,
        /// The same, and false where JMESPath fails.
        soft: Cel,
        /// The value, if it is not null.
        value: Cel,
        /// The value, or an empty list if it is null or JMESPath fails.
        empty: Option<Cel>,
        /// The value as an optional one, which is none where JMESPath fails.
        optional: Option<Cel>,
    },
}

impl<'a> Val<'a> {
    pub(super) fn literal(value: Value) -> Self {
        let ty = type_of(&value);
        Self { form: Form::Literal(value), ty }
    }

    pub(super) fn path(path: Path<'a>) -> Self {
        Self { ty: path.ty.clone(), form: Form::Path(path) }
    }

    pub(super) const fn sure(cel: Cel, ty: Ty<'a>) -> Self {
        Self { form: Form::Sure { cel, fails: false }, ty }
    }

    pub(super) const fn failing(cel: Cel, ty: Ty<'a>, fails: bool) -> Self {
        Self { form: Form::Sure { cel, fails }, ty }
    }

    pub(super) fn nullable(soft: Cel, value: Cel, ty: Ty<'a>) -> Self {
        Self { form: Form::Nullable { present: soft.clone(), soft, value, empty: None, optional: None }, ty }
    }

    /// The value; fails where JMESPath fails, and is null where it is null.
    pub(super) fn strict(&self) -> Cel {
        match &self.form {
            Form::Literal(value) => literal(value),
            Form::Path(path) => path.strict(),
            Form::Sure { cel, .. } | Form::Missing { cel, .. } => cel.clone(),
            Form::Nullable { present, value, .. } => {
                Cel::if_else(present.clone(), value.clone(), Cel::atom("null"))
            }
        }
    }

    /// The value where it is not null.
    pub(super) fn value(&self) -> Cel {
        match &self.form {
            Form::Nullable { value, .. } => value.clone(),
            _ => self.strict(),
        }
    }

    /// Whether it is there and not null; never fails, unless the value itself does.
    pub(super) fn soft(&self) -> Cel {
        match &self.form {
            Form::Literal(value) => Cel::bool(!value.is_null()),
            Form::Path(path) => path.has(),
            Form::Sure { .. } => Cel::bool(true),
            Form::Missing { soft, .. } | Form::Nullable { soft, .. } => soft.clone(),
        }
    }

    /// Whether it is not null; fails where JMESPath fails. `None` if it is never null.
    pub(super) fn present(&self) -> Option<Cel> {
        match &self.form {
            Form::Nullable { present, .. } => Some(present.clone()),
            Form::Literal(Value::Null) => Some(Cel::bool(false)),
            _ => None,
        }
    }

    /// The value, or a default where it is null or JMESPath does not find it.
    pub(super) fn or(&self, default: Cel) -> Cel {
        match &self.form {
            Form::Literal(Value::Null) => default,
            Form::Literal(value) => literal(value),
            Form::Path(path) => path.or(default),
            Form::Sure { cel, .. } => cel.clone(),
            Form::Missing { cel, soft } if soft.is_true() => cel.clone(),
            Form::Missing { cel, soft } => Cel::if_else(soft.clone(), cel.clone(), default),
            Form::Nullable { empty: Some(empty), .. } if default == Cel::List(Vec::new()) => empty.clone(),
            Form::Nullable { optional: Some(optional), .. } => optional.clone().or_value(default),
            Form::Nullable { soft, value, .. } => Cel::if_else(soft.clone(), value.clone(), default),
        }
    }

    /// Whether the evaluation may fail.
    pub(super) fn fails(&self) -> bool {
        match &self.form {
            Form::Literal(_) => false,
            Form::Path(path) => !path.is_sure(),
            Form::Sure { fails, .. } => *fails,
            Form::Missing { soft, .. } => !soft.is_true(),
            Form::Nullable { present, soft, .. } => present != soft,
        }
    }

    pub(super) const fn as_literal(&self) -> Option<&Value> {
        if let Form::Literal(value) = &self.form { Some(value) } else { None }
    }

    /// Whether the value is true for JMESPath; a missing one is not.
    pub(super) fn truth(&self) -> Cel {
        if let Form::Literal(value) = &self.form {
            return Cel::bool(is_true(value));
        }
        if let Form::Missing { soft, .. } = &self.form {
            return soft.clone();
        }
        let empty = |default: Cel| self.or(default.clone()).compare(Operator::NotEqual, default);
        match &self.ty {
            Ty::Null => Cel::bool(false),
            Ty::Bool => match self.or(Cel::bool(false)) {
                // A condition must be of the type bool, and a field is of any.
                test @ (Cel::Member { .. } | Cel::Index { .. }) => test.equals(Cel::bool(true)),
                test @ Cel::Call { name: "orValue", .. } => test.equals(Cel::bool(true)),
                test => test,
            },
            // A quantity is never empty.
            Ty::Number | Ty::Quantity => self.soft(),
            Ty::Text(_) => empty(Cel::text("")),
            Ty::List(_) => {
                self.or(Cel::List(Vec::new())).call("size", []).compare(Operator::Greater, Cel::int(0))
            }
            Ty::Map(_) | Ty::Object(_) => {
                self.or(Cel::Map(Vec::new())).call("size", []).compare(Operator::Greater, Cel::int(0))
            }
            Ty::Any => {
                let falsy = ["\"\"", "null", "false", "[]", "{}"];
                let falsy = falsy.map(|text| Cel::function("dyn", [Cel::atom(text)])).to_vec();
                self.or(Cel::atom("null")).compare(Operator::In, Cel::List(falsy)).negated()
            }
        }
    }
}

/// Whether JMESPath takes a value as true.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

fn type_of<'a>(value: &Value) -> Ty<'a> {
    match value {
        Value::Null => Ty::Null,
        Value::Bool(_) => Ty::Bool,
        Value::Number(_) => Ty::Number,
        Value::String(text) => Ty::Text(!text.contains(['*', '?', '\n'])),
        Value::Array(items) => {
            let mut types = items.iter().map(type_of);
            let first = types.next().unwrap_or(Ty::Any);
            let same = types.all(|other| std::mem::discriminant(&other) == std::mem::discriminant(&first));
            Ty::List(Box::new(if same { first } else { Ty::Any }))
        }
        Value::Object(_) => Ty::Map(Box::new(Ty::Any)),
    }
}

/// A constant.
pub(super) fn literal(value: &Value) -> Cel {
    literal_with(value, &mut |_| None)
}

/// A constant with replaced parts: what `replace` has for a node is used for it.
pub(super) fn literal_with(value: &Value, replace: &mut dyn FnMut(&Value) -> Option<Cel>) -> Cel {
    if let Some(cel) = replace(value) {
        return cel;
    }
    match value {
        Value::Null => Cel::atom("null"),
        Value::Bool(value) => Cel::bool(*value),
        Value::Number(number) => Cel::atom(number_text(number)),
        Value::String(text) => Cel::text(&**text),
        Value::Array(items) => {
            let items: Vec<Cel> = items.iter().map(|item| literal_with(item, replace)).collect();
            Cel::List(homogeneous(items))
        }
        Value::Object(members) => {
            let (keys, values): (Vec<_>, Vec<_>) =
                members.iter().map(|(key, value)| (key.clone(), literal_with(value, replace))).unzip();
            let entries = keys.into_iter().zip(homogeneous(values));
            Cel::Map(
                entries.map(|(key, value)| Entry { key: Cel::text(&*key), value, optional: false }).collect(),
            )
        }
    }
}

/// A number; one with a fraction is a double.
fn number_text(number: &Number) -> String {
    match number.integer_text() {
        Some(text) => text,
        None => {
            let text = number.to_string();
            if text.contains(['.', 'e', 'E']) { text } else { format!("{text}.0") }
        }
    }
}

/// The static type of a part, as far as mixed lists and maps are concerned.
fn static_type(cel: &Cel) -> String {
    let of_items = |kind: &str, inner: Vec<String>| {
        let first = inner.first().cloned().unwrap_or_default();
        let same = inner.iter().all(|one| *one == first);
        format!("{kind}({})", if same { &*first } else { "dyn" })
    };
    let name = match cel {
        Cel::Atom(text) if text == "null" => "null",
        Cel::Atom(text) if text == "true" || text == "false" => "bool",
        Cel::Atom(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            if text.contains(['.', 'e', 'E']) { "double" } else { "int" }
        }
        Cel::Text(_) => "string",
        Cel::Call {
            name: "string" | "join" | "replace" | "substring" | "lowerAscii" | "upperAscii", ..
        } => "string",
        Cel::Call { name: "regex.replace" | "base64.encode" | "sha256", .. } => "string",
        Cel::Call { name: "int" | "size", .. } => "int",
        Cel::Call { name: "orValue" | "dyn", .. } => "dyn",
        Cel::Chain { operator: Operator::Plus, operands } => {
            if operands.iter().any(|part| static_type(part) == "string") {
                "string"
            } else {
                return format!("sum {cel}");
            }
        }
        Cel::List(items) => return of_items("list", items.iter().map(static_type).collect()),
        Cel::Map(entries) => {
            return of_items("map", entries.iter().map(|entry| static_type(&entry.value)).collect());
        }
        Cel::Member { .. } | Cel::Index { .. } if is_of_object(cel) => "dyn",
        // Not known: it goes with no other.
        _ => return format!("unknown {cel}"),
    };
    name.to_owned()
}

/// Whether it is a field of an object, whose type nobody declares.
fn is_of_object(cel: &Cel) -> bool {
    match cel {
        Cel::Member { of, .. } | Cel::Index { of, .. } => is_of_object(of),
        Cel::Atom(name) => name != "request" && name != "variables" && name != "namespaceObject",
        _ => false,
    }
}

/// Members of one map, of which some may be missing: mixed types are wrapped.
pub(super) fn homogeneous_members(entries: Vec<Entry<Cel>>) -> Vec<Entry<Cel>> {
    let type_of = |entry: &Entry<Cel>| {
        if entry.optional { optional_type(&entry.value) } else { Some(static_type(&entry.value)) }
    };
    let types: Vec<Option<String>> = entries.iter().map(type_of).collect();
    if types.iter().all(|one| types.first() == Some(one)) {
        return entries;
    }
    let wrap = |(entry, one): (Entry<Cel>, Option<String>)| match (one, entry.optional) {
        (Some(one), _) if one == "dyn" => entry,
        (Some(_), true) => Entry { value: wrapped(&entry.value), ..entry },
        _ => Entry { value: Cel::function("dyn", [entry.value]), ..entry },
    };
    entries.into_iter().zip(types).map(wrap).collect()
}

/// The static type of the value in an optional one.
fn optional_type(cel: &Cel) -> Option<String> {
    match cel {
        Cel::Call { of: None, name: "optional.of", arguments } => arguments.first().map(static_type),
        Cel::If { then, otherwise, .. } => optional_type(then).or_else(|| optional_type(otherwise)),
        Cel::Member { .. } | Cel::Index { .. } | Cel::Call { of: Some(_), name: "or", .. } => {
            Some("dyn".to_owned())
        }
        _ => None,
    }
}

/// An optional value whose own is wrapped.
fn wrapped(cel: &Cel) -> Cel {
    match cel {
        Cel::Call { of: None, name: name @ "optional.of", arguments } => {
            let wrap = |argument: &Cel| Cel::function("dyn", [argument.clone()]);
            Cel::Call { of: None, name, arguments: arguments.iter().map(wrap).collect() }
        }
        Cel::If { condition, then, otherwise } => Cel::If {
            condition: condition.clone(),
            then: Box::new(wrapped(then)),
            otherwise: Box::new(wrapped(otherwise)),
        },
        other => other.clone(),
    }
}

/// Elements of one list: mixed types are wrapped, because no policy may hold such a list.
pub(super) fn homogeneous(items: Vec<Cel>) -> Vec<Cel> {
    let types: Vec<_> = items.iter().map(static_type).collect();
    if types.iter().all(|one| types.first() == Some(one)) {
        return items;
    }
    let wrap = |(item, one): (Cel, String)| {
        if one == "dyn" { item } else { Cel::function("dyn", [item]) }
    };
    items.into_iter().zip(types).map(wrap).collect()
}
