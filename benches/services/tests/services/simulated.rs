//! The services over a simulated network with faults: few seeds find nothing. The program runs as
//! many as it is told.

use std::process::Command;

#[test]
fn few_seeds_find_nothing() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simulated"));
    let output = command.args(["--seeds", "20"]).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert_eq!(lines.matches(": 20 runs, ").count(), 6, "{lines}");
}
