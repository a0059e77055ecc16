//! `sfs`: clients that each read a large file over an encrypted connection, after libasync-smp's
//! figure 10 and Mely's figure 8.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use super::rows::{self, Rows, Setting, THROUGHPUT, cpu_time};
use crate::plan::{Benchmark, Run};
use crate::process::{output_within, programs};
use crate::report::Goal;
use fibre_measure::Pinned as _;

pub(crate) const SFS: Benchmark = Benchmark {
    name: "sfs",
    about: "libasync-smp's figure 10: encrypted reads of a file by sixteen clients, on one and two processors",
    run,
};

/// Bytes of the file, which each client reads, for a second of a repetition.
const BYTES: f64 = 200.0 * 1024.0 * 1024.0;

/// The longest that a repetition may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The rows that others are compared with.
const ONE: &str = "one processor";
const PLAIN: &str = "one processor, one colour";

/// What the papers measured.
const PAPERS: &str = "\
libasync-smp: 96 % of the original on one processor, 1.66 times as much on two, 2.20 on three, 2.5 on four. Mely, on eight cores: \
35 % more with stealing than without. *One colour* is the same program as it would be without colours. The clients throw away \
what they read, so their share of the CPU time is small; where there are two cores they share them with the server.";

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(PAPERS);
    let bytes = (BYTES * run.plan.seconds(1.0)) as u64;
    let clients = run.plan.connections(&[16])[0];
    let program = programs::example("fibre-events", "sfs_like")?;
    let load = programs::example("fibre-events", "sfs_load")?;
    let rows = Rows {
        benchmark: SFS.name,
        case: format!("{clients} clients read {} MB each", bytes >> 20),
        settings: &settings(&program, bytes),
        metrics: [THROUGHPUT, cpu_time("ns/KB")],
        base: ONE,
        repetitions: run.plan.repetitions(5),
    };
    rows.measure(run, |run, setting| {
        let server = setting.start(run)?;
        let mut command = Command::new(&load);
        command
            .args([&server.address, "--clients", &clients.to_string()])
            .stdin(Stdio::null())
            .pinned(&rows::cores(run));
        let before = server.cpu.read()?;
        let seen: Seen = serde_json::from_str(&output_within(&mut command, PATIENCE)?)?;
        let cpu = server.cpu.read()? - before;
        Ok([
            seen.bytes / 1e6 / seen.seconds,
            cpu.as_secs_f64() * 1e9 / (seen.bytes / 1024.0),
        ])
    });
    Ok(())
}

/// The rows: the server with a file of so many bytes.
fn settings(program: &Path, bytes: u64) -> [Setting; 6] {
    let size = bytes.to_string();
    let setting = |name, processors, options: &[&str]| {
        let options = [&["--port", "0", "--pattern", &size], options].concat();
        Setting::new(name, processors, program, &options)
    };
    let speedup = [Some(Goal::times_of(ONE, 1.5)), None];
    // 96 % of the throughput on one processor.
    let cost = [None, Some(Goal::times_of(PLAIN, 1.042))];
    let libasync = ["--policy", "libasync"];
    [
        setting(PLAIN, 1, &["--one-colour"]),
        setting(ONE, 1, &[]).reaching(cost),
        setting("two processors", 2, &[]).reaching(speedup),
        setting("two processors, libasync", 2, &libasync).reaching(speedup),
        setting("two processors, no stealing", 2, &["--policy", "off"]),
        setting("two processors, one colour", 2, &["--one-colour"]),
    ]
}

/// What the load prints.
#[derive(Deserialize)]
struct Seen {
    bytes: f64,
    seconds: f64,
}
