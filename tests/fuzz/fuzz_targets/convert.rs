#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::CONVERT.start(), |data: &[u8]| kyv_fuzz::CONVERT.run_within_bounds(data));
