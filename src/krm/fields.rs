//! The fields of a `Kyv`: one table for the reader of configurations and the schema.

/// A field of `spec`; of a ConfigMap's `data`, too.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// The description in the schema.
    pub(super) about: &'static str,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// One of these words; the first is the default if the field has one.
    Word {
        words: &'static [&'static str],
        has_default: bool,
    },
    Flag,
    Document,
    /// A list of paths and inline objects, which are described so.
    Inputs(&'static str),
    /// A list of paths.
    Paths,
}

/// All fields, in the order of the schema.
pub(super) const FIELDS: [Field; 13] = [
    Field {
        name: "mode",
        shape: words(&["mutate", "generate", "validate"]),
        about: "What the function does: mutate changes the items; generate adds the objects of manifests, \
                changed; validate changes nothing and fails for each object that a policy would change.",
    },
    Field {
        name: "policies",
        shape: Shape::Inputs("a policy"),
        about: "The policies: paths, seen from where the function runs, and whole policies. A folder stands \
                for all files below it.",
    },
    Field {
        name: "policiesFromItems",
        shape: Shape::Flag,
        about: "Whether policies among the items are applied, too.",
    },
    Field {
        name: "manifests",
        shape: Shape::Paths,
        about: "Paths of the manifests that mode generate adds.",
    },
    Field {
        name: "values",
        shape: Shape::Document,
        about: "A Values document of the Kyverno CLI (cli.kyverno.io/v1alpha1).",
    },
    Field {
        name: "userInfo",
        shape: Shape::Document,
        about: "A UserInfo document of the Kyverno CLI (cli.kyverno.io/v1alpha1): who makes the requests.",
    },
    Field {
        name: "exceptions",
        shape: Shape::Inputs("an exception"),
        about: "Exceptions from the policies: paths, and whole exceptions.",
    },
    Field {
        name: "contextFrom",
        shape: Shape::Inputs("an object"),
        about: "What context entries of policies are answered from: paths, and whole objects.",
    },
    Field {
        name: "operation",
        shape: Shape::Word { words: &["CREATE", "UPDATE", "DELETE", "CONNECT"], has_default: false },
        about: "The operation of the requests. Without it, an object is created.",
    },
    Field {
        name: "semantics",
        shape: words(&["documented", "kyverno"]),
        about: "What policies mean where Kyverno's documentation and its controllers part.",
    },
    Field {
        name: "legacy",
        shape: words(&["doc", "native", "smp"]),
        about: "What the early syntax of rules (overlay, patches) means.",
    },
    Field {
        name: "onError",
        shape: words(&["fail", "warn"]),
        about: "What a rule does that cannot be evaluated: the function fails, or it warns.",
    },
    Field {
        name: "severity",
        shape: words(&["error", "warning", "info"]),
        about: "How grave it is, in mode validate, that a policy would change an object. Only an error makes \
                the function fail.",
    },
];

const fn words(words: &'static [&'static str]) -> Shape {
    Shape::Word { words, has_default: true }
}

/// The words that a field may have; none for a field of another shape.
pub(super) fn words_of(name: &str) -> &'static [&'static str] {
    match FIELDS.iter().find(|field| field.name == name) {
        Some(Field { shape: Shape::Word { words, .. }, .. }) => words,
        _ => &[],
    }
}
