//! GET requests to the API server, parsed from their paths.

use crate::engine::LookupError;
use crate::resources::GroupVersionResource;

use super::field_query::FieldQuery;
use super::label_query::LabelQuery;

/// A GET of an object or a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) resource: GroupVersionResource,
    pub(super) namespace: Option<String>,
    /// The name of the object; `None` for a list.
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    query: Vec<(String, String)>,
}

impl Request {
    /// Parses a path; `None` for one that names no objects.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let segments: Vec<String> =
            path.split('/').filter(|segment| !segment.is_empty()).map(percent_decoded).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match *segments {
            ["api", version, ref rest @ ..] => ("", version, rest),
            ["apis", group, version, ref rest @ ..] => (group, version, rest),
            _ => return None,
        };
        let (plural, namespace, name, subresource) = match *rest {
            ["namespaces", name, subresource @ ("status" | "finalize")] => {
                ("namespaces", None, Some(name), Some(subresource))
            }
            ["namespaces", namespace, plural] => (plural, Some(namespace), None, None),
            ["namespaces", namespace, plural, name] => (plural, Some(namespace), Some(name), None),
            ["namespaces", namespace, plural, name, subresource] => {
                (plural, Some(namespace), Some(name), Some(subresource))
            }
            [plural] => (plural, None, None, None),
            [plural, name] => (plural, None, Some(name), None),
            [plural, name, subresource] => (plural, None, Some(name), Some(subresource)),
            _ => return None,
        };
        let query = query.split('&').filter(|parameter| !parameter.is_empty()).map(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (name.to_owned(), percent_decoded(&value.replace('+', " ")))
        });
        Some(Self {
            resource: GroupVersionResource {
                group: group.into(),
                version: version.into(),
                plural: plural.into(),
            },
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
            query: query.collect(),
        })
    }

    /// Which objects of a list are returned.
    ///
    /// # Errors
    ///
    /// Invalid selectors, and parameters whose effect is not known.
    pub(super) fn filter(&self) -> Result<ListFilter, LookupError> {
        let mut filter = ListFilter { labels: None, fields: None, limit: usize::MAX };
        for (name, value) in self.query.iter().rev() {
            match &**name {
                "labelSelector" => filter.labels = Some(LabelQuery::parse(value)?),
                "fieldSelector" => {
                    let GroupVersionResource { group, plural, .. } = &self.resource;
                    filter.fields = Some(FieldQuery::parse(value, group, plural)?);
                }
                "limit" => {
                    let limit = value.parse().map_err(|_| {
                        LookupError::Unanswerable("the query parameter limit is no number".into())
                    })?;
                    filter.limit = if limit == 0 { usize::MAX } else { limit };
                }
                // Age, format and timeout of the response.
                "resourceVersion" | "resourceVersionMatch" | "timeoutSeconds" | "pretty" => {}
                other => {
                    let message = format!("the query parameter {other} is not evaluated");
                    return Err(LookupError::Unanswerable(message));
                }
            }
        }
        Ok(filter)
    }
}

/// Which objects of a list are returned.
#[derive(Debug)]
pub(super) struct ListFilter {
    pub(super) labels: Option<LabelQuery>,
    pub(super) fields: Option<FieldQuery>,
    /// The most objects of the page.
    pub(super) limit: usize,
}

/// Decodes `%` escapes; a `%` without two hexadecimal digits stays.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_the_rest_stays() {
        for (text, expected) in [("a%3Db", "a=b"), ("100%", "100%"), ("%zz", "%zz"), ("%C3%A9", "é")] {
            assert_eq!(percent_decoded(text), expected);
        }
    }
}
