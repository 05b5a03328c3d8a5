//! The fuzz targets on fixed seeds: every case of the corpus, and changes of them that a seed decides.

#[path = "fuzz/src/lib.rs"]
pub mod fuzz;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fuzz::Target;
use fuzz::seeds::Random;

/// How many changed seeds each target sees.
const CHANGED: usize = 1200;

#[test]
fn yaml() {
    check(&fuzz::YAML);
}

#[test]
fn policy() {
    check(&fuzz::POLICY);
}

#[test]
fn jmespath() {
    check(&fuzz::JMESPATH);
}

#[test]
fn variables() {
    check(&fuzz::VARIABLES);
}

#[test]
fn pattern() {
    check(&fuzz::PATTERN);
}

#[test]
fn json_patch() {
    check(&fuzz::JSON_PATCH);
}

#[test]
fn strategic_merge() {
    check(&fuzz::STRATEGIC_MERGE);
}

#[test]
fn engine() {
    check(&fuzz::ENGINE);
}

fn check(target: &Target) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let seeds = (target.seeds)(&corpus);
    assert!(seeds.len() > 50, "only {} seeds", seeds.len());
    let mut random = Random(0x6b79_7600);
    let changed: Vec<Vec<u8>> = (0..CHANGED).map(|_| changed(&seeds, &mut random)).collect();
    for input in seeds.iter().chain(&changed) {
        if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
            panic!("{} fails for \"{}\"", target.name, input.escape_ascii());
        }
    }
}

/// A seed with some bytes changed, some moved, or the end of another.
fn changed(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
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
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(4) {
            0 => drop(bytes.splice(at..end, TOKENS[random.below(TOKENS.len())].iter().copied())),
            1 => drop(bytes.splice(at..at, TOKENS[random.below(TOKENS.len())].iter().copied())),
            2 => {
                let other = &seeds[random.below(seeds.len())];
                let tail = other[random.below(other.len() + 1)..].to_vec();
                bytes.truncate(at);
                bytes.extend(tail);
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
