//! Loading one context entry: its variables are replaced, then its value is computed.

use std::borrow::Cow;
use std::fmt::Display;

use crate::diagnostics::{Code, Coded};
use crate::engine::classic::context::Context;
use crate::jmespath::EvalError;
use crate::policy::{ContextEntry, ContextSource};
use crate::value::{Text, Value};
use crate::variables::{Inline, LoadError, Query, QueryError, Scope as _, Template};

use super::Loaded;

/// A context entry that is being loaded.
pub(super) struct Loading<'x, 'c> {
    pub(super) context: &'x mut Context<'c>,
    pub(super) entry: &'x ContextEntry,
}

impl Loading<'_, '_> {
    pub(super) fn value(&mut self) -> Result<Loaded, LoadError> {
        let loaded = match &self.entry.source {
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
        Ok(match loaded {
            Loaded::Replacing(value) => Loaded::Replacing(self.check_limits(value)?),
            Loaded::Merging(value) => Loaded::Merging(self.check_limits(value)?),
            Loaded::Unchanged => Loaded::Unchanged,
        })
    }

    /// The value, if it is within the limits.
    fn check_limits(&self, value: Value) -> Result<Value, LoadError> {
        let name = &self.entry.name;
        let checked = self.context.runtime().allow(value);
        checked.map_err(|error| {
            self.failed(error.code(), &error, format!("failed to load context entry {name}: {error}"))
        })
    }

    /// An error of the entry with its text in Kyverno's words.
    pub(super) fn failed(&self, code: Code, error: &dyn Display, original: String) -> LoadError {
        let message = format!("context entry `{}`: {error}", self.entry.name);
        LoadError::Failed { code, message, original: Some(original) }
    }

    pub(super) fn substitute(&mut self, template: &Template) -> Result<Value, LoadError> {
        let settings = self.context.substitution(Inline::Path);
        match template.substitute(self.context, settings) {
            Ok(substituted) => Ok(substituted.value),
            Err(error) => {
                let words = error.original().unwrap_or_else(|| error.to_string());
                Err(self.not_substituted(error.code(), template, (&error.to_string(), &words)))
            }
        }
    }

    fn not_substituted(&self, code: Code, template: &Template, (error, words): (&str, &str)) -> LoadError {
        let source = template.source().as_str().map(|text| format!(" {text}")).unwrap_or_default();
        let name = &self.entry.name;
        let words = format!("failed to substitute variables in context entry {name}{source}: {words}");
        self.failed(code, &error, words)
    }

    pub(super) fn substitute_text(&mut self, template: &Template) -> Result<Text, LoadError> {
        match self.substitute(template)? {
            Value::String(text) => Ok(text),
            other => {
                let found = other.type_name();
                let error = format!("expected a string, found {found}");
                let words = format!("expected string, got {found}");
                Err(self.not_substituted(Code::ContextFailed, template, (&error, &words)))
            }
        }
    }

    /// An expression with its variables replaced.
    pub(super) fn substitute_query<'t>(
        &mut self,
        template: &'t Template,
    ) -> Result<Cow<'t, Query>, LoadError> {
        if let Some(query) = template.fixed_query() {
            self.context.tracker().reach_all(template.divergences());
            return Ok(Cow::Borrowed(query));
        }
        match self.substitute(template)? {
            Value::String(text) => Ok(Cow::Owned(Query::new(&text))),
            _ => {
                let source = template.source().as_str().unwrap_or_default();
                let words = format!("jmespath value must be a string {} {source}", self.entry.name);
                let error = format!("the jmesPath `{source}` must become a string");
                Err(self.failed(Code::ContextFailed, &error, words))
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
        let query = path.map(|path| self.substitute_query(path)).transpose()?;
        let default = default.map(|default| self.substitute(default)).transpose()?.unwrap_or_default();
        let found = match (value, &query) {
            (Some(value), None) => Ok(self.substitute(value)?),
            (Some(value), Some(query)) => {
                let value = self.substitute(value)?;
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
                let words = error.words_of_kyverno();
                let words = format!("failed to apply jmespath {path} to variable {name}: {words}");
                let plain = format!("no value for `{path}`: {error}");
                return Err(self.failed(error.code(), &plain, words));
            }
            Err(_) => default,
        };
        if found.is_null() {
            let words = format!("failed to add context entry for variable {name} since it evaluated to nil");
            return Err(self.failed(Code::ContextFailed, &"its value is null", words));
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

impl Coded for SearchError {
    fn code(&self) -> Code {
        match self {
            Self::Query(error) => error.code(),
            Self::Evaluation(error) => error.code(),
        }
    }
}

impl SearchError {
    /// Its text in Kyverno's words.
    pub(super) fn words_of_kyverno(&self) -> String {
        let words = match self {
            Self::Query(error) => error.original(),
            Self::Evaluation(error) => error.original(),
        };
        words.unwrap_or_else(|| self.to_string())
    }

    /// The exceeded limit, if that is the cause, in the innermost known entry; `entry` is the one that is loaded.
    fn limit(&self, entry: &Text) -> Option<LoadError> {
        match self {
            Self::Query(QueryError::Load(limit @ LoadError::Limit { .. })) => Some(limit.clone()),
            Self::Query(QueryError::Failed(EvalError::Limit { limit, max }))
            | Self::Evaluation(EvalError::Limit { limit, max }) => {
                Some(LoadError::Limit { limit: *limit, max: *max, entry: entry.clone() })
            }
            _ => None,
        }
    }
}
