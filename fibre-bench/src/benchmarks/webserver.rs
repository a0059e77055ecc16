//! `webserver`: what a keep-alive request costs a server of one core.
//!
//! The server runs alone on one core and wrk on another. Measured is the CPU
//! time of the whole server process around a run of wrk, divided by the
//! requests wrk counted; throughput depends on how the load generator fares on
//! its core and is printed beside it. The limit is the bare epoll loop of the
//! same run.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::measure::Series;
use crate::plan::{self, Benchmark, Plan};
use crate::process::{self, Cores, Server, ServerCommand, wrk};
use crate::report::{self, Measurement, Report};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "webserver",
    about: "CPU time per keep-alive HTTP request, one server core, against a bare epoll loop",
    run,
};

/// Who the others are compared with.
const LIMIT: &str = "epoll";
/// Who has to reach a figure.
const OURS: &str = "fibre";
/// CPU time per request ours may take, as a multiple of the limit's.
const TO_REACH: f64 = 1.04;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 9;

/// A server and its readings at one connection count.
struct Row {
    name: String,
    command: ServerCommand,
    cpu_us: Series,
    requests_per_second: Series,
    p99_ms: Series,
}

fn run(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    wrk::require()?;
    process::prepare_servers()?;
    let cores = Cores::choose()?;
    let quick = [50];
    let counts = if plan.quick {
        &quick
    } else {
        plan.connections.as_slice()
    };
    for &connections in counts {
        let rows = measure_all(connections, plan, cores, report);
        print(&rows, connections, plan);
        add(rows, connections, report);
    }
    Ok(())
}

/// All repetitions at one connection count, the servers taking turns. A server
/// that fails is a fault and gets no further turn.
fn measure_all(connections: usize, plan: &Plan, cores: Cores, report: &mut Report) -> Vec<Row> {
    let mut rows = rows(plan);
    let repetitions = plan.repetitions(REPETITIONS);
    let bar = plan::progress(repetitions * rows.len());
    for _ in 0..repetitions {
        rows.retain_mut(|row| {
            bar.set_message(format!("{}, {connections} connections", row.name));
            bar.inc(1);
            let measured = measure(row, connections, plan, cores);
            let what = format!("{} at {connections} connections", row.name);
            match measured {
                Ok(ref errors) => errors
                    .iter()
                    .for_each(|error| report.fault(format!("{what}: {error}"))),
                Err(ref error) => report.fault(format!("{what}: {error:#}")),
            }
            measured.is_ok()
        });
    }
    bar.finish_and_clear();
    rows
}

/// A row without readings for each server.
fn rows(plan: &Plan) -> Vec<Row> {
    let row = |(name, command)| Row {
        name,
        command,
        cpu_us: Series::default(),
        requests_per_second: Series::default(),
        p99_ms: Series::default(),
    };
    plan.servers().into_iter().map(row).collect()
}

/// One repetition: a fresh server, so that no layout of memory favours one for
/// the whole run; a warm-up; a measured load. Returns the errors wrk saw.
fn measure(
    row: &mut Row,
    connections: usize,
    plan: &Plan,
    cores: Cores,
) -> anyhow::Result<Vec<String>> {
    let server = Server::start(&row.command, cores.measured)?;
    warm_up(&server.address, connections)?;
    let before = server.cpu.read()?;
    let load = wrk::run(
        &server.address,
        connections,
        plan.seconds(if plan.quick { 1.0 } else { 2.0 }),
        cores.load,
    )?;
    let cpu = server.cpu.read()? - before;
    row.cpu_us.push(cpu.as_secs_f64() * 1e6 / load.requests);
    row.requests_per_second.push(load.requests_per_second);
    row.p99_ms.push(load.p99_ms);
    Ok(load.errors)
}

/// Opens as many connections as the load will, with one request on each, so
/// that stacks, tables and socket buffers exist before the clock starts.
fn warm_up(address: &str, connections: usize) -> io::Result<()> {
    let open = |_| {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /plaintext HTTP/1.1\r\nHost: warm-up\r\n\r\n")?;
        Ok(stream)
    };
    let streams: io::Result<Vec<TcpStream>> = (0..connections).map(open).collect();
    for mut stream in streams? {
        if stream.read(&mut [0; 1024])? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Prints the table of one connection count.
fn print(rows: &[Row], connections: usize, plan: &Plan) {
    println!(
        "{connections} connections, {} repetitions; CPU µs per request; × limit is the ratio of \
         minima,\n× limit (paired) the median of the ratios within each repetition; both have to \
         reach:\n",
        plan.repetitions(REPETITIONS)
    );
    let mut table = report::table(
        &[
            "server",
            "minimum",
            "median",
            "spread",
            "× limit",
            "× limit (paired)",
            "to reach",
            "requests/s (median)",
            "p99 ms (median)",
        ],
        1,
    );
    let limit = rows.iter().find(|row| row.name == LIMIT);
    let limit = limit.map_or_else(Series::default, |row| row.cpu_us.clone());
    for row in rows {
        let cpu = &row.cpu_us;
        let ratio = cpu.minimum() / limit.minimum();
        let paired = cpu.paired(&limit).median();
        let compared = row.name == OURS && paired.is_finite();
        table.add_row([
            row.name.clone(),
            report::figure(cpu.minimum()),
            report::figure(cpu.median()),
            report::percent(cpu.spread()),
            report::ratio(ratio),
            report::ratio(paired),
            report::target(ratio.max(paired), compared.then_some(TO_REACH)),
            report::figure(row.requests_per_second.median()),
            report::figure(row.p99_ms.median()),
        ]);
    }
    println!("{table}\n");
}

/// Hands the readings to the report.
fn add(rows: Vec<Row>, connections: usize, report: &mut Report) {
    for row in rows {
        let metrics = [
            ("cpu per request", "µs", row.cpu_us),
            ("throughput", "requests/s", row.requests_per_second),
            ("latency p99", "ms", row.p99_ms),
        ];
        for (metric, unit, readings) in metrics {
            report.add(Measurement {
                benchmark: BENCHMARK.name,
                case: format!("{connections} connections"),
                subject: row.name.clone(),
                metric,
                unit,
                to_reach: None,
                readings,
            });
        }
    }
}
