//! `__complete`: completions for kubectl.

use std::ffi::OsString;

#[cfg(feature = "cluster")]
use clap::FromArgMatches as _;
use clap::{Arg, ArgAction, CommandFactory as _};

#[cfg(feature = "cluster")]
use crate::resources::ApiResource;
#[cfg(feature = "cluster")]
use crate::source::cluster::{Cluster as _, Connection, ListQuery, LiveCluster};

use super::code_page::names;
use super::exit::Exit;
#[cfg(feature = "cluster")]
use super::kubectl::as_kubectl;
use super::version::print;

/// Directives for the shell, in kubectl's numbers.
const FILES: &str = ":0";
const NO_FILES: &str = ":4";
const NO_FILES_NO_SPACE: &str = ":6";

/// Prints candidates for the last of the words, one per line, and a directive for the shell.
pub(super) fn run(words: &[OsString]) -> Exit {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (&**last, before));
    let (candidates, directive) = candidates(before, last);
    let mut text = String::new();
    for candidate in candidates.iter().filter(|candidate| candidate.starts_with(last)) {
        // A name of the cluster may hold anything; a line is one candidate.
        if !candidate.chars().any(char::is_control) {
            text.push_str(candidate);
            text.push('\n');
        }
    }
    print(&format!("{text}{directive}\n"))
}

fn candidates(before: &[String], last: &str) -> (Vec<String>, &'static str) {
    let root = super::Cli::command();
    let Some((name, rest)) = before.split_first() else {
        let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
        return (visible.map(|command| command.get_name().to_owned()).collect(), NO_FILES);
    };
    let Some(command) = root.find_subcommand(name) else { return (Vec::new(), NO_FILES) };
    // The commands below it, such as `jp query`.
    let below = rest.first().and_then(|name| command.find_subcommand(name));
    let (command, rest) = below.map_or((command, rest), |below| (below, rest.get(1..).unwrap_or_default()));
    if rest.is_empty() && !last.starts_with('-') && command.has_subcommands() {
        return (command.get_subcommands().map(|command| command.get_name().to_owned()).collect(), NO_FILES);
    }
    if let Some(flag) = rest.last().and_then(|word| flag(command, word)) {
        return values(flag, rest);
    }
    if let Some((word, _)) = last.split_once('=').filter(|_| last.starts_with("--"))
        && let Some(flag) = flag(command, word)
    {
        let (found, directive) = values(flag, rest);
        return (found.into_iter().map(|value| format!("{word}={value}")).collect(), directive);
    }
    if last.starts_with('-') {
        let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
        return (visible.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect(), NO_FILES);
    }
    if command.get_name() == "explain" && last.to_ascii_uppercase().starts_with("KYV") {
        return (names().map(str::to_owned).collect(), NO_FILES);
    }
    let takes_objects = command.get_arguments().any(|argument| argument.get_id() == "objects");
    if takes_objects { objects(command, rest, last) } else { (Vec::new(), FILES) }
}

/// The flag that a word is, if the next word is its value.
fn flag<'c>(command: &'c clap::Command, word: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|argument| {
        let is_long = word.strip_prefix("--").is_some_and(|name| argument.get_long() == Some(name));
        let short = argument.get_short().map(|short| format!("-{short}"));
        (is_long || short.as_deref() == Some(word))
            && matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
            && !argument.is_require_equals_set()
    })
}

fn values(flag: &Arg, words: &[String]) -> (Vec<String>, &'static str) {
    let known = flag.get_possible_values();
    if !known.is_empty() {
        return (known.iter().map(|value| value.get_name().to_owned()).collect(), NO_FILES);
    }
    match flag.get_id().as_str() {
        "namespace" => (named(words, "namespaces"), NO_FILES),
        "context" | "cluster" | "user" => (of_kubeconfig(words, flag.get_id().as_str()), NO_FILES),
        "policy"
        | "filename"
        | "kustomize"
        | "values"
        | "userinfo"
        | "old"
        | "crds"
        | "context_from"
        | "record"
        | "replay"
        | "kubeconfig"
        | "certificate_authority"
        | "client_certificate"
        | "client_key" => (Vec::new(), FILES),
        _ => (Vec::new(), NO_FILES),
    }
}

/// Types, or names of objects of the type before.
fn objects(command: &clap::Command, words: &[String], last: &str) -> (Vec<String>, &'static str) {
    let mut earlier = Vec::new();
    let mut is_value = false;
    for word in words {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word.starts_with('-') {
            is_value = flag(command, word).is_some();
        } else {
            earlier.push(word);
        }
    }
    if let Some((kind, _)) = last.split_once('/') {
        let names = named(words, kind);
        return (names.into_iter().map(|name| format!("{kind}/{name}")).collect(), NO_FILES);
    }
    match earlier.first() {
        Some(kind) if kind.contains('/') => {
            (types(words).into_iter().map(|kind| format!("{kind}/")).collect(), NO_FILES_NO_SPACE)
        }
        Some(kind) => {
            let names = named(words, kind);
            (names.into_iter().filter(|name| !earlier.contains(&name)).collect(), NO_FILES)
        }
        None => match last.rsplit_once(',') {
            Some((front, _)) => {
                (types(words).into_iter().map(|kind| format!("{front},{kind}")).collect(), NO_FILES)
            }
            None => (types(words), NO_FILES),
        },
    }
}

/// The connection that the words so far describe.
#[cfg(feature = "cluster")]
fn connection(words: &[String]) -> (Connection, Option<String>) {
    /// Only the flags that name the cluster; the words need not be a complete command yet.
    #[derive(Debug, clap::Parser)]
    #[command(no_binary_name = true)]
    struct Words {
        #[command(flatten)]
        connection: super::arguments::ConnectionArguments,
        #[arg(short, long)]
        namespace: Option<String>,
    }
    let command = as_kubectl(Words::command());
    let mut known = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((&**word, None), |(name, value)| (name, Some(value)));
        if flag(&command, name).is_some() {
            known.push(word.clone());
            if value.is_none() {
                known.extend(words.next().cloned());
            }
        } else if name == "--insecure-skip-tls-verify" {
            known.push(word.clone());
        }
    }
    match command.try_get_matches_from(known).and_then(|found| Words::from_arg_matches(&found)) {
        Ok(Words { connection, namespace }) => {
            let mut connection = connection.connection();
            // A completion must be fast.
            connection.request_timeout = Some(std::time::Duration::from_secs(3));
            (connection, namespace)
        }
        Err(_) => (Connection::default(), None),
    }
}

#[cfg(feature = "cluster")]
fn of_kubeconfig(words: &[String], what: &str) -> Vec<String> {
    let [contexts, clusters, users] = LiveCluster::names(&connection(words).0);
    match what {
        "context" => contexts,
        "cluster" => clusters,
        _ => users,
    }
}

/// The types of the cluster that can be listed, each by the shortest name that means it.
#[cfg(feature = "cluster")]
fn types(words: &[String]) -> Vec<String> {
    let Ok(cluster) = LiveCluster::connect(&connection(words).0) else { return Vec::new() };
    let Ok(served) = cluster.resources() else { return Vec::new() };
    let name = |resource: &ApiResource| {
        let is_meant = served.resolve(&resource.plural) == Some(resource);
        if is_meant { resource.plural.to_string() } else { resource.full_name() }
    };
    let mut names: Vec<String> = served.iter().filter(|resource| resource.is_listed).map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The names of the first objects of a type.
#[cfg(feature = "cluster")]
fn named(words: &[String], kind: &str) -> Vec<String> {
    const FIRST: u32 = 500;
    let (connection, namespace) = connection(words);
    let found = || {
        let cluster = LiveCluster::connect(&connection).ok()?;
        let served = cluster.resources().ok()?;
        let resource = served.resolve(kind)?;
        let namespace = namespace.as_deref().unwrap_or_else(|| cluster.default_namespace());
        let query = ListQuery {
            resource,
            namespace: resource.is_namespaced.then_some(namespace),
            labels: None,
            fields: None,
            limit: FIRST,
            after: None,
        };
        let page = cluster.list(&query).ok()?;
        let name =
            |object: &crate::value::Value| Some(object.path(&["metadata", "name"])?.as_str()?.to_owned());
        Some(page.objects.iter().filter_map(name).collect())
    };
    found().unwrap_or_default()
}

#[cfg(not(feature = "cluster"))]
const fn of_kubeconfig(_: &[String], _: &str) -> Vec<String> {
    Vec::new()
}

#[cfg(not(feature = "cluster"))]
const fn types(_: &[String]) -> Vec<String> {
    Vec::new()
}

#[cfg(not(feature = "cluster"))]
const fn named(_: &[String], _: &str) -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(words: &[&str]) -> (Vec<String>, &'static str) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let (last, before) = words.split_last().unwrap();
        let (found, directive) = candidates(before, last);
        (found.into_iter().filter(|candidate| candidate.starts_with(&**last)).collect(), directive)
    }

    #[test]
    fn commands_flags_and_their_values_are_completed() {
        for (words, expected, directive) in [
            (&["mu"][..], &["mutate"][..], NO_FILES),
            (&["__"], &[], NO_FILES),
            (&["diff", "--cluster-"], &["--cluster-policies"], NO_FILES),
            (&["diff", "-o", "su"], &["summary"], NO_FILES),
            (&["diff", "--output=su"], &["--output=summary"], NO_FILES),
            (&["diff", "-p", ""], &[], FILES),
            (&["jp", "q"], &["query"], NO_FILES),
            (&["nosuch", ""], &[], NO_FILES),
        ] {
            assert_eq!(
                completed(words),
                (expected.iter().map(ToString::to_string).collect(), directive),
                "{words:?}"
            );
        }
    }
}
