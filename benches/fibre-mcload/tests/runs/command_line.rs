//! The program as it is used: its words, its JSON, how it ends.

use std::process::{Command, Output};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::server::{Fault, Server};

/// Runs the program on a server with a fault.
fn run(fault: Fault, arguments: &str) -> Result<Output> {
    let server = Server::start(fault)?;
    let program = env!("CARGO_BIN_EXE_fibre-mcload");
    let mut command = Command::new(program);
    command.args([
        "run",
        &server.address.to_string(),
        "--connections",
        "4",
        "--keys",
        "50",
    ]);
    command.args([
        "--requests",
        "500",
        "--value-size",
        "100",
        "--value-limit",
        "1000",
    ]);
    Ok(command.args(arguments.split_whitespace()).output()?)
}

#[test]
fn the_json_has_its_fields() -> Result<()> {
    let output = run(
        Fault::None,
        "--json --protocol meta --pipeline 8 --update 0.5 --seed 7",
    )?;
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(report["plan"]["pipeline"], 8);
    assert_eq!(report["plan"]["protocol"], "meta");
    assert_eq!(report["plan"]["seed"], 7);
    let count = |name: &str| {
        report["counts"][name]
            .as_u64()
            .with_context(|| name.to_owned())
    };
    assert_eq!(count("gets")? + count("sets")?, 500);
    for name in [
        "hits",
        "misses",
        "stored",
        "refused",
        "bytes_sent",
        "bytes_received",
    ] {
        count(name)?;
    }
    for kind in ["all", "get", "set"] {
        let profile = &report["latency_us"][kind];
        let figure = |name: &str| {
            profile[name]
                .as_f64()
                .with_context(|| format!("{kind} {name}"))
        };
        let order = ["p10", "p50", "p90", "p99", "p999", "max"];
        let figures: Result<Vec<f64>> = order.into_iter().map(figure).collect();
        assert!(figures?.is_sorted() && figure("mean")? > 0.0);
    }
    assert!(
        report["requests_per_second"]
            .as_f64()
            .is_some_and(|rate| rate > 0.0)
    );
    assert!(
        report["wrong"]
            .as_object()
            .is_some_and(serde_json::Map::is_empty)
    );
    // The server is in this process.
    assert_eq!(report["server"]["pid"], std::process::id());
    assert!(
        report["server"]["usage"]["resident_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 0)
    );
    assert!(report["server"]["cpu_us_per_request"].as_f64().is_some());
    Ok(())
}

#[test]
fn a_wrong_answer_fails_the_run_and_is_shown() -> Result<()> {
    let output = run(Fault::Torn, "")?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        !output.status.success() && words.contains("answers are torn"),
        "{words}"
    );
    Ok(())
}

#[test]
fn a_lost_connection_fails_a_strict_run_only() -> Result<()> {
    assert!(run(Fault::Hangup(200), "")?.status.success());
    assert!(!run(Fault::Hangup(200), "--strict")?.status.success());
    Ok(())
}

#[test]
fn nonsense_on_the_command_line_is_refused() -> Result<()> {
    for arguments in [
        "--key-size nothing",
        "--storm rain=7",
        "--zipf 1.5",
        "--rate 0",
        "--pipeline 0",
    ] {
        assert!(
            !run(Fault::None, arguments)?.status.success(),
            "{arguments}"
        );
    }
    Ok(())
}
