//! The admitted view compared with a real API server: each manifest is created as a dry run, and what mutating webhooks
//! receive must be the view.
//!
//! Runs when `KYV_REAL_PROGRAMS` is 1: a part of the manifests, and with `KYV_ALL_MANIFESTS` 1 all of them, which takes
//! minutes.

mod compare;
mod generator;
mod kept_defaults;
mod manifests;
mod schema;
mod shrink;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kyv::admission::{Admission, has_webhooks};
use kyv::value::{GroupVersionKind, Value};
use test_support::admission_recorder::AdmissionRecorder;
use test_support::api_server::ApiServer;
use test_support::rest::Rest;

use compare::{Difference, Verdict, compare};
use generator::Generator;
use schema::{Root, Schema};
use shrink::shrink;

/// All APIs, and all default admission plugins. Feature gates are those of a default cluster: defaults depend on them.
const FLAGS: [&str; 2] = ["--runtime-config=api/all=true", "--disable-admission-plugins="];
const SAMPLE: u64 = 600;
const ALL: u64 = 24_000;
/// Manifests that are compared at a time.
const BATCH: usize = 2_000;
/// So many causes are shown.
const MAX_GROUPS: usize = 150;

#[test]
fn generated_manifests_are_admitted_as_the_view_says() {
    if test_support::skip_without_real_programs("the admitted view of generated manifests") {
        return;
    }
    let server = ApiServer::start_with(&FLAGS);
    let schema = Schema::of(&Rest::open(&server));
    let generator = Generator::new(&schema);
    let number = if all_manifests() { ALL } else { SAMPLE };
    let manifests: Vec<Value> = (0..number).map(|number| generator.manifest(number)).collect();
    let mut comparison = Comparison::start(&server);
    comparison.run(&manifests);
    comparison.finish("generated", number * 8 / 10);
    if all_manifests() {
        comparison.require_all_kinds(&schema);
    }
}

/// Random manifests seldom have both sides of a default that depends on other fields.
#[test]
fn conditional_defaults_are_those_of_the_view() {
    if test_support::skip_without_real_programs("the admitted view with conditional defaults") {
        return;
    }
    let server = ApiServer::start_with(&FLAGS);
    let manifests = manifests::conditional_defaults();
    let mut comparison = Comparison::start(&server);
    comparison.run(&manifests);
    comparison.finish("with conditional defaults", manifests.len() as u64);
}

#[test]
fn manifests_of_projects_are_admitted_as_the_view_says() {
    if test_support::skip_without_real_programs("the admitted view of manifests of projects") {
        return;
    }
    let server = ApiServer::start_with(&FLAGS);
    let mut comparison = Comparison::start(&server);
    comparison.run(&manifests::of_modules());
    if let Some(folder) = test_support::conformance_folder("the admitted view of Kyverno's resources") {
        comparison.run(&manifests::of_folder(&folder));
    }
    comparison.finish("of projects", 500);
}

fn all_manifests() -> bool {
    std::env::var_os("KYV_ALL_MANIFESTS").is_some_and(|value| value == "1")
}

/// What has been compared so far.
struct Comparison {
    recorder: AdmissionRecorder,
    admission: Admission,
    equal: u64,
    both_refuse: u64,
    /// By kind.
    no_table: BTreeMap<GroupVersionKind, u64>,
    not_recorded: u64,
    /// The server's message for one manifest that it refused before webhooks, by kind.
    refusals: BTreeMap<GroupVersionKind, String>,
    kinds: BTreeSet<GroupVersionKind>,
    different: BTreeMap<String, Group>,
}

/// Differences of one cause.
struct Group {
    number: u64,
    /// The smallest manifest so far.
    manifest: Value,
    difference: Difference,
}

impl Comparison {
    fn start(server: &ApiServer) -> Self {
        Self {
            recorder: AdmissionRecorder::start(server),
            admission: Admission::default().with_service_account_token(true),
            equal: 0,
            both_refuse: 0,
            no_table: BTreeMap::new(),
            not_recorded: 0,
            refusals: BTreeMap::new(),
            kinds: BTreeSet::new(),
            different: BTreeMap::new(),
        }
    }

    fn run(&mut self, manifests: &[Value]) {
        for manifests in manifests.chunks(BATCH) {
            let recordings = self.recorder.record(manifests);
            for (manifest, recording) in manifests.iter().zip(&recordings) {
                let verdict = compare(&self.admission, manifest, recording);
                self.count(manifest, verdict);
            }
        }
    }

    fn count(&mut self, manifest: &Value, verdict: Verdict) {
        let kind = GroupVersionKind::of(manifest).expect("a kind");
        match verdict {
            Verdict::Equal => {
                self.equal += 1;
                self.kinds.insert(kind);
            }
            Verdict::BothRefuse => self.both_refuse += 1,
            Verdict::NoTable => *self.no_table.entry(kind).or_default() += 1,
            Verdict::NotRecorded(message) => {
                self.not_recorded += 1;
                self.refusals.entry(kind).or_insert(message);
            }
            Verdict::Different(found) => {
                let mut groups = BTreeSet::new();
                for difference in found {
                    let name = difference.group();
                    if !groups.insert(name.clone()) {
                        continue;
                    }
                    let group = self.different.entry(name);
                    let group = group.or_insert_with(|| Group {
                        number: 0,
                        manifest: manifest.clone(),
                        difference: difference.clone(),
                    });
                    group.number += 1;
                    if manifest.weight() < group.manifest.weight() {
                        (group.manifest, group.difference) = (manifest.clone(), difference);
                    }
                }
            }
        }
    }

    /// Fails if no manifest of some kind with a table was equal. Policies see no object of a kind without webhooks, and
    /// the server has seldom anything but errors for random policies of its own.
    fn require_all_kinds(&self, schema: &Schema) {
        let kind = |root: &Root| {
            let members = [("apiVersion", &root.api_version), ("kind", &root.kind)];
            let object = members.into_iter().map(|(key, text)| (key, Value::from(text.as_str())));
            GroupVersionKind::of(&object.collect()).expect("a kind")
        };
        let kinds = schema.roots.iter().map(kind);
        let is_known =
            |kind: &GroupVersionKind| self.kinds.contains(kind) || self.no_table.contains_key(kind);
        let missing = kinds.filter(|kind| has_webhooks(kind) && !is_known(kind));
        let why = |kind: GroupVersionKind| {
            format!("{kind}: {}", self.refusals.get(&kind).map_or("no manifest", String::as_str))
        };
        let missing: Vec<String> = missing.map(why).collect();
        assert!(missing.is_empty(), "not compared:\n{}", missing.join("\n"));
    }

    /// Says what was compared, and fails if anything differs or too little was compared.
    fn finish(&mut self, what: &str, least: u64) {
        let no_table: u64 = self.no_table.values().sum();
        test_support::log(&format!(
            "admitted view, manifests {what}: {} equal of {} kinds, {} refused by both; {no_table} without table, \
             {} refused before webhooks",
            self.equal,
            self.kinds.len(),
            self.both_refuse,
            self.not_recorded,
        ));
        let different = std::mem::take(&mut self.different);
        let mut groups: Vec<(String, Group)> = different.into_iter().collect();
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.number));
        let mut text = String::new();
        for (name, group) in groups.iter().take(MAX_GROUPS) {
            let (manifest, difference) =
                shrink(&mut self.recorder, &self.admission, &group.manifest, &group.difference);
            write!(text, "\n{} × {name}\n{}\n{difference}\n", group.number, manifest.to_json())
                .expect("a string takes text");
        }
        assert!(groups.is_empty(), "{} causes of differences:\n{text}", groups.len());
        assert!(self.equal + self.both_refuse >= least, "{} equal, fewer than {least}", self.equal);
    }
}
