//! The program under test.

use std::path::Path;
use std::sync::LazyLock;

/// The program that the tests run: that of the variable `WIRECERT_TEST_PROGRAM`, such as one that was built for release, or the one
/// that cargo built with the tests. Its path is absolute: tests run it in folders of their own.
pub fn wirecert_program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        let Ok(program) = std::env::var("WIRECERT_TEST_PROGRAM") else {
            return env!("CARGO_BIN_EXE_wirecert").to_owned();
        };
        let absolute = Path::new(&program).canonicalize();
        absolute.unwrap_or_else(|e| panic!("WIRECERT_TEST_PROGRAM is {program}: {e}")).display().to_string()
    });
    &PROGRAM
}
