#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::SUITES.start(), |data: &[u8]| kyv_fuzz::SUITES.run_within_bounds(data));
