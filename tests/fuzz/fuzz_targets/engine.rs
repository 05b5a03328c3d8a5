#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::ENGINE.start(), |data: &[u8]| kyv_fuzz::ENGINE.run_within_bounds(data));
