#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::VARIABLES.start(), |data: &[u8]| kyv_fuzz::VARIABLES.run_within_bounds(data));
