//! The manifests that the options of a run name.

use crate::source::{InputDocument, Kustomize, Manifests, SourceError, Walk, kustomize};

use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::{NoteKind, Reporter};
use super::session::Session;

/// Adds the further objects that rules with targets may change, if there are such rules. Errors are reported;
/// whether nothing is.
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
        reporter.note(NoteKind::Omission, "no rule has targets: what --targets gives is not read");
        return true;
    }
    manifests.start_further();
    let mut all = true;
    for argument in &options.targets {
        if let Err(error) = manifests.add(argument, Walk::Flat) {
            all = false;
            reporter.error(Exit::of(&error), &error.to_string());
        }
    }
    all
}

/// The manifests that the options name. All errors are reported; `None` if there are any.
pub(super) fn manifests(
    options: &RunOptions,
    session: Option<&Session>,
    reporter: &mut Reporter,
) -> Option<Manifests> {
    let limits = options.input_limits;
    let mut manifests = Manifests::new(limits);
    let walk = if options.recursive { Walk::Deep } else { Walk::Flat };
    let mut failed = false;
    for argument in &options.manifests {
        if let Err(error) = manifests.add(argument, walk) {
            failed = true;
            reporter.error(Exit::of(&error), &error.to_string());
        }
    }
    if let Some(folder) = &options.kustomization {
        let programs = Kustomize { kubectl: std::env::var_os("KUBECTL_PATH") };
        match kustomize(folder, &programs, &limits) {
            Ok(text) => manifests.add_text(text),
            Err(error) => {
                failed = true;
                reporter.error(Exit::of(&error), &error.to_string());
            }
        }
    }
    failed |= session.is_some_and(|session| !add_targets(options, session, &mut manifests, reporter));
    if failed {
        // The other files are still read, so that one run reports all errors.
        report_errors(manifests.pieces(), reporter);
        return None;
    }
    Some(manifests)
}

/// Reports what is wrong with documents that are not going to be evaluated.
pub(super) fn report_errors(
    documents: impl Iterator<Item = Result<InputDocument, SourceError>>,
    reporter: &mut Reporter,
) {
    for error in documents.filter_map(Result::err) {
        reporter.error(Exit::of(&error), &error.to_string());
    }
}
