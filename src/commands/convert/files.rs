//! The classic policies of the inputs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::commands::exit::Exit;
use crate::commands::options::RunOptions;
use crate::commands::reporter::Reporter;
use crate::convert::Comments;
use crate::diagnostics::Code;
use crate::policy::{ClassicPolicy, DocumentKind, Policy, kind_of, parse};
use crate::source::{Location, PolicyLoader, SourceError, Walk, expand, helm_marker, items_of, read_text};
use crate::value::{Pointer, Value};
use crate::yaml::{Document, Source, read};

/// A file with classic policies that have mutate rules.
#[derive(Debug)]
pub(super) struct PolicyFile {
    /// Its path; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// Its path below the argument that names its folder, or its name.
    pub(super) below: PathBuf,
    pub(super) name: String,
    pub(super) policies: Vec<ReadPolicy>,
}

/// A classic policy with its document.
#[derive(Debug)]
pub(super) struct ReadPolicy {
    pub(super) value: Value,
    pub(super) policy: ClassicPolicy,
    /// The comments above it, and those of its rules.
    pub(super) comments: Comments,
    pub(super) document: Arc<Document>,
    /// Its place in the document.
    pub(super) at: Pointer,
}

/// Reads the files of the arguments. Errors are reported; `None` if there are any.
pub(super) fn read_policies(
    arguments: &[PathBuf],
    options: &RunOptions,
    reporter: &mut Reporter,
) -> Option<Vec<PolicyFile>> {
    let mut files = Vec::new();
    let mut is_whole = true;
    for argument in arguments {
        let Some(locations) = reporter.ok(expand(argument, Walk::DeepWithoutDots)) else {
            is_whole = false;
            continue;
        };
        for location in locations {
            match read_file(&location, argument, options, reporter) {
                Some(file) if file.policies.is_empty() => {
                    if matches!(location, Location::Stdin | Location::File { named: true, .. }) {
                        reporter.source_error(&SourceError::no_policy(location.name()));
                        is_whole = false;
                    }
                }
                Some(file) => files.push(file),
                None => is_whole = false,
            }
        }
    }
    if is_whole && files.is_empty() {
        let names: Vec<String> = arguments.iter().map(|path| path.display().to_string()).collect();
        reporter.source_error(&SourceError::no_policy(names.join(", ")));
        return None;
    }
    is_whole.then_some(files)
}

fn read_file(
    location: &Location,
    argument: &Path,
    options: &RunOptions,
    reporter: &mut Reporter,
) -> Option<PolicyFile> {
    let limits = &options.input_limits;
    let source = reporter.ok(read_text(location, limits))?;
    let documents =
        read(&source, limits).map_err(|errors| errors.into_iter().map(SourceError::from).collect());
    let documents: Vec<Document> = reporter.loaded(documents)?;
    let path = match location {
        Location::File { path, .. } => Some(path.clone()),
        Location::Stdin => None,
    };
    let below = path.as_deref().map(|path| {
        let below = path.strip_prefix(argument).ok().filter(|below| !below.as_os_str().is_empty());
        below.map_or_else(|| PathBuf::from(path.file_name().unwrap_or_default()), Path::to_path_buf)
    });
    let mut file = PolicyFile {
        path,
        below: below.unwrap_or_else(|| PathBuf::from("policies.yaml")),
        name: location.name(),
        policies: Vec::new(),
    };
    for document in documents {
        let document = Arc::new(document);
        for (at, value) in items_of(&document) {
            if kind_of(&value) != DocumentKind::Policy {
                continue;
            }
            if let Some(place) = helm_marker(&document) {
                reporter.error(
                    Exit::Input,
                    Code::HelmTemplate,
                    format_args!(
                        "{place}: a Helm template cannot be converted: render the chart first, with `helm template`"
                    ),
                );
                return None;
            }
            match parse(&value, options.dialect) {
                Ok(Policy::Classic(policy)) => {
                    let comments = Comments::of(&document, &at);
                    let document = Arc::clone(&document);
                    file.policies.push(ReadPolicy { value, policy, comments, document, at });
                }
                Ok(_) => {}
                Err(_) => {
                    report_refused(&source, options, reporter);
                    return None;
                }
            }
        }
    }
    Some(file)
}

/// Reports why policies of a file do not load, as every command does.
fn report_refused(source: &Arc<Source>, options: &RunOptions, reporter: &mut Reporter) {
    let mut loader = PolicyLoader::new(options.dialect, options.input_limits);
    loader.text(source);
    let (_, refused) = loader.finish_in_part(source.name());
    reporter.source_errors(&refused.errors);
    reporter.refused(refused.policies, refused.files);
}
