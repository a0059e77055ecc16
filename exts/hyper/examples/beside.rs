//! What a request costs hyper on fibres, beside hyper on tokio: `http` and `http_tokio` take turns
//! under the same load.
//!
//! `cargo build --release --package fibre-hyper --examples`, and then
//! `cargo run --release --package fibre-hyper --example beside`. The load comes from `wrk`
//! (HTTP/1.1) and `h2load` (HTTP/2; Debian: nghttp2-client). It fails if a request does.

use anyhow::{Context, bail, ensure};
use clap::Parser;
use fibre_measure::format::{figure, ratio, table};
use fibre_measure::{CpuClock, Machine, Series};
use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The servers: what tables call them, and their programs.
const SERVERS: [(&str, &str); 2] = [("fibre", "http"), ("tokio", "http_tokio")];

/// Measures hyper on fibres beside hyper on tokio.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How often each server is measured
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Seconds of load each time
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// Connections
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// Processors, or worker threads, of a server
    #[arg(long, default_value_t = 1)]
    processors: usize,
}

/// What speaks which protocol.
#[derive(Clone, Copy)]
enum Load {
    /// HTTP/1.1, one request at a time on a connection.
    Wrk,
    /// HTTP/2, so many requests at a time on a connection.
    H2load(usize),
}

impl Load {
    /// What tables call it.
    fn name(self) -> String {
        match self {
            Self::Wrk => "HTTP/1.1, wrk".to_owned(),
            Self::H2load(streams) => format!("HTTP/2, h2load, {streams} streams"),
        }
    }

    /// Sends requests for a while. Returns how many were answered; all of them have to be.
    fn run(self, options: &Options, address: &str) -> anyhow::Result<u64> {
        let url = format!("http://{address}/");
        let Options {
            connections,
            seconds,
            ..
        } = options;
        let mut command = match self {
            Self::Wrk => Command::new("wrk"),
            Self::H2load(_) => Command::new("h2load"),
        };
        match self {
            Self::Wrk => {
                command.args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s")])
            }
            Self::H2load(streams) => command.args([
                "-t1",
                &format!("-c{connections}"),
                &format!("-m{streams}"),
                &format!("-D{seconds}"),
            ]),
        };
        let output = command.arg(url).output();
        let output = output.with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "the load failed: {text}");
        answered(self, &text).with_context(|| format!("the load says:\n{text}"))
    }
}

/// The number of answers that a generator has counted; an error if it speaks of failures.
fn answered(load: Load, text: &str) -> anyhow::Result<u64> {
    for line in text.lines().map(str::trim) {
        match load {
            Load::Wrk if line.starts_with("Socket errors:") || line.starts_with("Non-2xx") => {
                bail!("{line}");
            }
            Load::Wrk => {
                if let Some((count, _)) = line.split_once(" requests in ") {
                    return Ok(count.parse()?);
                }
            }
            Load::H2load(_) => {
                let Some(counts) = line.strip_prefix("requests: ") else {
                    continue;
                };
                // `N total, N started, N done, N succeeded, N failed, N errored, N timeout`
                let of = |what| {
                    let mut parts = counts.split(", ");
                    let count = parts.find_map(|part| part.strip_suffix(what));
                    count.and_then(|count| count.trim().parse::<u64>().ok())
                };
                for what in ["failed", "errored", "timeout"] {
                    ensure!(of(what) == Some(0), "{line}");
                }
                return of("succeeded").context("no request is said to have succeeded");
            }
        }
    }
    bail!("it tells no number of requests")
}

/// A server that runs until it is dropped.
struct Server {
    child: Child,
    /// Its standard input; it ends with that.
    input: Option<ChildStdin>,
    /// Its standard output; it has more to say there.
    output: BufReader<ChildStdout>,
    /// Where it listens.
    address: String,
}

impl Server {
    /// Starts the program of this name, which lies beside this one.
    fn start(program: &str, processors: usize) -> anyhow::Result<Self> {
        let path = env::current_exe()?.with_file_name(program);
        let mut child = Command::new(&path)
            .args(["--address", "127.0.0.1:0", "--processors"])
            .arg(processors.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}: build all examples", path.display()))?;
        let output = child.stdout.take().context("it has no output")?;
        let input = child.stdin.take();
        let mut server = Self {
            child,
            input,
            output: BufReader::new(output),
            address: String::new(),
        };
        let mut line = String::new();
        server.output.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on ");
        address
            .with_context(|| format!("{program} says {line:?}"))?
            .clone_into(&mut server.address);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The server's CPU time for each request, in microseconds.
fn measure(load: Load, options: &Options, program: &str) -> anyhow::Result<f64> {
    let server = Server::start(program, options.processors)?;
    let clock = CpuClock::of(server.child.id())?;
    let before = clock.read()?;
    let answered = load.run(options, &server.address)?;
    let spent = clock.read()? - before;
    Ok(spent.as_secs_f64() * 1e6 / answered as f64)
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    println!("{}\n", Machine::observe().place_and_day());
    let header = ["load", "server", "CPU µs a request", "least", "paired"];
    let mut rows = table(&header, 2);
    for load in [Load::Wrk, Load::H2load(1), Load::H2load(10)] {
        let mut readings = [Series::default(), Series::default()];
        for _ in 0..options.repetitions {
            for ((_, program), series) in SERVERS.iter().zip(&mut readings) {
                series.push(measure(load, &options, program)?);
            }
        }
        for ((name, _), series) in SERVERS.iter().zip(&readings) {
            rows.add_row([
                load.name(),
                (*name).to_owned(),
                figure(series.median()),
                figure(series.minimum()),
                ratio(series.paired(&readings[1]).median()),
            ]);
        }
    }
    println!("{rows}\n");
    println!(
        "{} connections, {} processors; medians of {} repetitions that take turns; paired: the median of the ratios to tokio \
         within each repetition.",
        options.connections, options.processors, options.repetitions
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_unless_one_has_failed() {
        let wrk = "Running 2s test @ http://127.0.0.1:1/\n  40000 requests in 2.00s, 5.0MB read\n";
        assert_eq!(answered(Load::Wrk, wrk).ok(), Some(40_000));
        let broken =
            "  Socket errors: connect 0, read 3, write 0, timeout 0\n  9 requests in 2.00s\n";
        assert!(answered(Load::Wrk, broken).is_err() && answered(Load::Wrk, "").is_err());
        let counts = |failed| {
            format!(
                "requests: 70 total, 80 started, 70 done, 70 succeeded, {failed} failed, 0 errored, 0 timeout\n"
            )
        };
        let h2load = |failed| answered(Load::H2load(1), &counts(failed));
        assert_eq!(h2load(0).ok(), Some(70));
        assert!(h2load(1).is_err() && answered(Load::H2load(1), "").is_err());
    }
}
