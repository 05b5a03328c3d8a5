#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::JSON_PATCH.start(), |data: &[u8]| kyv_fuzz::JSON_PATCH.run_within_bounds(data));
