//! The document of the new policy.

use crate::convert::Target;
use crate::convert::cel_text::{Cel, Operator};
use crate::convert::constraints::resource_rules;
use crate::convert::context::Variable;
use crate::convert::emit::Output;
use crate::convert::kinds::Kind;
use crate::policy::AUTOGEN_ANNOTATION;
use crate::value::{Map, Pointer, Value};

use super::{
    Builder, KEEPS_ERRORS, Mutation, expression, match_conditions, object, of_webhook, short_hash, texts,
};

impl Builder<'_> {
    pub(super) fn document_of(
        &self,
        variables: &[Variable],
        conditions: &[(String, Cel)],
        mutations: &[Mutation],
        namespaces: Option<Value>,
    ) -> Output {
        let mut output = Output::default();
        let (api_version, kind) = self.kind();
        let mut spec: Vec<(&str, Value)> = Vec::new();
        let given = |field: &str| self.document.path(&["spec", field]).filter(|value| !value.is_null());
        let webhook = |field: &str| self.document.path(&["spec", "webhookConfiguration", field]);
        if let Some(policy) = webhook("failurePolicy").or_else(|| given("failurePolicy")) {
            spec.push(("failurePolicy", policy.clone()));
        }
        self.add_settings(&mut spec);
        spec.push(("matchConstraints", self.constraints(namespaces)));
        let targets = self.rules.iter().find_map(|rule| rule.targets.as_ref());
        let named = |name: &str, cel: &Cel| {
            object(vec![("name", Value::from(name)), ("expression", expression(cel))])
        };
        // The conditions of the webhook are those of the new policy. They are evaluated first, and their errors count.
        let copied = self.document.path(&["spec", "webhookConfiguration", "matchConditions"]);
        let copied = copied.and_then(Value::as_array).unwrap_or_default();
        comment_on(if copied.is_empty() { conditions } else { &[] }, &mut output);
        if conditions.is_empty() && !copied.is_empty() {
            spec.push(("matchConditions", Value::array(copied.to_vec())));
        } else if !conditions.is_empty() {
            let list = match of_webhook(copied) {
                None => conditions.iter().map(|(name, cel)| named(name, cel)).collect(),
                Some(first) => {
                    let rest = Cel::all(conditions.iter().map(|(_, cel)| cel.clone()).collect());
                    vec![named("webhook-and-rules", &Cel::if_else(first, rest, Cel::bool(false)))]
                }
            };
            spec.push(("matchConditions", Value::array(list)));
        }
        if let Some(targets) = targets {
            let operations = ["CREATE", "UPDATE"].map(str::to_owned);
            let rules = resource_rules(std::iter::once(&targets.kind), &operations);
            spec.push((
                "targetMatchConstraints",
                object(vec![("resourceRules", rules), ("expression", expression(&targets.lookup))]),
            ));
            let conditions = match_conditions(&targets.tests);
            if !conditions.is_empty() {
                let list = conditions.iter().map(|(name, cel)| named(name, cel)).collect();
                spec.push(("targetMatchConditions", Value::array(list)));
            }
        }
        if !variables.is_empty() {
            // Before the conditions that use them.
            let position = spec.iter().position(|(field, _)| *field == "matchConditions");
            let reads_variables = |cel: &Cel| cel.any_part(&|part| *part == Cel::atom("variables"));
            let position = position.filter(|_| conditions.iter().any(|(_, cel)| reads_variables(cel)));
            comment_on_repeated(variables, &mut output);
            let list = variables.iter().map(|variable| named(&variable.name, &variable.cel)).collect();
            spec.insert(position.unwrap_or(spec.len()), ("variables", Value::array(list)));
        }
        let list = Pointer::ROOT.key("spec").key("mutations");
        let mut items = Vec::new();
        for (index, mutation) in mutations.iter().enumerate() {
            let (patch_type, field) = if mutation.is_apply {
                ("ApplyConfiguration", "applyConfiguration")
            } else {
                ("JSONPatch", "jsonPatch")
            };
            items.push(object(vec![
                ("patchType", Value::from(patch_type)),
                (field, object(vec![("expression", expression(&mutation.expression))])),
            ]));
            let explained = mutation.explained.map(str::to_owned);
            let comments = mutation.comments.iter().cloned().chain(explained);
            output.comments.push((list.index(index), comments.collect()));
        }
        spec.push(("mutations", Value::array(items)));
        output.value = object(vec![
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("metadata", self.metadata()),
            ("spec", object(spec)),
        ]);
        output
    }

    fn kind(&self) -> (&'static str, &'static str) {
        let is_namespaced = self.document.get("kind").and_then(Value::as_str) == Some("Policy");
        match (self.options.target, is_namespaced) {
            (Target::AdmissionPolicy, _) => ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"),
            (Target::MutatingPolicy, true) => ("policies.kyverno.io/v1", "NamespacedMutatingPolicy"),
            (Target::MutatingPolicy, false) => ("policies.kyverno.io/v1", "MutatingPolicy"),
        }
    }

    /// Settings of the classic policy that are fields of the new one.
    fn add_settings(&self, spec: &mut Vec<(&str, Value)>) {
        let given = |field: &str| self.document.path(&["spec", field]).filter(|value| !value.is_null());
        if self.is_native {
            spec.push(("reinvocationPolicy", Value::from("Never")));
            return;
        }
        let is_for_pods = self.resources() == ["pods"];
        let controllers = self.rules.iter().find_map(|rule| rule.autogen.clone());
        if is_for_pods || controllers.is_some() {
            let controllers = texts(controllers.unwrap_or_default());
            let inner = object(vec![("podControllers", object(vec![("controllers", controllers)]))]);
            spec.push(("autogen", inner));
        }
        let mut evaluation: Vec<(&str, Value)> = Vec::new();
        if self.rules.iter().any(|rule| rule.targets.is_some()) {
            evaluation.push(("mutateExisting", object(vec![("enabled", Value::Bool(true))])));
        }
        for (field, name) in [("admission", "admission"), ("background", "background")] {
            if given(field).and_then(Value::as_bool) == Some(false) {
                evaluation.push((name, object(vec![("enabled", Value::Bool(false))])));
            }
        }
        if self.rules.iter().all(|rule| !rule.skips_background) {
            evaluation.push(("skipBackgroundRequests", Value::Bool(false)));
        }
        if !evaluation.is_empty() {
            spec.push(("evaluation", object(evaluation)));
        }
        let seconds = self
            .document
            .path(&["spec", "webhookConfiguration", "timeoutSeconds"])
            .or_else(|| given("webhookTimeoutSeconds"));
        if let Some(seconds) = seconds {
            spec.push(("webhookConfiguration", object(vec![("timeoutSeconds", seconds.clone())])));
        }
    }

    fn resources(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for kind in self.kinds() {
            if !found.contains(&kind.resource) {
                found.push(kind.resource.clone());
            }
        }
        found
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.rules.iter().flat_map(|rule| {
            rule.selection.kinds.iter().filter(|kind| rule.autogen.is_none() || kind.resource == "pods")
        })
    }

    fn constraints(&self, namespaces: Option<Value>) -> Value {
        let mut operations: Vec<String> = Vec::new();
        for rule in self.rules {
            let own = rule.tests.operations.clone();
            for operation in own.unwrap_or_else(|| ["CREATE", "UPDATE"].map(str::to_owned).to_vec()) {
                if !operations.contains(&operation) {
                    operations.push(operation);
                }
            }
        }
        operations.sort();
        let rules = resource_rules(self.kinds(), &operations);
        let mut constraints = vec![("resourceRules", rules)];
        let namespace = self.namespace();
        match (namespaces, namespace) {
            (Some(selector), _) => constraints.push(("namespaceSelector", selector)),
            (None, Some(namespace)) if self.is_native => {
                let labels = object(vec![("kubernetes.io/metadata.name", Value::from(namespace))]);
                constraints.push(("namespaceSelector", object(vec![("matchLabels", labels)])));
            }
            _ => {}
        }
        object(constraints)
    }

    /// The namespace of a policy of one.
    pub(super) fn namespace(&self) -> Option<&str> {
        let is_namespaced = self.document.get("kind").and_then(Value::as_str) == Some("Policy");
        is_namespaced.then(|| {
            self.document.path(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or("default")
        })
    }

    fn metadata(&self) -> Value {
        let metadata = self.document.get("metadata").unwrap_or(&Value::Null);
        let mut new: Vec<(&str, Value)> = Vec::new();
        let name = metadata.get("name").cloned().unwrap_or_default();
        new.push(("name", self.name.as_deref().map_or(name, Value::from)));
        if let (Some(namespace), false) = (self.namespace(), self.is_native) {
            new.push(("namespace", Value::from(namespace)));
        }
        if let Some(labels) = metadata.get("labels").filter(|labels| !labels.is_null()) {
            new.push(("labels", labels.clone()));
        }
        let mut annotations = Map::with_capacity(4);
        let own = metadata.get("annotations").and_then(Value::as_object);
        for (key, value) in own.into_iter().flat_map(|own| own.iter()) {
            if &**key != AUTOGEN_ANNOTATION && &**key != "kubectl.kubernetes.io/last-applied-configuration" {
                annotations.insert(key.clone(), value.clone());
            }
        }
        annotations.insert("kyv.io/converted-from".into(), Value::from(self.origin()));
        new.push(("annotations", Value::object(annotations)));
        object(new)
    }

    /// `ClusterPolicy/add-labels@1a2b3c4d`: what it was made of.
    fn origin(&self) -> String {
        let kind = self.document.get("kind").and_then(Value::as_str).unwrap_or_default();
        let name = self.document.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        let rules = self.document.path(&["spec", "rules"]).cloned().unwrap_or_default().to_json();
        format!("{kind}/{name}@{}", short_hash(&rules))
    }
}

/// Says why variables are the same as others before them.
fn comment_on_repeated(variables: &[Variable], output: &mut Output) {
    let place = Pointer::ROOT.key("spec").key("variables");
    for (index, variable) in variables.iter().enumerate() {
        // A variable is computed once.
        let is_same = |other: &Variable| other.cel == variable.cel && variable.name.starts_with(&other.name);
        if variables.get(..index).is_some_and(|before| before.iter().any(is_same)) {
            let comment = "read again for a later mutation: a variable is computed once".to_owned();
            output.comments.push((place.index(index), vec![comment]));
        }
    }
}

/// What a reader may ask of conditions.
fn comment_on(conditions: &[(String, Cel)], output: &mut Output) {
    let list = Pointer::ROOT.key("spec").key("matchConditions");
    let asks = [
        (passes_empty as fn(&Cel) -> bool, "an empty list meets the anchor of the classic rule, too"),
        (Cel::keeps_errors, KEEPS_ERRORS),
    ];
    for (index, (_, cel)) in conditions.iter().enumerate() {
        let comments: Vec<String> = asks
            .iter()
            .filter(|(asks, _)| cel.any_part(asks))
            .map(|(_, comment)| (*comment).to_owned())
            .collect();
        if !comments.is_empty() {
            output.comments.push((list.index(index), comments));
        }
    }
}

/// `list.exists(…) || list.size() == 0`.
fn passes_empty(cel: &Cel) -> bool {
    let Cel::Chain { operator: Operator::Or, operands } = cel else { return false };
    let is_empty = |part: &Cel| {
        let Cel::Chain { operator: Operator::Equal, operands } = part else { return false };
        matches!(operands.as_slice(), [Cel::Call { name: "size", .. }, zero] if *zero == Cel::int(0))
    };
    operands.iter().any(|part| part.any_part(&is_empty))
        && operands.iter().any(|part| matches!(part, Cel::Call { name: "exists", .. }))
}
