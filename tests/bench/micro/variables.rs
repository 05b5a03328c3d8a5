//! Variables inside the texts of a rule, and their replacement.

use kyv::semantics::{DivergenceTracker, Semantics};
use kyv::value::Value;
use kyv::variables::{Inline, Limits, Query, QueryError, Scope, Substitution, Template};

use crate::inputs::value;
use crate::jmespath::{context, search};
use crate::{Work, Workload};

pub(crate) const WORKLOADS: &[Workload] = &[
    ("prepare", || {
        let document = value(EMBEDDED);
        Work::new(move || Template::prepare(&document, Semantics::Documented))
    }),
    ("none", || substituted("{metadata: {labels: {team: front}, annotations: {example.com/owner: nobody}}}")),
    ("whole", || substituted(WHOLE)),
    ("embedded", || substituted(EMBEDDED)),
    ("nested", || substituted(NESTED)),
    ("keys", || substituted("{metadata: {labels: {'{{ request.object.metadata.name }}': seen}}}")),
];

const WHOLE: &str = r#"{metadata: {
    labels: "{{ request.object.metadata.labels }}", name: "{{ request.object.metadata.name }}",
    replicas: "{{ request.object.spec.replicas }}"}}"#;

const EMBEDDED: &str = r#"{metadata: {annotations: {
    example.com/by: "{{ request.userInfo.username }} in {{ request.namespace }}",
    example.com/image: "mirror.example/{{ element.image }}",
    example.com/kept: "no variable at all",
    example.com/count: "{{ length(request.object.spec.template.spec.containers) }} containers"}}}"#;

const NESTED: &str = r#"{metadata: {annotations: {
    example.com/label: "{{ request.object.metadata.labels.\"app.kubernetes.io/{{ to_lower('NAME') }}\" }}"}}}"#;

/// Answers from a value, as the engine does once all that a rule names is loaded.
struct Loaded(Value);

impl Scope for Loaded {
    fn query(&mut self, query: &Query) -> Result<Value, QueryError> {
        Ok(search(query.expression()?, &self.0))
    }
}

fn substituted(document: &str) -> Work {
    let template = Template::prepare(&value(document), Semantics::Documented);
    let context = context();
    Work::new(move || {
        let tracker = DivergenceTracker::default();
        let settings = Substitution {
            tracker: &tracker,
            deleting: false,
            inline: Inline::Path,
            inline_root: "request.object",
            limits: Limits::DEFAULT,
        };
        let mut scope = Loaded(context.clone());
        template.substitute(&mut scope, settings).expect("all have values")
    })
}
