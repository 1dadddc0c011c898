//! Reads whatever libFuzzer makes, with the reader that the variable `READER` names. `run` builds and starts it.
#![no_main]

mod readers;
mod slowest;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

use readers::Reader;
use slowest::{Slowest, processor_time};

static READER: OnceLock<Reader> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let reader = READER.get_or_init(readers::chosen);
    let before = processor_time();
    reader(data);
    Slowest::note(data, processor_time().saturating_sub(before));
});
