//! `fn`: the KRM function. A `ResourceList` comes in, a `ResourceList` goes out.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};

use crate::engine::{Engine, InputNames, Settings};
use crate::krm::{
    FunctionConfig, Hidden, OnError, PolicyInput, ResourceList, Severity, answer_text, failure, hide,
    is_resource, results,
};
use crate::patch::Schemas;
use crate::policy::{PolicyException, PolicyExceptions, PolicySet, Rule};
use crate::render::{Origin, lines, mask_beside};
use crate::report::Outcome;
use crate::semantics::{Corners, Dialect};
use crate::source::{
    Content, ExceptionLoader, GivenLoader, GivenObjects, LoadedExceptions, LoadedPolicies, Location,
    OfflineWorld, OldObjects, Piece, PolicyLoader, SourceError, read_text, user_in, values_in,
};
use crate::value::{Pointer, Text, Value};
use crate::yaml::{self, Document, Limits, Source};

use super::evaluate::{Evaluated, Evaluator};
use super::exit::Exit;
use super::held::run_targets;
use super::remarks::{planned, remarks, remarks_on_exceptions};
use super::session::with_pool;
use super::talk::{About, Manner, Talk};

const EXAMPLES: &str = "\
Examples:
  # A transformer of a kustomization: transformers: [kyv.yaml], with this annotation in kyv.yaml
  #   config.kubernetes.io/function: \"exec: {path: kubectl-kyv}\"
  kustomize build --enable-alpha-plugins --enable-exec overlays/prod

  # All resources of a kpt package
  kpt fn eval PACKAGE --exec kubectl-kyv --fn-config kyv.yaml

  # By hand
  kpt fn source PACKAGE --fn-config kyv.yaml | kubectl kyv fn";

/// Run as a KRM function: a ResourceList in, a ResourceList out.
///
/// The functionConfig is a Kyv (kyv.dev/v1alpha1) or a ConfigMap and names the policies. Whoever calls the
/// program without arguments and with a ResourceList on standard input gets the same.
///
/// On failure the items come out as they came in, with the reasons as results and on standard error.
#[derive(Debug, Args)]
#[command(name = "fn", before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_arguments: &Arguments) -> Exit {
    let source = read_text(&Location::Stdin, &Limits::default());
    run_on(source.map_err(|error| vec![error.to_string()]).and_then(|source| document(&source)))
}

/// Runs as a function if nobody says what else to do and standard input holds a ResourceList; `None`
/// where it does not.
pub(super) fn detect() -> Option<Exit> {
    if io::stdin().is_terminal() {
        return None;
    }
    let source = read_text(&Location::Stdin, &Limits::default()).ok()?;
    if !source.text().contains("ResourceList") {
        return None;
    }
    let document = document(&source);
    let is_other = |document: &Document| {
        document.value().and_then(|value| value.get("kind")).and_then(Value::as_str) != Some("ResourceList")
    };
    // One that is cut off or otherwise broken gets its reason, not a usage text.
    (!document.as_ref().is_ok_and(is_other)).then(|| run_on(document))
}

fn run_on(document: Result<Document, Vec<String>>) -> Exit {
    with_pool(0, Manner::default(), |talk| match document {
        Ok(document) => serve(&document, talk),
        Err(errors) => errors.iter().for_each(|error| talk.error(Exit::Input, error)),
    })
}

/// The one document of standard input.
fn document(source: &Arc<Source>) -> Result<Document, Vec<String>> {
    let mut documents = yaml::read(source, &Limits::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    documents.retain(|document| document.value().is_some());
    let found = documents.len();
    match documents.pop() {
        Some(document) if found == 1 => Ok(document),
        _ => Err(vec![format!("stdin: expected one document of kind ResourceList, found {found} documents")]),
    }
}

/// Answers a document.
fn serve(document: &Document, talk: &mut Talk) {
    let list = match document.value().map(ResourceList::from_value) {
        Some(Ok(list)) => list,
        Some(Err(fault)) => return talk.error(Exit::Input, &format!("stdin: {fault}")),
        None => return,
    };
    let answer = match Function::open(document, &list, talk) {
        Ok(function) => function.answer(&list, talk),
        Err(faults) => {
            // The line that standard error shows besides means nothing in a result.
            let first = |fault: &String| failure(fault.lines().next().unwrap_or_default());
            let results = faults.iter().map(first).collect();
            faults.iter().for_each(|fault| talk.error(Exit::Input, fault));
            Answer::unchanged(&list, results)
        }
    };
    let text = answer_text(document, &list, &answer.items, answer.results);
    let mut out = io::stdout().lock();
    // Half an answer must not pass for a whole one, so nothing is forgiven here, not even a closed pipe.
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        talk.error(Exit::Input, &format!("the result cannot be written: {error}"));
    }
}

/// What goes out.
struct Answer {
    /// What each item became; `None` where it stays as it is.
    items: Vec<Option<Value>>,
    results: Vec<Value>,
}

impl Answer {
    fn unchanged(list: &ResourceList, results: Vec<Value>) -> Self {
        Self { items: vec![None; list.items.len()], results }
    }
}

/// A function, configured.
struct Function {
    engine: Engine,
    world: OfflineWorld,
    on_error: OnError,
    remarks: Vec<(About, String)>,
}

impl Function {
    /// Loads whatever the configuration names.
    fn open(document: &Document, list: &ResourceList, talk: &mut Talk) -> Result<Self, Vec<String>> {
        if list.function_config.is_null() {
            return Err(vec![
                "no functionConfig: it is where a Kyv (kyv.dev/v1alpha1) or a ConfigMap names the policies"
                    .into(),
            ]);
        }
        let config = FunctionConfig::from_value(&list.function_config)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let limits = Limits::default();
        let mut faults = Vec::new();
        let loaded = policies(document, list, &config, limits, talk);
        let loaded = loaded.map_err(|errors| faults.extend(errors)).ok();
        let values =
            config.values.as_ref().map(|value| values_in(&printed("values", value), &limits)).transpose();
        let user =
            config.user_info.as_ref().map(|value| user_in(&printed("userInfo", value), &limits)).transpose();
        let objects = context_from(document, &config, limits);
        let said = |errors: Vec<SourceError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let values =
            values.map_err(|errors| faults.extend(said(errors))).unwrap_or_default().unwrap_or_default();
        let user = user.map_err(|errors| faults.extend(said(errors))).unwrap_or_default();
        let objects = objects.map_err(|errors| faults.extend(said(errors))).unwrap_or_default();
        let exceptions = exceptions(document, &config, limits);
        let exceptions = exceptions.map_err(|errors| faults.extend(errors)).unwrap_or_default();
        let Some(loaded) = loaded.filter(|_| faults.is_empty()) else { return Err(faults) };
        let planned = planned(&loaded);
        if !planned.is_empty() {
            return Err(planned);
        }
        let mut notes = remarks(&loaded, talk);
        notes.extend(remarks_on_exceptions(&exceptions, &loaded.policies));
        notes.extend(values.notes.into_iter().map(|note| (About::Omission, note)));
        let settings = Settings {
            semantics: config.semantics,
            schemas: Schemas::kubernetes(),
            values: values.values,
            user,
            exceptions: PolicyExceptions::new(exceptions.exceptions),
            operation: config.operation,
            ..Settings::default()
        };
        let engine = Engine::new(PolicySet::new(loaded.policies), settings);
        let world = world(&engine, list, objects);
        Ok(Self { engine, world, on_error: config.on_error, remarks: notes })
    }

    /// Runs the policies over the items.
    fn answer(&self, list: &ResourceList, talk: &mut Talk) -> Answer {
        let old = OldObjects::default();
        let evaluator = Evaluator {
            engine: &self.engine,
            world: &self.world,
            old: &old,
            stored: None,
            twice: false,
            live: false,
            shows_secrets: false,
            keeps_whole: false,
        };
        let severity = self.on_error.severity();
        let evaluated: Vec<Option<(Evaluated, Hidden)>> = list
            .items
            .par_iter()
            .map(|item| is_resource(item, &list.function_config).then(|| evaluated(&evaluator, item)))
            .collect();
        let evaluated =
            if self.engine.has_targets() { with_targets(&evaluator, evaluated) } else { evaluated };
        let ran: Vec<Option<Ran>> = list
            .items
            .par_iter()
            .zip(evaluated)
            .enumerate()
            .map(|(index, (item, evaluated))| {
                evaluated.map(|(evaluated, hidden)| ran(&evaluated, &hidden, index, item, severity))
            })
            .collect();
        let mut corners = Corners::NONE;
        let mut exceptions = BTreeSet::new();
        let mut undecided = BTreeSet::new();
        let mut failed = false;
        for ran in ran.iter().flatten() {
            corners.extend(ran.corners);
            exceptions.extend(&ran.exceptions);
            undecided.extend(&ran.undecided);
            if !ran.errors.is_empty() {
                match self.on_error {
                    OnError::Fail => {
                        failed = true;
                        talk.error_lines(Exit::Evaluation, &ran.errors);
                    }
                    OnError::Warn => talk.error_lines(Exit::Done, &as_warnings(&ran.errors)),
                }
            }
        }
        let missing: BTreeSet<&str> =
            ran.iter().flatten().flat_map(|ran| &ran.missing).map(|text| &**text).collect();
        for target in missing {
            talk.note(About::Omission, &format!("no item is the target {target}"));
        }
        for (about, remark) in &self.remarks {
            talk.note(*about, remark);
        }
        for text in undecided {
            talk.note(About::Omission, text);
        }
        if !exceptions.is_empty() {
            let names: Vec<&str> = exceptions.into_iter().map(|name| &**name).collect();
            talk.note(About::Other, &format!("exceptions applied: {}", names.join(", ")));
        }
        talk.announce(corners, self.engine.settings().semantics);
        let mut answer = Answer { items: Vec::with_capacity(ran.len()), results: Vec::new() };
        for ran in ran {
            let Some(Ran { after, results, .. }) = ran else {
                answer.items.push(None);
                continue;
            };
            answer.items.push(after);
            answer.results.extend(results);
        }
        if failed {
            // What did not happen is not reported as if it had.
            let error = Value::from(Severity::Error.word());
            answer.results.retain(|result| result.get("severity") == Some(&error));
            return Answer::unchanged(list, answer.results);
        }
        answer
    }
}

/// The same lines, as warnings.
fn as_warnings(errors: &str) -> String {
    let lines = errors.lines().map(|line| match line.strip_prefix("error: ") {
        Some(rest) => format!("warning: {rest}\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// What became of an item.
struct Ran {
    /// The item, if it changed.
    after: Option<Value>,
    results: Vec<Value>,
    /// What could not be evaluated, in lines.
    errors: String,
    corners: Corners,
    /// The exceptions that took it out of some rule.
    exceptions: BTreeSet<Text>,
    /// What is said of exceptions whose conditions cannot be evaluated.
    undecided: Vec<String>,
    /// The targets that no item is.
    missing: Vec<Text>,
}

/// An item through the engine, and what the engine does not see of it.
fn evaluated(evaluator: &Evaluator<'_, OfflineWorld>, item: &Value) -> (Evaluated, Hidden) {
    let (shown, hidden) = hide(item);
    let piece = Piece { input: 0, content: Content::Object(shown), file: None, further: false };
    (evaluator.evaluate(piece), hidden)
}

/// Runs the rules with targets: every item may trigger them, and be a target.
fn with_targets(
    evaluator: &Evaluator<'_, OfflineWorld>,
    items: Vec<Option<(Evaluated, Hidden)>>,
) -> Vec<Option<(Evaluated, Hidden)>> {
    let (mut pieces, mut hidden, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for item in items {
        places.push(item.is_some());
        if let Some((piece, of_it)) = item {
            pieces.push(piece);
            hidden.push(of_it);
        }
    }
    run_targets(evaluator, &mut pieces);
    let mut both = pieces.into_iter().zip(hidden);
    places.into_iter().map(|is_there| if is_there { both.next() } else { None }).collect()
}

fn ran(
    Evaluated { objects, after, .. }: &Evaluated,
    hidden: &Hidden,
    index: usize,
    item: &Value,
    errors: Severity,
) -> Ran {
    let path = ["internal.config.kubernetes.io/path", "config.kubernetes.io/path"]
        .iter()
        .find_map(|name| item.path(&["metadata", "annotations", name])?.as_str());
    let origin =
        Origin { name: path.map_or_else(|| format!("items[{index}]").into(), Into::into), line: None };
    let mut ran = Ran {
        after: after.as_ref().map(|after| hidden.restore(after)),
        results: Vec::new(),
        errors: String::new(),
        corners: Corners::NONE,
        exceptions: BTreeSet::new(),
        undecided: Vec::new(),
        missing: Vec::new(),
    };
    for object in objects {
        let masked = mask_beside(&object.report.before, &object.report.after, &object.report.secrets);
        ran.exceptions.extend(object.report.exceptions().into_iter().cloned());
        let undecided = object.report.unknown.undecided.iter();
        ran.undecided.extend(undecided.map(|undecided| masked.message(&undecided.to_string())));
        ran.corners.extend(object.report.corners());
        for (_, rule) in object.report.rules() {
            if let Outcome::Triggered { missing, .. } = &rule.outcome {
                ran.missing.extend(missing.iter().map(|target| Text::from(masked.message(target))));
            }
        }
        ran.results.extend(results(&object.report, item, errors, &|text| masked.message(text)));
        ran.errors.push_str(&lines(&object.report, &origin));
    }
    ran
}

/// The policies that the configuration names, and if it says so those among the items.
fn policies(
    document: &Document,
    list: &ResourceList,
    config: &FunctionConfig,
    limits: Limits,
    talk: &mut Talk,
) -> Result<LoadedPolicies, Vec<String>> {
    let dialect = Dialect { semantics: config.semantics, legacy: config.legacy };
    let mut loader = PolicyLoader::new(dialect, limits);
    let mut strays = Vec::new();
    let mut node = |loader: &mut PolicyLoader, at: &Pointer, value: &Value| {
        if !loader.node(document, at, value) {
            strays.push(format!("{at}: neither a path nor a policy"));
        }
    };
    let inline = Pointer::ROOT.key("functionConfig").key("spec").key("policies");
    for (index, input) in config.policies.iter().enumerate() {
        match input {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(policy) => node(&mut loader, &inline.index(index), policy),
            PolicyInput::Stream(text) => {
                loader.text(&Arc::new(Source::new("functionConfig.data.inline", &**text)));
            }
        }
    }
    if config.policies_from_items {
        let at = Pointer::ROOT.key("items");
        for (index, item) in list.items.iter().enumerate() {
            loader.node(document, &at.index(index), &hide(item).0);
        }
    }
    let name = if config.policies_from_items { "functionConfig and items" } else { "functionConfig" };
    match loader.finish(name) {
        Ok(loaded) if strays.is_empty() => Ok(loaded),
        Ok(_) => Err(strays),
        Err(refused) => {
            talk.announce(refused.corners, config.semantics);
            strays.extend(refused.errors.iter().map(ToString::to_string));
            Err(strays)
        }
    }
}

/// The exceptions that the configuration names.
fn exceptions(
    document: &Document,
    config: &FunctionConfig,
    limits: Limits,
) -> Result<LoadedExceptions, Vec<String>> {
    let mut loader = ExceptionLoader::new(config.semantics, limits);
    let mut strays = Vec::new();
    let at = Pointer::ROOT.key("functionConfig").key("spec").key("exceptions");
    for (index, input) in config.exceptions.iter().enumerate() {
        match input {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(exception) => {
                let at = at.index(index);
                if !loader.node(document, &at, exception) {
                    strays.push(format!("{at}: neither a path nor an exception"));
                }
            }
            // Only policies are given as a stream.
            PolicyInput::Stream(_) => {}
        }
    }
    match loader.finish() {
        Ok(loaded) if strays.is_empty() => Ok(loaded),
        Ok(_) => Err(strays),
        Err(errors) => Err(strays.into_iter().chain(errors.iter().map(ToString::to_string)).collect()),
    }
}

/// What context entries are answered from. The items answer nothing: they are no part of the cluster yet.
fn context_from(
    document: &Document,
    config: &FunctionConfig,
    limits: Limits,
) -> Result<GivenObjects, Vec<SourceError>> {
    let mut loader = GivenLoader::new("default", &[], limits);
    let inline = Pointer::ROOT.key("functionConfig").key("spec").key("contextFrom");
    for (index, input) in config.context_from.iter().enumerate() {
        match input {
            PolicyInput::Path(path) => loader.path(Path::new(&**path)),
            PolicyInput::Inline(_) | PolicyInput::Stream(_) => loader.node(document, &inline.index(index)),
        }
    }
    loader.finish()
}

/// What is known of the cluster that the items are meant for: the namespaces among them, and what was given.
fn world(engine: &Engine, list: &ResourceList, objects: GivenObjects) -> OfflineWorld {
    let mut world = OfflineWorld::new(Timestamp::now(), 0);
    world.set_objects(objects);
    world.set_input_names(InputNames::FUNCTION);
    let mut rules = engine.policies().policies().iter().flat_map(|policy| &policy.rules);
    let mut exceptions = engine.settings().exceptions.all().iter();
    if rules.any(Rule::asks_for_namespace_labels)
        || exceptions.any(PolicyException::asks_for_namespace_labels)
    {
        for item in &list.items {
            let is = |field, text| item.get(field).and_then(Value::as_str) == Some(text);
            if is("kind", "Namespace") && is("apiVersion", "v1") {
                world.add_namespace(item);
            }
        }
    }
    for (name, labels) in &engine.settings().values.namespaces {
        world.set_namespace_labels(name.clone(), labels.clone());
    }
    world
}

/// A document of the configuration, as a text of its own.
fn printed(field: &str, value: &Value) -> Arc<Source> {
    let mut text = String::new();
    yaml::print(value, &mut text);
    Arc::new(Source::new(format!("functionConfig.{field}"), text))
}
