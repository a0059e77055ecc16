//! Targets that are not supported are told so by a sentence.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::process::Command;

/// What the compiler says of the module that looks at the target. No target but this machine's has
/// a core library here, so the module is compiled without one.
fn compile(target: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let module = root.join("../fibre-core/src/sys/platform.rs");
    let place =
        std::env::temp_dir().join(format!("fibre-platform-{}-{target}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let source = format!(
        "#![feature(no_core, rustc_attrs, decl_macro)]\n#![no_core]\n\
         #[rustc_builtin_macro] macro_rules! compile_error {{ () => {{}} }}\n\
         #[path = {module:?}] mod platform;\n"
    );
    std::fs::write(place.join("lib.rs"), source).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .args([
            "--target",
            target,
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
        ])
        .arg("lib.rs")
        .current_dir(&place)
        .output();
    std::fs::remove_dir_all(&place).unwrap();
    String::from_utf8(output.unwrap().stderr).unwrap()
}

#[test]
fn other_targets_are_refused_by_a_sentence() {
    const SENTENCE: &str = "error: fibre runs on Linux on 64-bit x86-64 and 64-bit ARM";
    for target in [
        "aarch64_be-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu_ilp32",
        "i686-unknown-linux-gnu",
        "x86_64-unknown-linux-gnux32",
        "riscv64gc-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "x86_64-pc-windows-gnu",
    ] {
        let said = compile(target);
        let first = said.lines().find(|line| line.starts_with("error")).unwrap();
        assert!(first.starts_with(SENTENCE), "{target}: {said}");
    }
    for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        let said = compile(target);
        assert!(!said.contains(SENTENCE), "{target}: {said}");
    }
}
