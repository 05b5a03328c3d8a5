#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::POLICY.start(), |data: &[u8]| kyv_fuzz::POLICY.run_within_bounds(data));
