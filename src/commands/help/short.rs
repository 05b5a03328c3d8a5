//! The short help (`-h`) of commands with many flags: at most 24 lines of 80 columns.

const DIFF: &str = "\
Show what Kyverno mutate policies would change.

  kubectl kyv diff -p policies/ -f manifests/ -R           # manifests
  kubectl kyv diff deployments -n web -p policies/         # live objects

  -p, --policy PATH          Policies: a file, a directory, a glob, or -
  -f, --filename PATH        Manifests: a file, a directory, a glob, or -
  -R, --recursive            Read the directories of -f with those below them
  -k, --kustomize DIR        Build a kustomization
  -A, --all-namespaces       Live objects of all namespaces; -n NAME: of one
      --live                 Evaluate manifests with data of the cluster
      --rule POLICY/RULE     Only these rules; * and ? are wildcards
      --values FILE          Values of variables; --set NAME=VALUE: of one
      --semantics NAME       documented or kyverno, where the two differ
  -o, --output FORMAT        diff, summary, json, markdown, html, sarif, github,
                             gitlab, junit, policyreport or openreports
      --annotate             Name the rules behind each hunk
      --summary              Print the summary as tables
  -q, --quiet                No notes, no summary; -v, --verbose: each message

Exit codes: 0 nothing would change, 1 something would change, 2 wrong usage or
input, 3 a rule failed, 4 the cluster could not be read.

All flags: kubectl kyv diff --help. Connection flags: kubectl kyv options.
";

const CHECK: &str = "\
Check how Kyverno mutate policies get along with each other.

  kubectl kyv check -p policies/ -f manifests/ -R          # manifests
  kubectl kyv check deployments -A -p policies/            # live objects

  -p, --policy PATH          Policies: a file, a directory, a glob, or -
  -f, --filename PATH        Manifests: a file, a directory, a glob, or -
  -R, --recursive            Read the directories of -f with those below them
  -k, --kustomize DIR        Build a kustomization
  -A, --all-namespaces       Live objects of all namespaces; -n NAME: of one
      --live                 Evaluate manifests with data of the cluster
      --operation NAME       CREATE or UPDATE
      --values FILE          Values of variables; --set NAME=VALUE: of one
      --semantics NAME       documented or kyverno, where the two differ
  -o, --output FORMAT        text, json, html, sarif, github, gitlab or junit
  -q, --quiet                No notes; -v, --verbose: each message

Exit codes: 0 no findings, 1 findings, 2 wrong usage or input, 3 a rule failed,
4 the cluster could not be read.

All flags: kubectl kyv check --help. Connection flags: kubectl kyv options.
";

const MUTATE: &str = "\
Print objects as Kyverno mutate policies leave them.

  kubectl kyv mutate -p policies/ -f manifests/ -R         # on stdout
  kubectl kyv mutate -p policies/ -f manifests/ -R -i      # edit the files

  -p, --policy PATH          Policies: a file, a directory, a glob, or -
  -f, --filename PATH        Manifests: a file, a directory, a glob, or -
  -R, --recursive            Read the directories of -f with those below them
  -k, --kustomize DIR        Build a kustomization
  -i, --in-place             Edit the files of -f
      --check                Name the files that -i would edit
      --live                 Evaluate manifests with data of the cluster
      --rule POLICY/RULE     Only these rules; * and ? are wildcards
      --values FILE          Values of variables; --set NAME=VALUE: of one
      --semantics NAME       documented or kyverno, where the two differ
  -o, --output FORMAT        yaml, json, diff, patch or name
      --keep-going           Go on without refused policies and bad files
  -q, --quiet                No notes, no summary; -v, --verbose: each message

Exit codes: 0 done, 1 --check: something would change, 2 wrong usage or input,
3 a rule failed, 4 the cluster could not be read.

All flags: kubectl kyv mutate --help. Connection flags: kubectl kyv options.
";

const EXPLAIN: &str = "\
Explain why each rule applied or did not.

  kubectl kyv explain -p policies/ -f deployment.yaml
  kubectl kyv explain deployment web -n shop -p policies/

  -p, --policy PATH          Policies: a file, a directory, a glob, or -
  -f, --filename PATH        Manifests: a file, a directory, a glob, or -
  -R, --recursive            Read the directories of -f with those below them
  -k, --kustomize DIR        Build a kustomization
  -A, --all-namespaces       Live objects of all namespaces; -n NAME: of one
      --live                 Evaluate manifests with data of the cluster
      --rule POLICY/RULE     Only these rules; * and ? are wildcards
      --object KIND/NAME     Only these objects; * and ? are wildcards
      --all                  Also list the rules for other kinds
      --values FILE          Values of variables; --set NAME=VALUE: of one
      --semantics NAME       documented or kyverno, where the two differ
  -o, --output FORMAT        text, json or html
  -q, --quiet                No notes, no summary; -v, --verbose: each message

Exit codes: 0 done, 2 wrong usage or input, 3 a rule failed, 4 the cluster could
not be read.
All flags: kubectl kyv explain --help. Connection flags: kubectl kyv options.
";

const TEST: &str = "\
Run Kyverno test suites.

  kubectl kyv test                                    # below this directory
  kubectl kyv test policies/ -t policy=add-labels --fail-only

  -f, --file-name NAME              The file name of suites
  -t, --test-case-selector policy=P,rule=R,resource=N
                                    Only these rows; * and ? are wildcards
      --require-tests               Fail if nothing was run
      --strict                      Fail for rows that were not evaluated
      --crds PATH                   CustomResourceDefinitions
      --semantics NAME              documented or kyverno, where the two differ
  -o, --output FORMAT               json, junit or markdown
      --fail-only                   Show only what fails
      --detailed-results            Show the messages of the rules
      --update                      Write the files of expected objects
  -q, --quiet                       No notes

Exit codes: 0 nothing failed, 1 a result is not as expected, 2 a suite could not
be loaded, 3 a mutation was not evaluated.

All flags: kubectl kyv test --help.
";

const DRIFT: &str = "\
Show what a GitOps tool shows of the changes of Kyverno mutate policies.

  kubectl kyv drift -p policies/ -f manifests/ -R          # before the apply
  kubectl kyv drift -p policies/ -f manifests/ -R --live   # beside the cluster

  -p, --policy PATH          Policies: a file, a directory, a glob, or -
  -f, --filename PATH        Manifests: a file, a directory, a glob, or -
  -R, --recursive            Read the directories of -f with those below them
  -k, --kustomize DIR        Build a kustomization
      --live                 Explain each difference from the cluster's objects
      --cluster-policies     Use the policies of the cluster, too
      --crds PATH            Schemas and defaults of custom resources
      --values FILE          Values of variables; --set NAME=VALUE: of one
      --semantics NAME       documented or kyverno, where the two differ
  -o, --output FORMAT        text, json, html, or argocd: ignoreDifferences
  -q, --quiet                No notes; -v, --verbose: each message

Exit codes: 0 all in sync, 1 an object would be OutOfSync, 2 wrong usage or
input, 3 a rule failed, 4 the cluster could not be read.

All flags: kubectl kyv drift --help. Connection flags: kubectl kyv options.
";

const LINT: &str = "\
Find what policies do not do as they say, without objects.

  kubectl kyv lint -p policies/
  kubectl kyv lint -p policies/ --fix         # correct what has one correction
  kubectl kyv explain KYV903                  # the page on a code

  -p, --policy PATH          Policies: a file, a directory, a glob, or -
      --level NAME           note, warning or error: the lowest that is reported
      --fix                  Correct the policies in their files
      --baseline FILE        Findings that are known and not reported
      --write-baseline FILE  Write the findings to such a file
      --semantics NAME       documented or kyverno, where the two differ
      --legacy NAME          doc, native or smp: meaning of overlay and patches
  -o, --output FORMAT        text, json, sarif, github, gitlab or junit
  -q, --quiet                No notes, no summary

A comment `# kyv:ignore KYV903 REASON` suppresses a finding.

Exit codes: 0 no findings, 1 findings, 2 wrong usage or a refused policy.

All flags: kubectl kyv lint --help.
";

const CONVERT: &str = "\
Convert classic policies to CEL policies, and prove that they do the same.

  kubectl kyv convert -p add-labels.yaml               # on stdout
  kubectl kyv convert -p policies/ -i                  # beside the old files
  kubectl kyv convert --check policies/ new-policies/  # prove existing pairs

  -p, --policy PATH          Policies: a file, a directory, a glob, or -
      --check OLD NEW        Compare the policies of two files or directories
      --to NAME              mpol, or map: policies of the API server
      --accept NAME          A difference that is accepted, such as order
      --proof NAME           full, fast or none
  -f, --filename PATH        More objects for the proof; -R, -k as in mutate
  -o, --output PATH          A folder for the new policies
  -i, --in-place             Write each new policy beside the old one
      --tests DIR            Write suites for the old and the new policies
      --force                Write over files that exist
  -q, --quiet                No notes, no summary

Exit codes: 0 converted, or equal, 1 some answers differ, 2 wrong usage or
input, 3 a rule was not converted, or something could not be compared.

All flags: kubectl kyv convert --help.
";

const QUERY: &str = "\
Evaluate an expression of Kyverno's JMESPath on documents.

  kubectl kyv jp query 'spec.containers[*].image' -f pod.yaml
  kubectl kyv jp query -n \"to_upper('a')\"

  -f, --filename FILE        Documents in YAML or JSON; - for standard input
  -n, --null-input           Read no input: evaluate on null
      --semantics NAME       documented or kyverno, where the two differ
      --now TIME             The time that expressions see
      --seed N               The seed of random values
      --limit NAME=N         Set a limit; `--limit help` lists all limits
  -o, --output FORMAT        json or yaml
      --compact              Print each JSON result on one line
  -u, --unquoted             Print strings without quotes
  -q, --quiet                No notes

All about it: kubectl kyv jp query --help.
";

const GENERATE: &str = "\
Render an application of Argo CD, and mutate the objects by Kyverno policies.

  kubectl kyv argocd generate -p /policies/           # in the folder of the app

  -p, --policy PATH          Policies: a file, a directory, or a glob
      --app-policies         Applications may name policies in their repository
      --policy-sets DIR      Policy sets, one for each folder below this one
      --project-set          Apply the set of the application's project
      --kustomize-options OPTIONS   Options of `kustomize build`
      --remote               Let kustomize and helm fetch remote sources
      --context-from PATH    Objects that context entries read
      --values FILE          Values of variables; --set NAME=VALUE: of one
      --semantics NAME       documented or kyverno, where the two differ
      --strict               Fail if anything was not evaluated
      --timeout TIME         The time limit of kustomize and helm
      --allow-empty          Accept an application without objects
  -q, --quiet                No notes, no summary

Exit codes: 0 done, 2 wrong usage or input, 3 a rule failed.

All flags: kubectl kyv argocd generate --help.
";

/// The short help of a command; `None` if its help is short anyway.
pub(in crate::commands) fn short(words: &[String]) -> Option<&'static str> {
    let words: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
    match words[..] {
        ["diff", ..] => Some(DIFF),
        ["check", ..] => Some(CHECK),
        ["drift", ..] => Some(DRIFT),
        ["lint", ..] => Some(LINT),
        ["convert", ..] => Some(CONVERT),
        ["mutate", ..] => Some(MUTATE),
        ["explain", ..] => Some(EXPLAIN),
        ["test", ..] => Some(TEST),
        ["jp", "query"] => Some(QUERY),
        ["argocd", "generate"] => Some(GENERATE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn short_help_fits_a_screen_and_names_flags_that_exist() {
        let program = crate::commands::command(None);
        for name in [
            "check",
            "convert",
            "diff",
            "drift",
            "explain",
            "jp query",
            "lint",
            "mutate",
            "test",
            "argocd generate",
        ] {
            let path: Vec<String> = name.split(' ').map(str::to_owned).collect();
            let text = short(&path).unwrap();
            assert!(text.lines().count() <= 24, "{name}: {}", text.lines().count());
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}");
            let command = path.iter().fold(&program, |command, name| command.find_subcommand(name).unwrap());
            let known: BTreeSet<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
            let words = text.split(|c: char| c != '-' && !c.is_ascii_lowercase());
            for flag in words.filter_map(|word| word.strip_prefix("--")) {
                assert!(known.contains(flag) || flag == "help", "{name}: --{flag}");
            }
        }
    }
}
