//! The manifests that the options of a run name.

use crate::diagnostics::Code;
use crate::source::{Exclusions, InputDocument, Kustomize, Manifests, SourceError, Walk, kustomize};

use super::options::RunOptions;
use super::reporter::Reporter;
use super::session::Session;

/// Adds the objects of `--targets`, if there are rules with targets. Errors are reported; returns whether there are none.
pub(super) fn add_targets(
    options: &RunOptions,
    session: &Session,
    manifests: &mut Manifests,
    reporter: &mut Reporter,
) -> bool {
    if options.targets.is_empty() {
        return true;
    }
    if !session.engine.has_targets() {
        reporter.omission(Code::UnusedOption, "no rule has targets: --targets is ignored");
        return true;
    }
    manifests.start_further();
    let errors: Vec<SourceError> =
        options.targets.iter().filter_map(|path| manifests.add(path, Walk::Flat).err()).collect();
    reporter.source_errors(&errors);
    errors.is_empty()
}

/// The manifests that the options name. All errors are reported; `None` if there are any.
pub(super) fn manifests(
    options: &RunOptions,
    session: Option<&Session>,
    reporter: &mut Reporter,
) -> Option<Manifests> {
    let limits = options.input_limits;
    let mut manifests = Manifests::new(limits);
    match Exclusions::new(&options.exclude) {
        Ok(exclusions) => manifests.exclude(exclusions),
        Err(error) => {
            reporter.source_error(&error);
            return None;
        }
    }
    let walk = if options.recursive { Walk::Deep } else { Walk::Flat };
    let mut errors: Vec<SourceError> =
        options.manifests.iter().filter_map(|path| manifests.add(path, walk).err()).collect();
    let build_options = options.kustomize_options.split_whitespace().map(str::to_owned).collect();
    let programs = Kustomize { kubectl: std::env::var_os("KUBECTL_PATH"), options: build_options };
    for folder in &options.kustomizations {
        match kustomize(folder, &programs, &limits) {
            Ok(text) => manifests.add_text(text),
            Err(error) => errors.push(error),
        }
    }
    reporter.unread_files(&errors);
    let has_inputs = errors.is_empty() || options.keep_going && manifests.inputs() > 0;
    let has_targets = session.is_none_or(|session| add_targets(options, session, &mut manifests, reporter));
    if !has_inputs || !has_targets {
        // The other files are still read, so that one run reports all errors.
        report_errors(manifests.documents(), reporter);
        return None;
    }
    Some(manifests)
}

/// Reports the errors of documents that are not evaluated.
pub(super) fn report_errors(
    documents: impl Iterator<Item = Result<InputDocument, SourceError>>,
    reporter: &mut Reporter,
) {
    let errors: Vec<SourceError> = documents.filter_map(Result::err).collect();
    reporter.unread_files(&errors);
}
