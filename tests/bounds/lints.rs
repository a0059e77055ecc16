//! The `clippy.toml` that programs may copy: clippy knows all that it names, and reports it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::process::Command;

/// A program that does a bit of what it should not.
const PROGRAM: &str = r#"
use std::sync::Mutex;

pub fn holds(lock: &Mutex<u32>) -> u32 {
    let held = lock.lock().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1));
    std::thread::spawn(|| ()).join().unwrap();
    *held
}
"#;

#[test]
fn what_blocks_a_processor_is_reported() {
    let lints = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/lints");
    let place = std::env::temp_dir().join(format!("fibre-lints-{}", std::process::id()));
    std::fs::create_dir_all(place.join("src")).unwrap();
    let manifest = "[package]\nname = \"program\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(place.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(place.join("src/lib.rs"), PROGRAM).unwrap();
    std::fs::copy(lints.join("clippy.toml"), place.join("clippy.toml")).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "clippy",
            "--offline",
            "--color=never",
            "--target-dir",
            "target",
        ])
        .env_remove("RUSTFLAGS")
        .env_remove("CLIPPY_CONF_DIR")
        .current_dir(&place)
        .output();
    std::fs::remove_dir_all(&place).unwrap();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    for reported in [
        "use of a disallowed type `std::sync::Mutex`",
        "its holder must not wait; use fibre::sync::Mutex",
        "use of a disallowed method `std::thread::sleep`",
        "use of a disallowed method `std::thread::spawn`",
        "use of a disallowed method `std::thread::JoinHandle::join`",
    ] {
        assert!(said.contains(reported), "{reported}: {said}");
    }
    // Names that do not exist are told of, too.
    assert!(
        !said.contains("does not refer to") && !said.contains("error"),
        "{said}"
    );
}
