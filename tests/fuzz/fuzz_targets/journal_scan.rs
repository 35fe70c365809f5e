#![no_main]

#[path = "../bodies/journal_scan.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
