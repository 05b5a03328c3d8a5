//! The proofs of a run: what they share, and how policies are read for them.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::commands::manifests::{manifests, report_errors};
use crate::commands::options::RunOptions;
use crate::commands::reporter::Reporter;
use crate::commands::session::{kind_schemas, schemas};
use crate::policy::Policy;
use crate::proof::{Input, Options, prove};
use crate::semantics::{Dialect, Semantics};
use crate::source::{PolicyLoader, Refused, custom_kinds};
use crate::value::{GroupVersionKind, Value};
use crate::yaml::Source;

use super::checked::Checked;
use super::{Accepted, Arguments};

/// Proves pairs of policies.
pub(super) struct Prover<'a> {
    proof: Options,
    /// Objects beside the generated ones.
    given: Vec<Value>,
    accepted: &'a [Accepted],
    options: &'a RunOptions,
}

/// Where the policies of a side are.
pub(super) enum PolicySource<'a> {
    /// A file or directory.
    Path(&'a Path),
    /// The text of documents.
    Text(Arc<Source>),
}

impl<'a> Prover<'a> {
    /// Reads what the proofs need. Errors are reported; `None` if there are any.
    pub(super) fn new(
        arguments: &'a Arguments,
        options: &'a RunOptions,
        reporter: &mut Reporter,
    ) -> Option<Self> {
        let given = given(options, reporter)?;
        let kinds = reporter.loaded(custom_kinds(&options.crds, &options.input_limits))?;
        let proof = Options {
            semantics: options.dialect.semantics,
            schemas: reporter.valid(schemas(&kinds))?,
            kind_schemas: kind_schemas(&kinds),
            requests_per_rule: arguments.proof.requests_per_rule(),
            seed: options.seed,
            now: options.now.unwrap_or_else(Timestamp::now),
            limits: options.evaluation_limits,
        };
        Some(Self { proof, given, accepted: &arguments.accept, options })
    }

    /// The policies of a source.
    ///
    /// # Errors
    ///
    /// All that is wrong with them.
    pub(super) fn policies(&self, source: &PolicySource<'_>) -> Result<Vec<Policy>, Refused> {
        self.policies_in(source, self.options.dialect)
    }

    fn policies_in(&self, source: &PolicySource<'_>, dialect: Dialect) -> Result<Vec<Policy>, Refused> {
        let mut loader = PolicyLoader::new(dialect, self.options.input_limits);
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

    /// Proves a pair. `source` is where the new policies were read from.
    pub(super) fn prove(
        &self,
        name: &str,
        (old, new): (&[Policy], &[Policy]),
        source: &PolicySource<'_>,
        reporter: &mut Reporter,
    ) -> Checked {
        // Where Kyverno refuses the new policies, that was reported where it matters.
        let dialect = Dialect { semantics: Semantics::Kyverno, ..self.options.dialect };
        let in_kyverno = self.policies_in(source, dialect).ok();
        let input = Input { old, new, new_in_kyverno: in_kyverno.as_deref(), given: &self.given };
        let proof = prove(&input, &self.proof, &mut |requests| reporter.advance(requests));
        Checked::new(name.to_owned(), proof, self.accepted)
    }
}

/// The objects of `-f`. Errors are reported; `None` if there are any.
fn given(options: &RunOptions, reporter: &mut Reporter) -> Option<Vec<Value>> {
    if options.manifests.is_empty() {
        return Some(Vec::new());
    }
    let manifests = manifests(options, None, reporter)?;
    let mut objects = Vec::new();
    let mut errors = Vec::new();
    for document in manifests.documents() {
        match document {
            Ok(document) => {
                let value = document.value().filter(|value| GroupVersionKind::of(value).is_some());
                objects.extend(value.cloned());
            }
            Err(error) => errors.push(Err(error)),
        }
    }
    let is_whole = errors.is_empty();
    report_errors(errors.into_iter(), reporter);
    is_whole.then_some(objects)
}
