//! `http_cache`: the load of libasync-smp's figures 7 and 9 on the web server with ten page caches.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::rows::{self, Rows, Setting, THROUGHPUT, cpu_time};
use crate::plan::{Benchmark, Run};
use crate::process::{Server, programs};
use crate::report::Goal;
use fibre_measure::Pinned as _;

pub(crate) const HTTP_CACHE: Benchmark = Benchmark {
    name: "http_cache",
    about: "libasync-smp's figures 7 and 9: 720 files of 100 MB by SPECweb99's mix, ten on each connection",
    run,
};

/// Clients at a time.
const CLIENTS: &[usize] = &[50, 200, 800];

/// The rows that others are compared with.
const ONE: &str = "one processor";
const PLAIN: &str = "one processor, one colour";

/// What the paper measured.
const PAPER: &str = "\
The paper, with 800 clients: 1.28 times as much on two processors as on one, 1.5 times on four; on one, libasync-smp has 30.4 MB/s \
where libasync without colours has 35.4, which is 86 %; the throughput stays as clients become more. *One colour* is the same \
program as it would be without colours. Caches are warm. The load shares the cores with the server where there are two.";

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(PAPER);
    let site = Site::make();
    let program = programs::example("fibre-events", "http_cache")?;
    let load = programs::example("fibre-events", "http_load")?;
    let settings = settings(&program, &site.0.to_string_lossy());
    for clients in run.plan.connections(CLIENTS) {
        let rows = Rows {
            benchmark: HTTP_CACHE.name,
            case: format!("{clients} clients"),
            settings: &settings,
            metrics: [THROUGHPUT, cpu_time("µs/request")],
            base: ONE,
            repetitions: run.plan.fewer_repetitions(5),
        };
        let seconds = run.plan.seconds(1.0);
        rows.measure(run, |run, setting| {
            let server = setting.start(run)?;
            let mut command = Command::new(&load);
            command
                .args([&server.address, "--clients", &clients.to_string()])
                .args(["--warm-up", &seconds.to_string()])
                .args(["--seconds", &seconds.to_string()])
                .pinned(&rows::cores(run));
            measure(&server, command)
        });
    }
    Ok(())
}

/// The rows: the server of the files in this directory, which it makes.
fn settings(program: &Path, root: &str) -> [Setting; 4] {
    let setting = |name, processors, options: &[&str]| {
        let options = [&["--port", "0", "--root", root, "--make"], options].concat();
        Setting::new(name, processors, program, &options)
    };
    // 86 % of the throughput on one processor.
    let cost = [None, Some(Goal::times_of(PLAIN, 1.163))];
    [
        setting(PLAIN, 1, &["--one-colour"]),
        setting(ONE, 1, &[]).reaching(cost),
        setting("two processors", 2, &[]),
        setting("two processors, no stealing", 2, &["--policy", "off"]),
    ]
}

/// One repetition.
fn measure(server: &Server, mut command: Command) -> anyhow::Result<[f64; 2]> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().context("the output was not piped")?;
    let mut lines = BufReader::new(output).lines();
    let mut line = || lines.next().context("the load has ended");
    ensure!(line()?? == "counting", "the load said something else");
    let before = server.cpu.read()?;
    let seen: Seen = serde_json::from_str(&line()??)?;
    let cpu = server.cpu.read()? - before;
    let status = child.wait()?;
    ensure!(status.success(), "the load ended with {status}");
    ensure!(seen.failures == 0.0, "{} clients failed", seen.failures);
    Ok([
        seen.bytes / 1e6 / seen.seconds,
        cpu.as_secs_f64() * 1e6 / seen.requests,
    ])
}

/// What the load prints.
#[derive(Deserialize)]
struct Seen {
    requests: f64,
    bytes: f64,
    failures: f64,
    seconds: f64,
}

/// The directory with the files, which the server makes; gone in the end.
struct Site(PathBuf);

impl Site {
    /// A place for it.
    fn make() -> Self {
        let name = format!("fibre-bench-files-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The first server would have made it.
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}
