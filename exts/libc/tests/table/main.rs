//! The table "What a program gets" of LIBC.md, row by row: each row is a call that waits, and says
//! whether it blocks its fibre or its processor; or a question about threads.
//!
//! The program runs itself three times, on one processor without spare ones: in the default
//! cluster, in one with own thread-locals, and with `fibre_libc::threads()`. The test fails if the
//! page says otherwise; with `TABLE=write` it writes the page.
//!
//! * `items`: the rows;
//! * `column`: what stands in a row, found out in one kind of cluster.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod column;
mod items;

use column::Column;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Says which column this process finds out.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// Where the table begins and ends in the page.
const BEGIN: &str = "<!-- table: exts/libc/tests/table -->\n";
const END: &str = "<!-- end of table -->\n";

fn main() {
    if let Ok(role) = env::var(ROLE) {
        Column::of(&role).print();
        return;
    }
    let columns = Column::ALL.map(|column| ask(column.role()));
    let mut table = String::from(
        "| | default cluster | own thread-locals | `threads()` |\n|---|---|---|---|\n",
    );
    for row in 0..columns[0].len() {
        let name = &columns[0][row].0;
        let words = columns.each_ref().map(|column| {
            assert_eq!(&column[row].0, name);
            column[row].1.as_str()
        });
        table += &format!("| {name} | {} |\n", words.join(" | "));
    }
    compare(&table);
}

/// What a process finds out: names of rows, and what stands there.
fn ask(role: &str) -> Vec<(String, String)> {
    let output = Command::new(env::current_exe().unwrap())
        .env(ROLE, role)
        .env("FIBRE_PROCESSORS", "1")
        .env("FIBRE_MAX_SPARE", "0")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{role}: {}\n{told}{words}",
        output.status
    );
    let rows = told.lines().filter_map(|line| line.split_once('\t'));
    let rows: Vec<_> = rows
        .map(|(name, word)| (name.to_owned(), word.to_owned()))
        .collect();
    assert!(!rows.is_empty(), "{role}: {words}");
    rows
}

/// Compares the table with that of the page, or writes it there.
fn compare(table: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/LIBC.md");
    let text = fs::read_to_string(&page).unwrap();
    let begin = text.find(BEGIN).unwrap() + BEGIN.len();
    let end = begin + text[begin..].find(END).unwrap();
    if env::var_os("TABLE").is_some_and(|word| word == "write") {
        let written = [&text[..begin], table, &text[end..]].concat();
        fs::write(&page, written).unwrap();
    } else {
        let told = &text[begin..end];
        assert_eq!(told, table, "LIBC.md says otherwise; TABLE=write writes it");
    }
    println!("{} rows", table.lines().count() - 2);
}
