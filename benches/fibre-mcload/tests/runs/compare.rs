//! Servers side by side: what is written, and who is not measured since he does less.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::server::{Fault, Server};

/// What tells this program, when it is started as a server, its fault and its port.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// The server of the others, in a process of its own: does nothing in the one that runs the tests.
#[test]
fn a_server_for_others() -> Result<()> {
    let Ok(role) = env::var(ROLE) else {
        return Ok(());
    };
    let (fault, port) = role.split_once(':').context("FAULT:PORT")?;
    let fault = match fault {
        "forgets" => Fault::Forget(5),
        "refuses" => Fault::Refuse(5),
        _ => Fault::None,
    };
    let _server = Server::start_on(port.parse()?, fault)?;
    loop {
        thread::park();
    }
}

/// Compares a right server with one that has a fault, and says where it wrote.
fn compare(fault: &str) -> Result<(Output, PathBuf)> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(fault);
    let own = env::current_exe()?;
    let server = |name: &str| {
        let path = own.display();
        format!("{name}={ROLE}={name}:{{port}} {path} --exact compare::a_server_for_others")
    };
    let output = Command::new(env!("CARGO_BIN_EXE_fibre-mcload"))
        .args(["compare", "--quick", "--idle", "20", "--output"])
        .arg(&directory)
        .args(["--server", &server("right"), "--server", &server(fault)])
        .output()?;
    Ok((output, directory))
}

#[test]
fn a_server_that_forgets_or_refuses_is_a_fault_and_not_measured() -> Result<()> {
    for fault in ["forgets", "refuses"] {
        let (output, directory) = compare(fault)?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{words}");
        let results: Value = serde_json::from_slice(&fs::read(directory.join("results.json"))?)?;
        let points = results["points"].as_array().context("no points")?;
        assert_eq!(points.len(), 7);
        for point in points {
            let throughput = |index: usize| &point["readings"][index]["throughput"][0];
            assert!(throughput(0).as_f64() > Some(0.0), "{words}");
            assert!(throughput(1).is_null(), "{point}");
        }
        let faults = results["faults"].as_array().context("no faults")?;
        let of_both = |fault: &Value| fault.to_string().contains("less than it should");
        assert!(faults.len() == 7 && faults.iter().all(of_both), "{words}");
    }
    Ok(())
}

#[test]
fn the_report_has_a_scorecard_tables_and_plots() -> Result<()> {
    let (output, directory) = compare("like")?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    let report = fs::read_to_string(directory.join("report.md"))?;
    for expected in [
        "## Scorecard",
        "| like",
        "**Requests per second**",
        "## Idle",
        "p10 / mean",
    ] {
        assert!(report.contains(expected), "{expected}");
    }
    for figure in [
        "4.10",
        "4.11",
        "4.12-and-4.13",
        "4.15-and-4.16",
        "4.17-and-4.18",
    ] {
        let name = format!("figure-{figure}.svg");
        assert!(report.contains(&name), "{name}");
        assert!(
            fs::read_to_string(directory.join(name))?.contains("<circle"),
            "{figure}"
        );
    }
    assert!(!report.contains("NaN") && !report.contains("## Faults"));
    let program = env::current_exe()?;
    let folder = program.parent().context("no folder")?.display().to_string();
    assert!(
        !report.contains(&folder),
        "where programs lie is nobody's business"
    );

    let kept = directory.join("results.json");
    let again = directory.join("again");
    let output = Command::new(env!("CARGO_BIN_EXE_fibre-mcload"))
        .args(["compare", "--quick", "--from"])
        .arg(&kept)
        .arg("--output")
        .arg(&again)
        .output()?;
    assert!(output.status.success(), "{output:?}");
    for name in ["report.md", "results.json", "figure-4.10.svg"] {
        let is_same = fs::read(again.join(name))? == fs::read(directory.join(name))?;
        assert!(is_same, "{name}");
    }
    Ok(())
}
