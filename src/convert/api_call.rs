//! Calls of the API as look-ups.

use crate::value::{Pointer, Value};

use super::cel_text::{Cel, concatenation};
use super::expression::{Mixed, Scope, as_text};
use super::path::{Base, Path};
use super::problem::{Problem, Refusal};
use super::projection::projected;
use super::ty::Ty;
use super::val::{Form, Val};

/// The value of an `apiCall`.
pub(super) fn value<'a>(call: &Value, scope: &Scope<'a>, at: &Pointer) -> Result<Val<'a>, Refusal> {
    let refuse = |construct: &str, reason: &str| {
        Err(Problem::new(construct.to_owned(), reason, "keep the rule in the classic policy").at(at))
    };
    if call.get("service").is_some_and(|service| !service.is_null()) {
        return refuse(
            "a call of a service",
            "CEL wraps the answer and the status code, and policies of a namespace have no `http`",
        );
    }
    if call.get("method").and_then(Value::as_str).is_some_and(|method| method != "GET") {
        return refuse("a call with POST", "`resource` has only look-ups with the verb GET");
    }
    if call.get("default").is_some_and(|default| !default.is_null()) {
        return refuse("the default of an `apiCall`", "CEL cannot catch the error of a look-up");
    }
    let text = call.get("urlPath").and_then(Value::as_str).unwrap_or_default();
    if text.contains(['?', '%']) {
        return refuse("a query in `urlPath`", "`resource` has no field selectors and limits");
    }
    let rest = text.trim_start_matches('/');
    let pieces = split(rest);
    let parts: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let (group_version, below) = match parts.as_slice() {
        ["api", version, below @ ..] => ((*version).to_owned(), below),
        ["apis", group, version, below @ ..] => (format!("{group}/{version}"), below),
        _ => return refuse("a raw path in `urlPath`", "`resource` looks up objects only"),
    };
    let problem = |problem: Problem| problem.at(&at.key("urlPath"));
    let part = |text: &str| {
        let value = Mixed::of(text, scope).and_then(Mixed::value).map_err(problem)?;
        as_text(&value).map_err(problem)
    };
    let version = concatenation(vec![part(&group_version)?]);
    let (method, arguments) = match below {
        ["namespaces", namespace, plural] => ("List", vec![version, part(plural)?, part(namespace)?]),
        ["namespaces", namespace, plural, name] => {
            ("Get", vec![version, part(plural)?, part(namespace)?, part(name)?])
        }
        [plural] => ("List", vec![version, part(plural)?, Cel::text("")]),
        [plural, name] => ("Get", vec![version, part(plural)?, Cel::text(""), part(name)?]),
        _ => return refuse("a subresource in `urlPath`", "`resource` looks up objects only"),
    };
    let cel = Cel::atom("resource").call(method, arguments);
    let base = if method == "List" { Base::Objects } else { Base::Other };
    // The members of what is looked up have a type that no loop visits.
    let cel = if method == "List" { Cel::function("dyn", [cel]) } else { cel };
    let whole = Val { ty: Ty::Any, form: Form::Path(Path::new(cel, Ty::Any, base)) };
    projected(call.get("jmesPath"), whole, scope, at)
}

/// The pieces between slashes that are outside of variables.
fn split(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => {
                pieces.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = pieces.last_mut() {
            last.push(c);
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}
