//! What a panic of an actor says on standard error. The test plays a part in a process of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fibre_actors::{Actor, Builder, Context, ExitReason};
use std::process::Command;

/// Says that the process is the one with actors that panic.
const PART: &str = "ACTORS_TEST_PANICS";

/// Panics at each message.
struct Fragile;

impl Actor for Fragile {
    type Message = &'static str;

    fn handle(&mut self, words: &'static str, _: &mut Context<'_, Self>) {
        panic!("{words}");
    }
}

#[test]
fn a_panic_is_reported_once_with_the_name_or_the_number() {
    if std::env::var_os(PART).is_some() {
        let named = Builder::new().name("fragile").spawn(Fragile).unwrap();
        named.send("the first").unwrap();
        let nameless = fibre_actors::spawn(Fragile);
        nameless.send("the second").unwrap();
        for actor in [named, nameless] {
            assert_eq!(actor.wait(), ExitReason::Panicked);
            println!("number {}", actor.id());
        }
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .arg("--nocapture")
        .env(PART, "1")
        .env("RUST_BACKTRACE", "0");
    let output = child.output().unwrap();
    let [said, told] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{told}");
    let ids: Vec<_> = said
        .split("number ")
        .skip(1)
        .map(|rest| rest.lines().next().unwrap())
        .collect();
    let reports: Vec<_> = told
        .lines()
        .filter(|line| line.starts_with("fibre: "))
        .collect();
    let mut expected = [
        format!(
            "fibre: actor {} (\"fragile\") has panicked: the first",
            ids[0]
        ),
        format!("fibre: actor {} has panicked: the second", ids[1]),
    ];
    expected.sort();
    let mut reports = reports;
    reports.sort_unstable();
    assert_eq!(reports, expected, "{told}");
}
