//! Functions over versions, images and addresses.

use crate::formats::url::{Url, is_external};
use crate::jmespath::error::SearchResult;
use crate::jmespath::image::ImageReference;
use crate::jmespath::semver::Range;
use crate::value::{Value, Version};

use super::signature::STRING;
use super::{Function, Invocation};

/// The registry of images without one.
const DEFAULT_REGISTRY: &str = "docker.io";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("image_normalize", &[STRING], "string", image_normalize)
        .describe("an image reference with registry and tag written out"),
    Function::own("is_external_url", &[STRING], "boolean", is_external_url).describe(
        "whether the address of a URL is neither private nor of this host; names are not looked up",
    ),
    Function::own("semver_compare", &[STRING, STRING], "boolean", semver_compare)
        .describe("whether a version lies in a range such as `>=1.2.0 <2.0.0 || 3.x`"),
];

fn image_normalize(call: &Invocation<'_>) -> SearchResult {
    let image = ImageReference::parse(call.text(0), DEFAULT_REGISTRY).map_err(|error| call.fail(error))?;
    call.text_result(image.reference)
}

fn is_external_url(call: &Invocation<'_>) -> SearchResult {
    let text = call.text(0);
    let url = Url::parse(text).map_err(|why| call.fail_plainly(format_args!("parse {text:?}: {why}")))?;
    let host = url.hostname();
    match is_external(host) {
        Some(external) => Ok(Value::Bool(external)),
        None => Err(call.fail_plainly(format_args!("lookup {host}: names are not looked up in DNS here"))),
    }
}

fn semver_compare(call: &Invocation<'_>) -> SearchResult {
    // In Kyverno, a text that is no version is 0.0.0.
    let version = Version::parse(call.text(0)).unwrap_or_default();
    let range = Range::parse(call.text(1)).map_err(|error| call.fail_plainly(error))?;
    Ok(Value::Bool(range.contains(&version)))
}
