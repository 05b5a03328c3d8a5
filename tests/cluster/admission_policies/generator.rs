//! Policies from a number: conditions, variables and mutations at random, of expressions that are mostly valid.

use kyv_fuzz::seeds::Random;
use serde_json::{Value, json};

/// Texts, as expressions.
const TEXTS: [&str; 14] = [
    "\"b\"",
    "string(object.metadata.name)",
    "string(object.kind)",
    "request.operation",
    "request.resource.resource",
    "string(object.metadata.labels.app)",
    "string(object.metadata.labels[\"color\"])",
    "object.metadata.?labels.?app.orValue(\"none\") == \"web\" ? \"w\" : \"o\"",
    "string(size(object.metadata.name))",
    "string(object.spec.replicas + 1)",
    "string(object.spec.containers[0].image)",
    "string(object.spec.containers.size())",
    "object.spec.containers.map(c, string(c.name)).join(\"-\")",
    "string(variables.text)",
];

/// What may be put around a text.
const TEXT_CALLS: [&str; 6] = [
    ".lowerAscii()",
    ".upperAscii()",
    ".replace(\"-\", \".\")",
    ".substring(0, 1)",
    ".split(\"-\")[0]",
    ".trim()",
];

const CONDITIONS: [&str; 12] = [
    "has(object.metadata.labels)",
    "object.metadata.labels.app == \"web\"",
    "\"color\" in object.metadata.labels",
    "object.kind == \"Pod\"",
    "object.kind in [\"Deployment\", \"StatefulSet\"]",
    "object.metadata.name.startsWith(\"pod\")",
    "size(object.metadata.name) > 6",
    "object.spec.containers.exists(c, c.image.contains(\":\"))",
    "object.spec.containers.all(c, has(c.imagePullPolicy) && c.imagePullPolicy == \"Always\")",
    "object.spec.replicas > 1",
    "request.namespace != \"\"",
    "variables.flag",
];

/// Fields of an `Object`, each with a text for each `@`.
const FIELDS: [&str; 12] = [
    "metadata: Object.metadata{labels: {\"g\": @}}",
    "metadata: Object.metadata{labels: {\"g\": @, \"app\": @}}",
    "metadata: Object.metadata{annotations: {\"g\": @}}",
    "metadata: Object.metadata{annotations: {\"g\": @}, finalizers: [\"example.com/\" + @]}",
    "metadata: Object.metadata{?labels: has(object.metadata.labels) ? optional.of({\"g\": @}) : optional.none()}",
    "data: Object.data{g: @}",
    "spec: Object.spec{hostname: @}",
    "spec: Object.spec{containers: [Object.spec.containers{name: @, image: \"i\"}]}",
    "spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: \"G\", value: @}]})}",
    "spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {\"g\": @}}}}",
    "spec: Object.spec{replicas: 3}",
    "spec: Object.spec{volumes: [Object.spec.volumes{name: @, emptyDir: Object.spec.volumes.emptyDir{}}]}",
];

const OPERATIONS: [&str; 6] = ["add", "add", "replace", "remove", "copy", "test"];

const PATHS: [&str; 14] = [
    "/metadata/labels/g",
    "/metadata/labels/app",
    "/metadata/labels/color",
    "/metadata/annotations/g",
    "/metadata/annotations",
    "/metadata/finalizers",
    "/spec/containers/0/image",
    "/spec/containers/-1/image",
    "/spec/containers/1",
    "/spec/replicas",
    "/spec/template/metadata/labels/app",
    "/spec/nosuch",
    "/data/g",
    "/spec/hostname",
];

/// Policies with the numbers up to `count`, as `policies.yaml` writes them; the same in each run.
pub(crate) fn policies(count: usize) -> impl Iterator<Item = Value> {
    (0..count).map(|number| {
        let seed = u64::try_from(number).expect("a small number") + 1;
        Writer(Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))).policy(number)
    })
}

struct Writer(Random);

impl Writer {
    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.0.below(texts.len())]
    }

    fn policy(&mut self, number: usize) -> Value {
        let conditions: Vec<String> = (0..self.0.below(3)).map(|_| self.condition(2)).collect();
        let mutations: Vec<Value> = (0..=self.0.below(3)).map(|_| self.mutation()).collect();
        let text = self.pick(&TEXTS[..13]);
        let flag = self.pick(&CONDITIONS[..11]);
        json!({
            "name": format!("generated-{number}"),
            "failurePolicy": self.pick(&["Fail", "Ignore"]),
            "variables": {"flag": flag, "text": text},
            "conditions": conditions,
            "mutations": mutations,
        })
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.below(2) == 0 {
            // Variables are refused in conditions: seldom.
            let last = if self.0.below(8) == 0 { CONDITIONS.len() } else { CONDITIONS.len() - 1 };
            return self.pick(&CONDITIONS[..last]).to_owned();
        }
        let (one, other) = (self.condition(depth - 1), self.condition(depth - 1));
        match self.0.below(4) {
            0 => format!("!({one})"),
            1 => format!("({one}) ? ({other}) : true"),
            2 => format!("({one}) || ({other})"),
            _ => format!("({one}) && ({other})"),
        }
    }

    fn text(&mut self) -> String {
        let text = self.pick(&TEXTS);
        match self.0.below(3) {
            0 => format!("({text}){}", self.pick(&TEXT_CALLS)),
            _ => format!("({text})"),
        }
    }

    fn mutation(&mut self) -> Value {
        if self.0.below(2) == 0 {
            let field = self.pick(&FIELDS);
            let mut parts = field.split('@');
            let mut object = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                object = format!("{object}{}{part}", self.text());
            }
            return json!({"apply": format!("Object{{{object}}}")});
        }
        let operations: Vec<String> = (0..=self.0.below(3)).map(|_| self.operation()).collect();
        json!({"patch": operations.join(", ")})
    }

    fn operation(&mut self) -> String {
        let (operation, path) = (self.pick(&OPERATIONS), self.pick(&PATHS));
        let more = match operation {
            "remove" => String::new(),
            "copy" => format!(", from: \"{}\"", self.pick(&PATHS)),
            _ => format!(", value: {}", self.value()),
        };
        format!("JSONPatch{{op: \"{operation}\", path: \"{path}\"{more}}}")
    }

    fn value(&mut self) -> String {
        match self.0.below(6) {
            0 => "3".to_owned(),
            1 => "{\"g\": \"h\"}".to_owned(),
            2 => "[\"example.com/g\"]".to_owned(),
            _ => self.text(),
        }
    }
}
