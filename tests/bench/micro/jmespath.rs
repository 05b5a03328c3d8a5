//! Expressions as policies have them.

use kyv::jmespath::{Expression, FixedClock, Runtime, SeededRandom};
use kyv::semantics::DivergenceTracker;
use kyv::value::Value;

use crate::inputs::{DEPLOYMENT, value};
use crate::{Work, Workload};

const PATH: &str = r#"request.object.metadata.labels."app.kubernetes.io/name""#;
const FILTER: &str = "request.object.spec.template.spec.containers[?ends_with(image, ':latest')].name";
const PROJECTION: &str = "request.object.spec.template.spec.[initContainers, containers][].{name: name, image: image, pull: imagePullPolicy}";
const DEFAULT: &str = "request.object.spec.template.spec.hostNetwork || `false`";
const COUNT: &str = "length(request.object.spec.template.spec.volumes[?contains(keys(@), 'emptyDir')])";
const TEXT: &str = "to_upper(join('-', [request.namespace, request.object.metadata.name, 'edge']))";
const REGEX: &str = r"regex_replace_all_literal('^[^/]+\.[^/]+/', element.image, 'mirror.example/')";
const SUM: &str = "sum(request.object.spec.template.spec.containers[].resources.requests.memory | [])";
const PIPE: &str = "request.object.spec.template.spec.containers[].env[].{k: name, v: value} | [?v != null] | sort_by(@, &k)[0].v";

pub(crate) const WORKLOADS: &[Workload] = &[
    ("parse-path", || parsed(PATH)),
    ("parse-filter", || parsed(FILTER)),
    ("parse-pipe", || parsed(PIPE)),
    ("path", || searched(PATH)),
    ("default", || searched(DEFAULT)),
    ("filter", || searched(FILTER)),
    ("projection", || searched(PROJECTION)),
    ("count", || searched(COUNT)),
    ("text", || searched(TEXT)),
    ("regex", || searched(REGEX)),
    ("sum-of-quantities", || searched(SUM)),
    ("pipe", || searched(PIPE)),
];

fn parsed(text: &'static str) -> Work {
    Work::new(|| Expression::parse(text).expect("an expression"))
}

fn searched(text: &str) -> Work {
    let expression = Expression::parse(text).expect("an expression");
    let context = context();
    // Nothing found may be found in no time.
    assert!(!matches!(search(&expression, &context), Value::Null), "{text}");
    Work::new(move || search(&expression, &context))
}

/// What the names of an expression stand for while a rule runs.
pub(crate) fn context() -> Value {
    let mut request = value("{operation: CREATE, namespace: shop-prod, userInfo: {username: deployer}}");
    let object = value(DEPLOYMENT);
    let element =
        object.path(&["spec", "template", "spec", "containers"]).and_then(|list| list.at(0)).cloned();
    request.insert("object", object);
    let mut context = Value::empty_object();
    context.insert("request", request);
    context.insert("element", element.expect("a container"));
    context
}

/// The answer of an expression, which has one.
pub(crate) fn search(expression: &Expression, context: &Value) -> Value {
    let (tracker, random) = (DivergenceTracker::default(), SeededRandom::new(0));
    let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker);
    expression.search(context, &runtime).unwrap_or_else(|error| panic!("{}: {error}", expression.text()))
}
