//! The function's configuration: a typed `Kyv`, or a ConfigMap of strings.

use crate::policy::{Operation, nearest};
use crate::semantics::{LegacyMode, Semantics};
use crate::value::{Map, Pointer, Text, Value};

use super::Severity;
use super::fields::{FIELDS, words_of};

/// The configuration of a function.
#[derive(Clone, Debug)]
pub struct FunctionConfig {
    /// What the policies are used for.
    pub mode: Mode,
    /// The policies, paths and whole ones in the order given.
    pub policies: Vec<PolicyInput>,
    /// Whether policies among the items are run too.
    pub policies_from_items: bool,
    /// The paths of the manifests that [`Mode::Generate`] adds.
    pub manifests: Vec<Text>,
    /// A `Values` document.
    pub values: Option<Value>,
    /// What context entries are answered from: paths and whole objects.
    pub context_from: Vec<PolicyInput>,
    /// A `UserInfo` document.
    pub user_info: Option<Value>,
    /// Exceptions from policies, paths and whole ones in the order given.
    pub exceptions: Vec<PolicyInput>,
    /// The operation of the requests.
    pub operation: Option<Operation>,
    /// Which semantics.
    pub semantics: Semantics,
    /// What the early syntax of rules means.
    pub legacy: LegacyMode,
    /// What a rule that cannot be evaluated does.
    pub on_error: OnError,
    /// How grave it is that a policy would change an object, in [`Mode::Validate`].
    pub severity: Severity,
}

/// What a function does with what its policies say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It changes the items.
    #[default]
    Mutate,
    /// It adds objects, changed.
    Generate,
    /// It changes nothing, and objects that a policy would change are violations.
    Validate,
}

/// Where policies, and exceptions from them, come from.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyInput {
    /// A path, relative to where the function runs.
    Path(Text),
    /// A policy or an exception written in the configuration.
    Inline(Value),
    /// A YAML stream of policies, from a ConfigMap.
    Stream(Text),
}

/// What a rule that cannot be evaluated does to the function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// It fails.
    #[default]
    Fail,
    /// It warns.
    Warn,
}

impl OnError {
    /// The severity of a failed rule's result.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Fail => Severity::Error,
            Self::Warn => Severity::Warning,
        }
    }
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("functionConfig: {pointer}: {message}")]
#[non_exhaustive]
pub struct ConfigError {
    /// The field.
    pub pointer: Pointer,
    /// What is wrong with it.
    pub message: String,
}

impl FunctionConfig {
    /// Reads a `Kyv` or a ConfigMap.
    ///
    /// # Errors
    ///
    /// Every fault: another kind, unknown fields, values of a wrong type, fields that mean nothing in the
    /// mode.
    pub fn from_value(config: &Value) -> Result<Self, Vec<ConfigError>> {
        let text = |key| config.get(key).and_then(Value::as_str).unwrap_or_default();
        let (fields, at) = match (text("apiVersion"), text("kind")) {
            ("kyv.dev/v1alpha1", "Kyv") => ("spec", Form::Typed),
            ("v1", "ConfigMap") => ("data", Form::Strings),
            _ => {
                return Err(vec![ConfigError {
                    pointer: Pointer::ROOT.key("kind"),
                    message: "expected kyv.dev/v1alpha1 Kyv or v1 ConfigMap".into(),
                }]);
            }
        };
        let mut reader = Reader { form: at, at: Pointer::ROOT.key(fields), faults: Vec::new() };
        let empty = Map::default();
        let members = match config.get(fields) {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(members)) => &**members,
            Some(other) => {
                reader.fault(None, format!("expected an object, found {}", other.type_name()));
                &empty
            }
        };
        let config = reader.config(members);
        if reader.faults.is_empty() { Ok(config) } else { Err(reader.faults) }
    }
}

/// How fields are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// With their types.
    Typed,
    /// As strings, lists one per line.
    Strings,
}

struct Reader {
    form: Form,
    at: Pointer,
    faults: Vec<ConfigError>,
}

impl Reader {
    fn fault(&mut self, field: Option<&str>, message: impl Into<String>) {
        let pointer = field.map_or_else(|| self.at.clone(), |field| self.at.key(field));
        self.faults.push(ConfigError { pointer, message: message.into() });
    }

    fn config(&mut self, members: &Map) -> FunctionConfig {
        let inline = self.form == Form::Strings;
        let names = || FIELDS.iter().map(|field| field.name);
        for key in members.keys() {
            if names().any(|name| name == &**key) || (inline && &**key == "inline") {
                continue;
            }
            let message = match nearest(key, names()) {
                Some(meant) => format!("unknown field, did you mean `{meant}`?"),
                None => format!("unknown field; known are {}", names().collect::<Vec<_>>().join(", ")),
            };
            self.fault(Some(key), message);
        }
        let mode = match self.word(members, "mode").as_deref() {
            Some("generate") => Mode::Generate,
            Some("validate") => Mode::Validate,
            _ => Mode::Mutate,
        };
        for (field, of_mode, name) in
            [("manifests", Mode::Generate, "generate"), ("severity", Mode::Validate, "validate")]
        {
            if mode != of_mode && members.get(field).is_some_and(|value| !value.is_null()) {
                self.fault(Some(field), format!("it means something in mode {name} only"));
            }
        }
        let manifests = self.paths(members, "manifests");
        if mode == Mode::Generate && manifests.is_empty() {
            self.fault(Some("manifests"), "mode generate needs the paths of manifests");
        }
        let mut policies = self.inputs(members, "policies", "a policy");
        if let (true, Some(Value::String(stream))) = (inline, members.get("inline")) {
            policies.push(PolicyInput::Stream(stream.clone()));
        }
        FunctionConfig {
            mode,
            policies,
            policies_from_items: self.flag(members, "policiesFromItems"),
            manifests,
            context_from: self.inputs(members, "contextFrom", "an object"),
            values: self.document(members, "values"),
            user_info: self.document(members, "userInfo"),
            exceptions: self.inputs(members, "exceptions", "an exception"),
            operation: self.word(members, "operation").and_then(|word| Operation::parse(&word)),
            semantics: match self.word(members, "semantics").as_deref() {
                Some("kyverno") => Semantics::Kyverno,
                _ => Semantics::Documented,
            },
            legacy: self.legacy(members),
            on_error: match self.word(members, "onError").as_deref() {
                Some("warn") => OnError::Warn,
                _ => OnError::Fail,
            },
            severity: match self.word(members, "severity").as_deref() {
                Some("warning") => Severity::Warning,
                Some("info") => Severity::Info,
                _ => Severity::Error,
            },
        }
    }

    fn paths(&mut self, members: &Map, field: &str) -> Vec<Text> {
        let mut found = Vec::new();
        for (index, input) in self.inputs(members, field, "").into_iter().enumerate() {
            match input {
                PolicyInput::Path(path) => found.push(path),
                _ => {
                    let pointer = self.at.key(field).index(index);
                    self.faults.push(ConfigError { pointer, message: "expected a path".into() });
                }
            }
        }
        found
    }

    fn inputs(&mut self, members: &Map, field: &str, what: &str) -> Vec<PolicyInput> {
        let mut found = self.listed(members, field, what);
        let is_stdin = |input: &PolicyInput| matches!(input, PolicyInput::Path(path) if &**path == "-");
        if let Some(index) = found.iter().position(is_stdin) {
            let message = "expected a path; standard input holds the ResourceList".into();
            self.faults.push(ConfigError { pointer: self.at.key(field).index(index), message });
            found.retain(|input| !is_stdin(input));
        }
        found
    }

    fn listed(&mut self, members: &Map, field: &str, what: &str) -> Vec<PolicyInput> {
        match members.get(field) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(lines)) if self.form == Form::Strings => lines
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(|line| PolicyInput::Path(line.into()))
                .collect(),
            Some(Value::Array(items)) if self.form == Form::Typed => {
                let mut found = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    match item {
                        Value::String(path) => found.push(PolicyInput::Path(path.clone())),
                        Value::Object(_) => found.push(PolicyInput::Inline(item.clone())),
                        other => {
                            let pointer = self.at.key(field).index(index);
                            let or_what = if what.is_empty() { String::new() } else { format!(" or {what}") };
                            let message = format!("expected a path{or_what}, found {}", other.type_name());
                            self.faults.push(ConfigError { pointer, message });
                        }
                    }
                }
                found
            }
            Some(other) => {
                self.fault(Some(field), format!("expected a list, found {}", other.type_name()));
                Vec::new()
            }
        }
    }

    fn legacy(&mut self, members: &Map) -> LegacyMode {
        let word = self.word(members, "legacy");
        let named = LegacyMode::ALL.into_iter().find(|(name, _)| word.as_deref() == Some(name));
        named.map_or_else(LegacyMode::default, |(_, legacy)| legacy)
    }

    fn flag(&mut self, members: &Map, field: &str) -> bool {
        match members.get(field) {
            None | Some(Value::Null) => false,
            // In a ConfigMap too: some orchestrators write `key=value` arguments as untyped scalars.
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text))
                if self.form == Form::Strings && matches!(&**text, "true" | "false") =>
            {
                &**text == "true"
            }
            Some(_) => {
                self.fault(Some(field), "expected true or false");
                false
            }
        }
    }

    fn word(&mut self, members: &Map, field: &str) -> Option<String> {
        let words = words_of(field);
        match members.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(word)) if words.contains(&&**word) => Some(word.to_string()),
            Some(_) => {
                self.fault(Some(field), format!("expected one of {}", words.join(", ")));
                None
            }
        }
    }

    /// A document: an object, or in a ConfigMap its text.
    fn document(&mut self, members: &Map, field: &str) -> Option<Value> {
        match members.get(field) {
            None | Some(Value::Null) => None,
            Some(value @ Value::Object(_)) if self.form == Form::Typed => Some(value.clone()),
            Some(Value::String(text)) if self.form == Form::Strings => match crate::yaml::parse_value(text) {
                Ok(value @ Value::Object(_)) => Some(value),
                Ok(other) => {
                    self.fault(Some(field), format!("expected an object, found {}", other.type_name()));
                    None
                }
                Err(error) => {
                    self.fault(Some(field), error.to_string());
                    None
                }
            },
            Some(other) => {
                self.fault(Some(field), format!("expected an object, found {}", other.type_name()));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FunctionConfig, Vec<String>> {
        FunctionConfig::from_value(&Value::from_json(text).unwrap())
            .map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn both_forms_say_the_same() {
        let typed = read(
            r#"{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":{"policies":["a.yaml","b"],
            "onError":"warn","semantics":"kyverno","legacy":"native","policiesFromItems":true,"operation":"UPDATE"}}"#,
        )
        .unwrap();
        let strings = read(
            r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"policies":"a.yaml\n b\n","onError":"warn",
            "semantics":"kyverno","legacy":"native","policiesFromItems":"true","operation":"UPDATE"}}"#,
        )
        .unwrap();
        for config in [typed, strings] {
            assert_eq!(config.policies, [PolicyInput::Path("a.yaml".into()), PolicyInput::Path("b".into())]);
            assert_eq!(config.on_error, OnError::Warn);
            assert_eq!(config.semantics, Semantics::Kyverno);
            assert_eq!(config.legacy, LegacyMode::Native);
            assert!(config.policies_from_items);
            assert_eq!(config.operation, Some(Operation::Update));
        }
    }

    #[test]
    fn the_words_of_the_early_syntax_are_those_of_its_readings() {
        assert_eq!(words_of("legacy"), LegacyMode::ALL.map(|(name, _)| name));
    }

    #[test]
    fn a_mode_has_its_fields_and_only_these() {
        let kyv =
            |spec: &str| read(&format!(r#"{{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":{spec}}}"#));
        let config = kyv(r#"{"mode":"generate","manifests":["a","b/"]}"#).unwrap();
        assert_eq!((config.mode, config.manifests.len()), (Mode::Generate, 2));
        let config = kyv(r#"{"mode":"validate","severity":"info"}"#).unwrap();
        assert_eq!((config.mode, config.severity), (Mode::Validate, Severity::Info));
        let strings =
            r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"mode":"generate","manifests":"a\nb"}}"#;
        assert_eq!(read(strings).unwrap().manifests, [Text::from("a"), Text::from("b")]);
        for (spec, reason) in [
            (r#"{"mode":"generate"}"#, "spec.manifests: mode generate needs"),
            (r#"{"manifests":["a"]}"#, "spec.manifests: it means something in mode generate only"),
            (r#"{"severity":"error"}"#, "spec.severity: it means something in mode validate only"),
            (r#"{"mode":"generate","manifests":[{}]}"#, "spec.manifests[0]: expected a path"),
            (r#"{"mode":"generate","manifests":["-"]}"#, "spec.manifests[0]: expected a path"),
            (r#"{"policies":["a","-"]}"#, "spec.policies[1]: expected a path; standard input holds"),
            (r#"{"mode":"verify"}"#, "spec.mode: expected one of mutate, generate, validate"),
        ] {
            let faults = kyv(spec).unwrap_err();
            assert!(faults.iter().any(|fault| fault.contains(reason)), "{spec}: {faults:?}");
        }
    }

    #[test]
    fn every_fault_is_listed_with_its_field() {
        let faults = read(
            r#"{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":{"policys":[],"onError":"maybe",
            "policies":[5],"policiesFromItems":"yes","values":[]}}"#,
        )
        .unwrap_err();
        assert_eq!(faults.len(), 5, "{faults:?}");
        assert!(faults.iter().any(|fault| fault.contains("spec.policies[0]")), "{faults:?}");
        assert!(read(r#"{"kind":"Pod"}"#).is_err());
        assert!(read(r#"{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":5}"#).is_err());
    }
}
