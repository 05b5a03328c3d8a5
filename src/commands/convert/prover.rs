//! The proofs of a run: what they share, and how policies are read for them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::commands::live;
use crate::commands::manifests::manifests;
use crate::commands::options::RunOptions;
use crate::commands::reporter::Reporter;
use crate::commands::session::{RunWorld, Session};
use crate::policy::Policy;
use crate::proof::{Input, Options, prove};
use crate::semantics::{Dialect, Semantics};
use crate::source::{Content, InputDocument, Manifests, PolicyLoader, Refused, SourceError, items_of};
use crate::value::{GroupVersionKind, Value};
use crate::yaml::Source;

use super::Task;
use super::checked::Checked;

/// Policies that are compared.
pub(super) struct Pair<'p> {
    pub(super) name: String,
    pub(super) old: Vec<Policy>,
    pub(super) new: Vec<Policy>,
    /// Where the new policies were read from.
    pub(super) source: PolicySource<'p>,
}

/// Where the policies of a side are.
pub(super) enum PolicySource<'a> {
    /// A file or directory.
    Path(&'a Path),
    /// The text of documents.
    Text(Arc<Source>),
}

/// The policies of a source. Errors are reported; `None` if there are any.
pub(super) fn policies(
    source: &PolicySource<'_>,
    options: &RunOptions,
    reporter: &mut Reporter,
) -> Option<Vec<Policy>> {
    let found = policies_in(source, options.dialect, options);
    found.map_err(|refused| reporter.source_errors(&refused.errors)).ok()
}

fn policies_in(
    source: &PolicySource<'_>,
    dialect: Dialect,
    options: &RunOptions,
) -> Result<Vec<Policy>, Refused> {
    let mut loader = PolicyLoader::new(dialect, options.input_limits);
    let name = match source {
        PolicySource::Path(path) => {
            loader.path(path);
            path.display().to_string()
        }
        PolicySource::Text(source) => {
            loader.text(source);
            source.name().to_owned()
        }
    };
    loader.finish(&name).map(|loaded| loaded.policies)
}

/// Proves pairs of policies.
pub(super) struct Prover<'a> {
    task: &'a Task,
    options: &'a RunOptions,
    proof: Options,
    session: Session,
    world: RunWorld,
    /// Objects beside the generated ones.
    given: Vec<Value>,
}

impl<'a> Prover<'a> {
    /// Reads what the proofs of these pairs need. Errors are reported; `None` if there are any.
    pub(super) fn new<'p>(
        task: &'a Task,
        options: &'a RunOptions,
        pairs: impl Iterator<Item = &'p Pair<'p>>,
        reporter: &mut Reporter,
    ) -> Option<Self> {
        let all = pairs.flat_map(|pair| pair.old.iter().chain(&pair.new)).cloned().collect();
        let session = Session::of_policies(options, all, reporter)?;
        let manifests = if options.is_live() {
            Manifests::new(options.input_limits)
        } else {
            manifests(options, None, reporter)?
        };
        let world = session.world(options, &manifests);
        let given = if options.is_live() {
            live::objects(options, &session, reporter)?
        } else {
            given(manifests.documents(), reporter)?
        };
        let proof = session.proof_options(options.seed, task.proof.requests_per_rule());
        Some(Self { task, options, proof, session, world, given })
    }

    /// Proves pairs, several at once; the results are in their order.
    pub(super) fn prove<'p>(
        &self,
        pairs: impl Iterator<Item = &'p Pair<'p>>,
        reporter: &mut Reporter,
    ) -> Vec<Checked> {
        let pairs: Vec<&Pair<'_>> = pairs.collect();
        let reporter = Mutex::new(reporter);
        let advance = |requests| {
            if let Ok(mut reporter) = reporter.lock() {
                reporter.advance(requests);
            }
        };
        pairs.into_par_iter().map(|pair| self.prove_one(pair, &advance)).collect()
    }

    fn prove_one(&self, pair: &Pair<'_>, advance: &(dyn Fn(usize) + Sync)) -> Checked {
        // Where Kyverno refuses the new policies, that was reported where it matters.
        let dialect = Dialect { semantics: Semantics::Kyverno, ..self.options.dialect };
        let in_kyverno = policies_in(&pair.source, dialect, self.options).ok();
        let input = Input {
            old: &pair.old,
            new: &pair.new,
            new_in_kyverno: in_kyverno.as_deref(),
            given: &self.given,
            world: Some(&self.world),
            // A cluster is asked for objects that exist alone.
            is_world_of_all: !self.options.uses_cluster_state(),
        };
        let proof = prove(&input, &self.proof, &mut |requests| advance(requests));
        Checked::new(pair.name.clone(), proof, &self.task.accept)
    }

    /// Reports what could not be looked up.
    pub(super) fn finish(&self, reporter: &mut Reporter) {
        reporter.finish_progress();
        self.session.report_cluster_errors(&self.world, reporter);
    }
}

/// The objects of documents. Errors are reported; `None` if there are any.
fn given(
    documents: impl Iterator<Item = Result<InputDocument, SourceError>>,
    reporter: &mut Reporter,
) -> Option<Vec<Value>> {
    let mut objects = Vec::new();
    let mut errors = Vec::new();
    for document in documents {
        match document {
            Ok(document) => {
                let Content::Document(document) = document.content else { continue };
                let items = items_of(&document);
                let found = items.into_iter().map(|(_, item)| item);
                objects.extend(found.filter(|object| GroupVersionKind::of(object).is_some()));
            }
            Err(error) => errors.push(error),
        }
    }
    reporter.unread_files(&errors);
    errors.is_empty().then_some(objects)
}
