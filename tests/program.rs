//! The program under test.

use std::sync::LazyLock;

/// The program that the tests run: that of the variable `WIRECERT_TEST_PROGRAM`, such as one that was built for release, or the one
/// that cargo built with the tests.
pub fn wirecert_program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("WIRECERT_TEST_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_wirecert").to_owned())
    });
    &PROGRAM
}
