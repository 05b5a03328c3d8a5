#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: kyv_fuzz::YAML.start(), |data: &[u8]| kyv_fuzz::YAML.run_within_bounds(data));
