//! `inside`: what it costs to look inside of a web server, and how it bears it.
//!
//! The server with each part switched on takes turns with the server where all is off. Then it is
//! asked for dumps while it serves, and so are programs with many fibres that wait, and with all
//! processors hanging.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fibre_measure::{Pinned as _, Series};
use rustix::process::{Pid, Signal, kill_process};

use super::turns;
use crate::plan::{Benchmark, Run};
use crate::process::{LoadCommand, Mode, Server, programs};
use crate::report::format::{self, figure, percent, ratio};
use crate::report::{Better, Goal, Measurement, OURS, Read};
use crate::servers::{Duty, ServerProgram};

pub(crate) const INSIDE: Benchmark = Benchmark {
    name: "inside",
    about: "CPU time per request with each way to look inside switched on; dumps of a server under load",
    run,
};

/// How much dearer a request may be.
const MOST: f64 = 1.05;

/// The parts: a name, the variable that switches it on, and its value. A free port is put in for
/// `PORT`.
const PARTS: [(&str, &str, &str); 6] = [
    ("monitor", "FIBRE_MONITOR", "10ms"),
    ("deadlock", "FIBRE_DEADLOCK", "report"),
    ("metrics", "FIBRE_METRICS", "127.0.0.1:PORT"),
    ("stats", "FIBRE_STATS", "1"),
    ("schedtrace", "FIBRE_SCHEDTRACE", "1000"),
    // fibre-top reads its page; the variable says what holds anyway.
    (TOP, "FIBRE_QUIT", "dump"),
];

/// The part that is another program.
const TOP: &str = "top";

/// What the CPU time is called.
const CPU: &str = "CPU time";

/// How long a dump may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The last words of a dump.
const END: &str = "end of the dump of process";

/// Connections of the server that is asked for dumps.
const CONNECTIONS: usize = 10_000;

/// Fibres that wait where no load is.
const FIBRES: usize = 100_000;

/// Seconds that a dump of so many fibres may take.
const DUMP_SECONDS: f64 = 2.0;

/// Dumps of each program.
const DUMPS: usize = 3;

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(
        "Our server on one core, with each part switched on, beside itself with all of them off (`fibre`); the metrics are read \
         once a second, and `fibre-top` reads its page all the time. × off is the ratio of minima, paired the median of \
         the ratios within each repetition. A dump is timed from the signal to its last line in the file; a look is \
         what the dump itself says of the time for which it looked at the fibres.",
    );
    for connections in run.plan.connections(&[100]) {
        costs(run, connections);
    }
    dumps(run)
}

/// Measures all parts, and adds the table.
fn costs(run: &mut Run, connections: usize) {
    let Some(off) = run.servers.iter().find(|one| one.name == OURS).cloned() else {
        return;
    };
    let part = |(name, variable, value): (&str, &str, &str)| off.variant(name, variable, value);
    let servers: Vec<_> = std::iter::once(off.clone())
        .chain(PARTS.map(part))
        .collect();
    let seconds = run.plan.seconds(1.0);
    let repetitions = run.plan.repetitions(9);
    let case = format!("{connections} connections");
    let what = format!("inside {case}");
    let rows = turns::take(run, (&what, &servers), repetitions, |run, program| {
        let served = serve(run, program, connections, seconds)?;
        Ok(Some([served]))
    });
    let base = rows.iter().find(|row| row.server == OURS);
    let base = base.map(|row| row.readings[0].clone());
    let mut table = format::table(&COSTS, 1);
    for row in rows {
        let [readings] = row.readings;
        let cells = cost(run, &case, (row.server, readings), base.as_ref());
        table.add_row(cells);
    }
    run.report.paragraph(&format!("**{case}**"));
    run.report.table(&table);
}

/// The columns of the table of costs.
const COSTS: [&str; 7] = [
    "on",
    "CPU µs/request: minimum",
    "median",
    "spread",
    "× off",
    "paired",
    "to reach",
];

/// Hands what a request costs with a part switched on to the report; returns its row.
fn cost(
    run: &mut Run,
    case: &str,
    (part, readings): (String, Series),
    off: Option<&Series>,
) -> [String; COSTS.len()] {
    let measurement = Measurement {
        benchmark: INSIDE.name,
        case: case.to_owned(),
        goal: (part != OURS).then(|| Goal::times_of(OURS, MOST)),
        subject: part.clone(),
        metric: CPU,
        unit: "µs",
        better: Better::Lower,
        read: Read::Best,
        readings: readings.clone(),
    };
    let minima = off.map_or(f64::NAN, |off| readings.minimum() / off.minimum());
    let paired = off.map_or(f64::NAN, |off| readings.paired(off).median());
    let verdict = run.report.verdict_in_words(&measurement);
    run.report.add(measurement);
    [
        part,
        figure(readings.minimum()),
        figure(readings.median()),
        percent(readings.spread()),
        ratio(minima),
        ratio(paired),
        verdict,
    ]
}

/// The CPU time of a server for one request, in microseconds.
fn serve(
    run: &Run,
    program: &ServerProgram,
    connections: usize,
    seconds: f64,
) -> anyhow::Result<f64> {
    let part = program.name.rsplit_once(", ").map_or("", |(_, part)| part);
    let command = program.command(Duty::answering(1));
    let mut command = command.context("our server answers requests")?;
    let port = free_port()?;
    for (_, variable, value) in PARTS.iter().filter(|(name, ..)| *name == part) {
        command.env(variable, value.replace("PORT", &port.to_string()));
    }
    command.stderr(Stdio::null());
    let server = Server::start(command, &run.cores.measured(1), None)?;
    let cores = run.cores.load(1);
    let reader = match part {
        TOP => Some(Reader::top(server.id(), &cores)?),
        "metrics" => Some(Reader::of_metrics(port)),
        _ => None,
    };
    let load = LoadCommand::new(Mode::Http { pipeline: 1 }, connections, seconds)
        .warm_up(seconds.min(0.2))
        .measuring(server.id())
        .pinned_to(&cores)
        .run(&server.address)?;
    ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    if let Some(reader) = reader {
        reader.end()?;
    }
    load.server_cpu_us.context("no CPU time was read")
}

/// A port that nobody listens on.
pub(super) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// What reads of a server while it serves.
enum Reader {
    /// The program `fibre-top`.
    Top(Child),
    /// A thread that asks for the metrics.
    Metrics(Arc<AtomicBool>, JoinHandle<anyhow::Result<usize>>),
}

impl Reader {
    /// Starts `fibre-top`.
    fn top(process: u32, cores: &[usize]) -> anyhow::Result<Self> {
        let mut top = Command::new(programs::ours("fibre-top")?);
        top.args(["--json", &process.to_string()])
            .stdout(Stdio::null());
        Ok(Self::Top(
            top.pinned(cores).spawn().context("starting fibre-top")?,
        ))
    }

    /// Asks for the metrics once a second.
    fn of_metrics(port: u16) -> Self {
        let goes_on = Arc::new(AtomicBool::new(true));
        let asks = Arc::clone(&goes_on);
        let asking = thread::spawn(move || {
            let mut count = 0;
            while asks.load(Ordering::Relaxed) {
                ensure!(
                    metrics(port, "*/*")?.contains("# EOF"),
                    "the metrics are cut off"
                );
                count += 1;
                thread::park_timeout(Duration::from_secs(1));
            }
            Ok(count)
        });
        Self::Metrics(goes_on, asking)
    }

    /// Ends it, and says whether it has read.
    fn end(self) -> anyhow::Result<()> {
        match self {
            Self::Top(mut child) => {
                ensure!(child.try_wait()?.is_none(), "fibre-top has ended by itself");
                child.kill()?;
                child.wait()?;
            }
            Self::Metrics(goes_on, asking) => {
                goes_on.store(false, Ordering::Relaxed);
                asking.thread().unpark();
                let count = asking.join().unwrap_or_else(|_| Ok(0))?;
                ensure!(count > 0, "no metrics were read");
            }
        }
        Ok(())
    }
}

/// The metrics that are served at a port, in a form that is accepted.
pub(super) fn metrics(port: u16, accept: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let accept = format!("Accept: {accept}\r\n");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{accept}\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    ensure!(head.starts_with("HTTP/1.1 200 "), "{head}");
    Ok(body.to_owned())
}

/// Asks for dumps, and adds their table.
fn dumps(run: &mut Run) -> anyhow::Result<()> {
    let quick = run.plan.is_quick();
    let (connections, fibres) = if quick {
        (50, 500)
    } else {
        (CONNECTIONS, FIBRES)
    };
    let connections = connections.min(programs::most_connections());
    let header = [
        "dump of",
        "ms: longest",
        "median",
        "look ms",
        "KiB",
        "groups",
        "fibres",
        "to reach",
    ];
    let mut table = format::table(&header, 1);
    let cases = [
        (
            format!("a server with {connections} connections, under load"),
            None,
        ),
        (format!("{fibres} fibres that wait"), Some((fibres, false))),
        (
            format!("{fibres} fibres, and all processors hang"),
            Some((fibres, true)),
        ),
    ];
    for (case, parked) in cases {
        let asked = match parked {
            None => of_server(run, connections),
            Some((fibres, hang)) => of_parked(run, fibres, hang),
        };
        match asked {
            Ok(asked) => table.add_row(asked.row(&case, run)),
            Err(error) => {
                run.report.fault(format!("{case}: {error:#}"));
                continue;
            }
        };
    }
    run.report.paragraph("**kill -QUIT**");
    run.report.table(&table);
    Ok(())
}

/// The dumps of a program.
#[derive(Default)]
struct Asked {
    /// From the signal to the last line, in milliseconds.
    took: Series,
    /// How long the fibres were looked at, in milliseconds.
    looked: Series,
    /// The size of the last one, in bytes.
    size: usize,
    /// Its groups, and fibres that are reported in them.
    groups: usize,
    /// The fibres that the clusters have.
    fibres: u64,
}

impl Asked {
    /// Asks a process, which writes to this file.
    fn ask(&mut self, server: &Server, file: &PathBuf) -> anyhow::Result<()> {
        fs::write(file, "")?;
        let begun = Instant::now();
        let process = Pid::from_raw(server.id().cast_signed()).context("a process")?;
        kill_process(process, Signal::QUIT)?;
        let text = loop {
            let text = fs::read_to_string(file)?;
            if text.contains(END) {
                break text;
            }
            ensure!(
                begun.elapsed() < PATIENCE,
                "there is no dump after {PATIENCE:?}"
            );
            thread::sleep(Duration::from_millis(1));
        };
        self.took.push(begun.elapsed().as_secs_f64() * 1e3);
        let number = |before: &str, after: &str| -> Option<f64> {
            let rest = &text[text.find(before)? + before.len()..];
            rest[..rest.find(after)?].parse().ok()
        };
        self.looked
            .push(number(" UTC, in ", " ms").context("a dump without a head")?);
        // One fibre, or several fibres.
        self.fibres = number("\": ", " fibre").context("a dump without a cluster")? as u64;
        self.size = text.len();
        // A paragraph each, but for the head and the last line.
        self.groups = text.split("\n\n").count().saturating_sub(2);
        Ok(())
    }

    /// The row of the table; hands the readings to the report.
    fn row(self, case: &str, run: &mut Run) -> Vec<String> {
        let measurement = Measurement {
            benchmark: INSIDE.name,
            case: case.to_owned(),
            subject: OURS.to_owned(),
            metric: "dump",
            unit: "ms",
            better: Better::Lower,
            read: Read::Worst,
            goal: Some(Goal::figure(DUMP_SECONDS * 1e3)),
            readings: self.took.clone(),
        };
        let row = vec![
            case.to_owned(),
            figure(self.took.maximum()),
            figure(self.took.median()),
            figure(self.looked.median()),
            figure(self.size as f64 / 1024.0),
            self.groups.to_string(),
            self.fibres.to_string(),
            run.report.verdict_in_words(&measurement),
        ];
        run.report.add(measurement);
        row
    }
}

/// Where a program writes its dumps.
fn dump_file() -> PathBuf {
    std::env::temp_dir().join(format!("fibre-bench-{}.dump", std::process::id()))
}

/// Dumps of our server, which serves all the time and loses no connection.
fn of_server(run: &Run, connections: usize) -> anyhow::Result<Asked> {
    let ours = run.servers.iter().find(|one| one.name == OURS);
    let command = ours.and_then(|program| program.command(Duty::answering(1)));
    let mut command = command.context("our server is not here")?;
    let file = dump_file();
    command.env("FIBRE_DUMP", &file).env("FIBRE_QUIT", "dump");
    let server = Server::start(command, &run.cores.measured(1), None)?;
    let seconds = if run.plan.is_quick() { 4.0 } else { 8.0 };
    let load = LoadCommand::new(Mode::Http { pipeline: 1 }, connections, seconds);
    let load = load.pinned_to(&run.cores.load(1));
    let address = server.address.clone();
    let loading = thread::spawn(move || load.run(&address));
    let mut asked = Asked::default();
    // All connections are open when the server has as many fibres, and its acceptor.
    let begun = Instant::now();
    while asked.fibres <= connections as u64 {
        ensure!(begun.elapsed() < PATIENCE, "only {} fibres", asked.fibres);
        asked = Asked::default();
        asked.ask(&server, &file)?;
    }
    for _ in 1..DUMPS {
        asked.ask(&server, &file)?;
    }
    let is_under_load = !loading.is_finished();
    let load = loading
        .join()
        .unwrap_or_else(|_| anyhow::bail!("the load has panicked"))?;
    fs::remove_file(&file)?;
    ensure!(is_under_load, "the load was over before the last dump");
    ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    ensure!(load.requests > 0.0, "nothing was served");
    Ok(asked)
}

/// Dumps of a program with so many fibres that wait, and perhaps with all processors hanging.
fn of_parked(run: &Run, fibres: usize, hang: bool) -> anyhow::Result<Asked> {
    let mut command = Command::new(programs::ours("parked")?);
    let file = dump_file();
    command.args(["--fibres", &fibres.to_string(), "--processors", "2"]);
    command.args(hang.then_some("--hang"));
    command.env("FIBRE_DUMP", &file).env("FIBRE_QUIT", "dump");
    let server = Server::start(command, &run.cores.measured(2), None)?;
    let mut asked = Asked::default();
    for _ in 0..DUMPS {
        asked.ask(&server, &file)?;
    }
    fs::remove_file(&file)?;
    ensure!(
        asked.fibres >= fibres as u64,
        "only {} fibres",
        asked.fibres
    );
    Ok(asked)
}
