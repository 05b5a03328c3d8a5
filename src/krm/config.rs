//! The function's configuration: a typed `Kyv`, or a ConfigMap of strings.

use crate::decode::{DecodeError, Decoder, unknown_field};
use crate::policy::Operation;
use crate::semantics::{LegacyMode, Semantics};
use crate::value::{Number, Pointer, Text, Value};

use super::Severity;
use super::fields::{FIELDS, words_of};

/// The configuration of a function.
#[derive(Clone, Debug)]
pub struct FunctionConfig {
    /// What the policies are used for.
    pub mode: Mode,
    /// The policies, paths and inline ones in their order.
    pub policies: Vec<PolicyInput>,
    /// Whether policies among the items are applied, too.
    pub policies_from_items: bool,
    /// The paths of the manifests that [`Mode::Generate`] adds.
    pub manifests: Vec<Text>,
    /// A `Values` document.
    pub values: Option<Value>,
    /// What context entries are loaded from: paths and inline objects.
    pub context_from: Vec<PolicyInput>,
    /// A `UserInfo` document.
    pub user_info: Option<Value>,
    /// Exceptions from policies, paths and inline ones in their order.
    pub exceptions: Vec<PolicyInput>,
    /// Definitions of custom resources, paths and inline ones in their order.
    pub crds: Vec<PolicyInput>,
    /// The operation of the requests.
    pub operation: Option<Operation>,
    /// Which semantics.
    pub semantics: Semantics,
    /// What the legacy syntax of rules means.
    pub legacy: LegacyMode,
    /// Whether policies see objects as they are written; else as admission webhooks get them.
    pub as_written: bool,
    /// Whether Pods have the volume with the token of their service account.
    pub service_account_token: bool,
    /// What a rule that cannot be evaluated does.
    pub on_error: OnError,
    /// Whether the function goes on without policies that are refused.
    pub keep_going: bool,
    /// Whether policies and rules that are not evaluated are warnings, not errors.
    pub skip_unsupported: bool,
    /// The severity of changes, in [`Mode::Validate`].
    pub severity: Severity,
    /// Whether omissions are errors.
    pub strict: bool,
    /// Whether notes are left out.
    pub quiet: bool,
    /// Whether each changed object is evaluated a second time.
    pub check_idempotent: bool,
    /// Limits on the inputs and on the evaluation of one rule. The names are not checked.
    pub limits: Vec<NamedLimit>,
}

/// A limit of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLimit {
    /// Its name.
    pub name: Text,
    /// Its value.
    pub value: usize,
    /// Its place in the configuration.
    pub at: Pointer,
}

/// What a function does with the changes of its policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It changes the items.
    #[default]
    Mutate,
    /// It adds objects, changed.
    Generate,
    /// It changes nothing, and each change is a violation.
    Validate,
}

/// A policy, an exception, a definition or an object of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyInput {
    /// A path, relative to where the function runs.
    Path(Text),
    /// An inline object.
    Inline(Value),
    /// A YAML stream of policies, from a ConfigMap.
    Stream(Text),
}

/// What the function does if a rule fails.
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

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("functionConfig: {0}")]
pub struct ConfigError(pub DecodeError);

impl FunctionConfig {
    /// Reads a `Kyv` or a ConfigMap.
    ///
    /// # Errors
    ///
    /// All errors: another kind, unknown fields, wrong types, fields of other modes.
    pub fn from_value(config: &Value) -> Result<Self, Vec<ConfigError>> {
        let text = |key| config.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut decoder = Decoder::default();
        let (spec, form) = match (text("apiVersion"), text("kind")) {
            ("kyv.dev/v1alpha1", "Kyv") => ("spec", Form::Typed),
            ("v1", "ConfigMap") => ("data", Form::Strings),
            _ => {
                decoder.error(&Pointer::ROOT.key("kind"), "expected kyv.dev/v1alpha1 Kyv or v1 ConfigMap");
                return Err(decoder.errors.into_iter().map(ConfigError).collect());
            }
        };
        let member = decoder.member(config, &Pointer::ROOT, spec);
        if let Some((at, other)) = member.as_ref().filter(|(_, value)| value.as_object().is_none()) {
            decoder.type_error(other, at, "an object");
        }
        let empty = Value::empty_object();
        let spec = member.map(|(_, value)| value).filter(|value| value.as_object().is_some());
        let at = Pointer::ROOT.key(if form == Form::Typed { "spec" } else { "data" });
        let mut reader = Reader { form, spec: spec.unwrap_or(&empty), at, decoder };
        let config = reader.config();
        reader.decoder.finish(config).map_err(|errors| errors.into_iter().map(ConfigError).collect())
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

struct Reader<'v> {
    form: Form,
    spec: &'v Value,
    /// The place of `spec`.
    at: Pointer,
    decoder: Decoder,
}

impl<'v> Reader<'v> {
    fn field(&self, name: &str) -> Option<(Pointer, &'v Value)> {
        self.decoder.member(self.spec, &self.at, name)
    }

    fn error(&mut self, field: &str, message: impl Into<String>) {
        self.decoder.error(&self.at.key(field), message);
    }

    fn config(&mut self) -> FunctionConfig {
        let inline = self.spec.get("inline").filter(|_| self.form == Form::Strings);
        let unknown = |key: &str| unknown_field(key, &FIELDS);
        let known: Vec<&str> = FIELDS.into_iter().chain(inline.map(|_| "inline")).collect();
        self.decoder.fields(self.spec, &self.at, &known, unknown);
        let mode = self.word("mode", &MODES);
        for (field, of_mode, name) in
            [("manifests", Mode::Generate, "generate"), ("severity", Mode::Validate, "validate")]
        {
            if mode != of_mode && self.field(field).is_some() {
                self.error(field, format!("it is allowed in mode {name} only"));
            }
        }
        let manifests = self.paths("manifests");
        if mode == Mode::Generate && manifests.is_empty() {
            self.error("manifests", "mode generate needs the paths of manifests");
        }
        let mut policies = self.inputs("policies", "a policy");
        if let Some(Value::String(stream)) = inline {
            policies.push(PolicyInput::Stream(stream.clone()));
        }
        FunctionConfig {
            mode,
            policies,
            policies_from_items: self.flag("policiesFromItems", false),
            manifests,
            context_from: self.inputs("contextFrom", "an object"),
            values: self.document("values"),
            user_info: self.document("userInfo"),
            exceptions: self.inputs("exceptions", "an exception"),
            crds: self.inputs("crds", "a definition"),
            operation: self.one_of("operation").and_then(Operation::parse),
            semantics: self.word("semantics", &[("kyverno", Semantics::Kyverno)]),
            legacy: self.word("legacy", &LegacyMode::ALL),
            as_written: self.word("view", &[("written", true)]),
            service_account_token: self.flag("serviceAccountToken", false),
            on_error: self.word("onError", &[("warn", OnError::Warn)]),
            keep_going: self.flag("keepGoing", false),
            skip_unsupported: self.flag("skipUnsupported", false),
            severity: self.word("severity", &SEVERITIES),
            strict: self.flag("strict", false),
            quiet: self.flag("quiet", false),
            check_idempotent: self.flag("checkIdempotent", true),
            limits: self.limits(),
        }
    }

    /// Limits by their names; in a ConfigMap lines such as `steps=5000000`.
    fn limits(&mut self) -> Vec<NamedLimit> {
        let mut limits = Vec::new();
        let mut add = |name: &str, at: Pointer, value: Option<usize>, decoder: &mut Decoder| match value {
            Some(value) => limits.push(NamedLimit { name: name.into(), value, at }),
            None => decoder.error(&at, "expected a whole number"),
        };
        if self.form == Form::Typed {
            for (name, at, value) in self.decoder.members(self.spec, &self.at, "limits") {
                let number = value.as_number().and_then(Number::as_i64);
                add(name, at, number.and_then(|number| usize::try_from(number).ok()), &mut self.decoder);
            }
        } else if let Some((at, value)) = self.field("limits") {
            match value.as_str() {
                None => self.decoder.type_error(value, &at, "lines of NAME=N"),
                Some(lines) => {
                    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
                        let (name, value) = line.split_once('=').unwrap_or((line, ""));
                        add(name.trim(), at.key(name.trim()), value.trim().parse().ok(), &mut self.decoder);
                    }
                }
            }
        }
        limits
    }

    fn paths(&mut self, field: &str) -> Vec<Text> {
        let mut found = Vec::new();
        for (index, input) in self.inputs(field, "").into_iter().enumerate() {
            match input {
                PolicyInput::Path(path) => found.push(path),
                _ => self.decoder.error(&self.at.key(field).index(index), "expected a path"),
            }
        }
        found
    }

    fn inputs(&mut self, field: &str, what: &str) -> Vec<PolicyInput> {
        let mut found = self.list(field, what);
        let is_stdin = |input: &PolicyInput| matches!(input, PolicyInput::Path(path) if &**path == "-");
        if let Some(index) = found.iter().position(is_stdin) {
            let message = "expected a path; standard input is the ResourceList";
            self.decoder.error(&self.at.key(field).index(index), message);
            found.retain(|input| !is_stdin(input));
        }
        found
    }

    fn list(&mut self, field: &str, what: &str) -> Vec<PolicyInput> {
        if let Some((at, value)) = self.field(field).filter(|_| self.form == Form::Strings) {
            let Some(lines) = value.as_str() else {
                self.decoder.type_error(value, &at, "a list");
                return Vec::new();
            };
            let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
            return lines.map(|line| PolicyInput::Path(line.into())).collect();
        }
        let mut found = Vec::new();
        for (at, item) in self.decoder.list(self.spec, &self.at, field) {
            match item {
                Value::String(text) if text.trim_end().contains('\n') => {
                    let what = if what.is_empty() { "" } else { "; write an object itself, not as a text" };
                    self.decoder.error(&at, format!("expected a path, found a text of several lines{what}"));
                }
                Value::String(path) => found.push(PolicyInput::Path(path.clone())),
                Value::Object(_) => found.push(PolicyInput::Inline(item.clone())),
                other if what.is_empty() => self.decoder.type_error(other, &at, "a path"),
                other => self.decoder.type_error(other, &at, &format!("a path or {what}")),
            }
        }
        found
    }

    fn flag(&mut self, field: &str, default: bool) -> bool {
        let is_text = self.form == Form::Strings;
        match self.field(field) {
            None => default,
            // In a ConfigMap too: some orchestrators write `key=value` arguments as untyped scalars.
            Some((_, Value::Bool(flag))) => *flag,
            Some((_, Value::String(text))) if is_text && &**text == "true" => true,
            Some((_, Value::String(text))) if is_text && &**text == "false" => false,
            Some(_) => {
                self.error(field, "expected true or false");
                default
            }
        }
    }

    /// The meaning of a word, or the default.
    fn word<T: Copy + Default>(&mut self, field: &str, meanings: &[(&str, T)]) -> T {
        let word = self.one_of(field);
        let meaning = meanings.iter().find(|(name, _)| word == Some(name));
        meaning.map_or_else(T::default, |(_, meaning)| *meaning)
    }

    /// One of the words that a field may hold.
    fn one_of(&mut self, field: &str) -> Option<&'v str> {
        let words = words_of(field);
        let (_, value) = self.field(field)?;
        let word = value.as_str().filter(|word| words.contains(word));
        if word.is_none() {
            self.error(field, format!("expected one of {}", words.join(", ")));
        }
        word
    }

    /// A document: an object, or in a ConfigMap its text.
    fn document(&mut self, field: &str) -> Option<Value> {
        let (at, value) = self.field(field)?;
        let parsed = match value {
            Value::String(text) if self.form == Form::Strings => match crate::yaml::parse_value(text) {
                Ok(parsed) => Some(parsed),
                Err(error) => {
                    self.decoder.error(&at, error.to_string());
                    return None;
                }
            },
            _ => None,
        };
        let document = parsed.as_ref().unwrap_or(value);
        if document.as_object().is_some() && (self.form == Form::Typed || parsed.is_some()) {
            return Some(document.clone());
        }
        self.decoder.type_error(document, &at, "an object");
        None
    }
}

const MODES: [(&str, Mode); 3] =
    [("mutate", Mode::Mutate), ("generate", Mode::Generate), ("validate", Mode::Validate)];

const SEVERITIES: [(&str, Severity); 3] =
    [("error", Severity::Error), ("warning", Severity::Warning), ("info", Severity::Info)];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FunctionConfig, Vec<String>> {
        FunctionConfig::from_value(&Value::from_json(text).unwrap())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn both_forms_say_the_same() {
        let typed = read(
            r#"{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":{"policies":["a.yaml","b"],
            "onError":"warn","semantics":"kyverno","legacy":"native","policiesFromItems":true,"operation":"UPDATE",
            "view":"written","serviceAccountToken":true,"crds":["c.yaml"],"strict":true,"quiet":true,"checkIdempotent":false,
            "limits":{"steps":5}}}"#,
        )
        .unwrap();
        let strings = read(
            r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"policies":"a.yaml\n b\n","onError":"warn",
            "semantics":"kyverno","legacy":"native","policiesFromItems":"true","operation":"UPDATE","view":"written",
            "serviceAccountToken":"true","crds":"c.yaml","strict":"true","quiet":"true","checkIdempotent":"false","limits":"steps = 5\n"}}"#,
        )
        .unwrap();
        for config in [typed, strings] {
            assert_eq!(config.policies, [PolicyInput::Path("a.yaml".into()), PolicyInput::Path("b".into())]);
            assert_eq!(config.on_error, OnError::Warn);
            assert_eq!(config.semantics, Semantics::Kyverno);
            assert_eq!(config.legacy, LegacyMode::Native);
            assert!(config.policies_from_items);
            assert_eq!(config.operation, Some(Operation::Update));
            assert_eq!(config.crds, [PolicyInput::Path("c.yaml".into())]);
            assert!(config.service_account_token);
            assert!(config.as_written && config.strict && config.quiet && !config.check_idempotent);
            let limits: Vec<_> = config.limits.iter().map(|limit| (&*limit.name, limit.value)).collect();
            assert_eq!(limits, [("steps", 5)]);
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
            (r#"{"manifests":["a"]}"#, "spec.manifests: it is allowed in mode generate only"),
            (r#"{"severity":"error"}"#, "spec.severity: it is allowed in mode validate only"),
            (r#"{"mode":"generate","manifests":[{}]}"#, "spec.manifests[0]: expected a path"),
            (r#"{"mode":"generate","manifests":["-"]}"#, "spec.manifests[0]: expected a path"),
            (r#"{"policies":["a","-"]}"#, "spec.policies[1]: expected a path; standard input is"),
            (r#"{"mode":"verify"}"#, "spec.mode: expected one of mutate, generate, validate"),
        ] {
            let errors = kyv(spec).unwrap_err();
            assert!(errors.iter().any(|error| error.contains(reason)), "{spec}: {errors:?}");
        }
    }

    #[test]
    fn objects_are_checked_for_idempotence_unless_the_configuration_says_no() {
        let config = read(r#"{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv"}"#).unwrap();
        assert!(config.check_idempotent && !config.strict && !config.quiet && config.limits.is_empty());
    }

    #[test]
    fn limits_are_whole_numbers() {
        for (head, limits) in [
            (r#""apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec""#, r#"{"steps":"5","rounds":-1}"#),
            (r#""apiVersion":"v1","kind":"ConfigMap","data""#, r#""steps\nrounds=x""#),
        ] {
            let errors = read(&format!(r#"{{{head}:{{"limits":{limits}}}}}"#)).unwrap_err();
            let is_named = |name: &str| {
                let wanted = format!(".limits.{name}: expected a whole number");
                errors.iter().any(|error| error.ends_with(&wanted))
            };
            assert!(errors.len() == 2 && is_named("steps") && is_named("rounds"), "{errors:?}");
        }
        assert!(read(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"limits":{}}}"#).is_err());
    }

    #[test]
    fn every_error_is_listed_with_its_field() {
        let errors = read(
            r#"{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":{"policys":[],"onError":"maybe",
            "policies":[5],"policiesFromItems":"yes","values":[]}}"#,
        )
        .unwrap_err();
        assert_eq!(errors.len(), 5, "{errors:?}");
        assert!(errors.iter().any(|error| error.contains("spec.policies[0]")), "{errors:?}");
        assert!(read(r#"{"kind":"Pod"}"#).is_err());
        assert!(read(r#"{"apiVersion":"kyv.dev/v1alpha1","kind":"Kyv","spec":5}"#).is_err());
    }
}
