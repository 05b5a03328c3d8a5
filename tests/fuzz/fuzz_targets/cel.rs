#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::CEL.start(), |data: &[u8]| kyv_fuzz::CEL.run_within_bounds(data));
