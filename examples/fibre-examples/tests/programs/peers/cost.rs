//! The comparison runs, at a tiny size, so that it does not rot.

use std::process::Command;

#[test]
fn fibres_and_threads_are_compared() {
    let told = Command::new(env!("CARGO_BIN_EXE_tls-cost"))
        .args(["--seconds", "0.5", "--rounds", "1", "--connections", "3"])
        .output()
        .unwrap();
    assert!(told.status.success(), "{told:?}");
    let table = String::from_utf8(told.stdout).unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.ends_with(" µs |"))
        .collect();
    assert_eq!(rows.len(), 4, "{table}");
    for row in rows {
        let per_second = row.split('|').nth(3).unwrap().trim();
        assert!(per_second.parse::<u32>().unwrap() > 0, "{row}");
    }
}
