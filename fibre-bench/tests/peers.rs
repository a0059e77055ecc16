//! Every peer program speaks the protocol: it lists its workloads, each of them
//! and of their variants runs on one processor and on two and prints its figures,
//! and what it does not understand it refuses.

use std::process::{Command, Output};

use anyhow::{Context as _, ensure};
use fibre_bench::measure::Sample;

/// The workloads that every runtime with a scheduler has.
const COMMON: &[&str] = &[
    "yield",
    "spawn",
    "semaphore",
    "condvar",
    "mutex",
    "contend",
    "wait",
    "work",
    "blocked",
    "skynet",
    "sleep",
];

/// The programs over actors that tokio's tasks have, too.
const TASKS: &[&str] = &["bang", "big", "logm"];

/// Keys that make a workload tiny, and the values it reports beside the times.
fn tiny(workload: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match workload {
        "yield" | "barrier" => (&["fibres=3"], &[]),
        "spawn" => (&["batch=7"], &[]),
        "contend" => (
            &["threads=3", "locks=2", "held=5", "free=10"],
            &["cv", "jain"],
        ),
        "wait" => (
            &["crowd=3", "held=5", "yields=2", "pause=1"],
            &[
                "acquired",
                "cv",
                "gap_us_max",
                "jain",
                "wait_us_max",
                "wait_us_median",
                "wait_us_p99",
            ],
        ),
        "work" => (&["units=10"], &[]),
        "blocked" => (
            &["fibres=20", "passes=2"],
            &["first_ns", "mappings", "rss_bytes"],
        ),
        "migrate" => (&["fibres=20", "hops=3"], &[]),
        "skynet" => (&["leaves=100"], &[]),
        "sleep" => (
            &["micros=100", "count=3"],
            &["over_us_max", "over_us_median"],
        ),
        "chat" => (
            &["users=30", "groups=2", "period_ms=50", "to_groups=30"],
            &[
                "blocked",
                "deliveries_per_s",
                "p50_us",
                "p999_us",
                "p99_us",
                "rss_bytes",
                "sent",
            ],
        ),
        "pubsub" => (
            &["publishers=3", "subscribers=10", "messages=5"],
            &["p50_us", "p99_us", "run_ms"],
        ),
        _ => (tiny_actors(workload), run_ms(workload)),
    }
}

/// Keys that make a program over actors tiny.
fn tiny_actors(workload: &str) -> &'static [&'static str] {
    match workload {
        "big" => &["players=8"],
        "bang" => &["senders=5", "numbers=10"],
        "logm" => &["terms=20", "series=3"],
        "apsp" => &["nodes=12", "block=4"],
        "cdict" => &["workers=3", "questions=20", "words=3", "preload=5"],
        "csll" => &["workers=3", "questions=20"],
        "nqn" => &["workers=3", "size=5", "threshold=2"],
        "trapr" => &["pieces=20000", "workers=10"],
        _ => &[],
    }
}

/// The value that programs over actors report.
fn run_ms(workload: &str) -> &'static [&'static str] {
    match tiny_actors(workload) {
        [] => &[],
        _ => &["run_ms"],
    }
}

/// What a peer answers.
fn ask(path: &str, words: &[&str]) -> anyhow::Result<Output> {
    Ok(Command::new(path).args(words).output()?)
}

/// Runs one workload, perhaps in a variant, and looks at its figures.
fn check_workload(
    path: &str,
    workload: &str,
    variant: Option<&str>,
    processors: &str,
) -> anyhow::Result<()> {
    let (keys, values) = tiny(workload);
    let variant = variant.map(|name| format!("variant={name}"));
    let variant: Vec<&str> = variant.iter().map(String::as_str).collect();
    let run = |seconds| -> anyhow::Result<(String, Sample)> {
        let words = [&[workload, processors, seconds], keys, &variant].concat();
        let output = ask(path, &words)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", output.status);
        let text = String::from_utf8(output.stdout)?;
        ensure!(text.lines().count() == 1, "not one line: {text}");
        let sample = serde_json::from_str(&text)?;
        Ok((text, sample))
    };
    let (mut text, mut sample) = run("seconds=0.01")?;
    if sample.operations == 0 {
        // Others may have had the CPUs for so long.
        (text, sample) = run("seconds=3")?;
    }
    ensure!(sample.operations > 0, "no operations: {text}");
    let times = [sample.cpu_ns, sample.wall_ns];
    ensure!(
        times.iter().all(|time| time.is_finite() && *time > 0.0),
        "no times: {text}"
    );
    ensure!(
        sample.values.keys().eq(values),
        "other values than {values:?}: {text}"
    );
    // Some may well be 0: the variation of equal counts, the growth of nothing.
    let sensible = |value: &f64| value.is_finite() && *value >= 0.0;
    ensure!(sample.values.values().all(sensible), "no values: {text}");
    Ok(())
}

/// Checks a peer that has these workloads, in any order.
fn check(path: &str, workloads: &[&str]) -> anyhow::Result<()> {
    let output = ask(path, &[])?;
    ensure!(output.status.success(), "it does not list its workloads");
    let text = String::from_utf8(output.stdout)?;
    let lists: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let mut listed: Vec<&str> = lists.iter().map(|words| words[0]).collect();
    let mut expected = workloads.to_vec();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);

    for words in &lists {
        let variants = words[1..].iter().map(|&variant| Some(variant));
        for variant in std::iter::once(None).chain(variants) {
            for processors in ["processors=1", "processors=2"] {
                check_workload(path, words[0], variant, processors)
                    .with_context(|| format!("{path} {} {variant:?} {processors}", words[0]))?;
            }
        }
    }

    let refused: [&[&str]; 3] = [
        &["no-such-workload"],
        &["work", "no-such-key=1"],
        &["work", "variant=no-such-variant"],
    ];
    for words in refused {
        let output = ask(path, words)?;
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    Ok(())
}

#[test]
fn fibre() -> anyhow::Result<()> {
    let actors = ["apsp", "cdict", "chat", "csll", "nqn", "pubsub", "trapr"];
    let own = [
        "barrier", "channel", "key", "migrate", "once", "pipe", "rwlock", "stream",
    ];
    check(
        env!("CARGO_BIN_EXE_peer-fibre"),
        &[COMMON, &own, TASKS, &actors].concat(),
    )
}

#[test]
fn may() -> anyhow::Result<()> {
    let workloads = [COMMON, &["channel", "stream"]].concat();
    check(env!("CARGO_BIN_EXE_peer-may"), &workloads)
}

#[test]
fn thread() -> anyhow::Result<()> {
    let workloads = [COMMON, &["channel", "pipe", "stream"]].concat();
    check(env!("CARGO_BIN_EXE_peer-thread"), &workloads)
}

#[test]
fn tokio() -> anyhow::Result<()> {
    let workloads = [COMMON, TASKS, &["channel", "pipe", "stream"]].concat();
    check(env!("CARGO_BIN_EXE_peer-tokio"), &workloads)
}

#[test]
fn tokio_worker() -> anyhow::Result<()> {
    let workloads = [COMMON, TASKS, &["channel", "pipe", "stream"]].concat();
    check(env!("CARGO_BIN_EXE_peer-tokio-worker"), &workloads)
}

#[test]
fn corosensei() -> anyhow::Result<()> {
    check(
        env!("CARGO_BIN_EXE_peer-corosensei"),
        &["yield", "spawn", "work"],
    )
}

#[test]
fn crossbeam() -> anyhow::Result<()> {
    check(
        env!("CARGO_BIN_EXE_peer-crossbeam"),
        &["spawn", "semaphore", "channel", "stream", "work"],
    )
}

#[test]
fn flume() -> anyhow::Result<()> {
    check(
        env!("CARGO_BIN_EXE_peer-flume"),
        &["channel", "stream", "work"],
    )
}
