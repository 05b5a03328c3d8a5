#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::EDITS.start(), |data: &[u8]| kyv_fuzz::EDITS.run_within_bounds(data));
