#![no_main]

#[path = "../bodies/recovery_decision.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
