//! Context entries as variables.

use crate::value::{Pointer, Value};

use super::cel_text::{Cel, is_identifier};
use super::expression::{Mixed, Scope, template};
use super::path::{Base, Path};
use super::problem::{self, Problem, Refusal};
use super::projection::projected;
use super::ty::Ty;
use super::val::{Form, Val};

/// A variable of a policy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) cel: Cel,
}

/// With the entries as names, each in place of its name: for entries of loops.
pub(super) fn bound<'a>(
    entries: Option<&Value>,
    scope: &Scope<'a>,
    at: &Pointer,
) -> Result<Scope<'a>, Refusal> {
    let mut scope = scope.clone();
    let entries = problem::parts(entries, "context entries").map_err(|problem| problem.at(at))?;
    for (index, entry) in entries.iter().enumerate() {
        let value = value(entry, &scope, &at.index(index))?;
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        scope = scope.with(name, value);
    }
    Ok(scope)
}

/// With the entries as variables of the policy. `taken` are names of variables that exist.
pub(super) fn variables<'a>(
    entries: Option<&Value>,
    scope: &Scope<'a>,
    at: &Pointer,
    taken: &mut Vec<String>,
) -> Result<(Scope<'a>, Vec<Variable>), Refusal> {
    let mut scope = scope.clone();
    let mut variables = Vec::new();
    let entries = problem::parts(entries, "context entries").map_err(|problem| problem.at(at))?;
    for (index, entry) in entries.iter().enumerate() {
        let value = value(entry, &scope, &at.index(index))?;
        let written = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = variable_name(written, taken);
        if value.as_literal().is_some_and(Value::is_null) {
            let problem =
                Problem::new("a context entry that is null", "it is an error when it is used", "remove it");
            return Err(problem.at(&at.index(index)));
        }
        // A constant needs no variable.
        if matches!(value.form, Form::Literal(_)) {
            scope = scope.with(written, value);
            continue;
        }
        taken.push(name.clone());
        variables.push(Variable { name: name.clone(), cel: value.value() });
        let cel = Cel::atom("variables").member(&name);
        let fails = value.fails() || value.present().is_some();
        let base = match &value.form {
            Form::Path(path) => path.root_base(),
            _ => Base::Other,
        };
        // The names of a plain object are those of the object that is changed.
        let is_kept = matches!(base, Base::Objects | Base::Image { .. });
        let base = if is_kept { base } else { Base::Other };
        let bound = match value.ty {
            ty @ (Ty::Any | Ty::Map(_) | Ty::Object(_)) => {
                Val { ty: ty.clone(), form: Form::Path(Path::new(cel, ty, base)) }
            }
            ty => Val::failing(cel, ty, fails),
        };
        scope = scope.with(written, bound);
    }
    Ok((scope, variables))
}

/// A name that CEL takes.
pub(super) fn variable_name(written: &str, taken: &[String]) -> String {
    let mut name = String::new();
    let mut upper = false;
    for c in written.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => {
                name.push(if upper { c.to_ascii_uppercase() } else { c });
                upper = false;
            }
            _ => upper = !name.is_empty(),
        }
    }
    if !is_identifier(&name) {
        name = format!("v{name}");
    }
    if !taken.contains(&name) {
        return name;
    }
    (2..).map(|number| format!("{name}{number}")).find(|name| !taken.contains(name)).unwrap_or_default()
}

/// The value of an entry.
fn value<'a>(entry: &Value, scope: &Scope<'a>, at: &Pointer) -> Result<Val<'a>, Refusal> {
    if let Some(variable) = entry.get("variable") {
        return of_variable(variable, scope, &at.key("variable"));
    }
    let refuse_look_up = |reason: &str| {
        let advice = "keep the rule in the classic policy";
        Err(Problem::new("a context entry that looks something up", reason, advice).at(at))
    };
    if scope.is_native {
        return refuse_look_up("the API server looks nothing up for policies");
    }
    if scope.is_namespaced {
        return refuse_look_up(
            "a policy of a namespace looks up only objects of its namespace, and calls no services",
        );
    }
    if let Some(config_map) = entry.get("configMap") {
        let at = at.key("configMap");
        let part = |field: &str, default: &str| {
            let text = config_map.get(field).and_then(Value::as_str).unwrap_or(default);
            let problem = |problem: Problem| problem.at(&at.key(field));
            let value = Mixed::of(text, scope).and_then(Mixed::value).map_err(problem)?;
            super::expression::as_text(&value).map_err(problem)
        };
        let (name, namespace) = (part("name", "")?, part("namespace", "default")?);
        let arguments = [Cel::text("v1"), Cel::text("configmaps"), namespace, name];
        let cel = Cel::atom("resource").call("Get", arguments);
        let ty = Ty::Map(Box::new(Ty::Map(Box::new(Ty::TEXT))));
        return Ok(Val { ty: ty.clone(), form: Form::Path(Path::new(cel, ty, Base::Other)) });
    }
    if let Some(call) = entry.get("apiCall") {
        return super::api_call::value(call, scope, &at.key("apiCall"));
    }
    if let Some(reference) = entry.get("globalReference") {
        let name = reference.get("name").and_then(Value::as_str).unwrap_or_default();
        let cel = Cel::atom("globalContext").call("Get", [Cel::text(name), Cel::text("")]);
        let whole = Val { ty: Ty::Any, form: Form::Path(Path::new(cel, Ty::Any, Base::Other)) };
        return projected(reference.get("jmesPath"), whole, scope, &at.key("globalReference"));
    }
    if let Some(image) = entry.get("imageRegistry") {
        return super::image_registry::value(image, scope, &at.key("imageRegistry"));
    }
    Err(Problem::new("a context entry", "its kind is not known", "correct it").at(at))
}

fn of_variable<'a>(variable: &Value, scope: &Scope<'a>, at: &Pointer) -> Result<Val<'a>, Refusal> {
    let default = match variable.get("default").filter(|default| !default.is_null()) {
        Some(default) if super::expression::holds_variables(default) => {
            let text = default.as_str().unwrap_or_default();
            let problem = |problem: Problem| problem.at(&at.key("default"));
            Some(Mixed::of(text, scope).and_then(Mixed::value).map_err(problem)?)
        }
        Some(default) => Some(Val::literal(default.clone())),
        None => None,
    };
    let value = match variable.get("value").filter(|value| !value.is_null()) {
        Some(value) => {
            let below = at.key("value");
            let whole = match value {
                Value::String(text) => {
                    Mixed::of(text, scope).and_then(Mixed::value).map_err(|problem| problem.at(&below))?
                }
                value if super::expression::holds_variables(value) => {
                    let cel = super::overlay::json(value, scope, None, &below)?;
                    let ty = if value.as_array().is_some() {
                        Ty::List(Box::new(Ty::Any))
                    } else {
                        Ty::Map(Box::new(Ty::Any))
                    };
                    Val::failing(cel, ty, true)
                }
                value => Val::literal(value.clone()),
            };
            match variable.get("jmesPath").filter(|path| !path.is_null()) {
                None => return Ok(whole),
                Some(path) => projected(Some(path), whole, scope, at)?,
            }
        }
        None => {
            let text = variable.get("jmesPath").and_then(Value::as_str).unwrap_or_default();
            template(scope, text).map_err(|problem| problem.at(&at.key("jmesPath")))?
        }
    };
    let Some(default) = default else { return Ok(value) };
    let may_be_missing = !value.soft().is_true();
    if !may_be_missing {
        if value.fails() {
            return Err(Problem::new(
                "the default of an expression that may fail",
                "it is the value then, and CEL cannot catch an error",
                "give the parts of the expression defaults with `||`",
            )
            .at(&at.key("default")));
        }
        return Ok(value);
    }
    let ty = value.ty.clone();
    let cel = match &value.form {
        Form::Nullable { empty: Some(empty), .. }
            if default.as_literal().and_then(Value::as_array).is_some_and(<[Value]>::is_empty) =>
        {
            empty.clone()
        }
        _ => value.or(default.strict()),
    };
    let ty = match (&ty, &default.ty) {
        (Ty::Text(one), Ty::Text(other)) => Ty::Text(*one && *other),
        (Ty::List(_), Ty::List(_)) | (Ty::Number, Ty::Number) | (Ty::Bool, Ty::Bool) => ty,
        (Ty::Quantity, Ty::Text(_)) => Ty::TEXT,
        _ => Ty::Any,
    };
    Ok(Val::failing(cel, ty, default.fails()))
}
