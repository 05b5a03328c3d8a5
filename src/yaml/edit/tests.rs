//! Edits of hand-written documents.

use std::sync::Arc;

use super::{Edited, Fallback};
use crate::value::Value;
use crate::yaml::{Limits, Source, read};

fn edit(text: &str, json: &str) -> Edited {
    let source = Arc::new(Source::new("t.yaml", text));
    let documents = read(&source, &Limits::default()).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let value = Value::from_json(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    documents[0].edited(&value)
}

/// A text, the new value, and the edited text.
type Case = (&'static str, &'static str, &'static str);

fn check(cases: &[Case]) {
    for (text, json, expected) in cases {
        check_one(text, json, expected);
    }
}

fn check_one(text: &str, json: &str, expected: &str) {
    let edited = edit(text, json);
    assert_eq!(edited.fallback, None, "{text}");
    let shown = |text: &str| {
        let skipped = text.chars().count().saturating_sub(500);
        text.chars().skip(if text.len() < 10_000 { skipped } else { 0 }).take(500).collect::<String>()
    };
    let (text, became, wanted) = (shown(text), shown(&edited.text), shown(expected));
    assert!(edited.text == expected, "{text}\n--- became\n{became}\n--- and not\n{wanted}");
}

#[test]
fn scalars_keep_quotes_comments_and_blanks() {
    check(&[
        ("a:   x  # c\nb: 1\n", r#"{"a":"q","b":1}"#, "a:   q  # c\nb: 1\n"),
        ("a: 'x'\nb: \"x\" # c\n", r#"{"a":"q","b":"z"}"#, "a: 'q'\nb: \"z\" # c\n"),
        ("a: 'x'\n", r#"{"a":1}"#, "a: 1\n"),
        ("a: 1 # c\n", r#"{"a":"1"}"#, "a: \"1\" # c\n"),
        ("a:\nb: 1\n", r#"{"a":"x","b":1}"#, "a: x\nb: 1\n"),
        ("a: # c\nb: 1\n", r#"{"a":"x","b":1}"#, "a: x # c\nb: 1\n"),
        ("- 1\n-   2 # c\n- 3\n", "[1,4,3]", "- 1\n-   4 # c\n- 3\n"),
        ("a: one\n  two # c\nb: 1\n", r#"{"a":"x","b":1}"#, "a: x # c\nb: 1\n"),
        ("a: !!str 1 # c\n", r#"{"a":"2"}"#, "a: !!str 2 # c\n"),
        ("a: !!str 1\n", r#"{"a":"2: 3"}"#, "a: '2: 3'\n"),
        ("a: !!str 1\n", r#"{"a":2}"#, "a: 2\n"),
        ("a: # c\n  # d\n  x # e\nb: 1\n", r#"{"a":"q","b":1}"#, "a: # c\n  # d\n  q # e\nb: 1\n"),
        ("a: # c\n  # d\n  x\nb: 1\n", r#"{"a":{"q":1},"b":1}"#, "a: # c\n  # d\n  q: 1\nb: 1\n"),
        ("a: 'x'\nb: 'q'\n", r#"{"a":"x","b":"it's"}"#, "a: 'x'\nb: 'it''s'\n"),
        ("? a\n: x\n", r#"{"a":"q"}"#, "? a\n: q\n"),
    ]);
}

#[test]
fn members_are_added_and_removed_with_their_comments() {
    check(&[
        ("a: 1\n# about b\nb: 2 # b\n\n# about c\nc: 3\n", r#"{"a":1,"c":3}"#, "a: 1\n\n# about c\nc: 3\n"),
        ("a: 1\nb: 2", r#"{"a":1}"#, "a: 1"),
        ("a: 1", r#"{"a":1,"b":2}"#, "a: 1\nb: 2"),
        ("a: 1\r\nb: 2\r\n", r#"{"a":1,"b":2,"c":{"d":[1]}}"#, "a: 1\r\nb: 2\r\nc:\r\n  d:\r\n  - 1\r\n"),
        ("\u{feff}a: 1\n", r#"{"b":1,"c":1}"#, "\u{feff}b: 1\nc: 1\n"),
        ("# head\na: 1\nb: 2\n", r#"{"b":2}"#, "# head\nb: 2\n"),
        (
            "metadata:\n    name: x\n    # about\n    labels:\n        app: x\nspec:\n    list:\n      - 1\n",
            r#"{"metadata":{"name":"x","labels":{"app":"x"},"annotations":{"a":"b"}},"spec":{"list":[1],"more":[{"a":1,"b":2}]}}"#,
            "metadata:\n    name: x\n    # about\n    labels:\n        app: x\n    annotations:\n        a: b\nspec:\n    list:\n      - 1\n    more:\n      - a: 1\n        b: 2\n",
        ),
        (
            "a: {} # c\nb: []\n",
            r#"{"a":{"x":1},"b":[1,{"z":[2]}]}"#,
            "a: # c\n  x: 1\nb:\n- 1\n- z:\n  - 2\n",
        ),
        ("a: # c\n  # about\n  x: 1\n  y: 2\nb: 1\n", r#"{"a":{},"b":1}"#, "a: {} # c\nb: 1\n"),
        ("a:\n  x: 1 # gone\n  # gone, too\nb: 1\n", r#"{"a":null,"b":1}"#, "a: null\nb: 1\n"),
        ("a:\n- 1\n# c\nb: 1\n", r#"{"a":[1,2],"b":1}"#, "a:\n- 1\n- 2\n# c\nb: 1\n"),
        (
            "a:\n  b: 1\n  # was: 2\nc: 1\n",
            r#"{"a":{"b":1,"d":1},"c":1}"#,
            "a:\n  b: 1\n  d: 1\n  # was: 2\nc: 1\n",
        ),
        ("a: 1\n\nb: 2\n\nc: 3\n", r#"{"a":1,"c":3,"d":4}"#, "a: 1\n\nc: 3\n\nd: 4\n"),
        (
            "l:\n  app: \"a\"\n  b: \"c\"\n",
            r#"{"l":{"app":"a","b":"c","d":"e"}}"#,
            "l:\n  app: \"a\"\n  b: \"c\"\n  d: \"e\"\n",
        ),
        ("l:\n  \"app\": a\n", r#"{"l":{"app":"a","b":"c"}}"#, "l:\n  \"app\": a\n  \"b\": c\n"),
        ("---\na: 1\n...\n# end\n", r#"{"a":2,"b":1}"#, "---\na: 2\nb: 1\n...\n# end\n"),
    ]);
}

#[test]
fn new_lists_are_indented_like_others() {
    for list_step in 0..5 {
        for step in 1..5 {
            for dash in 2..5 {
                let pad = |count: usize| " ".repeat(count);
                let gap = pad(dash - 1);
                let list = pad(step + list_step);
                let own = step + list_step + dash;
                let before =
                    format!("spec:\n{}containers:\n{list}-{gap}name: a\n{}image: b\n", pad(step), pad(own));
                let wanted = format!(
                    "{before}{}env:\n{}-{gap}name: X\n{}value: q\n{}volumes:\n{list}-{gap}x\n",
                    pad(own),
                    pad(own + list_step),
                    pad(own + list_step + dash),
                    pad(step),
                );
                let json = r#"{"spec":{"containers":[{"name":"a","image":"b","env":[{"name":"X","value":"q"}]}],"volumes":["x"]}}"#;
                check_one(&before, json, &wanted);
                // A list of scalars far below has the same effect.
                let many: String = (0..300).map(|number| format!("k{number}: v\n")).collect();
                let before = format!("{many}spec:\n{}\"args\": # c\n\n{list}-{gap}a\n", pad(step));
                let value = |more: &str| {
                    let many: String = (0..300).map(|number| format!("\"k{number}\":\"v\",")).collect();
                    format!("{{{many}\"spec\":{{\"args\":[\"a\"]}}{more}}}")
                };
                let wanted = format!("{before}new:\n{}-{gap}x\n", pad(list_step));
                check_one(&before, &value(r#","new":["x"]"#), &wanted);
            }
        }
    }
    check(&[
        ("a: &x\n- 1\n- 2\n", r#"{"a":[1,2],"b":[1]}"#, "a: &x\n- 1\n- 2\nb:\n- 1\n"),
        ("a: !!seq\n-  1\n", r#"{"a":[1],"b":[1]}"#, "a: !!seq\n-  1\nb:\n-  1\n"),
    ]);
}

#[test]
fn elements_move_with_their_text() {
    check(&[
        (
            "- name: a # first\n  x: 1\n# about b\n- name: b\n  # inside b\n- name: c\n",
            r#"[{"name":"b","z":1},{"name":"a","x":1},{"name":"c"}]"#,
            "# about b\n- name: b\n  z: 1\n  # inside b\n- name: a # first\n  x: 1\n- name: c\n",
        ),
        ("a:\n  - 1\n\n  - 2\n\n  - 3\n", r#"{"a":[3,1,2]}"#, "a:\n  - 3\n\n  - 1\n\n  - 2\n"),
        ("- - 1\n  - 2\n- 3\n", "[[2,1],3]", "- - 2\n  - 1\n- 3\n"),
        ("- - 1\n  # two\n  - 2\n", "[[2,1]]", "-\n  # two\n  - 2\n  - 1\n"),
        ("- a: 1\n  b: 2\n- c\n", r#"[{"b":2},"c"]"#, "- b: 2\n- c\n"),
        ("- a: 1 # a\n  # b\n  b: 2\n", r#"[{"b":2}]"#, "-\n  # b\n  b: 2\n"),
        ("- a: 1\n- c\n", r#"["x","c"]"#, "- x\n- c\n"),
        (
            "-   a: 1\n-   b: 2\n",
            r#"[{"a":1},{"b":2},{"c":1,"d":2}]"#,
            "-   a: 1\n-   b: 2\n-   c: 1\n    d: 2\n",
        ),
        ("- - 1\n", "[[0,1],[5]]", "- - 0\n  - 1\n- - 5\n"),
        ("- # c\n  a: 1\n", r#"[{"a":2}]"#, "- # c\n  a: 2\n"),
    ]);
}

#[test]
fn block_scalars_stay_block_scalars() {
    check(&[
        ("a: | # c\n    x\n    y\nb: 1\n", r#"{"a":"x\nz\n","b":1}"#, "a: | # c\n    x\n    z\nb: 1\n"),
        ("a: |\n  x\n\n# c\nb: 1\n", r#"{"a":"x\n","b":2}"#, "a: |\n  x\n\n# c\nb: 2\n"),
        ("a: |\n  x\n\nb: 1\n", r#"{"b":1}"#, "b: 1\n"),
        ("a: |+\n  x\n\nb: 1\n", r#"{"a":"x\n\n","b":1,"c":1}"#, "a: |+\n  x\n\nb: 1\nc: 1\n"),
        ("a: x # c\nb: 1\n", r#"{"a":"x\ny","b":1}"#, "a: |- # c\n  x\n  y\nb: 1\n"),
        ("a:   |-   # c\n  x\n  y\n", r#"{"a":"x\nz"}"#, "a:   |-   # c\n  x\n  z\n"),
        ("a: |\n   z\n   \nb: 1\n", r#"{"a":"x\ny\n","b":1}"#, "a: |\n   x\n   y\n   \nb: 1\n"),
        ("a: 1\n    \nb: 1\n", r#"{"a":"x\ny\n","b":1}"#, "a: \"x\\ny\\n\"\n    \nb: 1\n"),
        ("a: |+\n  x\nb: 1\n", r#"{"a":"z\n","b":1}"#, "a: |+\n  z\nb: 1\n"),
        ("a: |\n  x\n # c\nb: 1\n", r#"{"a":"q","b":1}"#, "a: q\n # c\nb: 1\n"),
        ("a: \"x\\ny\"\n", r#"{"a":"x\nz"}"#, "a: \"x\\nz\"\n"),
        ("a: |\n  x", r#"{"a":"y\n"}"#, "a: |\n  y\n"),
    ]);
}

#[test]
fn line_breaks_that_belong_to_block_scalars_are_kept() {
    check(&[
        (
            "data:\n  a: |+\n    x\n\n  b: u # c\n\n  c: z # keep\n",
            r#"{"data":{"a":"x\n\n","c":"z"}}"#,
            "data:\n  a: |+\n    x\n\n  c: z # keep\n",
        ),
        (
            "a:\n  x: 1\n  b: |+\n    x\n\nb: 1\n\nc: 2\n",
            r#"{"a":{"x":2,"b":"x\n\n"},"c":2}"#,
            "a:\n  x: 2\n  b: |+\n    x\n\nc: 2\n",
        ),
        ("b: 1\n\na: |+\n  x", r#"{"b":1,"a":"x\n","c":1}"#, "b: 1\n\na: |+\n  x\nc: 1"),
        ("- |+\n  x\n\n- u\n\n- z # c\n", r#"["x\n\n","z"]"#, "- |+\n  x\n\n- z # c\n"),
        ("- >+\n  x\n- u\n\n\n- z # c\n", r#"["x\n","z"]"#, "- >+\n  x\n- z # c\n"),
        ("- |+\n  x\n- u\n\n# d\n\n- z # c\n", r#"["x\n","z"]"#, "- |+\n  x\n# d\n\n- z # c\n"),
        (
            "b: 1 # b\n\nc: 2 # c\n",
            r#"{"b":1,"c":2,"x":"q\n\n","z":1}"#,
            "b: 1 # b\n\nc: 2 # c\n\nx: |+\n  q\n\nz: 1\n",
        ),
        ("b: 1\n\nc: 2\n\n", r#"{"b":1,"c":"q\n\n"}"#, "b: 1\n\nc: |+\n  q\n\n"),
        ("b: |\n  1\n\n\nc: 2\n", r#"{"b":"q\n\n","c":2}"#, "b: |+\n  q\n\nc: 2\n"),
        ("a:\n  b: |\n    1\n\n\nc: 2\n", r#"{"a":{"b":"q\n\n"},"c":3}"#, "a:\n  b: |+\n    q\n\nc: 3\n"),
        // Files without a final line break.
        ("a: 1", r#"{"a":1,"b":"q\n\n"}"#, "a: 1\nb: |+\n  q\n\n"),
        ("data:\n  t: z", r#"{"data":{"t":"z","m":"a\nb\n"}}"#, "data:\n  t: z\n  m: |\n    a\n    b\n"),
        ("data:\n  t: z", r#"{"data":{"t":"z","m":"a\nb"}}"#, "data:\n  t: z\n  m: |-\n    a\n    b"),
        ("a: z # c", r#"{"a":"a\nb\n"}"#, "a: | # c\n  a\n  b\n"),
        ("a: |\n  x\nb: 1", r#"{"a":"x\n"}"#, "a: |\n  x\n"),
        ("a: |-\n  x\nb: 1", r#"{"a":"x"}"#, "a: |-\n  x"),
        ("- |\n  x\n- u", r#"["u","x\n"]"#, "- u\n- |\n  x\n"),
        ("b: 1\na: |\n  x", r#"{"b":2,"a":"x\n"}"#, "b: 2\na: |\n  x"),
        // kubectl adds a line break to the last line of a file, so the block scalar ends with one.
        ("b: 1\na: |\n  x", r#"{"b":1,"a":"x\n","c":1}"#, "b: 1\na: |\n  x\nc: 1"),
    ]);
}

#[test]
fn comments_below_an_unindented_list_stay_below_it() {
    check(&[
        (
            "a:\n- env:\n  - name: A\n  # - name: C\n  #   value: c\n",
            r#"{"a":[{"env":[{"name":"A"}],"resources":1}]}"#,
            "a:\n- env:\n  - name: A\n  # - name: C\n  #   value: c\n  resources: 1\n",
        ),
        (
            "a:\n- env:\n  - name: A\n  # end of env\n- c\n",
            r#"{"a":[{"env":[{"name":"A"}],"b":1},"c"]}"#,
            "a:\n- env:\n  - name: A\n  # end of env\n  b: 1\n- c\n",
        ),
        // A comment above a key is about the key.
        (
            "name: x\nenv:\n- a\n# - b\n#   c\n# about ports\nports:\n- 1\n",
            r#"{"name":"x","env":["a"]}"#,
            "name: x\nenv:\n- a\n# - b\n#   c\n",
        ),
        (
            "a: x\nenv:\n- a\n# - b\n#   c\n# about ports\nports:\n- 1\n",
            r#"{"a":"x","env":["a"],"new":1,"ports":[1]}"#,
            "a: x\nenv:\n- a\n# - b\n#   c\nnew: 1\n# about ports\nports:\n- 1\n",
        ),
        ("a: x\nenv:\n- a\n# - b\n#   c\nports:\n- 1\n", r#"{"a":"x","ports":[1]}"#, "a: x\nports:\n- 1\n"),
        ("a:\n- 1\n# end\n", r#"{"a":[1],"b":1}"#, "a:\n- 1\n# end\nb: 1\n"),
        ("a:\n- 1\n\n# end\n", r#"{"a":[1],"b":1}"#, "a:\n- 1\nb: 1\n\n# end\n"),
        ("a:\n- 1\n# b\nb: 1\n", r#"{"a":[1],"b":1,"c":1}"#, "a:\n- 1\n# b\nb: 1\nc: 1\n"),
    ]);
}

#[test]
fn comments_of_sections_stay_when_all_entries_are_removed() {
    check(&[
        (
            "spec: # c\n  a: 1\n\n  # section\n\n  # about b\n  b: 2\n  # was: 3\nx: 1\n",
            r#"{"spec":{},"x":1}"#,
            "spec: {} # c\n  # section\n  # was: 3\nx: 1\n",
        ),
        ("l:\n- a\n\n# section\n\n- b\nx: 1\n", r#"{"l":[],"x":1}"#, "l: []\n# section\nx: 1\n"),
        ("- a: 1\n\n  # section\n\n  b: 2\n- c\n", r#"[{},"c"]"#, "- {}\n  # section\n- c\n"),
        // After a dash there is no place for them.
        ("- a: 1\n\n  # section\n\n  b: 2\n", r#"[{"b":2}]"#, "-\n  # section\n\n  b: 2\n"),
    ]);
}

#[test]
fn new_elements_are_in_flow_style_next_to_others() {
    let long = "v".repeat(80);
    check(&[
        (
            "env:\n- {name: A, value: a}\n- {name: B, value: b} # b\n",
            r#"{"env":[{"name":"A","value":"a"},{"name":"B","value":"b"},{"name":"C","value":"c"}]}"#,
            "env:\n- {name: A, value: a}\n- {name: B, value: b} # b\n- {name: C, value: c}\n",
        ),
        (
            "-   { \"name\": \"A\" }\n",
            r#"[{"name":"A"},{"name":"B","of":[1,2]}]"#,
            "-   { \"name\": \"A\" }\n-   { \"name\": \"B\", \"of\": [1, 2] }\n",
        ),
        ("- [a]\n- 1\n", r#"[["a"],1,["b","c"]]"#, "- [a]\n- 1\n- [b, c]\n"),
        ("- {a: 1}\n- b: 1\n", r#"[{"a":1},{"b":1},{"c":1}]"#, "- {a: 1}\n- b: 1\n- c: 1\n"),
        ("- {a: 1}\n", r#"[{"a":1},{"a":"b\nc\n"}]"#, "- {a: 1}\n- a: |\n    b\n    c\n"),
        ("- {}\n", r#"[{},{"a":1}]"#, "- {}\n- a: 1\n"),
    ]);
    check_one(
        "- {name: a}\n",
        &format!(r#"[{{"name":"a"}},{{"name":"{long}"}}]"#),
        &format!("- {{name: a}}\n- name: {long}\n"),
    );
}

#[test]
fn new_lines_have_the_line_breaks_of_their_neighbours() {
    check(&[
        (
            "a:\n  b: 1\nc:\r\n  d: 1\r\n",
            r#"{"a":{"b":1,"e":[1]},"c":{"d":1,"e":[1]}}"#,
            "a:\n  b: 1\n  e:\n  - 1\nc:\r\n  d: 1\r\n  e:\r\n  - 1\r\n",
        ),
        ("a: 1\r\nb: 1\nc: 1\n", r#"{"a":1,"b":"x\ny\n","c":1}"#, "a: 1\r\nb: |\n  x\n  y\nc: 1\n"),
    ]);
}

#[test]
fn folded_texts_stay_folded() {
    check(&[
        ("a: > # c\n  x\n  y\nb: 1\n", r#"{"a":"x z\n","b":1}"#, "a: > # c\n  x\n  z\nb: 1\n"),
        ("a: >-\n  x\n  y\n", r#"{"a":"x y z"}"#, "a: >-\n  x\n  y\n  z\n"),
        ("a: >\n  x\n  y\n", r#"{"a":"x y"}"#, "a: >-\n  x\n  y\n"),
        (
            "a: >\n    one two\n    three\n\n    four five\n    six\n\n# c\nb: 1\n",
            r#"{"a":"one two 3\nfour five six\n\nseven\n","b":1}"#,
            "a: >\n    one two\n    3\n\n    four five\n    six\n\n\n    seven\n\n# c\nb: 1\n",
        ),
        (
            "a: >\n  one two\n  three four\n  five\n",
            r#"{"a":"one two 3 four five\n"}"#,
            "a: >\n  one two\n  3 four\n  five\n",
        ),
        (
            "- >-\n  all on one long line\n",
            r#"["all on one much longer line"]"#,
            "- >-\n  all on one much longer line\n",
        ),
        // Texts that cannot be folded become literal, other values go on one line.
        ("a: >\n  x\n  y\n", r#"{"a":"x\n  y\n"}"#, "a: |\n  x\n    y\n"),
        ("a: >\n  x\n  y\n", r#"{"a":1}"#, "a: 1\n"),
        ("a: >2\n  x\n  y\n", r#"{"a":"x\nz\n"}"#, "a: |\n  x\n  z\n"),
        // An unchanged text is copied.
        ("a: >2-\n   x\n  y\nb: 1\n", r#"{"a":" x\ny","b":2}"#, "a: >2-\n   x\n  y\nb: 2\n"),
    ]);
}

#[test]
fn unusual_texts_are_edited_in_place() {
    check(&[
        // Tabs where they are allowed.
        ("a:\t1\t# c\nb: 1\n", r#"{"a":2,"b":1}"#, "a:\t2\t# c\nb: 1\n"),
        ("a: [\n\t1,\n\t2\n]\n", r#"{"a":[1,3]}"#, "a: [\n\t1,\n\t3\n]\n"),
        ("a: |\n  x\n  \ty\nb: 1\n", r#"{"a":"x\n\ty\n","b":2}"#, "a: |\n  x\n  \ty\nb: 2\n"),
        // Each mapping and list with its own indentation.
        (
            "a:\n   b: 1\n   c:\n        - d: 1\n          e: 2\nf:\n - 1\n",
            r#"{"a":{"b":1,"c":[{"d":1,"e":3},{"d":2}],"g":{"h":1}},"f":[1,2]}"#,
            "a:\n   b: 1\n   c:\n        - d: 1\n          e: 3\n        - d: 2\n   g:\n      h: 1\nf:\n - 1\n - 2\n",
        ),
        // Comments between a dash and what follows.
        (
            "- # one\n  # two\n  a: 1\n  b: 2\n",
            r#"[{"a":1,"b":3,"c":4}]"#,
            "- # one\n  # two\n  a: 1\n  b: 3\n  c: 4\n",
        ),
        ("a:\n-\n  # c\n  - 1\n", r#"{"a":[[1,2]]}"#, "a:\n-\n  # c\n  - 1\n  - 2\n"),
        // Comments after block scalars.
        ("a: |\n  x\n# c\nb: 1\n", r#"{"a":"y\n","b":1}"#, "a: |\n  y\n# c\nb: 1\n"),
        (
            "a:\n  b: |-\n    x\n  # c\n# d\n",
            r#"{"a":{"b":"x","e":1}}"#,
            "a:\n  b: |-\n    x\n  e: 1\n  # c\n# d\n",
        ),
        // Signs of comments in keys and texts.
        ("a#b: 1 # c\n'#d': x#y\n", r##"{"a#b":2,"#d":"x#z"}"##, "a#b: 2 # c\n'#d': x#z\n"),
        ("a: x\n", r##"{"a":"x","b #c":"# d"}"##, "a: x\n'b #c': '# d'\n"),
        // Anchors at keys, aliases as keys.
        ("&k a: 1\n&l b: 2\n", r#"{"a":3,"b":2}"#, "&k a: 3\n&l b: 2\n"),
        (
            "a: &x k\nb:\n  *x : 1\n  c: 2\n",
            r#"{"a":"k","b":{"k":3,"c":2}}"#,
            "a: &x k\nb:\n  *x : 3\n  c: 2\n",
        ),
        ("&a a: &b b\n*b : *a\nc: 1\n", r#"{"a":"b","b":"a","c":2}"#, "&a a: &b b\n*b : *a\nc: 2\n"),
        ("&x k: 1\nb:\n  *x : 1\n", r#"{"k":1,"b":{"k":1,"c":2}}"#, "&x k: 1\nb:\n  *x : 1\n  c: 2\n"),
        // Merge keys in all their forms.
        (
            "x: &x {a: 1}\nz: &z {b: 1}\nw:\n  <<: [*x, *z]\n  # c\n  c: 1\n",
            r#"{"x":{"a":1},"z":{"b":1},"w":{"a":1,"b":1,"c":2,"d":1}}"#,
            "x: &x {a: 1}\nz: &z {b: 1}\nw:\n  <<: [*x, *z]\n  # c\n  c: 2\n  d: 1\n",
        ),
        (
            "x: &x {a: 1}\nw: {<<: *x, b: 1}\n",
            r#"{"x":{"a":1},"w":{"a":1,"b":2}}"#,
            "x: &x {a: 1}\nw: {<<: *x, b: 2}\n",
        ),
        // Directives and end marks.
        ("%YAML 1.1\n# c\n---\na: 1\n...\n", r#"{"a":1,"b":2}"#, "%YAML 1.1\n# c\n---\na: 1\nb: 2\n...\n"),
        (
            "%TAG !e! tag:e,2000:\n--- !e!x\na: !e!y q\nb: 1\n",
            r#"{"a":"q","b":2}"#,
            "%TAG !e! tag:e,2000:\n--- !e!x\na: !e!y q\nb: 2\n",
        ),
        // Tags.
        ("a: !!str 1\nb: !!map\n  c: 1\n", r#"{"a":"1","b":{"c":2}}"#, "a: !!str 1\nb: !!map\n  c: 2\n"),
        ("a: !x {b: 1}\nc: !!seq [1]\n", r#"{"a":{"b":2},"c":[1,2]}"#, "a: !x {b: 2}\nc: !!seq [1, 2]\n"),
        ("!!map\na: 1\n", r#"{"a":2}"#, "!!map\na: 2\n"),
        // Empty nodes.
        (
            "a:\n  b:\n  c:\nd:\n- \n-\n",
            r#"{"a":{"b":null,"c":1},"d":[null,2]}"#,
            "a:\n  b:\n  c: 1\nd:\n- \n- 2\n",
        ),
        ("a: &x\nb: !!null\nc: *x\n", r#"{"a":null,"b":null,"c":1}"#, "a: &x\nb: !!null\nc: 1\n"),
        ("? a\n? b\n: 1\n", r#"{"a":null,"b":2}"#, "? a\n? b\n: 2\n"),
    ]);
}

#[test]
fn long_lines_and_large_documents_are_edited_in_time() {
    let long = "x".repeat(1 << 20);
    check_one(
        &format!("a: {long} # c\nb: 1\n"),
        &format!("{{\"a\":\"{long}\",\"b\":2}}"),
        &format!("a: {long} # c\nb: 2\n"),
    );
    let count = 20_000;
    for (open, entry, close) in
        [("a:\n", "- k: v\n  n: NR\n", ""), ("a: [", "{k: v, n: NR}, ", "1]\n"), ("", "kNR: NR # c\n", "")]
    {
        let text = |add: usize| {
            let entries = (0..count).map(|number| {
                entry.replacen("kNR", &format!("k{number}"), 1).replace("NR", &(number + add).to_string())
            });
            format!("{open}{}{close}", entries.collect::<String>())
        };
        let wanted = text(1_000_000);
        let source = Arc::new(Source::new("t.yaml", wanted.as_str()));
        let value = read(&source, &Limits::default()).unwrap()[0].value().unwrap().clone();
        check_one(&text(0), &value.to_json(), &wanted);
    }
}

#[test]
fn a_wrong_edit_is_replaced_by_canonical_text() {
    let source = Arc::new(Source::new("t.yaml", "a: &x 1 # c\nb: 22\nc: 3\n"));
    let value = Value::from_json(r#"{"a":1,"b":3,"c":3}"#).unwrap();
    let mut document = read(&source, &Limits::default()).unwrap().remove(0);
    assert_eq!(document.edited(&value).text, "a: &x 1 # c\nb: 3\nc: 3\n");
    // The old value of an unchanged node is wrong.
    document.value = Value::from_json(r#"{"a":1,"b":22,"c":4}"#).ok();
    let value = Value::from_json(r#"{"a":1,"b":3,"c":4}"#).unwrap();
    assert_eq!(document.edited_unchecked(&value).text, "a: &x 1 # c\nb: 3\nc: 3\n");
    let edited = document.edited(&value);
    assert_eq!((edited.fallback, edited.text.as_str()), (Some(Fallback::Reading), "a: 1\nb: 3\nc: 4\n"));
}

#[test]
fn flow_collections_stay_flow_collections() {
    check(&[
        ("a: {b: 1, c: 2} # c\n", r#"{"a":{"b":1,"c":3,"d":"x"}}"#, "a: {b: 1, c: 3, d: x} # c\n"),
        ("a: { b: 1, c: 2 }\n", r#"{"a":{"c":2}}"#, "a: { c: 2 }\n"),
        ("a: [1,2]\n", r#"{"a":[1,2,{"x":[]}]}"#, "a: [1,2,{x: []}]\n"),
        ("a: [x, q]\n", r#"{"a":["q","x"]}"#, "a: [q, x]\n"),
        (
            "a: [\n  x, # about x\n  q\n]\n",
            r#"{"a":["x","z","q","w"]}"#,
            "a: [\n  x, # about x\n  z,\n  q,\n  w\n]\n",
        ),
        ("a: [\n  x, # about x\n  q,\n]\n", r#"{"a":["q"]}"#, "a: [\n  q,\n]\n"),
        ("a: {b: 1}\n", r#"{"a":{}}"#, "a: {}\n"),
        ("a: [b: 1, {c: 2}]\n", r#"{"a":[{"b":2},{"c":"x:y"}]}"#, "a: [{b: 2}, {c: 'x:y'}]\n"),
        ("a: {b: }\n", r#"{"a":{"b":1}}"#, "a: {b: 1 }\n"),
        // Comments in brackets.
        (
            "l: [a, # first\n    b] # second\nk: 1\n",
            r#"{"l":["a"],"k":1}"#,
            "l: [a # first\n    ] # second\nk: 1\n",
        ),
        ("l: [a,\n    b, # second\n    c]\n", r#"{"l":["b","a","c"]}"#, "l: [b, # second\n    a,\n    c]\n"),
        (
            "l: [a, # first\n    b, # second\n    c] # third\n",
            r#"{"l":["a","b","c","d"]}"#,
            "l: [a, # first\n    b, # second\n    c, # third\n    d]\n",
        ),
        (
            "l: [a, # first\n    c] # third\nk: 1\n",
            r#"{"l":["a","c","d","e"],"k":1}"#,
            "l: [a, # first\n    c, # third\n    d,\n    e]\nk: 1\n",
        ),
        ("l: [a,\n    c] # all\n", r#"{"l":["a","c","d"]}"#, "l: [a,\n    c,\n    d] # all\n"),
        ("l: {a: # first\n      1}\n", r#"{"l":{"a":2}}"#, "l: {a: # first\n      2}\n"),
        (
            "l: [[a, # first\n    b] # second\n   ]\n",
            r#"{"l":[["a","b","c"]]}"#,
            "l: [[a, # first\n    b,\n    c] # second\n   ]\n",
        ),
        // Quotes in brackets.
        (
            "l: {\"app\": \"web\"}\nk: v\nm: v\n",
            r#"{"l":{"app":"web","new":"v"},"k":"v","m":"v"}"#,
            "l: {\"app\": \"web\", \"new\": \"v\"}\nk: v\nm: v\n",
        ),
        (
            "l: ['/bin/sh', '-c']\nk: v\nm: v\no: v\n",
            r#"{"l":["/bin/sh","-c","ls"],"k":"v","m":"v","o":"v"}"#,
            "l: ['/bin/sh', '-c', 'ls']\nk: v\nm: v\no: v\n",
        ),
        (
            "l: {name: 'one'}\nk: v\nm: v\n",
            r#"{"l":{"name":"one","labels":{"team":"a"},"u":"v"},"k":"v","m":"v"}"#,
            "l: {name: 'one', labels: {team: a}, u: 'v'}\nk: v\nm: v\n",
        ),
        ("l: [a, 'b']\n", r#"{"l":["a","b","c"]}"#, "l: [a, 'b', c]\n"),
    ]);
}

#[test]
fn json_stays_json() {
    check(&[
        (
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": []\n    }\n}\n",
            r#"{"a":2,"b":{"c":[1],"d":{"e":1}}}"#,
            "{\n    \"a\": 2,\n    \"b\": {\n        \"c\": [\n            1\n        ],\n        \"d\": {\n            \"e\": 1\n        }\n    }\n}\n",
        ),
        ("{\"a\":1,\"b\":[1]}", r#"{"a":1,"b":[1,2],"c":{"d":1}}"#, "{\"a\":1,\"b\":[1,2],\"c\":{\"d\":1}}"),
        ("{\"a\": 1}\n", r#"{"b": "x\ny"}"#, "{\"b\": \"x\\ny\"}\n"),
        (
            "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}",
            r#"{"a":{"b":1,"c":2}}"#,
            "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"c\": 2\n\t}\n}",
        ),
    ]);
}

#[test]
fn edits_leave_other_aliases_of_an_anchor() {
    for (text, json, expected, expanded) in [
        (
            "a: &x\n  k: 1\nb: *x\nc: *x\n",
            r#"{"a":{"k":2},"b":{"k":1},"c":{"k":2}}"#,
            "a: &x\n  k: 2\nb:\n  k: 1\nc: *x\n",
            1,
        ),
        (
            "a: &x\n  k: 1\nb: *x # c\n",
            r#"{"a":{"k":1},"b":{"k":1,"l":2}}"#,
            "a: &x\n  k: 1\nb: # c\n  k: 1\n  l: 2\n",
            1,
        ),
        ("a: &x 1\nb: *x\n", r#"{"a":2,"b":2}"#, "a: &x 2\nb: *x\n", 0),
        ("a: &x 1\nb: [*x, 2]\n", r#"{"b":[1,2]}"#, "b: [1, 2]\n", 1),
        (
            "a: &x {k: 1}\nb:\n  <<: *x\n  l: 1\n",
            r#"{"a":{"k":1},"b":{"k":1,"l":2}}"#,
            "a: &x {k: 1}\nb:\n  <<: *x\n  l: 2\n",
            0,
        ),
        (
            "a: &x {k: 1}\nb:\n  <<: *x\n  l: 1\n",
            r#"{"a":{"k":1},"b":{"k":2,"l":1}}"#,
            "a: &x {k: 1}\nb:\n  <<: *x\n  l: 1\n  k: 2\n",
            0,
        ),
        (
            "a: &x {k: 1, m: 1}\nb:\n  <<: *x\n  l: 1\n",
            r#"{"a":{"k":1,"m":1},"b":{"m":1,"l":1}}"#,
            "a: &x {k: 1, m: 1}\nb:\n  l: 1\n  m: 1\n",
            0,
        ),
    ] {
        let edited = edit(text, json);
        assert_eq!(
            (edited.fallback, edited.text.as_str(), edited.expanded),
            (None, expected, expanded),
            "{text}"
        );
    }
}

#[test]
fn documents_that_cannot_be_edited_are_printed_canonically() {
    for (text, json, fallback) in [
        ("a: 1\rb: 2\r", r#"{"a":1,"b":3}"#, Fallback::LineBreaks),
        ("a: 1\n", "[1]", Fallback::Root),
        ("-\ta: 1\n", r#"[{"a":1,"b":2}]"#, Fallback::Indentation),
    ] {
        assert_eq!(edit(text, json).fallback, Some(fallback), "{text:?}");
    }
}

#[test]
fn deep_documents_are_edited_on_a_small_stack() {
    let limits = Limits { depth: Limits::MAX_DEPTH, ..Limits::default() };
    let document = |text: &str| {
        let source = Arc::new(Source::new("t.yaml", text));
        read(&source, &limits).unwrap_or_else(|errors| panic!("{}", errors[0])).remove(0)
    };
    for (open, leaf, close) in [("- ", "x", ""), ("[", "x", "]"), ("{k: ", "x", "}")] {
        let depth = Limits::MAX_DEPTH - 2;
        let text = format!("{}{leaf}{}\n", open.repeat(depth), close.repeat(depth));
        let wanted = text.replace('x', "z");
        let edited = document(&text).edited(document(&wanted).value().unwrap_or(&Value::Null));
        assert_eq!((edited.fallback, edited.text), (None, wanted));
    }
}
