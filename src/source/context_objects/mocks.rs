//! Mocks of a test suite: responses to calls, and data of global context entries.

use std::path::Path;

use crate::decode::Decoder;
use crate::engine::LookupError;
use crate::source::Location;
use crate::source::form::{fields, optional_text, source_errors};
use crate::source::text::read_documents;
use crate::value::{Pointer, Value};
use crate::yaml::Limits;

use super::Response;
use super::documents::{Reader, projections};
use super::global_entry::{EntrySource, GlobalEntry};

impl Reader<'_> {
    /// Adds `apiCallResponses` of a test suite.
    pub(super) fn responses(self) {
        let mut decoder = Decoder::default();
        let Some(root) = self.document.value() else { return };
        for (at, node) in decoder.list(root, &Pointer::ROOT, "apiCallResponses") {
            fields(&mut decoder, node, &at, &["url", "urlPath", "method", "response"]);
            let url = optional_text(&mut decoder, node, &at, "url");
            let path = optional_text(&mut decoder, node, &at, "urlPath");
            let method = optional_text(&mut decoder, node, &at, "method");
            if !["", "GET", "POST"].contains(&method) {
                decoder.error(&at.key("method"), "expected GET or POST");
            }
            let url = match (url, path) {
                (url, "") if url.starts_with("http://") || url.starts_with("https://") => url,
                ("", path) if path.starts_with('/') => path,
                (url, path) => {
                    let (at, message) = match (url, path) {
                        _ if url.is_empty() == path.is_empty() => {
                            (at, "exactly one of url, urlPath is needed")
                        }
                        (_, "") => {
                            (at.key("url"), "expected an address that begins with http:// or https://")
                        }
                        _ => (at.key("urlPath"), "expected a path that begins with /"),
                    };
                    decoder.error(&at, message);
                    continue;
                }
            };
            let response_at = at.key("response");
            let response = node.get("response").unwrap_or(&Value::Null);
            fields(&mut decoder, response, &response_at, &["statusCode", "body"]);
            let status = match response.get("statusCode") {
                None | Some(Value::Null) => 200,
                Some(Value::Number(number)) => match number.as_i64() {
                    Some(0) => 200,
                    status => status.unwrap_or_default(),
                },
                Some(_) => 0,
            };
            if !(100..600).contains(&status) {
                decoder.error(&response_at.key("statusCode"), "expected a number from 100 to 599");
            }
            let body = response.get("body").unwrap_or(&Value::Null);
            if body.is_null() {
                decoder.error(&response_at, "body is missing");
            }
            let response = Response { status, body: body.clone() };
            if self.files.responses.insert((method.into(), url.into()), response).is_some() {
                decoder.error(&at, "duplicate response to this call");
            }
        }
        self.errors.extend(source_errors(decoder.errors, self.document));
    }

    /// Adds `globalContextEntries` of a test suite.
    pub(super) fn global_entries(
        self,
        folder: &Path,
        search: &dyn Fn(&str, &Value) -> Result<Value, LookupError>,
        limits: &Limits,
    ) {
        let mut decoder = Decoder::default();
        let Some(root) = self.document.value() else { return };
        for (at, node) in decoder.list(root, &Pointer::ROOT, "globalContextEntries") {
            let known = ["name", "data", "resources", "resourceFiles", "fieldPath", "projections"];
            fields(&mut decoder, node, &at, &known);
            let has = |name: &str| node.get(name).is_some_and(|member| !member.is_null());
            if ["data", "resources", "resourceFiles"].iter().filter(|name| has(name)).count() != 1 {
                decoder.error(&at, "exactly one of data, resources, resourceFiles is needed");
            }
            let data = match node.get("data").filter(|data| !data.is_null()) {
                Some(data) => data.clone(),
                None => {
                    let inline = decoder.list(node, &at, "resources").into_iter().map(|(_, one)| one.clone());
                    let mut objects: Vec<Value> = inline.collect();
                    decoder.texts(node, &at, "resourceFiles");
                    for file in node.get("resourceFiles").and_then(Value::as_array).unwrap_or_default() {
                        let path = folder.join(file.as_str().unwrap_or_default());
                        match read_documents(&Location::File { path, named: true }, limits) {
                            Ok(documents) => {
                                objects.extend(documents.iter().filter_map(|one| one.value().cloned()));
                            }
                            Err(errors) => self.errors.extend(errors),
                        }
                    }
                    Value::array(objects)
                }
            };
            let projections = projections(&mut decoder, node, &at, "path");
            let data = match optional_text(&mut decoder, node, &at, "fieldPath") {
                "" => Ok(data),
                root => search(root, &data),
            };
            let data = data.and_then(|data| {
                if projections.is_empty() {
                    return Ok(data);
                }
                let projected =
                    projections.iter().map(|(name, path)| Ok((name.clone(), search(path, &data)?)));
                projected.collect::<Result<Value, LookupError>>()
            });
            if let Some(name) = decoder.required_text(node, &at, "name") {
                let entry = GlobalEntry { spec: spec(data.as_ref().ok()), source: EntrySource::Data(data) };
                if self.files.global_entries.insert(name.clone(), entry).is_some() {
                    decoder.error(&at, "duplicate global context entry with this name");
                }
            }
        }
        self.errors.extend(source_errors(decoder.errors, self.document));
    }
}

/// The `spec` of an entry whose projections are the members of its data.
fn spec(data: Option<&Value>) -> Value {
    let names = data.and_then(Value::as_object).into_iter().flat_map(|members| members.keys());
    // A quoted name is the expression of the member.
    let projections = names.map(|name| -> Value {
        let path = Value::String(name.clone()).to_json();
        [("name", Value::String(name.clone())), ("jmesPath", path.into())].into_iter().collect()
    });
    [("projections", Value::array(projections.collect()))].into_iter().collect()
}
