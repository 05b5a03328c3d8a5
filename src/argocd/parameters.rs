//! The parameters of an application, as Argo CD hands them over.

use crate::decode::type_message;
use crate::pattern::nearest;
use crate::value::Value;

use super::{ArgocdError, Renderer};

/// The variable with the parameters.
const VARIABLE: &str = "ARGOCD_APP_PARAMETERS";

/// The prefix of single parameters. Argo CD sets these variables from `source.plugin.env`, after replacement of build
/// environment variables.
const ENVIRONMENT: &str = "ARGOCD_ENV_KYV_";

/// A parameter that an application can have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// The renderer that it applies to; `None` for all.
    pub(super) renderer: Option<Renderer>,
    pub(super) title: &'static str,
    pub(super) tooltip: &'static str,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A text, with its default.
    Text(&'static str),
    /// A list of texts.
    List,
    /// Texts by name.
    Map,
}

impl Shape {
    /// The name of the type in Argo CD.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List => "array",
            Self::Map => "map",
        }
    }
}

/// All parameters.
pub(super) const DEFINITIONS: [Definition; 9] = [
    Definition {
        name: "renderer",
        shape: Shape::Text("auto"),
        renderer: None,
        title: "Renderer",
        tooltip: "auto, kustomize, helm or plain. auto is helm for a Chart.yaml, kustomize for a kustomization, else plain",
    },
    Definition {
        name: "recurse",
        shape: Shape::Text("false"),
        renderer: Some(Renderer::Plain),
        title: "Folders below",
        tooltip: "true to read the manifests of all folders below, too, but those whose names start with a dot",
    },
    Definition {
        name: "helm-value-files",
        shape: Shape::List,
        renderer: Some(Renderer::Helm),
        title: "Value files",
        tooltip: "Paths of files with values, seen from the chart, or from the repository with a / in front; later ones win",
    },
    Definition {
        name: "helm-values",
        shape: Shape::Text(""),
        renderer: Some(Renderer::Helm),
        title: "Values",
        tooltip: "Values as YAML; they win over those of the files",
    },
    Definition {
        name: "helm-parameters",
        shape: Shape::Map,
        renderer: Some(Renderer::Helm),
        title: "Single values",
        tooltip: "Values by their paths, such as image.tag; they win over all others",
    },
    Definition {
        name: "kustomize-images",
        shape: Shape::List,
        renderer: Some(Renderer::Kustomize),
        title: "Images",
        tooltip: "Images in the place of those of the kustomization: NAME=NEW-NAME:TAG, NAME:TAG or NAME@DIGEST",
    },
    Definition {
        name: "policy-sets",
        shape: Shape::List,
        renderer: None,
        title: "Policy sets",
        tooltip: "Names of further sets of policies that the plugin has; they run before its other policies",
    },
    Definition {
        name: "policies",
        shape: Shape::List,
        renderer: None,
        title: "Policies",
        tooltip: "Paths of further policies, seen from the application's folder, or from the repository's with a / in \
                  front; they run before those of the plugin",
    },
    Definition {
        name: "strict",
        shape: Shape::Text("false"),
        renderer: None,
        title: "Strict",
        tooltip: "true to fail for everything that policies did not evaluate or match, or that differs between the semantics",
    },
];

/// The parameters of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// The renderer; `None` to detect it from the files of the folder.
    pub renderer: Option<Renderer>,
    /// Whether the manifests of folders below are read, too.
    pub recurse: bool,
    /// Files with values, relative to the application, or to the repository with a slash in front.
    pub value_files: Vec<String>,
    /// Further values, as YAML.
    pub values: Option<String>,
    /// Single values.
    pub set: Vec<(String, String)>,
    /// Images in the place of those of a kustomization.
    pub images: Vec<String>,
    /// The names of further sets of policies.
    pub policy_sets: Vec<String>,
    /// Further policies, relative to the application, or to the repository with a slash in front.
    pub policies: Vec<String>,
    /// Whether omissions are errors, whatever the plugin says.
    pub strict: bool,
}

impl Parameters {
    /// Reads them from environment variables: the list in `ARGOCD_APP_PARAMETERS`, and single ones from
    /// `ARGOCD_ENV_KYV_…`, lists with one element a line. The list wins. `PARAM_…` is not read: it repeats the list, with
    /// names that may collide.
    ///
    /// # Errors
    ///
    /// All invalid parameters.
    pub fn read<'a>(variables: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, Vec<ArgocdError>> {
        let mut read = Self::default();
        let mut errors = Vec::new();
        let mut list = "";
        for (name, value) in variables {
            if name == VARIABLE {
                list = value;
            } else if let Some(rest) = name.strip_prefix(ENVIRONMENT) {
                let parameter = rest.to_lowercase().replace('_', "-");
                let known = find(&parameter).and_then(|definition| match definition.shape {
                    Shape::Text(_) => Ok(ParameterValue::Text(value.to_owned())),
                    Shape::List => {
                        let lines = value.lines().map(str::trim).filter(|line| !line.is_empty());
                        Ok(ParameterValue::List(lines.map(str::to_owned).collect()))
                    }
                    Shape::Map => Err("a parameter with names, which a variable cannot set".to_owned()),
                });
                let set = known.and_then(|value| read.set(&parameter, value));
                errors.extend(set.map_err(|reason| ArgocdError::variable(name, reason)).err());
            }
        }
        match entries(list) {
            Ok(entries) => {
                for (name, value) in entries {
                    let known = find(&name).and_then(|definition| value.of_type(definition.shape));
                    let set = known.and_then(|value| read.set(&name, value));
                    errors.extend(set.map_err(|reason| ArgocdError::parameter(name, reason)).err());
                }
            }
            Err(reason) => errors.push(ArgocdError::variable(VARIABLE, reason)),
        }
        if errors.is_empty() { Ok(read) } else { Err(errors) }
    }

    /// Sets a parameter to a value of the right type.
    fn set(&mut self, name: &str, value: ParameterValue) -> Result<(), String> {
        match (name, value) {
            ("renderer", ParameterValue::Text(word)) => {
                let found = Renderer::ALL.into_iter().find(|(known, _)| *known == word);
                self.renderer = match (&*word, found) {
                    (_, Some((_, renderer))) => Some(renderer),
                    ("" | "auto", None) => None,
                    _ => return Err("expected auto, kustomize, helm or plain".into()),
                };
            }
            ("recurse", ParameterValue::Text(word)) => self.recurse = flag(&word)?,
            ("strict", ParameterValue::Text(word)) => self.strict = flag(&word)?,
            ("helm-values", ParameterValue::Text(text)) => {
                self.values = Some(text).filter(|text| !text.is_empty());
            }
            ("helm-value-files", ParameterValue::List(paths)) => self.value_files = paths,
            ("kustomize-images", ParameterValue::List(images)) => self.images = images,
            ("policy-sets", ParameterValue::List(names)) => self.policy_sets = names,
            ("policies", ParameterValue::List(paths)) => self.policies = paths,
            ("helm-parameters", ParameterValue::Map(values)) => self.set = values,
            _ => {}
        }
        Ok(())
    }
}

fn flag(word: &str) -> Result<bool, String> {
    match word {
        "true" => Ok(true),
        "" | "false" => Ok(false),
        _ => Err("expected true or false".into()),
    }
}

/// The value of a parameter.
#[derive(Debug)]
enum ParameterValue {
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
    Nothing,
}

impl ParameterValue {
    /// The same, if it has the type of the parameter.
    fn of_type(self, shape: Shape) -> Result<Self, String> {
        let found = match (&self, shape) {
            (Self::Nothing, _)
            | (Self::Text(_), Shape::Text(_))
            | (Self::List(_), Shape::List)
            | (Self::Map(_), Shape::Map) => return Ok(self),
            (Self::Text(_), _) => "string",
            (Self::List(_), _) => "array",
            (Self::Map(_), _) => "map",
        };
        Err(format!("expected `{}`, found `{found}`", shape.word()))
    }
}

fn find(name: &str) -> Result<&'static Definition, String> {
    DEFINITIONS.iter().find(|definition| definition.name == name).ok_or_else(|| {
        let names = || DEFINITIONS.iter().map(|definition| definition.name);
        match nearest(name, names()) {
            Some(meant) => format!("there is no such parameter, did you mean {meant}?"),
            None => {
                format!("there is no such parameter; there are {}", names().collect::<Vec<_>>().join(", "))
            }
        }
    })
}

/// The entries of Argo CD's list, which is empty or `null` without parameters.
fn entries(list: &str) -> Result<Vec<(String, ParameterValue)>, String> {
    if list.trim().is_empty() {
        return Ok(Vec::new());
    }
    // The text may have secrets.
    let list = Value::from_json(list).map_err(|_| "not JSON")?;
    let items = match &list {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        other => return Err(type_message(other, "a list")),
    };
    let mut entries: Vec<(String, ParameterValue)> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err(format!("[{index}]: expected an object with a name"));
        }
        if entries.iter().any(|(earlier, _)| earlier == name) {
            return Err(format!("{name} is set twice"));
        }
        let value = value_of(item).map_err(|reason| format!("{name}: {reason}"))?;
        entries.push((name.to_owned(), value));
    }
    Ok(entries)
}

fn value_of(item: &Value) -> Result<ParameterValue, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or("expected texts");
    let field = |name| item.get(name).filter(|value| !value.is_null());
    let mut found = Vec::new();
    if let Some(value) = field("string") {
        found.push(ParameterValue::Text(text(value)?));
    }
    if let Some(value) = field("array") {
        let items = value.as_array().ok_or("`array` is no list")?;
        found.push(ParameterValue::List(items.iter().map(text).collect::<Result<_, _>>()?));
    }
    if let Some(value) = field("map") {
        let members = value.as_object().ok_or("`map` is no object")?;
        let pairs = members.iter().map(|(name, value)| Ok((name.to_string(), text(value)?)));
        found.push(ParameterValue::Map(pairs.collect::<Result<_, &str>>()?));
    }
    match found.pop() {
        Some(_) if !found.is_empty() => Err("more than one of `string`, `array` and `map`".into()),
        value => Ok(value.unwrap_or(ParameterValue::Nothing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Parameters, String> {
        Parameters::read(variables.iter().copied())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn missing_parameters_have_defaults() {
        assert_eq!(read(&[]).unwrap(), Parameters::default());
        for list in
            ["", "null", "[]", " null\n", r#"[{"name":"renderer"}]"#, r#"[{"name":"renderer","string":""}]"#]
        {
            assert_eq!(read(&[(VARIABLE, list)]).unwrap(), Parameters::default(), "{list}");
        }
    }

    #[test]
    fn parameters_are_read_by_their_types() {
        let list = r#"[{"name":"renderer","string":"helm"},{"array":["a.yaml","b.yaml"],"name":"helm-value-files"},
            {"name":"helm-values","string":"a: 1"},{"map":{"image.tag":"1","x":"$(id)"},"name":"helm-parameters"},
            {"name":"recurse","string":"true"},{"name":"policies","array":["p"],"string":null},
            {"name":"kustomize-images","array":["a:1"]},{"name":"policy-sets","array":["web","pci"]},
            {"name":"strict","string":"true"}]"#;
        let expected = Parameters {
            renderer: Some(Renderer::Helm),
            recurse: true,
            value_files: vec!["a.yaml".into(), "b.yaml".into()],
            values: Some("a: 1".into()),
            set: vec![("image.tag".into(), "1".into()), ("x".into(), "$(id)".into())],
            images: vec!["a:1".into()],
            policy_sets: vec!["web".into(), "pci".into()],
            policies: vec!["p".into()],
            strict: true,
        };
        assert_eq!(read(&[(VARIABLE, list)]).unwrap(), expected);
    }

    #[test]
    fn variables_set_parameters_that_are_not_in_the_list() {
        let variables = [
            ("ARGOCD_ENV_KYV_RENDERER", "plain"),
            ("ARGOCD_ENV_KYV_HELM_VALUE_FILES", "a.yaml\n b.yaml\n\n"),
            ("ARGOCD_ENV_OTHER", "x"),
            ("PARAM_RENDERER", "nonsense"),
        ];
        let parameters = read(&variables).unwrap();
        assert_eq!(parameters.renderer, Some(Renderer::Plain));
        assert_eq!(parameters.value_files, ["a.yaml", "b.yaml"]);
        let list = r#"[{"name":"renderer","string":"kustomize"}]"#;
        let both = [&[(VARIABLE, list)][..], &variables].concat();
        assert_eq!(read(&both).unwrap().renderer, Some(Renderer::Kustomize));
    }

    #[test]
    fn errors_do_not_show_values() {
        for (variable, value, expected) in [
            (VARIABLE, "{", "ARGOCD_APP_PARAMETERS: not JSON"),
            (VARIABLE, "{}", "ARGOCD_APP_PARAMETERS: expected a list, found object"),
            (VARIABLE, "[1]", "ARGOCD_APP_PARAMETERS: [0]: expected an object with a name"),
            (
                VARIABLE,
                r#"[{"name":"render","string":"helm"}]"#,
                "parameter render: there is no such parameter, did you mean renderer?",
            ),
            (
                VARIABLE,
                r#"[{"name":"renderer","string":"s3cret"}]"#,
                "parameter renderer: expected auto, kustomize, helm or plain",
            ),
            (
                VARIABLE,
                r#"[{"name":"policies","string":"s3cret"}]"#,
                "parameter policies: expected `array`, found `string`",
            ),
            (
                VARIABLE,
                r#"[{"name":"policies","array":[1]}]"#,
                "ARGOCD_APP_PARAMETERS: policies: expected texts",
            ),
            (VARIABLE, r#"[{"name":"recurse","string":"yes"}]"#, "parameter recurse: expected true or false"),
            (
                VARIABLE,
                r#"[{"name":"recurse"},{"name":"recurse"}]"#,
                "ARGOCD_APP_PARAMETERS: recurse is set twice",
            ),
            (
                VARIABLE,
                r#"[{"name":"recurse","string":"a","array":[]}]"#,
                "ARGOCD_APP_PARAMETERS: recurse: more than one of `string`, `array` and `map`",
            ),
            ("ARGOCD_ENV_KYV_RECURSE", "s3cret", "ARGOCD_ENV_KYV_RECURSE: expected true or false"),
            (
                "ARGOCD_ENV_KYV_HELM_PARAMETERS",
                "s3cret",
                "ARGOCD_ENV_KYV_HELM_PARAMETERS: a parameter with names, which a variable cannot set",
            ),
        ] {
            assert_eq!(read(&[(variable, value)]).unwrap_err(), expected);
        }
        assert!(read(&[("ARGOCD_ENV_KYV_X", "")]).unwrap_err().contains("there are renderer, recurse"));
    }
}
