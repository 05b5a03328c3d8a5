#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::STRATEGIC_MERGE.start(), |data: &[u8]| kyv_fuzz::STRATEGIC_MERGE.run_within_bounds(data));
