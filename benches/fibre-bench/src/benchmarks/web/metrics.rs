//! `metrics`: whether Prometheus' own tool accepts what our server says of itself, and whether that
//! is true.
//!
//! `promtool check metrics` reads the text in the older format, which it knows, and the values are
//! compared with what the load generator counts and does. Without promtool this fails.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use comfy_table::Table;

use super::inside;
use crate::plan::{Benchmark, Run};
use crate::process::{LoadCommand, Mode, Server, installed};
use crate::report::{OURS, format};
use crate::servers::Duty;

pub(crate) const METRICS: Benchmark = Benchmark {
    name: "metrics",
    about: "whether promtool accepts the metrics of a server, and the load agrees; `all` leaves it out",
    run,
};

/// Connections of the load.
const CONNECTIONS: usize = 100;

/// Exchanges of each.
const EXCHANGES: u64 = 200;

/// The longest that they may take, in seconds.
const MAX_SECONDS: f64 = 60.0;

fn run(run: &mut Run) -> anyhow::Result<()> {
    ensure!(
        installed("promtool"),
        "promtool is not installed (Debian: prometheus)"
    );
    let ours = run.servers.iter().find(|one| one.name == OURS);
    let command = ours.and_then(|program| program.command(Duty::answering(1)));
    let mut command = command.context("our server is not here")?;
    let port = inside::free_port()?;
    command.env("FIBRE_METRICS", format!("127.0.0.1:{port}"));
    let server = Server::start(command, &run.cores.measured(1), None)?;
    let before = inside::metrics(port, "text/plain")?;
    accepts(&before)?;
    let load = LoadCommand::new(Mode::Http { pipeline: 1 }, CONNECTIONS, MAX_SECONDS)
        .exchanges(EXCHANGES)
        .pinned_to(&run.cores.load(1))
        .run(&server.address)?;
    ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    let after = inside::metrics(port, "text/plain")?;
    accepts(&after)?;
    let table = compare(&before, &after, load.requests)?;
    run.report
        .paragraph("promtool accepts the metrics, before the load and after it.");
    run.report.table(&table);
    Ok(())
}

/// Compares what the metrics say before and after the load with what the load has done.
fn compare(before: &str, after: &str, requests: f64) -> anyhow::Result<Table> {
    let grown = |name: &str| Ok::<f64, anyhow::Error>(sum(after, name)? - sum(before, name)?);
    let (spawned, started) = (
        grown("fibre_fibres_spawned_total")?,
        grown("fibre_fibres_started_total")?,
    );
    let all = sum(after, "fibre_fibres_spawned_total")?;
    let ended = sum(after, "fibre_fibres_ended_total")?;
    let alive = sum(after, "fibre_fibres")?;
    let switches = grown("fibre_switches_total")?;
    let connections = CONNECTIONS as f64;
    // A fibre waits at least once for a request, and seldom more than once for each.
    let most = requests + 4.0 * connections + 1000.0;
    let rows = [
        (
            "fibres spawned = connections",
            connections,
            spawned,
            spawned == connections,
        ),
        (
            "fibres begun = connections",
            connections,
            started,
            started == connections,
        ),
        (
            "fibres spawned = ended + living",
            all,
            ended + alive,
            all == ended + alive,
        ),
        (
            "switches ≥ connections",
            connections,
            switches,
            switches >= connections,
        ),
        (
            "switches ≤ requests, and some",
            most,
            switches,
            switches <= most,
        ),
    ];
    let mut table = format::table(&["what", "the load", "the metrics"], 1);
    for (what, expected, found, is_right) in rows {
        let [expected, found] = [expected, found].map(format::figure);
        ensure!(
            is_right,
            "{what}: the load has {expected}, and the metrics {found}"
        );
        table.add_row([what.to_owned(), expected, found]);
    }
    Ok(table)
}

/// Has promtool check a text.
fn accepts(text: &str) -> anyhow::Result<()> {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting promtool")?;
    let mut input = promtool.stdin.take().context("the input was not piped")?;
    input.write_all(text.as_bytes())?;
    drop(input);
    let output = promtool.wait_with_output()?;
    if !output.status.success() || !output.stderr.is_empty() || !output.stdout.is_empty() {
        let [out, error] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        bail!(
            "promtool does not accept the metrics: {}: {out}{error}",
            output.status
        );
    }
    Ok(())
}

/// The sum of a metric over all that it is told of.
fn sum(text: &str, name: &str) -> anyhow::Result<f64> {
    let is_its = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    let mut values = text.lines().filter(is_its).peekable();
    ensure!(values.peek().is_some(), "there is no metric {name}");
    let mut sum = 0.0;
    for line in values {
        let value = line.rsplit(' ').next().unwrap_or_default();
        sum += value.parse::<f64>().with_context(|| line.to_owned())?;
    }
    Ok(sum)
}
