//! C programs: what gdb says of one that hangs, with the stripped library that is installed.

use crate::debugger::{Said, Scratch, look, run};
use std::path::PathBuf;
use std::process::Command;

/// Where the library is installed; `cargo xtask gdb` says so.
const INSTALLED: &str = "LIBRARY_UNDER_TEST";

/// The program.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/gdb/hangs.c");

/// Compiles the program.
fn compiled() -> Scratch {
    let installed = PathBuf::from(std::env::var(INSTALLED).expect("cargo xtask gdb sets it"));
    let program = Scratch::new(".program");
    let lib = installed.join("lib");
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-g", "-Wall", "-Werror", "-I"]);
    compile.arg(installed.join("include/fibre-rt")).arg(SOURCE);
    compile.arg("-o").arg(&program.0).arg("-L").arg(&lib);
    compile
        .arg("-lfibre-rt")
        .arg(format!("-Wl,-rpath,{}", lib.display()));
    assert!(compile.status().expect("cc is installed").success());
    program
}

/// The commands that tell what hangs.
const COMMANDS: [&str; 4] = ["fibres", "fibres bt", "fibre locks", "fibre cycle"];

/// Checks that they have told it.
fn tells_all(said: &Said) {
    said.has(&[
        "\"ab\" waits for the mutex at 0x",
        "they wait for each other: ",
    ]);
    said.has(&[
        "\"ab\" -> fibre ",
        "\"ba\" -> fibre ",
        "\"ab\" waits for it",
    ]);
    for (title, function) in [
        ("\"ab\" waits", "takes_both"),
        ("\"ba\" waits", "takes_both"),
        ("\"sleeper\" [conn=42] waits", "sleeps"),
    ] {
        let stack = said.stack_of(title);
        assert!(
            stack.contains(function) && stack.contains("hangs.c:"),
            "{stack}"
        );
        assert!(stack.ends_with("\n         the fibre's entry"), "{stack}");
    }
}

#[test]
fn a_live_process_names_the_place() {
    let program = compiled();
    let mut command = Command::new(&program.0);
    command.env("FIBRE_PROCESSORS", "2");
    tells_all(&run(&command, &COMMANDS));
}

#[test]
fn a_core_file_names_the_place() {
    let (program, core) = (compiled(), Scratch::new(".core"));
    let mut command = Command::new(&program.0);
    command
        .env("FIBRE_PROCESSORS", "2")
        .env("FIBRE_GUARD", "mprotect");
    let write = format!("generate-core-file {}", core.name());
    run(&command, &[&write, "kill"]).has(&["Saved corefile"]);
    tells_all(&look(&program.0, &core.0, &COMMANDS));
}
