//! The fuzz targets on fixed inputs: the cases of the corpus with reproducible changes of each, and what fuzzing found
//! beyond them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kyv_fuzz::Target;
use kyv_fuzz::seeds::Random;

/// The number of changes of each seed.
const CHANGED: usize = 2;

#[test]
fn yaml() {
    check(&kyv_fuzz::YAML);
}

#[test]
fn policy() {
    check(&kyv_fuzz::POLICY);
}

#[test]
fn jmespath() {
    check(&kyv_fuzz::JMESPATH);
}

#[test]
fn cel() {
    check(&kyv_fuzz::CEL);
}

#[test]
fn variables() {
    check(&kyv_fuzz::VARIABLES);
}

#[test]
fn pattern() {
    check(&kyv_fuzz::PATTERN);
}

#[test]
fn json_patch() {
    check(&kyv_fuzz::JSON_PATCH);
}

#[test]
fn strategic_merge() {
    check(&kyv_fuzz::STRATEGIC_MERGE);
}

#[test]
fn apply() {
    check(&kyv_fuzz::APPLY);
}

#[test]
fn engine() {
    check(&kyv_fuzz::ENGINE);
}

#[test]
fn edits() {
    check(&kyv_fuzz::EDITS);
}

#[test]
fn convert() {
    check(&kyv_fuzz::CONVERT);
}

#[test]
fn suites() {
    check(&kyv_fuzz::SUITES);
}

#[test]
fn functions() {
    check(&kyv_fuzz::FUNCTIONS);
}

fn check(target: &Target) {
    let [seeds, kept] = target.inputs();
    for inputs in [&seeds, &kept] {
        assert!(inputs.len() > 50, "only {} inputs of {}", inputs.len(), target.name);
    }
    for seed in &seeds {
        run(target, seed);
        // The changes of a seed do not depend on other seeds, so that a new case changes nothing else.
        let mut random =
            Random(seed.iter().fold(0, |hash: u64, byte| hash.rotate_left(5) ^ u64::from(*byte)));
        for _ in 0..CHANGED {
            run(target, &changed(seed, &mut random));
        }
    }
    kept.iter().for_each(|input| run(target, input));
}

fn run(target: &Target, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        panic!("{} fails for \"{}\"", target.name, input.escape_ascii());
    }
}

/// A seed with some bytes changed, inserted or moved.
fn changed(seed: &[u8], random: &mut Random) -> Vec<u8> {
    const TOKENS: &[&[u8]] = &[
        b"",
        b"{{ a }}",
        b"{{",
        b"}}",
        b"(",
        b")",
        b"+(a)",
        b"$patch",
        b"null",
        b"~",
        b"*",
        b"-1",
        b"[]",
        b"{}",
        b"1e400",
        b"\0",
        b"\x01\x09\x04",
        b"\xff",
        b"\r\n",
        b"\"",
        b"'",
        b"\\",
        b"- ",
        b": ",
        b"|",
        b"&a ",
        b"*a",
        b"@",
        b"`",
        b"[?",
        b"\xc3\xa9",
    ];
    let mut bytes = seed.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(4) {
            0 => drop(bytes.splice(at..end, TOKENS[random.below(TOKENS.len())].iter().copied())),
            1 => drop(bytes.splice(at..at, TOKENS[random.below(TOKENS.len())].iter().copied())),
            2 => {
                let moved = bytes[at..end].to_vec();
                let target = random.below(bytes.len() + 1);
                bytes.splice(target..target, moved);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}
