//! `MutatingAdmissionPolicyBinding`.

use crate::policy::PolicyError;
use crate::policy::error::in_document_order;
use crate::policy::fields::{filled, given, string, text};
use crate::policy::labels::{LabelSelector, Labels};
use crate::value::{Pointer, Text, Value};

use super::checks::check_constraints;
use super::findings::Findings;
use super::{CelPolicyKind, MatchConstraints, names, schema};

/// What makes a `MutatingAdmissionPolicy` act, and its parameters.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Its name.
    pub name: Text,
    /// The name of its policy.
    pub policy: Text,
    /// Which objects are the parameters.
    pub param_ref: Option<ParamRef>,
    /// The requests among those of the policy.
    pub constraints: Option<MatchConstraints>,
}

/// Which objects are the parameters of a policy.
#[derive(Clone, Debug)]
pub struct ParamRef {
    /// The name of the only one.
    pub name: Option<Text>,
    pub(super) selector: Option<LabelSelector>,
    /// Their namespace; by default that of the request.
    pub namespace: Option<Text>,
    /// What happens if there is none.
    pub not_found: NotFound,
}

/// What happens if a policy has no parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// The policy does nothing.
    Allow,
    /// The request is denied.
    Deny,
}

impl Binding {
    /// Reads a binding strictly.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn parse(document: &Value) -> Result<Self, Vec<PolicyError>> {
        let mut findings = Findings::of(document)?;
        schema::check_binding(document, &mut findings.errors);
        let spec = document.get("spec").unwrap_or(&Value::Null);
        let at = Pointer::ROOT.key("spec");
        names::check_metadata(document, &mut findings);
        match given(spec, "policyName").and_then(Value::as_str) {
            Some("") => findings.missing(at.key("policyName"), "expected the name of a policy"),
            Some(name) => names::check_subdomain(name, at.key("policyName"), &mut findings),
            // The check of the fields names it.
            None => {}
        }
        let constraints = given(spec, "matchResources");
        if let Some(constraints) = constraints {
            check_constraints(constraints, &at.key("matchResources"), &mut findings);
        }
        let param_ref = given(spec, "paramRef").map(|written| {
            let at = at.key("paramRef");
            match (filled(written, "name"), given(written, "selector")) {
                (None, None) => findings.missing(at.clone(), "one of name or selector must be specified"),
                (Some(_), Some(_)) => {
                    findings.invalid(at.key("selector"), "name and selector are mutually exclusive");
                }
                _ => {}
            }
            names::check_path_segment(string(written, "name"), at.key("name"), &mut findings);
            findings.check_selectors(written, &at);
            ParamRef::read(written)
        });
        if !findings.errors.is_empty() {
            in_document_order(document, &mut findings.errors);
            return Err(findings.errors);
        }
        let constraints = constraints
            .map(|constraints| MatchConstraints::read(constraints, CelPolicyKind::MutatingAdmissionPolicy));
        let name = document.path(&["metadata", "name"]).and_then(Value::as_text).cloned().unwrap_or_default();
        Ok(Self { name, policy: text(spec, "policyName"), param_ref, constraints })
    }
}

impl ParamRef {
    fn read(written: &Value) -> Self {
        let filled = |field: &str| Some(text(written, field)).filter(|text| !text.is_empty());
        Self {
            name: filled("name"),
            selector: given(written, "selector").map(LabelSelector::read_plain),
            namespace: filled("namespace"),
            not_found: match string(written, "parameterNotFoundAction") {
                "Allow" => NotFound::Allow,
                _ => NotFound::Deny,
            },
        }
    }

    /// Whether an object of the right kind and namespace is a parameter.
    pub fn selects(&self, object: &Value) -> bool {
        let metadata = object.get("metadata");
        let name = metadata.and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        let labels = || Labels::of(metadata.and_then(|metadata| metadata.get("labels")));
        self.name.as_deref().is_none_or(|wanted| name == Some(wanted))
            && self.selector.as_ref().is_none_or(|selector| selector.matches(labels()).unwrap_or_default())
    }
}
