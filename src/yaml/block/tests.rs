use proptest::prelude::*;

use crate::yaml::Limits;
use crate::yaml::parser::YamlText;

/// Whether a text can be read line by line; then both readers must emit the same events.
fn is_read(text: &str) -> bool {
    [false, true].into_iter().all(|as_go| {
        let is_alike = YamlText { text, base: 7, as_go }.is_read_alike(&Limits::default());
        assert_ne!(is_alike, Some(false), "{text:?}");
        is_alike.is_some()
    })
}

/// Texts in all styles that this reader supports.
const TEXTS: &[&str] = &[
    "a: 1 # c\nb:\n  c: x y\n  # z\nd:\n- 1\n- e: 2\n  f:\n- - 3\n  - 4\n\n# end\n",
    "- a\n-\n- b:\n-  - c\n   -   d: 1\n       e: 2\n",
    "a:\n# c\nb:   \n  - x\n  -   \n\n\nc: 'it''s'\n\"d\": \"x\\n\\\"\\\\ y\"\n'e f' : 1\n",
    "a: |\n  x\n  y\n\n\nb: |-\n  z\n# c\nc: |+\n  q\n\n",
    "a: >\n  x\n  y\n\n  z\n    more\n    code\n\n  end\n\nb: >-\n\n  z\nc: >+\n  q\n\n\n",
    "a: [1, b, 'c', \"d\"]\nb: {}\nc: []\nd: [ ]\ne: { }\nf: {a: 1, b: [x, {}]} # c\ng: [ 1 , http://x ]  \n",
    "a:\n  - |\n    x\n     y\n  - z\n  # c\n  -\n    b: |\n     x\n",
    "a:\n    b: 1\nc:",
    "- # c\n  a: 1\n-   # d\n\n  # e\n  - # f\n    g\n- # h\n",
    "a:\n- # c\n  b: 1\n- # d\n- # e\n  - f\n",
    "a:\n  b\nc:\n  'd' # e\nf:\n\n  # g\n  [h, i]\nj:\n- k\n-\n  |\n  l\n",
    "a: one\n  two # c\nb:\n- three\n four\n\n\n   five\n\nc:\n  six\n  - seven\n  [eight]\n",
    "a: 'one\n  two'\nb: \"three  \n\n   four \\\" \\\\ five\n  \"\nc:\n- '\n  six''x'\n",
    "a: 1",
    "a: |\n\n\n x\n\n   \n",
    "\n# c\n\na: ''\n",
    "  a:\n    b:\n      c: 1\n\n    # d\n  x:\n    - y:\n        z: -1\n",
    "a:\n- b\n-\n  c: 1\nd:\n-\ne: --flag=a:b#c\nf: # none\ng: ~ # c\n",
    "a: \u{e4}\u{20ac} \u{1f600} # \u{2028}\n\u{fc}: |\n  \u{e4}\n  \u{20ac}\n",
];

/// Inserted anywhere into a text.
const PIECES: &[&str] = &[
    "\n", " ", "  ", "- ", ": ", ":", "x", "#", " #", "\n---\n", "\n...\n", "---", "'", "\"", "{", "}", "[",
    "]", ",", "0", "\t", "? ", "a: 1\n", "  a: 1\n", "- a\n", "|\n", ">\n", "|2", "&x ", "*x", "<<: ",
    "!!str ", "%", "\\", "\r\n", "\u{85}", "\u{feff}", "\u{2028}", "\n\n", "\n  \n", "\n \t\n", "@", "`",
    "~", "\0",
];

#[test]
fn both_readers_emit_the_same_events() {
    let (mut read, mut all) = (0, 0);
    let mut try_out = |text: &str| {
        read += usize::from(is_read(text));
        all += 1;
    };
    for text in TEXTS {
        let bounds: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for (index, at) in bounds.iter().copied().enumerate() {
            try_out(&text[..at]);
            for end in bounds[index..].iter().copied().skip(1).take(6) {
                try_out(&format!("{}{}", &text[..at], &text[end..]));
                try_out(&format!("{}{}", &text[..end], &text[at..]));
            }
            for piece in PIECES {
                try_out(&format!("{}{piece}{}", &text[..at], &text[at..]));
            }
        }
    }
    assert!(read > all / 4 && all > 30_000, "{read} of {all}");
}

/// Numbers out of a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    /// A place in a text where a character starts.
    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap()
    }

    /// The text with something put in, left out or doubled.
    fn broken(&mut self, text: &str) -> String {
        let (one, other) = (self.place(text), self.place(text));
        let (start, end) = (one.min(other), one.max(other));
        match self.below(4) {
            0 if end - start < 30 => format!("{}{}", &text[..start], &text[end..]),
            1 if end - start < 30 => format!("{}{}", &text[..end], &text[start..]),
            _ => format!("{}{}{}", &text[..one], PIECES[self.below(PIECES.len())], &text[one..]),
        }
    }
}

#[test]
fn long_lines_are_read_and_long_keys_left_to_the_parser() {
    for length in [100, 300, 1000, 1020, 1023, 1024, 1025, 1030, 5000] {
        let long = "x".repeat(length);
        for text in [
            format!("{long}: 1\n"),
            format!("a:\n  '{long}': 1\n  b: 2\n"),
            format!("- {{a: 1, {long}: 2}}\n"),
            format!("- \"{long}\": 1\n"),
        ] {
            assert_eq!(is_read(&text), length < 300, "{length}");
        }
        let blanks = " ".repeat(length);
        for text in [
            format!("- {long}\n- '{long}'\n- - {long}\n-\n  - {long}\n"),
            format!("a: {long}\nb: \"{long}\"\nc:\n- {long}\n"),
            format!("a: [{long}, '{long}', {long}]\nb: {{c: {long}, d: [{{e: {long}}}]}}\n"),
            format!("a:{blanks}b\nc:{blanks}\n  -{blanks}d:{blanks}e{blanks}#{blanks}\n"),
            format!(
                "a: [{blanks}b{blanks},{blanks}c{blanks}]{blanks}# {long}\n# {long}\nd: |{blanks}\n  {long}\n"
            ),
        ] {
            assert!(is_read(&text), "{length}");
        }
    }
}

#[test]
fn deep_and_empty_texts_are_left_to_the_parser() {
    let deep = |levels: usize| "- ".repeat(levels) + "x\n";
    assert!(is_read(&deep(90)));
    assert!(!is_read(&deep(100_000)));
    assert!(
        is_read("x # c\n") && !is_read("x\ny\n") && !is_read("|\n  x\n") && !is_read("") && !is_read("# c\n")
    );
    assert!(!is_read(&format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000))));
}

proptest! {
    #[test]
    fn both_readers_agree_on_random_edits(seed: u64) {
        let mut dice = Dice(seed);
        for text in TEXTS {
            let mut text = (*text).to_owned();
            for _ in 0..8 {
                text = dice.broken(&text);
                is_read(&text);
            }
        }
    }
}

#[test]
fn all_texts_are_read() {
    for text in TEXTS.iter().filter(|text| !text.contains("' :")) {
        assert!(is_read(text), "{text:?}");
    }
}
