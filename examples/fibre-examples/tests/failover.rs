//! A chat on three processes, with Debian's Redis between them. One is killed, at a small load: the
//! chat loses what each way is said to lose, and no more.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it by panicking, as the tests do"
)]

use std::process::Command;

/// The numbers in the line about one way: sent, again, due, came, lost, twice, out of order.
fn numbers(table: &str, way: &str) -> Vec<u64> {
    let line = table
        .lines()
        .find(|line| line.starts_with(&format!("| {way} |")));
    let cells = line.unwrap().split('|').skip(2);
    cells.filter_map(|cell| cell.trim().parse().ok()).collect()
}

#[test]
fn a_killed_server_loses_what_the_way_says() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chat-failover"));
    command.args([
        "--clients",
        "30",
        "--rooms",
        "5",
        "--rate",
        "30",
        "--time",
        "3",
    ]);
    let output = command.output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{table}{errors}");
    for way in ["streams", "channels"] {
        let [sent, _, due, came, lost, twice, out_of_order, _] = numbers(&table, way)[..] else {
            panic!("{table}");
        };
        // Each of six clients in a room hears all of it.
        assert!(
            sent > 1000 && due == 6 * sent && came + lost == due,
            "{table}"
        );
        match way {
            "streams" => assert_eq!((lost, out_of_order), (0, 0), "{table}"),
            _ => assert_eq!((twice, out_of_order), (0, 0), "{table}"),
        }
    }
}
