#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::FUNCTIONS.start(), |data: &[u8]| kyv_fuzz::FUNCTIONS.run_within_bounds(data));
