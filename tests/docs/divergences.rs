//! The pages of `docs/divergences`: the table of divergences has one page for each entry, each page says what the table
//! says, and the example of each page gives the results that the page shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use kyv::admission::{Admission, View};
use kyv::diagnostics::Code;
use kyv::engine::{Engine, Settings, Targets};
use kyv::lint::lint;
use kyv::patch::Schemas;
use kyv::policy::{
    self, Operation, PolicyError, PolicyException, PolicyExceptions, PolicySet, RequestFilters,
};
use kyv::report::{Outcome, PolicyReport};
use kyv::semantics::{Divergence, DivergenceSet, Semantics};
use kyv::source::{ContextObjectLoader, OfflineWorld};
use kyv::value::{Pointer, Text, Value};
use kyv::yaml::{Document, Limits, Source, read};

/// The page that is about views, not semantics. It has no entry in the table.
const VIEWS: &str = "KYV-D76";

#[test]
fn every_entry_of_the_table_has_a_page() {
    let pages: Vec<Divergence> = pages().iter().map(|(entry, _)| *entry).collect();
    assert_eq!(pages, Divergence::ALL);
}

#[test]
fn pages_say_what_the_table_says() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    let mut faults = Vec::new();
    for (entry, page) in pages() {
        let title = entry.title();
        let sides = format!(
            "| semantics | result |\n|---|---|\n| `documented` | {} |\n| `kyverno` | {} |\n",
            entry.documented(),
            entry.kyverno()
        );
        if !page.text.starts_with(&format!("# {entry}: {title}\n\n{sides}")) {
            faults.push(format!("{entry}: the page should begin with\n# {entry}: {title}\n\n{sides}"));
        }
        if !page.text.contains("`tests/") && !page.text.contains("`src/") {
            faults.push(format!("{entry}: the page names no test"));
        }
        let row = format!("| [{entry}]({entry}.md) | {title} |");
        if !index.lines().any(|line| line == row) {
            faults.push(format!("README.md lacks the row\n{row}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn examples_give_the_results_that_their_pages_show() {
    let mut faults = Vec::new();
    for (entry, page) in pages() {
        for semantics in [Semantics::Documented, Semantics::Kyverno] {
            let run = page.run(semantics, View::Written);
            let name = semantics.to_string();
            page.compare(&name, &run, &mut faults);
            // A policy may be refused for another reason, and is not run then.
            if !run.reached.contains(entry) && !run.is_refused {
                faults.push(format!("{entry}, {name}: the run does not announce it"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The divergences that a policy alone shows, with the findings about the policies of their pages.
#[test]
fn lint_finds_those_that_policies_show() {
    let mut found = BTreeSet::new();
    for (entry, page) in pages() {
        let of_page: BTreeSet<&Divergence> = page
            .values("policy")
            .iter()
            .flat_map(|policy| lint(policy, &rule_names(policy)))
            .filter(|one| one.code == Code::KyvernoDiffers)
            .map(|one| {
                let is_named = |known: &&Divergence| one.message.contains(&format!("({known})"));
                Divergence::ALL.iter().find(is_named).expect("the divergence of a finding")
            })
            .collect();
        // These policies show another one, too.
        let also = match entry {
            Divergence::AutogenTargets => Some(Divergence::WholePolicyRequest),
            Divergence::LegacyBroadcast => Some(Divergence::LegacySyntax),
            _ => None,
        };
        assert!(of_page.iter().all(|one| [Some(entry), also].contains(&Some(**one))), "{entry}: {of_page:?}");
        found.extend(of_page.into_iter().map(ToString::to_string));
    }
    let numbers =
        [1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 15, 17, 18, 20, 21, 22, 23, 28, 32, 33, 43, 44, 45, 48, 72, 75];
    let expected: BTreeSet<String> = numbers.iter().map(|number| format!("KYV-D{number:02}")).collect();
    assert_eq!(found, expected);
}

/// The names of all rules of a policy, those of autogen included; none if it does not load.
fn rule_names(policy: &Value) -> Vec<Text> {
    let parsed = policy::parse(policy, Semantics::Documented);
    parsed.map_or_else(|_| Vec::new(), |policy| policy.rules().iter().map(|rule| rule.name.clone()).collect())
}

#[test]
fn the_page_of_views_shows_what_each_view_gives() {
    let page = Page::read(VIEWS);
    let title = page.text.lines().next().and_then(|line| line.strip_prefix("# KYV-D76: ")).expect("a title");
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    let row = format!("| [{VIEWS}]({VIEWS}.md) | {title} |");
    assert!(index.lines().any(|line| line == row), "README.md lacks the row\n{row}");
    let mut faults = Vec::new();
    for view in [View::Admitted, View::Written] {
        for semantics in [Semantics::Documented, Semantics::Kyverno] {
            page.compare(&view.to_string(), &page.run(semantics, view), &mut faults);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/divergences")
}

/// The pages, in the order of their numbers. A page of no entry is an error.
fn pages() -> Vec<(Divergence, Page)> {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: BTreeSet<String> = files.collect();
    assert!(names.remove("README.md"), "the folder has an index");
    assert!(names.remove(&format!("{VIEWS}.md")), "the folder has the page of views");
    let entry = |name: &String| {
        let found = Divergence::ALL.iter().find(|entry| *name == format!("{entry}.md"));
        *found.unwrap_or_else(|| panic!("{name} is the page of no entry"))
    };
    let mut entries: Vec<Divergence> = names.iter().map(entry).collect();
    entries.sort_unstable();
    entries.into_iter().map(|entry| (entry, Page::read(&entry.to_string()))).collect()
}

/// A page with its fenced blocks by their info strings: the language and what the block is.
struct Page {
    /// `KYV-Dnn`.
    name: String,
    text: String,
    blocks: BTreeMap<String, String>,
}

/// The outcomes of the objects of a page.
#[derive(Default)]
struct Run {
    /// The objects, then the targets that changed.
    objects: Vec<Value>,
    /// `error: MESSAGE` of rules, in Kyverno's words, `refused: MESSAGE` of policies.
    errors: Vec<String>,
    /// Whether the policy is refused, and so not run.
    is_refused: bool,
    reached: DivergenceSet,
}

impl Page {
    fn read(name: &str) -> Self {
        let path = folder().join(format!("{name}.md"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut blocks = BTreeMap::new();
        for (info, body) in test_support::markdown::blocks(&text) {
            let repeats = blocks.contains_key(&info);
            assert!(!repeats, "{name}: two blocks `{info}`");
            blocks.insert(info, body);
        }
        Self { name: name.to_owned(), text, blocks }
    }

    fn documents(&self, name: &str) -> Vec<Document> {
        let text = self.blocks.get(&format!("yaml {name}")).cloned().unwrap_or_default();
        let source = Arc::new(Source::new(format!("{}, {name}", self.name), text));
        read(&source, &Limits::default()).unwrap()
    }

    fn values(&self, name: &str) -> Vec<Value> {
        self.documents(name).iter().filter_map(|document| document.value().cloned()).collect()
    }

    /// The results as the page shows them: errors and `unchanged` in a block of text, changed objects in one of YAML.
    fn expected(&self, name: &str) -> Run {
        let text = self.blocks.get(&format!("text {name}")).map(String::as_str).unwrap_or_default();
        let errors: Vec<String> =
            text.lines().filter(|line| *line != "unchanged").map(str::to_owned).collect();
        let shown = self.values(name);
        assert!(!text.is_empty() || !shown.is_empty(), "{}: no result for `{name}`", self.name);
        let is_refused = errors.iter().any(|error| error.starts_with("refused: "));
        let objects = match (shown.is_empty(), is_refused) {
            (false, _) => shown,
            (true, false) => self.values("object"),
            (true, true) => Vec::new(),
        };
        Run { objects, errors, is_refused, reached: DivergenceSet::NONE }
    }

    /// Compares an outcome with the blocks of this name.
    fn compare(&self, name: &str, run: &Run, faults: &mut Vec<String>) {
        let expected = self.expected(name);
        let name = format!("{}, {name}", self.name);
        if run.errors != expected.errors {
            faults
                .push(format!("{name}: the page shows {:?}, the run has {:?}", expected.errors, run.errors));
        }
        if run.objects != expected.objects {
            let shown =
                |objects: &[Value]| objects.iter().map(|object| object.to_pretty_json(1)).collect::<String>();
            let (page, run) = (shown(&expected.objects), shown(&run.objects));
            faults.push(format!("{name}: the page shows\n{page}\nthe run has\n{run}"));
        }
    }

    /// Runs the example.
    fn run(&self, semantics: Semantics, view: View) -> Run {
        let mut run = Run::default();
        let mut policies = Vec::new();
        for document in self.values("policy") {
            match policy::parse(&document, semantics) {
                Ok(policy) => {
                    run.reached.extend(policy.meta().divergences);
                    run.refuse(&policy.meta().refused);
                    policies.push(policy);
                }
                Err(faults) => run.refuse(&faults),
            }
        }
        if !run.is_refused {
            let engine = Engine::new(PolicySet::new(policies), self.settings(semantics, view));
            self.mutate(&engine, &mut run);
        }
        run
    }

    fn settings(&self, semantics: Semantics, view: View) -> Settings {
        let mut schemas = Schemas::kubernetes();
        self.values("crds").iter().for_each(|definition| schemas.add_crd(definition).unwrap());
        let exceptions = self.values("exceptions");
        let exceptions =
            exceptions.iter().map(|exception| PolicyException::parse(exception, semantics).unwrap());
        let configuration = self.values("configuration");
        let configuration = configuration.first().and_then(|configuration| configuration.get("data"));
        Settings {
            semantics,
            schemas,
            exceptions: PolicyExceptions::new(exceptions.collect()),
            filters: configuration.map(RequestFilters::read).unwrap_or_default(),
            admission: (view == View::Admitted).then(Admission::default),
            operation: self.blocks.contains_key("text operation").then_some(Operation::Delete),
            ..Settings::default()
        }
    }

    /// A world that answers context entries from the page.
    fn world(&self) -> OfflineWorld {
        let mut given = ContextObjectLoader::new("default", &[], Limits::default());
        let documents = self.documents("context");
        documents.iter().for_each(|document| given.node(document, &Pointer::ROOT));
        let mut world = OfflineWorld::new(Timestamp::UNIX_EPOCH, 0);
        world.set_objects(given.finish().unwrap());
        world
    }

    /// Evaluates the rules without targets on each object, then those with targets.
    fn mutate(&self, engine: &Engine, run: &mut Run) {
        let world = self.world();
        let before = self.values("object");
        let mut targets = Targets::new();
        for object in &before {
            let report = engine.mutate(object, None, &world);
            run.add(&report.policies);
            targets.add(engine, &report.after, &world);
            run.objects.push(report.after);
        }
        self.values("targets").iter().for_each(|target| targets.add(engine, target, &world));
        for (object, after) in before.iter().zip(run.objects.clone()) {
            let triggered = engine.mutate_targets((object, &after), None, &mut targets, &world);
            run.add(&triggered.policies);
        }
        for number in 0..targets.count() {
            let Some(taken) = targets.take(number) else { continue };
            run.add(&taken.policies);
            match run.objects.get_mut(number) {
                Some(object) => *object = taken.after,
                None if taken.before != taken.after => run.objects.push(taken.after),
                None => {}
            }
        }
    }
}

impl Run {
    fn refuse(&mut self, faults: &[PolicyError]) {
        for fault in faults {
            self.is_refused = true;
            self.errors.push(format!("refused: {fault}"));
            fault.divergence.into_iter().for_each(|entry| self.reached.insert(entry));
        }
    }

    fn add(&mut self, policies: &[PolicyReport]) {
        for policy in policies {
            self.reached.extend(policy.divergences);
            for rule in &policy.rules {
                if let Outcome::Error(error) = &rule.outcome {
                    self.errors.push(format!("error: {}", error.words_of_kyverno()));
                }
            }
        }
    }
}
