//! One entry: its parts replaced, its value computed.

use crate::policy::{ContextEntry, ContextSource};
use crate::value::{Text, Value};
use crate::variables::{Inline, LoadError, Query, QueryError, Scope as _, Substitution, Template};

use super::Loaded;
use crate::engine::classic::context::Context;
use crate::jmespath::EvalError;

/// An entry that is being loaded.
pub(super) struct Loading<'x, 'c> {
    pub(super) context: &'x mut Context<'c>,
    pub(super) entry: &'x ContextEntry,
}

impl Loading<'_, '_> {
    pub(super) fn value(&mut self) -> Result<Loaded, LoadError> {
        let entry = self.entry;
        let loaded = match &entry.source {
            ContextSource::Variable { value, jmes_path, default } => {
                self.variable(value.as_ref(), jmes_path.as_ref(), default.as_ref()).map(Loaded::Replacing)?
            }
            ContextSource::ConfigMap { name, namespace } => self.config_map(name, namespace)?,
            ContextSource::ApiCall { call, default } => self.api_call(call, default.as_ref())?,
            ContextSource::ImageRegistry { reference, jmes_path } => {
                self.image(reference, jmes_path.as_ref())?
            }
            ContextSource::GlobalReference { name, jmes_path } => self.global(name, jmes_path.as_ref())?,
        };
        match loaded {
            Loaded::Replacing(value) => Ok(Loaded::Replacing(self.allowed(value)?)),
            Loaded::Merging(value) => Ok(Loaded::Merging(self.allowed(value)?)),
            Loaded::Given => Ok(Loaded::Given),
        }
    }

    pub(super) fn allowed(&self, value: Value) -> Result<Value, String> {
        let name = &self.entry.name;
        self.context
            .runtime()
            .allow(value)
            .map_err(|error| format!("failed to load context entry {name}: {error}"))
    }

    pub(super) fn settings(&self) -> Substitution<'_> {
        self.context.substitution(Inline::Path)
    }

    pub(super) fn substituted(&mut self, template: &Template) -> Result<Value, String> {
        let settings = self.context.substitution(Inline::Path);
        let replaced = template.substitute(self.context, settings);
        replaced
            .map(|replaced| replaced.value)
            .map_err(|error| self.not_substituted(template, &error.to_string()))
    }

    fn not_substituted(&self, template: &Template, error: &str) -> String {
        let written = template.source().as_str().map(|text| format!(" {text}")).unwrap_or_default();
        format!("failed to substitute variables in context entry {}{written}: {error}", self.entry.name)
    }

    pub(super) fn text(&mut self, template: &Template) -> Result<Text, String> {
        match self.substituted(template)? {
            Value::String(text) => Ok(text),
            other => {
                Err(self.not_substituted(template, &format!("expected string, got {}", other.type_name())))
            }
        }
    }

    /// An expression, once the variables in it are replaced.
    pub(super) fn path(&mut self, template: &Template) -> Result<Query, String> {
        let semantics = self.settings().tracker.semantics();
        match self.substituted(template)? {
            Value::String(text) => Ok(Query::new(&text, semantics)),
            _ => {
                let written = template.source().as_str().unwrap_or_default();
                Err(format!("jmespath value must be a string {} {written}", self.entry.name))
            }
        }
    }

    pub(super) fn search(&self, query: &Query, value: &Value) -> Result<Value, SearchError> {
        Ok(query.expression()?.search(value, self.context.runtime())?)
    }

    fn variable(
        &mut self,
        value: Option<&Template>,
        path: Option<&Template>,
        default: Option<&Template>,
    ) -> Result<Value, LoadError> {
        let query = path.map(|path| self.path(path)).transpose()?;
        let default = default.map(|default| self.substituted(default)).transpose()?.unwrap_or_default();
        let found = match (value, &query) {
            (Some(value), None) => Ok(self.substituted(value)?),
            (Some(value), Some(query)) => {
                let value = self.substituted(value)?;
                self.search(query, &value)
            }
            (None, Some(query)) => match self.context.query(query) {
                Ok(Value::Null) => Ok(default.clone()),
                Ok(found) => Ok(found),
                Err(error) => Err(error.into()),
            },
            (None, None) => Ok(default.clone()),
        };
        let name = &self.entry.name;
        let found = match found {
            Ok(found) => found,
            Err(error) if default.is_null() => {
                if let Some(limit) = error.limit(name) {
                    return Err(limit);
                }
                let path = query.as_ref().map(|query| query.text().clone()).unwrap_or_default();
                return Err(format!("failed to apply jmespath {path} to variable {name}: {error}").into());
            }
            Err(_) => default,
        };
        if found.is_null() {
            return Err(
                format!("failed to add context entry for variable {name} since it evaluated to nil").into()
            );
        }
        Ok(found)
    }
}

/// Why an expression of an entry has no value.
#[derive(Debug, thiserror::Error)]
pub(super) enum SearchError {
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    Evaluation(#[from] EvalError),
}

impl SearchError {
    /// The limit that was passed, if one was, in the innermost entry that is known; `entry` is the one that loads.
    fn limit(&self, entry: &Text) -> Option<LoadError> {
        match self {
            Self::Query(QueryError::Load(limit @ LoadError::Limit { .. })) => Some(limit.clone()),
            Self::Query(QueryError::Failed(EvalError::Limit { limit, most }))
            | Self::Evaluation(EvalError::Limit { limit, most }) => {
                Some(LoadError::Limit { limit: *limit, most: *most, entry: entry.clone() })
            }
            _ => None,
        }
    }
}
