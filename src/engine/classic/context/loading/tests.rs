//! Which entries are loaded, and when.

use jiff::Timestamp;

use crate::engine::classic::context::{WorldClock, WorldRandom};
use crate::engine::{EmptyWorld, Limits, Lookup, LookupError, LookupSource, Settings, World};
use crate::policy::ContextSource;
use crate::resources::{KindResource, builtin_resource};
use crate::secrets::TaintTracker;
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::GroupVersionKind;
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
    let world: &dyn World = &EmptyWorld;
    let (clock, random) = (WorldClock(world), WorldRandom::new(world, None));
    let tracker = DivergenceTracker::default();
    let (policy, taint) = (Text::from("p"), TaintTracker::default());
    let settings = Settings { limits, ..Settings::default() };
    let base = Value::from_json(r#"{"request":{"object":{"a":1}}}"#).unwrap();
    let mut context = Context::new(
        (base, Value::empty_object()),
        (&policy, None),
        &settings,
        (&clock, &random),
        (&tracker, &taint),
    );
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
        context.set_element((&"x".into(), &Query::new("list", Semantics::Documented)), 0, 0);
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

    fn random(&self, _key: &str, call: u64) -> u64 {
        call
    }

    fn namespace_labels(&self, _namespace: &str) -> Option<Value> {
        None
    }

    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_> {
        builtin_resource(kind)
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
fn a_policy_of_a_namespace_reads_config_maps_of_its_own() {
    let own = Text::from("own");
    let prepare = |text: &str| Template::prepare(&text.into(), Semantics::Documented);
    for (namespace, expected) in [
        ("", Ok(r#"{"data":{"k":"v"},"metadata":{"name":"cm"}}"#)),
        ("own", Ok(r#"{"data":{"k":"v"},"metadata":{"name":"cm"}}"#)),
        ("other", Err(r#"configMap namespace "other" is different from policy namespace "own""#)),
    ] {
        let world: &dyn World = &OneMap;
        let (clock, random) = (WorldClock(world), WorldRandom::new(world, None));
        let (tracker, policy, taint) =
            (DivergenceTracker::default(), Text::from("p"), TaintTracker::default());
        let settings = Settings::default();
        let mut context = Context::new(
            (Value::empty_object(), Value::Null),
            (&policy, Some(&own)),
            &settings,
            (&clock, &random),
            (&tracker, &taint),
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
