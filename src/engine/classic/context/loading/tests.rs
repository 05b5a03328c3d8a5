//! When context entries are loaded.

use jiff::Timestamp;

use crate::engine::classic::context::{ContextInput, ExpressionWorld};
use crate::engine::{EmptyWorld, Limits, Lookup, LookupError, LookupSource, Settings, World};
use crate::policy::ContextSource;
use crate::secrets::TaintTracker;
use crate::semantics::{DivergenceTracker, Semantics};
use crate::variables::{Query, Scope as _, Template};

use super::*;

fn entry(name: &str, expression: &str) -> Arc<ContextEntry> {
    let prepare = |text: &str| Template::prepare(&text.into(), Semantics::Documented);
    let source = ContextSource::Variable { value: None, jmes_path: Some(prepare(expression)), default: None };
    Arc::new(ContextEntry { name: name.into(), source, whole: prepare("") })
}

fn entries(list: &[(&str, &str)]) -> Vec<Arc<ContextEntry>> {
    list.iter().map(|(name, expression)| entry(name, expression)).collect()
}

fn in_context<T>(limits: Limits, run: impl FnOnce(&mut Context<'_>) -> T) -> T {
    with_world(&EmptyWorld, None, limits, run)
}

fn with_world<T>(
    world: &dyn World,
    namespace: Option<&Text>,
    limits: Limits,
    run: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    run(&mut Context::new(ContextInput {
        root: Value::from_json(r#"{"request":{"object":{"a":1}}}"#).unwrap(),
        object: Value::empty_object(),
        policy: &"p".into(),
        namespace,
        settings: &Settings { limits, ..Settings::default() },
        world: &ExpressionWorld::new(world, None),
        tracker: &DivergenceTracker::default(),
        taint: &TaintTracker::default(),
    }))
}

fn evaluate(context: &mut Context<'_>, expression: &str) -> Result<String, String> {
    let found = context.query(&Query::new(expression));
    found.map(|value| value.to_json()).map_err(|error| error.to_string())
}

fn loaded(context: &Context<'_>) -> Vec<bool> {
    context.entries.iter().map(|entry| entry.value.is_some()).collect()
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
            evaluate(context, expression).unwrap();
            assert_eq!(loaded(context), [expected], "{expression}");
        });
    }
}

#[test]
fn an_entry_that_is_not_named_never_fails() {
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("bad", "nothing.at.all"), ("good", "'x'")]));
        assert_eq!(evaluate(context, "good").unwrap(), r#""x""#);
        assert!(evaluate(context, "bad || 'y'").unwrap_err().contains("no value for `nothing.at.all`"));
    });
}

#[test]
fn an_entry_uses_only_entries_before_it() {
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("a", "b"), ("b", "'x'"), ("c", "b")]));
        assert_eq!(evaluate(context, "c").unwrap(), r#""x""#);
    });
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("a", "b"), ("b", "'x'"), ("itself", "itself")]));
        assert!(evaluate(context, "a").unwrap_err().contains("there is no key `b`"));
        assert!(evaluate(context, "itself").unwrap_err().contains("there is no key `itself`"));
    });
}

#[test]
fn the_later_of_two_entries_with_the_same_name_wins() {
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("n", "`1`"), ("n", "add(n, `1`)")]));
        assert_eq!(evaluate(context, "n").unwrap(), "2");
        assert_eq!(loaded(context), [true, true]);
    });
}

#[test]
fn a_reset_removes_the_entries_of_its_scope() {
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("outer", "'o'")]));
        let saved = context.checkpoint();
        for round in ["`1`", "`2`"] {
            context.reset(&saved);
            context.register(&entries(&[("inner", round)]));
            assert_eq!(evaluate(context, "[outer, inner]").unwrap(), format!(r#"["o",{}]"#, &round[1..2]));
        }
        context.restore(&saved);
        assert_eq!(loaded(context), [true]);
        assert_eq!(evaluate(context, "outer").unwrap(), r#""o""#);
        assert!(evaluate(context, "inner").is_err());
    });
}

#[test]
fn an_entry_of_an_inner_scope_shadows_an_outer_one() {
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("foo", "'foo'"), ("one", "foo"), ("foo", "'baz'")]));
        let saved = context.checkpoint();
        context.register(&entries(&[("foo", "'bar'")]));
        assert_eq!(evaluate(context, "one").unwrap(), r#""foo""#);
        assert_eq!(evaluate(context, "foo").unwrap(), r#""bar""#);
        context.restore(&saved);
        assert_eq!(evaluate(context, "one").unwrap(), r#""foo""#);
        assert_eq!(evaluate(context, "foo").unwrap(), r#""baz""#);
    });
}

#[test]
fn an_entry_of_an_outer_scope_uses_outer_entries() {
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("foo", "'outer'"), ("one", "foo")]));
        let saved = context.checkpoint();
        context.register(&entries(&[("foo", "'inner'")]));
        assert_eq!(evaluate(context, "one").unwrap(), r#""outer""#);
        context.restore(&saved);
    });
}

#[test]
fn a_failed_entry_is_loaded_again() {
    in_context(Limits::default(), |context| {
        context.register(&entries(&[("a", "element")]));
        assert!(evaluate(context, "a").is_err());
        context.set_element((&"x".into(), &Query::new("list")), 0, 0);
        assert_eq!(evaluate(context, "a").unwrap(), r#""x""#);
    });
}

#[test]
fn the_depth_of_entries_is_limited() {
    let list: Vec<(String, String)> = (0..20)
        .map(|n| (format!("v{n}x"), if n == 0 { "'x'".into() } else { format!("v{}x", n - 1) }))
        .collect();
    let list: Vec<_> = list.iter().map(|(name, path)| entry(name, path)).collect();
    in_context(Limits { context_depth: 10, ..Limits::default() }, |context| {
        context.register(&list);
        assert!(evaluate(context, "v19x").unwrap_err().contains("limit context-depth=10"));
        assert_eq!(evaluate(context, "v9x").unwrap(), r#""x""#);
        assert_eq!(evaluate(context, "v19x").unwrap(), r#""x""#);
    });
}

/// A world with one `ConfigMap`.
struct ConfigMapWorld;

impl World for ConfigMapWorld {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn random(&self, _key: &str, call: u64) -> u64 {
        call
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        match lookup.source {
            LookupSource::ConfigMap { namespace: "own", name: "cm" } => {
                Ok(Value::from_json(r#"{"data":{"k":"v"},"metadata":{"name":"cm"},"binaryData":{}}"#)
                    .unwrap())
            }
            _ => Err(LookupError::NotFound),
        }
    }
}

#[test]
fn namespaced_policies_read_config_maps_of_their_namespace() {
    let prepare = |text: &str| Template::prepare(&text.into(), Semantics::Documented);
    for (namespace, expected) in [
        ("", Ok(r#"{"data":{"k":"v"},"metadata":{"name":"cm"}}"#)),
        ("own", Ok(r#"{"data":{"k":"v"},"metadata":{"name":"cm"}}"#)),
        ("other", Err(r#"configMap namespace "other" is different from policy namespace "own""#)),
    ] {
        let source = ContextSource::ConfigMap { name: prepare("cm"), namespace: prepare(namespace) };
        let entry = Arc::new(ContextEntry { name: "m".into(), source, whole: prepare("") });
        let found = with_world(&ConfigMapWorld, Some(&"own".into()), Limits::default(), |context| {
            context.register(&[entry]);
            evaluate(context, "m")
        });
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, _) => panic!("{namespace}: {found:?}"),
        }
    }
}
