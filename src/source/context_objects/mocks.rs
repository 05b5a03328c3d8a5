//! What a test suite lists itself: answers to calls, and data of global context entries.

use std::path::Path;

use crate::source::Location;
use crate::source::strict::Strict;
use crate::source::text::read_documents;
use crate::value::{Pointer, Value};
use crate::yaml::Limits;

use super::documents::{Reader, projections};
use super::globals::{Global, Origin};
use super::responses::Response;

impl Reader<'_> {
    /// Takes `apiCallResponses` of a test suite.
    pub(super) fn responses(self) {
        let mut strict = Strict::new(self.document);
        let Some(root) = self.document.value() else { return };
        for (at, node) in strict.list(root, &Pointer::ROOT, "apiCallResponses") {
            strict.fields(node, &at, &["url", "urlPath", "method", "response"]);
            let url = strict.optional_text(node, &at, "url").filter(|url| !url.is_empty());
            let path = strict.optional_text(node, &at, "urlPath").filter(|path| !path.is_empty());
            let method = strict.optional_text(node, &at, "method").unwrap_or_default();
            if !["", "GET", "POST"].contains(&method) {
                strict.fault(&at.key("method"), "expected GET or POST");
            }
            let url = match (url, path) {
                (Some(url), None) if url.starts_with("http://") || url.starts_with("https://") => url,
                (None, Some(path)) if path.starts_with('/') => path,
                (Some(_), None) => {
                    strict.fault(&at.key("url"), "expected an address that begins with http:// or https://");
                    continue;
                }
                (None, Some(_)) => {
                    strict.fault(&at.key("urlPath"), "expected a path that begins with /");
                    continue;
                }
                _ => {
                    strict.fault(&at, "exactly one of url, urlPath is needed");
                    continue;
                }
            };
            let response_at = at.key("response");
            let response = node.get("response").unwrap_or(&Value::Null);
            strict.fields(response, &response_at, &["statusCode", "body"]);
            let status = match response.get("statusCode") {
                None | Some(Value::Null) => 200,
                Some(Value::Number(number)) => match number.as_i64() {
                    Some(0) => 200,
                    status => status.unwrap_or_default(),
                },
                Some(_) => 0,
            };
            if !(100..600).contains(&status) {
                strict.fault(&response_at.key("statusCode"), "expected a number from 100 to 599");
            }
            let body = response.get("body").unwrap_or(&Value::Null);
            if body.is_null() {
                strict.fault(&response_at, "body is missing");
            }
            let response = Response { status, body: body.clone() };
            if !self.given.responses.add(method.into(), url.into(), response) {
                strict.fault(&at, "an answer to this call stands twice");
            }
        }
        self.faults.extend(strict.finish());
    }

    /// Takes `globalContextEntries` of a test suite.
    pub(super) fn global_values(
        self,
        folder: &Path,
        search: &dyn Fn(&str, &Value) -> Result<Value, String>,
        limits: &Limits,
    ) {
        let mut strict = Strict::new(self.document);
        let Some(root) = self.document.value() else { return };
        for (at, node) in strict.list(root, &Pointer::ROOT, "globalContextEntries") {
            let known = ["name", "data", "resources", "resourceFiles", "fieldPath", "projections"];
            strict.fields(node, &at, &known);
            let given = |name: &str| node.get(name).is_some_and(|part| !part.is_null());
            if ["data", "resources", "resourceFiles"].iter().filter(|name| given(name)).count() != 1 {
                strict.fault(&at, "exactly one of data, resources, resourceFiles is needed");
            }
            let data = match node.get("data").filter(|data| !data.is_null()) {
                Some(data) => data.clone(),
                None => {
                    let inline = strict.list(node, &at, "resources").into_iter().map(|(_, one)| one.clone());
                    let mut objects: Vec<Value> = inline.collect();
                    strict.texts(node, &at, "resourceFiles");
                    for file in node.get("resourceFiles").and_then(Value::as_array).unwrap_or_default() {
                        let path = folder.join(file.as_str().unwrap_or_default());
                        match read_documents(&Location::File { path, named: true }, limits) {
                            Ok(documents) => {
                                objects.extend(documents.iter().filter_map(|one| one.value().cloned()));
                            }
                            Err(errors) => self.faults.extend(errors),
                        }
                    }
                    Value::array(objects)
                }
            };
            let projections = projections(&mut strict, node, &at, "path");
            let root = strict.optional_text(node, &at, "fieldPath").filter(|path| !path.is_empty());
            let data = root.map_or(Ok(data.clone()), |root| search(root, &data)).and_then(|data| {
                if projections.is_empty() {
                    return Ok(data);
                }
                let projected =
                    projections.iter().map(|(name, path)| Ok((name.clone(), search(path, &data)?)));
                projected.collect::<Result<Value, String>>()
            });
            if let Some(name) = strict.text(node, &at, "name") {
                let global = Global { spec: members(data.as_ref().ok()), origin: Origin::Data(data) };
                if !self.given.globals.add(name.clone(), global) {
                    strict.fault(&at, "a global context entry with this name stands twice");
                }
            }
        }
        self.faults.extend(strict.finish());
    }
}

/// What an entry says whose projections are the members of its data.
fn members(data: Option<&Value>) -> Value {
    let names = data.and_then(Value::as_object).into_iter().flat_map(|members| members.keys());
    // A quoted name takes the member.
    let projections = names.map(|name| -> Value {
        let path = Value::String(name.clone()).to_json();
        [("name", Value::String(name.clone())), ("jmesPath", path.into())].into_iter().collect()
    });
    [("projections", Value::array(projections.collect()))].into_iter().collect()
}
