//! Every peer program speaks the protocol: it lists its workloads, each of them
//! and of their variants runs on one processor and on two and prints its figures,
//! and what it does not understand it refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

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

/// What is about actors, which tokio's tasks have, too.
const ACTORS: &[&str] = &[
    "apsp", "ask", "bang", "big", "cdict", "csll", "logm", "nqn", "pubsub", "rest", "trapr",
];

/// The servers of the paper on Eve, which tokio has, too.
const SERVED: &[&str] = &["counting", "echoing"];

/// What tokio has besides.
const OF_TOKIO: &[&str] = &[
    "beside",
    "broadcast",
    "channel",
    "pipe",
    "shared",
    "stream",
    "watch",
];

/// Keys that make a workload tiny, and the values it reports beside the times.
fn tiny(workload: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match workload {
        "yield" | "barrier" => (&["fibres=3"], &[]),
        "spawn" => (&["batch=7"], &[]),
        "contend" => (
            &["threads=3", "locks=2", "held=5", "free=10"],
            &["cv", "jain"],
        ),
        "shared" => (
            &["threads=3", "locks=2", "held=5", "free=10", "writes=30"],
            &["cv", "jain"],
        ),
        "watch" => (&["followers=5", "senders=3"], &[]),
        "broadcast" => (&["followers=5"], &[]),
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
        "fib" => (&["n=12", "grain=8"], &[]),
        "echoing" | "counting" => (&["connections=3", "messages=5"], &[]),
        "table2" => (&["events=50"], THEFTS),
        "unbalanced" => (&["events=50"], STOLEN),
        "penalty" => (&["events=5"], MOVED),
        "cache_efficient" => (&["events=2"], MOVED),
        "ask" => (&[], LATENCIES),
        "beside" => (&["workers=2", "job_ms=5"], PINGS),
        "rest" => (&["actors=10"], &[]),
        "chat" => (
            &["users=30", "groups=2", "period_ms=50", "to_groups=30"],
            CHATTED,
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
        "pubsub" => &["publishers=3", "subscribers=10", "messages=5"],
        _ => &[],
    }
}

/// The values that programs over actors report.
fn run_ms(workload: &str) -> &'static [&'static str] {
    match (workload, tiny_actors(workload)) {
        (_, []) => &[],
        ("pubsub", _) => PUBLISHED,
        _ => &["run_ms"],
    }
}

/// The values of programs over coloured events.
const THEFTS: &[&str] = &["kev_per_s", "theft_ns", "thefts"];

/// The values of the one with events that begin on one processor.
const STOLEN: &[&str] = &["kev_per_s", "stolen_cycles", "theft_ns", "thefts"];

/// The values of those with events that should stay where they begin.
const MOVED: &[&str] = &["kev_per_s", "moved", "theft_ns", "thefts"];

/// Latencies, as values.
const LATENCIES: &[&str] = &[
    "max_us", "p50_us", "p90_us", "p9999_us", "p999_us", "p99_us",
];

/// The values of pings beside work that computes.
const PINGS: &[&str] = &["jobs_per_s", "max_us", "p50_us", "p99_us"];

/// The values of PUBSUB.
const PUBLISHED: &[&str] = &[
    "max_us", "p50_us", "p90_us", "p9999_us", "p999_us", "p99_us", "run_ms",
];

/// The values of the chat server.
const CHATTED: &[&str] = &[
    "blocked",
    "deliveries_per_s",
    "max_us",
    "p50_us",
    "p90_us",
    "p9999_us",
    "p999_us",
    "p99_us",
    "rss_bytes",
    "sent",
];

/// What a peer says, in place of a zero, of a contest without a turn.
const TOO_SHORT: &str = "not one iteration ended in time";

/// What a peer answers.
fn ask(path: &str, words: &[&str]) -> anyhow::Result<Output> {
    Ok(Command::new(path).args(words).output()?)
}

/// Runs one workload, perhaps in a variant, with more keys, and looks at its figures.
fn check_workload(
    path: &str,
    workload: &str,
    variant: Option<&str>,
    more: &[&str],
) -> anyhow::Result<()> {
    let (keys, values) = match (workload, variant) {
        ("ask", Some("semaphore")) => tiny("semaphore"),
        _ => tiny(workload),
    };
    let variant = variant.map(|name| format!("variant={name}"));
    let variant: Vec<&str> = variant.iter().map(String::as_str).collect();
    let run = |seconds| -> anyhow::Result<Option<(String, Sample)>> {
        let words = [&[workload, seconds], keys, &variant, more].concat();
        let output = ask(path, &words)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains(TOO_SHORT) {
            return Ok(None);
        }
        ensure!(output.status.success(), "{}: {errors}", output.status);
        let text = String::from_utf8(output.stdout)?;
        ensure!(text.lines().count() == 1, "not one line: {text}");
        let sample: Sample = serde_json::from_str(&text)?;
        Ok((sample.operations > 0).then_some((text, sample)))
    };
    // Others may have had the CPUs for so long.
    let ran = match run("seconds=0.01")? {
        None => run("seconds=3")?,
        ran => ran,
    };
    let (text, sample) = ran.context("no operations")?;
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
                check_workload(path, words[0], variant, &[processors])
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
fn a_board_that_is_too_large_is_refused() -> anyhow::Result<()> {
    let output = ask(env!("CARGO_BIN_EXE_peer-fibre"), &["nqn", "size=17"])?;
    assert_eq!(output.status.code(), Some(2));
    Ok(())
}

#[test]
fn fibre() -> anyhow::Result<()> {
    let own = [
        "barrier",
        "beside",
        "broadcast",
        "cache_efficient",
        "channel",
        "chat",
        "fib",
        "key",
        "migrate",
        "once",
        "penalty",
        "pipe",
        "rwlock",
        "shared",
        "stream",
        "table2",
        "unbalanced",
        "watch",
    ];
    check(
        env!("CARGO_BIN_EXE_peer-fibre"),
        &[COMMON, &own, ACTORS, SERVED].concat(),
    )
}

#[test]
fn may() -> anyhow::Result<()> {
    let workloads = [COMMON, &["channel", "stream"]].concat();
    check(env!("CARGO_BIN_EXE_peer-may"), &workloads)
}

#[test]
fn thread() -> anyhow::Result<()> {
    let workloads = [COMMON, &["channel", "pipe", "shared", "stream"]].concat();
    check(env!("CARGO_BIN_EXE_peer-thread"), &workloads)
}

#[test]
fn tokio() -> anyhow::Result<()> {
    let workloads = [COMMON, ACTORS, SERVED, OF_TOKIO].concat();
    check(env!("CARGO_BIN_EXE_peer-tokio"), &workloads)
}

#[test]
fn tokio_worker() -> anyhow::Result<()> {
    let workloads = [COMMON, ACTORS, SERVED, OF_TOKIO].concat();
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
fn rayon() -> anyhow::Result<()> {
    check(env!("CARGO_BIN_EXE_peer-rayon"), &["fib", "work"])
}

#[test]
fn flume() -> anyhow::Result<()> {
    check(
        env!("CARGO_BIN_EXE_peer-flume"),
        &["channel", "stream", "work"],
    )
}

/// A peer in another language, and what compiles it.
struct Foreign {
    name: &'static str,
    /// The programs that have to be installed.
    needs: &'static [&'static str],
    /// The words of the command that compiles it, in its directory, but for the program to make.
    compile: &'static [&'static str],
}

const GO: Foreign = Foreign {
    name: "go",
    needs: &["go"],
    compile: &["go", "build", "-o"],
};

const ERLANG: Foreign = Foreign {
    name: "erlang",
    needs: &["erl", "erlc"],
    compile: &["sh", "build.sh"],
};

const NODE: Foreign = Foreign {
    name: "node",
    needs: &["node"],
    compile: &["sh", "build.sh"],
};

impl Foreign {
    /// Its program, compiled once; `None` after a word about it where its compiler is missing.
    fn program(&self, once: &OnceLock<Option<PathBuf>>) -> Option<String> {
        let program = once.get_or_init(|| {
            if let Some(missing) = self.needs.iter().find(|tool| !is_installed(tool)) {
                eprintln!("skipped: {} needs `{missing}`", self.name);
                return None;
            }
            let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
            let program = directory.join(format!("peer-{}", self.name));
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
            let compiled = Command::new(self.compile[0])
                .args(&self.compile[1..])
                .arg(&program)
                .current_dir(source.join(self.name))
                .status();
            assert!(
                compiled.is_ok_and(|status| status.success()),
                "{} does not compile",
                self.name
            );
            Some(program)
        });
        let program = program.as_ref()?;
        Some(program.display().to_string())
    }
}

/// Whether a program is installed.
fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

/// Programs that tests share.
static COMPILED: [OnceLock<Option<PathBuf>>; 3] = [const { OnceLock::new() }; 3];

fn go_program() -> Option<String> {
    GO.program(&COMPILED[0])
}

fn erlang_program() -> Option<String> {
    ERLANG.program(&COMPILED[1])
}

fn node_program() -> Option<String> {
    NODE.program(&COMPILED[2])
}

/// The client of servers that are programs of their own.
const CLIENT: &str = env!("CARGO_BIN_EXE_peer-served");

/// Checks the servers of a program, and that it refuses what it does not understand.
fn check_served(program: &str) -> anyhow::Result<()> {
    let key = format!("program={program}");
    for processors in ["processors=1", "processors=2"] {
        check_workload(CLIENT, "echoing", None, &[&key, processors])?;
        for reads in ["reads=0", "reads=50", "reads=100"] {
            check_workload(CLIENT, "counting", None, &[&key, processors, reads])
                .with_context(|| format!("{program} {processors} {reads}"))?;
        }
    }
    let refused: [&[&str]; 3] = [
        &["no-such-workload"],
        &["served", "no-such-server"],
        &["served", "counting", "no-such-key=1"],
    ];
    for words in refused {
        let output = ask(program, words)?;
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    Ok(())
}

#[test]
fn go() -> anyhow::Result<()> {
    let Some(program) = go_program() else {
        return Ok(());
    };
    let workloads = [COMMON, &["channel", "fib", "pipe", "stream"]].concat();
    check(&program, &workloads)
}

#[test]
fn erlang() -> anyhow::Result<()> {
    let Some(program) = erlang_program() else {
        return Ok(());
    };
    check(&program, &["ask", "bang", "big", "logm", "pubsub", "rest"])
}

#[test]
fn go_serves() -> anyhow::Result<()> {
    go_program().map_or(Ok(()), |program| check_served(&program))
}

#[test]
fn erlang_serves() -> anyhow::Result<()> {
    erlang_program().map_or(Ok(()), |program| check_served(&program))
}

#[test]
fn node_serves() -> anyhow::Result<()> {
    node_program().map_or(Ok(()), |program| check_served(&program))
}

/// What the client says of a server that this script is.
fn served_by_script(name: &str, script: &str) -> anyhow::Result<(bool, String)> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&program, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let key = format!("program={}", program.display());
    let words = ["counting", "connections=3", "messages=5", "reads=0", &key];
    let output = ask(CLIENT, &words)?;
    let text = String::from_utf8(output.stderr)?;
    Ok((output.status.code() == Some(1), text))
}

#[test]
fn a_server_that_has_lost_an_increment_fails() -> anyhow::Result<()> {
    let programs = [go_program(), erlang_program(), node_program()];
    for program in programs.iter().flatten() {
        let script = format!("'{program}' \"$@\" | sed -u 's/^counter .*/counter 14/'");
        let (failed, text) = served_by_script("peer-forgetful", &script)?;
        assert!(failed, "{program}: {text}");
        assert!(
            text.contains("the counter is 14 after 15 increments"),
            "{program}: {text}"
        );
    }
    Ok(())
}

#[test]
fn a_server_that_does_not_speak_as_agreed_fails() -> anyhow::Result<()> {
    for (name, script, why) in [
        ("peer-silent", "exit 0", "the server has ended"),
        ("peer-babbling", "echo hello", "the server said `hello`"),
    ] {
        let (failed, text) = served_by_script(name, script)?;
        assert!(failed && text.contains(why), "{name}: {text}");
    }
    let nowhere = ask(CLIENT, &["echoing", "program=/nowhere/peer"])?;
    assert_eq!(nowhere.status.code(), Some(1));
    let untold = ask(CLIENT, &["echoing"])?;
    assert_eq!(untold.status.code(), Some(2));
    Ok(())
}
