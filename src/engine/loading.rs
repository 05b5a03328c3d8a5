//! Context entries: loaded when an expression names them, and not before.

use std::sync::Arc;

use crate::policy::{ContextEntry, ContextSource};
use crate::value::{Text, Value};
use crate::variables::{Inline, Query, QueryError, Scope as _, Substitution, Template};

use super::context::{Context, names};
use super::world::{Lookup, LookupError};

/// The namespace of a `ConfigMap` that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// A context entry that was registered.
#[derive(Debug)]
pub(super) struct Loader {
    entry: Arc<ContextEntry>,
    /// How many checkpoints were open when it was.
    level: usize,
    /// What it was found to be.
    value: Option<Loaded>,
}

/// What an entry was found to be.
#[derive(Clone, Debug)]
enum Loaded {
    /// A value that takes the place of an earlier one of this name.
    Replacing(Value),
    /// A value whose members join those of an earlier one.
    Merging(Value),
    /// What a user gave for the name stands.
    Given,
}

/// Which entries may be asked for while one is loading: those registered before it, no deeper than it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    end: usize,
    level: usize,
}

impl Context<'_> {
    /// Makes entries known; none is loaded.
    pub(super) fn register(&mut self, entries: &[Arc<ContextEntry>]) {
        let level = self.level;
        let loaders = entries.iter().map(|entry| Loader { entry: Arc::clone(entry), level, value: None });
        self.loaders.extend(loaders);
    }

    /// Forgets the entries registered at a level or deeper; those that were loaded before stay so.
    pub(super) fn keep_loaders_below(&mut self, level: usize) {
        self.loaders.retain(|loader| loader.level < level);
        let loaded: Vec<_> = self
            .loaders
            .iter()
            .filter_map(|loader| Some((loader.entry.name.clone(), loader.value.clone()?)))
            .collect();
        for (name, value) in loaded {
            self.give(&name, value);
        }
    }

    /// Whether an entry was loaded.
    pub(super) fn is_loaded(&self, entry: &Arc<ContextEntry>) -> bool {
        self.loaders.iter().any(|loader| Arc::ptr_eq(&loader.entry, entry) && loader.value.is_some())
    }

    /// Loads every entry that an expression names.
    pub(super) fn load_matching(&mut self, expression: &str) -> Result<(), QueryError> {
        if self.loaders.is_empty() {
            return Ok(());
        }
        let Window { end, level } =
            self.window.unwrap_or(Window { end: self.loaders.len(), level: self.level });
        let wanted = |loader: &Loader| {
            loader.value.is_none() && loader.level <= level && names(expression, &loader.entry.name)
        };
        while let Some(index) = self.loaders.iter().take(end).position(wanted) {
            self.load(index)?;
        }
        Ok(())
    }

    fn load(&mut self, index: usize) -> Result<(), QueryError> {
        let Some(loader) = self.loaders.get(index) else { return Ok(()) };
        let (entry, level) = (Arc::clone(&loader.entry), loader.level);
        let maximum = self.limits().context_depth;
        if self.loading >= maximum {
            let name = &entry.name;
            return Err(QueryError::Load(format!(
                "failed to load context entry {name}: too many entries ask for one another (limit context-depth={maximum})"
            )));
        }
        let outer = self.window.replace(Window { end: index, level });
        self.loading += 1;
        let value = Loading { context: self, entry: &entry }.value();
        self.loading -= 1;
        self.window = outer;
        let value = value.map_err(QueryError::Load)?;
        if let Some(loader) = self.loaders.get_mut(index) {
            loader.value = Some(value.clone());
        }
        self.give(&entry.name, value);
        Ok(())
    }

    fn give(&mut self, name: &Text, value: Loaded) {
        match value {
            Loaded::Replacing(value) => self.put(name, value),
            Loaded::Merging(value) => {
                if self.held(name).is_some_and(|held| held.same_storage(&value)) {
                    return;
                }
                let mut merged = self.held(name).cloned().unwrap_or_default();
                merge(&mut merged, &value);
                self.put(name, merged);
            }
            Loaded::Given => {}
        }
    }
}

/// Members join members; everything else takes the place of what was there.
fn merge(node: &mut Value, value: &Value) {
    match (node.as_object_mut(), value.as_object()) {
        (Some(members), Some(new)) => {
            for (key, value) in new {
                merge(members.entry(key.clone()).or_default(), value);
            }
        }
        _ => *node = value.clone(),
    }
}

/// An entry that is being loaded.
struct Loading<'x, 'c> {
    context: &'x mut Context<'c>,
    entry: &'x ContextEntry,
}

impl Loading<'_, '_> {
    fn value(&mut self) -> Result<Loaded, String> {
        let entry = self.entry;
        let loaded = match &entry.source {
            ContextSource::Variable { value, jmes_path, default } => {
                self.variable(value.as_ref(), jmes_path.as_ref(), default.as_ref()).map(Loaded::Replacing)?
            }
            ContextSource::ConfigMap { name, namespace } => self.config_map(name, namespace)?,
            ContextSource::ApiCall { call, default } => self.api_call(call, default.as_ref())?,
            ContextSource::ImageRegistry { reference, jmes_path } => {
                let reference = self.text(reference)?;
                let lookup = Lookup::Image(&reference);
                match self.context.world().lookup(&lookup) {
                    Ok(image) => Loaded::Merging(self.taken(image, jmes_path.as_ref())?),
                    Err(error) => self.given(&error, |error| {
                        format!(
                            "failed to fetch image descriptor: {reference}, error: {error}; `--values FILE` can give \
                             {} a value, images are not looked up by this version",
                            entry.name
                        )
                    })?,
                }
            }
            ContextSource::GlobalReference { name, jmes_path } => {
                let name = self.text(name)?;
                match self.context.world().lookup(&Lookup::Global(&name)) {
                    Ok(value) => Loaded::Merging(self.taken(value, jmes_path.as_ref())?),
                    Err(error) => self.given(&error, |error| {
                        format!(
                            "failed to fetch entry key={name} for context entry {}: {error}; `--values FILE` can give \
                             it a value",
                            entry.name
                        )
                    })?,
                }
            }
        };
        match loaded {
            Loaded::Replacing(value) => Ok(Loaded::Replacing(self.allowed(value)?)),
            Loaded::Merging(value) => Ok(Loaded::Merging(self.allowed(value)?)),
            Loaded::Given => Ok(Loaded::Given),
        }
    }

    /// What a user gave for the name stands where nothing else answers.
    fn given(&self, error: &LookupError, say: impl FnOnce(&LookupError) -> String) -> Result<Loaded, String> {
        if *error == LookupError::NotGiven && self.context.held(&self.entry.name).is_some() {
            return Ok(Loaded::Given);
        }
        Err(say(error))
    }

    fn allowed(&self, value: Value) -> Result<Value, String> {
        let name = &self.entry.name;
        self.context
            .runtime()
            .allow(value)
            .map_err(|error| format!("failed to load context entry {name}: {error}"))
    }

    fn settings(&self) -> Substitution<'_> {
        self.context.substitution(Inline::Path)
    }

    fn substituted(&mut self, template: &Template) -> Result<Value, String> {
        let settings = self.context.substitution(Inline::Path);
        let replaced = template.substitute(self.context, settings);
        replaced.map(|replaced| replaced.value).map_err(|error| {
            let written = template.source().as_str().map(|text| format!(" {text}")).unwrap_or_default();
            format!("failed to substitute variables in context entry {}{written}: {error}", self.entry.name)
        })
    }

    fn text(&mut self, template: &Template) -> Result<Text, String> {
        match self.substituted(template)? {
            Value::String(text) => Ok(text),
            other => Err(format!(
                "failed to substitute variables in context entry {}: expected string, got {}",
                self.entry.name,
                other.type_name()
            )),
        }
    }

    /// An expression, once the variables in it are replaced.
    fn path(&mut self, template: &Template) -> Result<Query, String> {
        let semantics = self.settings().reading.semantics();
        match self.substituted(template)? {
            Value::String(text) => Ok(Query::new(&text, semantics)),
            _ => {
                let written = template.source().as_str().unwrap_or_default();
                Err(format!("jmespath value must be a string {} {written}", self.entry.name))
            }
        }
    }

    fn search(&self, query: &Query, value: &Value) -> Result<Value, String> {
        let expression = query.expression().map_err(|error| error.to_string())?;
        expression.search(value, self.context.runtime()).map_err(|error| error.to_string())
    }

    /// What an expression takes of an answer.
    fn taken(&mut self, answer: Value, path: Option<&Template>) -> Result<Value, String> {
        let Some(path) = path else { return Ok(answer) };
        let query = self.path(path)?;
        self.search(&query, &answer).map_err(|error| {
            format!(
                "failed to apply JMESPath {} for context entry {}: {error}",
                query.text(),
                self.entry.name
            )
        })
    }

    fn variable(
        &mut self,
        value: Option<&Template>,
        path: Option<&Template>,
        default: Option<&Template>,
    ) -> Result<Value, String> {
        let query = path.map(|path| self.path(path)).transpose()?;
        let default = default.map(|default| self.substituted(default)).transpose()?.unwrap_or_default();
        let found = match (value, &query) {
            (Some(value), None) => Ok(self.substituted(value)?),
            (Some(value), Some(query)) => {
                let value = self.substituted(value)?;
                self.search(query, &value)
            }
            (None, Some(query)) => match self.context.query(query) {
                Ok(Value::Null) => Ok(default.clone()),
                Ok(found) => Ok(found),
                Err(error) => Err(error.to_string()),
            },
            (None, None) => Ok(default.clone()),
        };
        let name = &self.entry.name;
        let found = match found {
            Ok(found) => found,
            Err(error) if default.is_null() => {
                let path = query.as_ref().map(|query| query.text().clone()).unwrap_or_default();
                return Err(format!("failed to apply jmespath {path} to variable {name}: {error}"));
            }
            Err(_) => default,
        };
        if found.is_null() {
            return Err(format!("failed to add context entry for variable {name} since it evaluated to nil"));
        }
        Ok(found)
    }

    fn config_map(&mut self, name: &Template, namespace: &Template) -> Result<Loaded, String> {
        let name = self.text(name)?;
        let mut namespace = self.text(namespace)?;
        let entry = &self.entry.name;
        if let Some(own) = self.context.namespace {
            if namespace.is_empty() {
                namespace = own.clone();
            } else if namespace != *own {
                return Err(format!(
                    "context entry {entry}: configMap namespace \"{namespace}\" is different from policy namespace \"{own}\""
                ));
            }
        } else if namespace.is_empty() {
            namespace = DEFAULT_NAMESPACE.into();
        }
        let lookup = Lookup::ConfigMap { namespace: &namespace, name: &name };
        match self.context.world().lookup(&lookup) {
            Ok(object) => {
                let parts = ["data", "metadata"].map(|part| {
                    (part, object.get(part).cloned().unwrap_or_else(Value::empty_object))
                });
                Ok(Loaded::Merging(parts.into_iter().collect()))
            }
            Err(error) => self.given(&error, |error| {
                format!(
                    "failed to retrieve config map for context entry {entry}: failed to get configmap \
                     {namespace}/{name} : {error}; `--context-from PATH` can give the object, `--values FILE` the entry"
                )
            }),
        }
    }

    fn api_call(&mut self, call: &Template, default: Option<&Value>) -> Result<Loaded, String> {
        let call = self.substituted(call)?;
        let entry = self.entry.name.clone();
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("urlPath").trim();
        let method = text("method");
        if let Some(namespace) = self.context.namespace {
            own_namespace(path, namespace)?;
        }
        let answer = if path.is_empty() || method == "POST" {
            let what = if path.is_empty() { "calls of services" } else { "POST calls" };
            Err(LookupError::Unanswerable(format!("{what} are never sent")))
        } else {
            self.context.world().lookup(&Lookup::Api(path))
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // Nothing is known of a call that is never sent, so that a value given for it stands.
                if error != LookupError::NotFound && self.context.held(&entry).is_some() {
                    return Ok(Loaded::Given);
                }
                if let (LookupError::NotFound, Some(default)) = (&error, default) {
                    return Ok(Loaded::Merging(default.clone()));
                }
                let from = if path.is_empty() || method == "POST" {
                    String::new()
                } else {
                    "`--context-from PATH` can give the objects, ".into()
                };
                let shown = if path.is_empty() {
                    "the service".into()
                } else {
                    format!("resource with raw url: {path}")
                };
                let method = if method.is_empty() { "GET" } else { method };
                return Err(format!(
                    "failed to fetch data for APICall: failed to {method} {shown}: {error}; {from}`--values FILE` can give \
                     {entry} a value"
                ));
            }
        };
        let query = match call.get("jmesPath").and_then(Value::as_str) {
            Some(path) if !path.is_empty() => Query::new(path, self.settings().reading.semantics()),
            _ => return Ok(Loaded::Merging(answer)),
        };
        let taken = self.search(&query, &answer).map_err(|error| {
            format!(
                "failed to store data for APICall: failed to apply JMESPath {} for context entry {entry}: {error}",
                query.text()
            )
        })?;
        Ok(Loaded::Merging(taken))
    }
}

/// A policy of a namespace asks for what is in its namespace.
fn own_namespace(path: &str, own: &str) -> Result<(), String> {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces");
    match (parts.next(), parts.next()) {
        (Some(_), Some(namespace)) if namespace == own => Ok(()),
        (Some(_), Some(namespace)) if !namespace.is_empty() => Err(format!(
            "path {path} refers to namespace {namespace}, which is different from the policy namespace {own}"
        )),
        _ => Err(format!(
            "path {path} does not contain a namespace segment, which is required for namespaced policies"
        )),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use crate::engine::context::{WorldChance, WorldClock};
    use crate::engine::{EmptyWorld, KindScope, Limits, World};
    use crate::semantics::{Reading, Semantics};
    use crate::value::GroupVersionKind;

    use super::*;

    fn entry(name: &str, expression: &str) -> Arc<ContextEntry> {
        let prepare = |text: &str| Template::prepare(&text.into(), Semantics::Documented);
        let source =
            ContextSource::Variable { value: None, jmes_path: Some(prepare(expression)), default: None };
        Arc::new(ContextEntry { name: name.into(), source, whole: prepare("") })
    }

    fn entries(list: &[(&str, &str)]) -> Vec<Arc<ContextEntry>> {
        list.iter().map(|(name, expression)| entry(name, expression)).collect()
    }

    fn in_context<T>(limits: Limits, run: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let world: &dyn World = &EmptyWorld;
        let (clock, chance) = (WorldClock(world), WorldChance::new(world, None));
        let reading = Reading::default();
        let policy = Text::from("p");
        let base = Value::from_json(r#"{"request":{"object":{"a":1}}}"#).unwrap();
        let mut context =
            Context::new((base, Value::empty_object()), (&policy, None), limits, (&clock, &chance), &reading);
        run(&mut context)
    }

    fn asked(context: &mut Context<'_>, expression: &str) -> Result<String, String> {
        let answer = context.query(&Query::new(expression, Semantics::Documented));
        answer.map(|value| value.to_json()).map_err(|error| error.to_string())
    }

    fn loaded(context: &Context<'_>) -> Vec<bool> {
        context.loaders.iter().map(|loader| loader.value.is_some()).collect()
    }

    #[test]
    fn an_entry_is_loaded_when_an_expression_names_it() {
        for (expression, expected) in [
            ("one", true),
            ("(one)", true),
            ("one.two", true),
            ("one || `1`", true),
            ("one<`2`", true),
            ("[one, `2`]", true),
            ("\"one-two\" || `1`", true),
            ("oneTwo || `1`", false),
            ("one1 || `1`", false),
            ("one_two || `1`", false),
            ("request.one || `1`", false),
        ] {
            in_context(Limits::default(), |context| {
                context.register(&entries(&[("one", "`{\"two\":2}`")]));
                asked(context, expression).unwrap();
                assert_eq!(loaded(context), [expected], "{expression}");
            });
        }
    }

    #[test]
    fn an_entry_that_nobody_names_never_fails() {
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("bad", "nothing.at.all"), ("good", "'x'")]));
            assert_eq!(asked(context, "good").unwrap(), r#""x""#);
            assert!(asked(context, "bad || 'y'").unwrap_err().contains("failed to apply jmespath"));
        });
    }

    #[test]
    fn an_entry_may_use_the_ones_before_it_alone() {
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("a", "b"), ("b", "'x'"), ("c", "b")]));
            assert_eq!(asked(context, "c").unwrap(), r#""x""#);
        });
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("a", "b"), ("b", "'x'"), ("itself", "itself")]));
            assert!(asked(context, "a").unwrap_err().contains(r#"Unknown key "b""#));
            assert!(asked(context, "itself").unwrap_err().contains(r#"Unknown key "itself""#));
        });
    }

    #[test]
    fn of_two_entries_with_one_name_both_run_and_the_later_wins() {
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("n", "`1`"), ("n", "add(n, `1`)")]));
            assert_eq!(asked(context, "n").unwrap(), "2");
            assert_eq!(loaded(context), [true, true]);
        });
    }

    #[test]
    fn a_reset_forgets_the_entries_of_its_scope() {
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("outer", "'o'")]));
            let saved = context.checkpoint();
            for round in ["`1`", "`2`"] {
                context.reset(&saved);
                context.register(&entries(&[("inner", round)]));
                assert_eq!(asked(context, "[outer, inner]").unwrap(), format!(r#"["o",{}]"#, &round[1..2]));
            }
            context.restore(&saved);
            assert_eq!(loaded(context), [true]);
            assert_eq!(asked(context, "outer").unwrap(), r#""o""#);
            assert!(asked(context, "inner").is_err());
        });
    }

    #[test]
    fn an_entry_of_an_inner_scope_hides_one_of_its_name() {
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("foo", "'foo'"), ("one", "foo"), ("foo", "'baz'")]));
            let saved = context.checkpoint();
            context.register(&entries(&[("foo", "'bar'")]));
            assert_eq!(asked(context, "one").unwrap(), r#""foo""#);
            assert_eq!(asked(context, "foo").unwrap(), r#""bar""#);
            context.restore(&saved);
            assert_eq!(asked(context, "one").unwrap(), r#""foo""#);
            assert_eq!(asked(context, "foo").unwrap(), r#""baz""#);
        });
    }

    #[test]
    fn an_entry_of_an_outer_scope_asks_for_what_is_outside() {
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("foo", "'outer'"), ("one", "foo")]));
            let saved = context.checkpoint();
            context.register(&entries(&[("foo", "'inner'")]));
            assert_eq!(asked(context, "one").unwrap(), r#""outer""#);
            context.restore(&saved);
        });
    }

    #[test]
    fn a_failed_entry_lets_the_next_question_try_again() {
        in_context(Limits::default(), |context| {
            context.register(&entries(&[("a", "element")]));
            assert!(asked(context, "a").is_err());
            context.set_element(&"x".into(), 0, 0);
            assert_eq!(asked(context, "a").unwrap(), r#""x""#);
        });
    }

    #[test]
    fn entries_that_ask_for_one_another_have_a_limit() {
        let list: Vec<(String, String)> = (0..20)
            .map(|n| (format!("v{n}x"), if n == 0 { "'x'".into() } else { format!("v{}x", n - 1) }))
            .collect();
        let list: Vec<_> = list.iter().map(|(name, path)| entry(name, path)).collect();
        in_context(Limits { context_depth: 10, ..Limits::default() }, |context| {
            context.register(&list);
            assert!(asked(context, "v19x").unwrap_err().contains("limit context-depth=10"));
            assert_eq!(asked(context, "v9x").unwrap(), r#""x""#);
            assert_eq!(asked(context, "v19x").unwrap(), r#""x""#);
        });
    }

    /// A world in which every `ConfigMap` is the same.
    struct OneMap;

    impl World for OneMap {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn chance(&self, _key: &str, call: u64) -> u64 {
            call
        }

        fn namespace_labels(&self, _namespace: &str) -> Option<Value> {
            None
        }

        fn scope(&self, _kind: &GroupVersionKind) -> KindScope {
            KindScope::Unknown
        }

        fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
            match lookup {
                Lookup::ConfigMap { namespace: "own", name: "cm" } => {
                    Ok(Value::from_json(r#"{"data":{"k":"v"},"metadata":{"name":"cm"},"binaryData":{}}"#)
                        .unwrap())
                }
                _ => Err(LookupError::NotFound),
            }
        }
    }

    #[test]
    fn a_policy_of_a_namespace_reads_config_maps_of_its_own() {
        let own = Text::from("own");
        let prepare = |text: &str| Template::prepare(&text.into(), Semantics::Documented);
        for (namespace, expected) in [
            ("", Ok(r#"{"data":{"k":"v"},"metadata":{"name":"cm"}}"#)),
            ("own", Ok(r#"{"data":{"k":"v"},"metadata":{"name":"cm"}}"#)),
            ("other", Err(r#"configMap namespace "other" is different from policy namespace "own""#)),
        ] {
            let world: &dyn World = &OneMap;
            let (clock, chance) = (WorldClock(world), WorldChance::new(world, None));
            let (reading, policy) = (Reading::default(), Text::from("p"));
            let mut context = Context::new(
                (Value::empty_object(), Value::Null),
                (&policy, Some(&own)),
                Limits::default(),
                (&clock, &chance),
                &reading,
            );
            let source = ContextSource::ConfigMap { name: prepare("cm"), namespace: prepare(namespace) };
            context.register(&[Arc::new(ContextEntry { name: "m".into(), source, whole: prepare("") })]);
            match (asked(&mut context, "m"), expected) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
                (Err(found), Err(wanted)) => assert!(found.contains(wanted), "{found}"),
                (found, _) => panic!("{namespace}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_policy_of_a_namespace_calls_for_its_own() {
        assert_eq!(own_namespace("/api/v1/namespaces/own/pods?limit=1", "own"), Ok(()));
        assert!(own_namespace("/api/v1/namespaces/other/pods", "own").unwrap_err().contains("different"));
        for path in ["/api/v1/pods", "", "/api/v1/namespaces", "/api/v1/namespaces/"] {
            assert!(own_namespace(path, "own").unwrap_err().contains("does not contain"), "{path}");
        }
    }
}
