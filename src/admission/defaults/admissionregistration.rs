//! Webhooks and admission policies.

use crate::admission::fields::Setter;
use crate::admission::fields::{set_number, set_object, set_text};
use crate::value::Value;

pub(super) fn of_type(version: &str, name: &str) -> Option<Setter> {
    Some(match name {
        "ValidatingWebhook" => webhook,
        "MutatingWebhook" => |mutating| {
            webhook(mutating);
            set_text(mutating, "reinvocationPolicy", "Never");
        },
        "Rule" => |rule| set_text(rule, "scope", "*"),
        "ServiceReference" => |service| set_number(service, "port", 443),
        "ValidatingAdmissionPolicySpec" | "MutatingAdmissionPolicySpec" => {
            |spec| set_text(spec, "failurePolicy", "Fail")
        }
        "ParamRef" if version == "v1alpha1" => {
            |reference| set_text(reference, "parameterNotFoundAction", "Deny")
        }
        "MatchResources" => match_resources,
        _ => return None,
    })
}

fn webhook(webhook: &mut Value) {
    set_text(webhook, "failurePolicy", "Fail");
    match_resources(webhook);
    set_number(webhook, "timeoutSeconds", 10);
}

fn match_resources(matched: &mut Value) {
    set_text(matched, "matchPolicy", "Equivalent");
    set_object(matched, "namespaceSelector");
    set_object(matched, "objectSelector");
}
