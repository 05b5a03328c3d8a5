//! Projections of global context entries.

use std::fmt::Display;

use crate::semantics::Divergence;
use crate::value::Value;

use super::world::LookupError;

/// A projection without a result.
#[derive(Debug, thiserror::Error)]
#[error("projection {name}: {why}")]
pub(super) struct ProjectionError {
    pub(super) name: String,
    pub(super) why: String,
}

impl ProjectionError {
    pub(super) fn new(name: &str, why: &dyn Display) -> Self {
        Self { name: name.to_owned(), why: why.to_string() }
    }
}

/// The projection of this name of a global context entry with this `spec`, or without a name all its data. `search`
/// evaluates an expression on the data; `documented` tells whether the documentation is followed.
pub(super) fn project<E: Display>(
    spec: &Value,
    data: Value,
    projection: &str,
    search: impl Fn(&str) -> Result<Value, E>,
    documented: impl Fn(Divergence) -> bool,
) -> Result<Value, ProjectionError> {
    let text = |projection: &Value, name| projection.get(name)?.as_str().map(str::to_owned);
    let all: Vec<(String, String)> = spec
        .get("projections")
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(|projection| Some((text(projection, "name")?, text(projection, "jmesPath")?)))
        .collect();
    let found = if projection.is_empty() {
        data
    } else {
        let path = all.iter().rev().find(|(name, _)| name == projection).map(|(_, path)| path);
        let path = path.ok_or_else(|| ProjectionError::new(projection, &LookupError::NotFound))?;
        search(path).map_err(|error| ProjectionError::new(projection, &error))?
    };
    // In Kyverno the projections of an API call fail together; those of resources are evaluated one by one.
    if spec.get("apiCall").is_none_or(Value::is_null) {
        return Ok(found);
    }
    for (name, path) in all.iter().filter(|(name, _)| name != projection) {
        if let Err(error) = search(path)
            && !documented(Divergence::SpoiltEntry)
        {
            return Err(ProjectionError::new(name, &error));
        }
    }
    if found.is_null() && !documented(Divergence::NullProjection) {
        return Err(ProjectionError::new(projection, &"no data available"));
    }
    Ok(found)
}
