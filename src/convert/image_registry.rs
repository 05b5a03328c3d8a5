//! Look-ups of the metadata of images.

use crate::value::{Pointer, Value};

use super::cel_text::Cel;
use super::expression::{Mixed, Scope};
use super::path::{Base, Path};
use super::problem::{Problem, Refusal};
use super::projection::projected;
use super::ty::Ty;
use super::val::Val;

/// The value of an `imageRegistry`.
pub(super) fn value<'a>(entry: &Value, scope: &Scope<'a>, at: &Pointer) -> Result<Val<'a>, Refusal> {
    let refuse = |construct: &str, reason: &str, at: &Pointer| {
        Err(Problem::new(construct, reason, "keep the rule in the classic policy").at(at))
    };
    if entry.get("imageRegistryCredentials").is_some_and(|credentials| !credentials.is_null()) {
        return refuse("credentials of a registry", "`image.GetMetadata` takes none", at);
    }
    let text = entry.get("reference").and_then(Value::as_str).unwrap_or_default();
    let at_reference = at.key("reference");
    let reference =
        Mixed::of(text, scope).and_then(Mixed::value).map_err(|problem| problem.at(&at_reference))?;
    if !reference.ty.is_text() || reference.present().is_some() {
        return refuse(
            &format!("the reference `{text}`"),
            "the schema does not say that it is a text, and others are errors of the classic rule",
            &at_reference,
        );
    }
    let is_tagged = reference.as_literal().and_then(Value::as_str).is_some_and(|text| !text.contains('@'));
    let cel = Cel::atom("image").call("GetMetadata", [reference.strict()]);
    let whole = Val::path(Path::new(cel, Ty::Any, Base::Image { is_tagged }));
    projected(entry.get("jmesPath"), whole, scope, at)
}
