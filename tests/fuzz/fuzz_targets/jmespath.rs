#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::JMESPATH.start(), |data: &[u8]| kyv_fuzz::JMESPATH.run_within_bounds(data));
