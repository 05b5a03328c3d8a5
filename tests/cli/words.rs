//! Plain words in messages, and Kyverno's behind `--verbose`.

use crate::commands::MAP;
use crate::folder::{Folder, RunOutput};

/// A run of a rule that sets a label of the object to a text.
fn label(text: &str, arguments: &[&str]) -> RunOutput {
    let policy = format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  background: false
  rules:
    - name: r
      match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}
      context: [{{name: settings, variable: {{value: {{a: 1}}}}}}]
      mutate: {{patchStrategicMerge: {{metadata: {{labels: {{a: \"{text}\"}}}}}}}}
"
    );
    let folder = Folder::new(&[("p.yaml", &policy), ("in.yaml", MAP)]);
    folder.run(&[&["diff", "-p", "p.yaml", "-f", "in.yaml"], arguments].concat())
}

#[test]
fn errors_of_functions_are_in_plain_words() {
    for (text, plain, original) in [
        (
            "{{ split(request.object.metadata, ',') }}",
            "split: argument 1 is an object, expected a string",
            "Invalid type for: object, expected: []jmespath.JpType{\"string\"}",
        ),
        (
            "{{ replace_all('a', 'b') }}",
            "replace_all takes 3 arguments (string, string, string), 2 given",
            "incorrect number of args",
        ),
        (
            "{{ to_upper(`null`) }}",
            "to_upper: argument 1 is null, expected a string",
            "Invalid type for: <nil>",
        ),
        (
            "{{ join(',', ['a', `1`]) }}",
            "argument 2 is a list of other values, expected a list of strings",
            "",
        ),
        (
            "{{ divide('1', '0') }}",
            "divide: division by zero",
            "JMESPath function 'divide': Zero divisor passed",
        ),
        (
            "{{ lookup(`{}`, `1`) }}",
            "lookup: argument 2 is no string",
            "JMESPath function 'lookup': argument #2 is not of type String",
        ),
    ] {
        let run = label(text, &[]);
        assert_eq!(run.code, Some(3), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(plain) && !run.stderr.contains("  Kyverno: "), "{text}: {}", run.stderr);
        let run = label(text, &["--verbose"]);
        assert!(run.stderr.contains(plain), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("\n  Kyverno: {original}")), "{text}: {}", run.stderr);
        let run = label(text, &["-o", "json"]);
        assert!(run.stdout.contains("\"original\":"), "{text}: {}", run.stdout);
    }
}

#[test]
fn errors_of_expressions_name_characters() {
    for (text, expected) in [
        ("{{ request.object.a[ }}", ": expected `*`, found the end"),
        ("{{ request.object.(a) }}", ": expected a name, `[` or `{`"),
        ("{{ request.object.a[1:x] }}", ": expected `:` or a number, found a name"),
        ("{{ request.object.a b }}", ": unexpected a name after the expression"),
        ("{{ request.object.'a }}", ": the quote ' is not closed"),
    ] {
        let run = label(text, &[]);
        assert_eq!(run.code, Some(2), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{text}: {}", run.stderr);
    }
}

#[test]
fn misspelt_variables_have_a_suggestion() {
    for (text, code, expected) in [
        ("{{ request.objct.metadata.name }}", 3, "\n  hint: did you mean `object`?\n"),
        ("{{ request.namspace }}", 3, "\n  hint: did you mean `namespace`?\n"),
        ("{{ object.metadata.name }}", 2, " nor declared in context, did you mean `request.object`?\n"),
        ("{{ elem.image }}", 3, "\n  hint: did you mean `element`?\n"),
        ("{{ elment.name }}", 2, " nor declared in context, did you mean `element`?\n"),
        ("{{ setings.a }}", 2, " nor declared in context, did you mean `settings`?\n"),
    ] {
        let run = label(text, &[]);
        assert_eq!(run.code, Some(code), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(expected) && !run.stderr.contains("--values"), "{text}: {}", run.stderr);
    }
}
