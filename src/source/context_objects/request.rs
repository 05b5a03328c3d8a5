//! What a GET of a path asks the API server for.

use crate::engine::LookupError;

use super::field_query::FieldQuery;
use super::label_query::LabelQuery;
use super::names::percent_decoded;

/// Group, version and the plural of the kind in small letters.
pub(super) type Resource = (String, String, String);

/// A path, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) resource: Resource,
    /// The namespace that the path names.
    pub(super) namespace: Option<String>,
    /// The object that it names; a list without.
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    query: Vec<(String, String)>,
}

impl Request {
    /// Reads a path; `None` for one that names no objects.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(percent_decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (plural, namespace, name, subresource) = match rest {
            ["namespaces", name, part @ ("status" | "finalize")] => {
                ("namespaces", None, Some(name), Some(part))
            }
            ["namespaces", namespace, plural] => (*plural, Some(namespace), None, None),
            ["namespaces", namespace, plural, name] => (*plural, Some(namespace), Some(name), None),
            ["namespaces", namespace, plural, name, part] => {
                (*plural, Some(namespace), Some(name), Some(part))
            }
            [plural] => (*plural, None, None, None),
            [plural, name] => (*plural, None, Some(name), None),
            [plural, name, part] => (*plural, None, Some(name), Some(part)),
            _ => return None,
        };
        let owned = |part: &&str| (*part).to_owned();
        let query = query.split('&').filter(|part| !part.is_empty()).map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.to_owned(), percent_decoded(&value.replace('+', " ")))
        });
        Some(Self {
            resource: (group.to_owned(), version.to_owned(), plural.to_owned()),
            namespace: namespace.map(owned),
            name: name.map(owned),
            subresource: subresource.map(owned),
            query: query.collect(),
        })
    }

    /// Which objects of a list are wanted.
    ///
    /// # Errors
    ///
    /// Selectors that cannot be read, and parameters that change the answer in a way that is not known here.
    pub(super) fn wanted(&self) -> Result<Wanted, LookupError> {
        let mut wanted = Wanted { labels: None, fields: None, most: usize::MAX };
        let (group, _, plural) = &self.resource;
        for (name, value) in self.query.iter().rev() {
            match &**name {
                "labelSelector" => {
                    wanted.labels = Some(LabelQuery::parse(value).map_err(LookupError::Unanswerable)?);
                }
                "fieldSelector" => {
                    let fields = FieldQuery::parse(value, (group, plural));
                    wanted.fields = Some(fields.map_err(LookupError::Unanswerable)?);
                }
                "limit" => {
                    let limit = value.parse().map_err(|_| {
                        LookupError::Unanswerable("the query parameter limit is no number".into())
                    })?;
                    wanted.most = if limit == 0 { usize::MAX } else { limit };
                }
                // They change how old an answer may be, how it looks, and how long it takes.
                "resourceVersion" | "resourceVersionMatch" | "timeoutSeconds" | "pretty" => {}
                other => {
                    let message = format!("the query parameter {other} is not evaluated");
                    return Err(LookupError::Unanswerable(message));
                }
            }
        }
        Ok(wanted)
    }
}

/// Which objects of a list are wanted.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) labels: Option<LabelQuery>,
    pub(super) fields: Option<FieldQuery>,
    /// How many at most.
    pub(super) most: usize,
}
