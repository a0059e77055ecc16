//! What Eve's compiler rejects, ours rejects, with words that say why. The expected words lie
//! beside the programs; `TRYBUILD=overwrite` writes them anew.
//!
//! In debug builds only: what compiles does not depend on the build.

#![cfg(debug_assertions)]

#[test]
fn what_a_task_may_not_do_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
