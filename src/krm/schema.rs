//! The schema of a `Kyv`.

use crate::value::Value;

use super::fields::{FIELDS, Shape};

/// The definition of a `Kyv` as a custom resource. No cluster needs it: editors and reviewers do.
pub fn definition() -> Value {
    let spec = object([
        ("description", "What a function is to do.".into()),
        ("type", "object".into()),
        ("properties", FIELDS.iter().map(|field| (field.name, property(field.shape, field.about))).collect()),
    ]);
    let text = |about: &str| object([("description", about.into()), ("type", "string".into())]);
    let properties = object([
        ("apiVersion", text("The version of this schema, kyv.dev/v1alpha1.")),
        ("kind", text("Kyv.")),
        ("metadata", object([("type", "object".into())])),
        ("spec", spec),
    ]);
    let schema = object([
        ("description", "The configuration of kubectl-kyv as a KRM function.".into()),
        ("type", "object".into()),
        ("properties", properties),
    ]);
    let version = object([
        ("name", "v1alpha1".into()),
        ("served", true.into()),
        ("storage", true.into()),
        ("schema", object([("openAPIV3Schema", schema)])),
    ]);
    let names = object([
        ("kind", "Kyv".into()),
        ("listKind", "KyvList".into()),
        ("plural", "kyvs".into()),
        ("singular", "kyv".into()),
    ]);
    object([
        ("apiVersion", "apiextensions.k8s.io/v1".into()),
        ("kind", "CustomResourceDefinition".into()),
        ("metadata", object([("name", "kyvs.kyv.dev".into())])),
        (
            "spec",
            object([
                ("group", "kyv.dev".into()),
                ("names", names),
                ("scope", "Namespaced".into()),
                ("versions", Value::array(vec![version])),
            ]),
        ),
    ])
}

fn property(shape: Shape, about: &str) -> Value {
    let mut property = object([("description", about.into())]);
    let kind = match shape {
        Shape::Word { .. } => "string",
        Shape::Flag => "boolean",
        Shape::Document => "object",
        Shape::Inputs(_) | Shape::Paths => "array",
    };
    property.insert("type", kind.into());
    match shape {
        Shape::Word { words, has_default } => {
            property.insert("enum", words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>().into());
            // A default in the schema would be set in modes without the field, too.
            if let Some(first) = words.first().filter(|_| has_default) {
                property.insert("description", format!("{about} The default is {first}.").into());
            }
        }
        Shape::Document => property.insert("x-kubernetes-preserve-unknown-fields", true.into()),
        Shape::Inputs(what) => {
            // A schema of Kubernetes has no other way to say "a string or an object".
            let item = object([
                ("description", format!("A path, or {what}.").into()),
                ("x-kubernetes-preserve-unknown-fields", true.into()),
            ]);
            property.insert("items", item);
        }
        Shape::Paths => property.insert("items", object([("type", "string".into())])),
        Shape::Flag => {}
    }
    property
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect()
}
