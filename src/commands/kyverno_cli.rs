//! Command lines of the Kyverno CLI, answered with the same command line of this program.

use std::fmt::Write as _;

use crate::diagnostics::Code;

use super::exit::Exit;

const CODE: Code = Code::KyvernoCommandLine;

/// What a flag of `kyverno apply` is here.
#[derive(Clone, Copy)]
enum Flag {
    /// A flag with the same value.
    Value(&'static str),
    /// Words without a value.
    Words(&'static [&'static str]),
    /// The file for mutated objects.
    OutputFile,
    /// Another command.
    Explain,
    /// What happens anyway.
    Nothing,
    /// Something that this program does not have, with a value.
    UnknownValue,
    /// The same without a value.
    Unknown,
}

/// The flags of `kyverno apply` in Kyverno 1.19.
const APPLY: &[(&[&str], Flag)] = &[
    (&["-r", "--resource", "--resources"], Flag::Value("-f")),
    (&["-f", "--values-file"], Flag::Value("--values")),
    (&["-s", "--set"], Flag::Value("--set")),
    (&["-u", "--userinfo"], Flag::Value("--userinfo")),
    (&["-e", "--exception", "--exceptions"], Flag::Value("--exceptions")),
    (&["--crd-paths"], Flag::Value("--crds")),
    (&["--context-file", "--parameter-resource"], Flag::Value("--context-from")),
    (&["--target-resource", "--target-resources"], Flag::Value("--targets")),
    (&["-n", "--namespace"], Flag::Value("-n")),
    (&["--context"], Flag::Value("--context")),
    (&["--kubeconfig"], Flag::Value("--kubeconfig")),
    (&["--batch-size"], Flag::Value("--chunk-size")),
    (&["--concurrent"], Flag::Value("--workers")),
    (&["-c", "--cluster"], Flag::Words(&["-A"])),
    (&["-i", "--stdin"], Flag::Words(&["-f", "-"])),
    (&["-t", "--table"], Flag::Words(&["-o", "summary"])),
    (&["-p", "--policy-report"], Flag::Words(&["-o", "json"])),
    (&["--remove-color"], Flag::Words(&["--color", "never"])),
    (&["-o", "--output"], Flag::OutputFile),
    (&["--detailed-results"], Flag::Explain),
    (&["--cluster-wide-resources", "--continue-on-fail", "--continue-on-error"], Flag::Nothing),
    (
        &[
            "-b",
            "--git-branch",
            "--envoy-payload",
            "--generated-exception-ttl",
            "--http-payload",
            "--json",
            "--output-format",
            "--password",
            "--username",
            "--warn-exit-code",
        ],
        Flag::UnknownValue,
    ),
    (
        &[
            "--audit-warn",
            "--exceptions-with-resources",
            "--exceptions-within-policies",
            "--exceptions-within-resources",
            "--generate-exceptions",
            "--registry",
            "--show-performance",
            "--warn-no-pass",
        ],
        Flag::Unknown,
    ),
];

/// The message for a command line of the Kyverno CLI with its exit code; `None` for any other.
pub(super) fn answer(arguments: &[String]) -> Option<(String, Exit)> {
    let (command, rest) = arguments.split_first()?;
    let text = match command.as_str() {
        "apply" => apply(rest),
        "mutate" | "diff" | "explain" => flags(command, rest)?,
        "jp" => jp(rest)?,
        _ => return None,
    };
    Some((text, Exit::Input))
}

/// `kyverno apply POLICY… --resource FILE…`.
fn apply(arguments: &[String]) -> String {
    let (mut policies, mut ours, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    let (mut command, mut file) = ("diff", None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "-" || !word.starts_with('-') {
            policies.extend(["-p".to_owned(), word.clone()]);
            continue;
        }
        let (name, value) = name_and_value(word);
        let known = APPLY.iter().find(|(names, _)| names.contains(&name)).map(|(_, flag)| *flag);
        let mut value = || value.map(str::to_owned).or_else(|| words.next().cloned()).unwrap_or_default();
        match known {
            Some(Flag::Value(flag)) => ours.extend([flag.to_owned(), value()]),
            Some(Flag::Words(words)) => ours.extend(words.iter().map(ToString::to_string)),
            Some(Flag::OutputFile) => {
                command = "mutate";
                file = Some(value());
            }
            Some(Flag::Explain) if command == "diff" => command = "explain",
            Some(Flag::Explain | Flag::Nothing) => {}
            Some(Flag::UnknownValue) => {
                value();
                unknown.push(name);
            }
            Some(Flag::Unknown) | None => unknown.push(name),
        }
    }
    // A namespace is narrower than all of them.
    if ours.iter().any(|word| word == "-n") {
        ours.retain(|word| word != "-A");
    }
    let line: Vec<String> = [command.to_owned()].into_iter().chain(policies).chain(ours).collect();
    let file = file.map_or_else(String::new, |file| format!(" > {}", quoted(&file)));
    let mut text = format!(
        "error[{CODE}]: `apply` is a command of the Kyverno CLI; here it is:\n  kubectl kyv {}{file}\n",
        shell_line(&line)
    );
    if !unknown.is_empty() {
        let _ = writeln!(text, "without an equivalent here: {}", unknown.join(", "));
    }
    text
}

/// Flags of `kyverno apply` with the commands of this program.
fn flags(command: &str, arguments: &[String]) -> Option<String> {
    let mut ours = vec![command.to_owned()];
    let mut found: Option<(&str, &str)> = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            return None;
        }
        let (name, value) = name_and_value(word);
        let is_short_set = name == "-s"
            && value.or_else(|| words.as_slice().first().map(String::as_str)).is_some_and(is_assignment);
        let flag = match name {
            "-r" | "--resource" | "--resources" => "-f",
            "-s" if is_short_set => "--set",
            "-u" => "--userinfo",
            "-e" | "--exception" => "--exceptions",
            "--values-file" => "--values",
            "--crd-paths" => "--crds",
            "--target-resource" | "--target-resources" => "--targets",
            _ => {
                ours.push(word.clone());
                continue;
            }
        };
        let known = APPLY.iter().flat_map(|(names, _)| names.iter()).find(|known| **known == name)?;
        found.get_or_insert((known, flag));
        ours.push(flag.to_owned());
        ours.extend(value.map(str::to_owned));
    }
    let (theirs, flag) = found?;
    Some(format!(
        "error[{CODE}]: `{theirs}` of the Kyverno CLI is `{flag}` here:\n  kubectl kyv {}\n",
        shell_line(&ours)
    ))
}

/// `kyverno jp query -i FILE -q FILE… EXPRESSION…` and `kyverno jp parse -f FILE… EXPRESSION…`.
fn jp(arguments: &[String]) -> Option<String> {
    let (command, rest) = arguments.split_first()?;
    let is_query = command == "query";
    let is_theirs = |name: &str| match name {
        "-i" | "--input" | "-c" | "--query" => is_query,
        "-f" | "--file" => command == "parse",
        _ => false,
    };
    let theirs = rest.iter().map(|word| name_and_value(word).0).find(|name| is_theirs(name))?;
    let (mut ours, mut expressions) = (Vec::new(), Vec::new());
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let (name, value) = name_and_value(word);
        let mut value = || value.map(str::to_owned).or_else(|| words.next().cloned()).unwrap_or_default();
        match name {
            "-i" | "--input" if is_query => ours.extend(["-f".to_owned(), quoted(&value())]),
            "-c" | "--compact" if is_query => ours.push("--compact".to_owned()),
            "-u" | "--unquoted" if is_query => ours.push("-u".to_owned()),
            "-q" | "--query" | "-f" | "--file" => {
                expressions.push(format!("\"$(cat {})\"", quoted(&value())));
            }
            _ if word.starts_with('-') => return None,
            _ => expressions.push(quoted(word)),
        }
    }
    if expressions.is_empty() {
        return None;
    }
    let mut text = format!("error[{CODE}]: `{theirs}` is a flag of the Kyverno CLI; here it is:\n");
    // A query has one expression here.
    let lines = if is_query { expressions } else { vec![expressions.join(" ")] };
    for expressions in lines {
        let words = [&["jp".to_owned(), command.clone()], &*ours, &[expressions]].concat();
        let _ = writeln!(text, "  kubectl kyv {}", words.join(" "));
    }
    Some(text)
}

/// Whether a value of `-s` is a variable's, and not the address of an API server.
fn is_assignment(text: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// The name of a flag, and the value that is written behind it.
fn name_and_value(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    }
    match word.char_indices().nth(2) {
        Some((end, _)) if word.starts_with('-') => {
            let (name, value) = word.split_at(end);
            (name, Some(value.strip_prefix('=').unwrap_or(value)))
        }
        _ => (word, None),
    }
}

fn shell_line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        answer(&words).map(|(text, _)| text)
    }

    #[test]
    fn a_command_line_of_the_kyverno_cli_has_its_equivalent() {
        for (theirs, ours) in [
            ("apply a.yaml b.yaml --resource c.yaml", "diff -p a.yaml -p b.yaml -f c.yaml"),
            ("apply a.yaml -r=c.yaml -r d.yaml -t", "diff -p a.yaml -f c.yaml -f d.yaml -o summary"),
            ("apply a.yaml --cluster -n shop", "diff -p a.yaml -n shop"),
            ("apply a.yaml -c --detailed-results", "explain -p a.yaml -A"),
            (
                "apply a.yaml -r b.yaml --context-file c.yaml --parameter-resource=d.yaml",
                "diff -p a.yaml -f b.yaml --context-from c.yaml --context-from d.yaml",
            ),
            ("apply a.yaml -r c.yaml -o out.yaml", "mutate -p a.yaml -f c.yaml > out.yaml"),
            (
                "apply p/ -i -s a.b=c -f v.yaml -e x.yaml",
                "diff -p p/ -f - --set a.b=c --values v.yaml --exceptions x.yaml",
            ),
            ("diff -p a.yaml -r c.yaml -R", "diff -p a.yaml -f c.yaml -R"),
            (
                "explain -p a.yaml -f b.yaml --exception c.yaml",
                "explain -p a.yaml -f b.yaml --exceptions c.yaml",
            ),
            ("mutate -p a.yaml --resource=c*.yaml", "mutate -p a.yaml -f 'c*.yaml'"),
            (
                "diff -p a.yaml -f b.yaml -s request.operation=UPDATE",
                "diff -p a.yaml -f b.yaml --set request.operation=UPDATE",
            ),
        ] {
            let text = answered(theirs).unwrap();
            assert!(text.ends_with(&format!("\n  kubectl kyv {ours}\n")), "{theirs}: {text}");
        }
        for (theirs, ours) in [
            ("jp query -i a.json b.c", "jp query -f a.json b.c"),
            ("jp query --input=a.json -c -u b|c", "jp query -f a.json --compact -u 'b|c'"),
            (
                "jp query -i a.json -q b.jp c",
                "jp query -f a.json \"$(cat b.jp)\"\n  kubectl kyv jp query -f a.json c",
            ),
            ("jp parse -f b.jp c", "jp parse \"$(cat b.jp)\" c"),
        ] {
            let text = answered(theirs).unwrap();
            let is_first = text.starts_with("error[KYV013]: `-");
            assert!(is_first && text.ends_with(&format!("\n  kubectl kyv {ours}\n")), "{theirs}: {text}");
        }
        let text = answered("apply a.yaml --audit-warn --git-branch main -r c").unwrap();
        let end = "diff -p a.yaml -f c\nwithout an equivalent here: --audit-warn, --git-branch\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn other_command_lines_are_their_own() {
        for line in [
            "diff -p a.yaml -f b.yaml",
            "diff -A -p a.yaml -s https://server?a=b",
            "diff -p a.yaml -- -r",
            "test -r x",
            "jp query -f a.json b.c",
            "jp query -q b.c",
            "jp query -i a.json -n b.c",
            "jp function -i",
        ] {
            assert_eq!(answered(line), None, "{line}");
        }
    }
}
