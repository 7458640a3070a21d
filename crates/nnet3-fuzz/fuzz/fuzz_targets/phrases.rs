#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nnet3_fuzz::find("phrases").expect("a target").run(input));
