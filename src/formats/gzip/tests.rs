//! What Go 1.26 makes of texts: kind, bytes, bytes of the file, CRC-32 of the file.

use super::*;

/// Letters, words, bytes without any order; long enough that the window moves and blocks end.
const FILES: &[(&str, usize, usize, u32)] = &[
    ("letters2", 0, 23, 0xa5e050f2),
    ("letters26", 0, 23, 0xa5e050f2),
    ("words", 0, 23, 0xa5e050f2),
    ("raw", 0, 23, 0xa5e050f2),
    ("same", 0, 23, 0xa5e050f2),
    ("letters2", 1, 25, 0x35875d0f),
    ("letters26", 1, 25, 0xc0d80fac),
    ("words", 1, 25, 0xba102f82),
    ("raw", 1, 25, 0xb56b73d3),
    ("same", 1, 25, 0x35875d0f),
    ("letters2", 4, 28, 0x9111d711),
    ("letters26", 4, 28, 0xdd32306e),
    ("words", 4, 28, 0x5fffca10),
    ("raw", 4, 28, 0x58bbc8e9),
    ("same", 4, 28, 0x58dcb8e0),
    ("letters2", 5, 29, 0x24f194f7),
    ("letters26", 5, 29, 0x2548acce),
    ("words", 5, 29, 0xa66718df),
    ("raw", 5, 29, 0x06463f94),
    ("same", 5, 27, 0x2ef9dce7),
    ("letters2", 100, 56, 0x29939b93),
    ("letters26", 100, 100, 0xd2e9f490),
    ("words", 100, 93, 0x1d75cb4a),
    ("raw", 100, 128, 0x045c8fc5),
    ("same", 100, 27, 0xc468db5a),
    ("letters2", 262, 88, 0x2af3a119),
    ("letters26", 262, 195, 0x9d08d783),
    ("words", 262, 143, 0x409df25c),
    ("raw", 262, 290, 0x2d47629e),
    ("same", 262, 30, 0xb2d846db),
    ("letters2", 1000, 222, 0x4ddf14e5),
    ("letters26", 1000, 634, 0xcd3fe7d8),
    ("words", 1000, 290, 0x2a4a468a),
    ("raw", 1000, 1028, 0xb251fb29),
    ("same", 1000, 32, 0x9e8cbb3e),
    ("letters2", 16384, 2688, 0xfe5ec41c),
    ("letters26", 16384, 9852, 0xed518a62),
    ("words", 16384, 2391, 0xf9406832),
    ("raw", 16384, 16412, 0xdafeca13),
    ("same", 16384, 56, 0x01cbd6b8),
    ("letters2", 40000, 6396, 0x69a76ed0),
    ("letters26", 40000, 24036, 0xe98546e1),
    ("words", 40000, 5375, 0x144c2b91),
    ("raw", 40000, 40038, 0x39d3b9a8),
    ("same", 40000, 78, 0x560de458),
    ("letters2", 65273, 10367, 0xcc5a5c22),
    ("letters26", 65273, 39187, 0x0f212e5d),
    ("words", 65273, 8521, 0x5c76c57b),
    ("raw", 65273, 65316, 0x43f48f40),
    ("same", 65273, 102, 0x7e006562),
    ("letters2", 65274, 10369, 0x2dd1251c),
    ("letters26", 65274, 39188, 0x1fa59e68),
    ("words", 65274, 8521, 0x8b180f7d),
    ("raw", 65274, 65317, 0x13892059),
    ("same", 65274, 102, 0xff2745e4),
    ("letters2", 65275, 10369, 0x147e9255),
    ("letters26", 65275, 39189, 0x8a8e595f),
    ("words", 65275, 8520, 0xd8dbe444),
    ("raw", 65275, 65318, 0x5261a6ba),
    ("same", 65275, 100, 0x24a44612),
    ("letters2", 65536, 10409, 0x1fc1bf19),
    ("letters26", 65536, 39345, 0x9003e8d8),
    ("words", 65536, 8556, 0x3399d16d),
    ("raw", 65536, 65579, 0xafc2223e),
    ("same", 65536, 101, 0xe49a970e),
    ("letters2", 98304, 15540, 0x7336b2d4),
    ("letters26", 98304, 58998, 0xd7722f84),
    ("words", 98304, 12615, 0x0aad41c7),
    ("raw", 98304, 98357, 0x8e8e8617),
    ("same", 98304, 135, 0xbcc022b6),
    ("letters2", 131072, 20691, 0xeb5109ec),
    ("letters26", 131072, 78655, 0xab650ee1),
    ("words", 131072, 16669, 0xd344bfcf),
    ("raw", 131072, 131135, 0x19e3666c),
    ("same", 131072, 166, 0xd052312b),
    ("letters2", 200000, 31540, 0x09df389f),
    ("letters26", 200000, 120014, 0xb61b8aff),
    ("words", 200000, 25153, 0x0e892a65),
    ("raw", 200000, 200088, 0xa263668d),
    ("same", 200000, 234, 0xbeaccf24),
];

const WORDS: [&str; 13] = [
    "containers",
    "name",
    "image",
    "spec",
    "metadata",
    "labels",
    "annotations",
    "app.kubernetes.io/name",
    ": ",
    "\n  ",
    "- ",
    "nginx:1.25",
    "\"true\"",
];

/// Numbers from 0 to 255 that follow from a seed.
fn numbers(seed: u32) -> impl Iterator<Item = u8> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(seed), next).skip(1).map(|state| state.to_be_bytes()[0])
}

fn text(kind: &str, len: usize) -> Vec<u8> {
    match kind {
        "letters2" => numbers(1).map(|number| b'a' + number % 2).take(len).collect(),
        "letters26" => numbers(2).map(|number| b'a' + number % 26).take(len).collect(),
        "words" => numbers(3).flat_map(|number| WORDS[usize::from(number) % 13].bytes()).take(len).collect(),
        "raw" => numbers(4).take(len).collect(),
        _ => vec![b'a'; len],
    }
}

#[test]
fn files_are_those_of_go() {
    for (kind, len, expected_len, expected_sum) in FILES {
        let file = compress(&text(kind, *len));
        let mut sum = flate2::Crc::new();
        sum.update(&file);
        assert_eq!((file.len(), sum.sum()), (*expected_len, *expected_sum), "{kind} {len}");
    }
}
