//! How often a policy runs on an object: once for each binding and parameter.

use crate::diagnostics::Code;
use crate::engine::evaluation::Evaluation;
use crate::engine::lookups::lookup;
use crate::engine::{LookupError, LookupSource};
use crate::policy::{Binding, CelPolicy, NotFound, Operation, ParamRef};
use crate::report::RuleError;
use crate::resources::KindScope;
use crate::value::{GroupVersionKind, Pointer, Value};

/// One run of a policy on an object.
pub(super) struct Invocation<'p> {
    /// The binding; `None` for a policy that needs none, or that is evaluated without.
    pub(super) binding: Option<&'p Binding>,
    /// The parameter; null for none.
    pub(super) params: Value,
}

/// The runs of a policy on an object. Without any binding a policy runs as if bound to everything.
///
/// # Errors
///
/// Parameters that are required and do not exist, or that are not known.
pub(super) fn invocations<'p>(
    evaluation: &Evaluation<'_>,
    policy: &'p CelPolicy,
    operation: Operation,
) -> Result<Vec<Invocation<'p>>, RuleError> {
    let Some(bindings) = &policy.bindings else {
        return Ok(vec![Invocation { binding: None, params: Value::Null }]);
    };
    let candidate = evaluation.candidate(&evaluation.placed.object, Some(operation));
    let mut all = Vec::new();
    for binding in bindings {
        let constraints = binding.constraints.as_ref();
        if constraints.is_some_and(|constraints| constraints.depends_on_namespace(&candidate, evaluation.old))
        {
            evaluation.note_needs(true, false);
        }
        if constraints.is_some_and(|constraints| !constraints.selects(&candidate, evaluation.old)) {
            continue;
        }
        let (Some(kind), Some(param_ref)) = (&policy.param_kind, &binding.param_ref) else {
            all.push(Invocation { binding: Some(binding), params: Value::Null });
            continue;
        };
        let at = Pointer::ROOT.key("spec").key("paramKind");
        let found = params(evaluation, kind, param_ref)
            .map_err(|cause| cause.error(binding, kind, param_ref).at(&at, None))?;
        if found.is_empty() && param_ref.not_found == NotFound::Deny {
            let text = format!(
                "binding {}: no {} is found, and `parameterNotFoundAction` is Deny",
                binding.name, kind.kind
            );
            return Err(RuleError::new(Code::NoParams, text).at(&at, None));
        }
        all.extend(found.into_iter().map(|params| Invocation { binding: Some(binding), params }));
    }
    Ok(all)
}

/// Why parameters are not known.
enum ParamsError {
    /// Those of a namespaced kind have no namespace.
    NoNamespace,
    /// Those of a cluster-scoped kind are referred to with one.
    Namespace,
    Lookup(LookupError),
}

impl ParamsError {
    fn error(self, binding: &Binding, kind: &GroupVersionKind, param_ref: &ParamRef) -> RuleError {
        let name = param_ref.name.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
        let subject = format!("binding {}: parameter {}{name}", binding.name, kind.kind);
        match self {
            Self::NoNamespace => {
                let text = format!("{subject}: the object has no namespace, and `paramRef` names none");
                RuleError::new(Code::NoParams, text)
            }
            Self::Namespace => {
                let text = format!("{subject}: `paramRef` names a namespace, and the kind is cluster-scoped");
                RuleError::new(Code::NoParams, text)
            }
            Self::Lookup(error) => RuleError::new(Code::NoParams, format!("{subject}: {error}"))
                .with_hint("pass the parameters with --context-from FILE"),
        }
    }
}

/// The objects that a reference selects, sorted by name.
fn params(
    evaluation: &Evaluation<'_>,
    kind: &GroupVersionKind,
    param_ref: &ParamRef,
) -> Result<Vec<Value>, ParamsError> {
    let resource = evaluation.world.resource(kind);
    let api = if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    };
    let namespace = match (&param_ref.namespace, resource.scope) {
        (Some(_), KindScope::Cluster) => return Err(ParamsError::Namespace),
        (None, KindScope::Cluster) => String::new(),
        (Some(namespace), _) => format!("/namespaces/{namespace}"),
        (None, _) => match evaluation.namespace_of_request() {
            "" => return Err(ParamsError::NoNamespace),
            namespace => format!("/namespaces/{namespace}"),
        },
    };
    let mut path = format!("{api}{namespace}/{}", resource.plural);
    if let Some(name) = &param_ref.name {
        path = format!("{path}/{name}");
    }
    let found = match lookup(evaluation.world, evaluation.taint, LookupSource::Api(&path)) {
        Ok(found) => found,
        Err(LookupError::NotFound) => return Ok(Vec::new()),
        Err(error) => return Err(ParamsError::Lookup(error)),
    };
    if param_ref.name.is_some() {
        return Ok(vec![found]);
    }
    let items = found.get("items").and_then(Value::as_array).unwrap_or_default();
    let mut selected: Vec<Value> = items.iter().filter(|item| param_ref.selects(item)).cloned().collect();
    let name = |item: &Value| item.path(&["metadata", "name"]).and_then(Value::as_text).cloned();
    selected.sort_by_cached_key(name);
    Ok(selected)
}
