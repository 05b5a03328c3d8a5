#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::APPLY.start(), |data: &[u8]| kyv_fuzz::APPLY.run_within_bounds(data));
