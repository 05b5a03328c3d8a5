#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::PATTERN.start(), |data: &[u8]| kyv_fuzz::PATTERN.run_within_bounds(data));
