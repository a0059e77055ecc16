//! `textbook`: the two pthread programs that every textbook has, unchanged, on the system's threads
//! and on fibres.
//!
//! Producers and consumers of a bounded buffer; and an echo server with a thread for each
//! connection, under thousands of clients. Every message is looked at when it comes back; one that
//! does not is a fault.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fibre_measure::{Pinned as _, peak_resident};

use super::turns::{self, Row};
use crate::c::{BOTH, NEEDS};
use crate::plan::{Benchmark, Run};
use crate::process::{LoadCommand, Mode, output_within};
use crate::report::format::{self, figure};
use crate::servers::{Duty, ServerProgram};

pub(crate) const TEXTBOOK: Benchmark = Benchmark {
    name: "textbook",
    about: "textbook programs in C, unchanged: producers and consumers, a thread per connection with 10,000 clients",
    run,
};

/// Clients of the echo server, and what each sends.
const CLIENTS: usize = 10_000;
const MESSAGES: u64 = 20;
/// The same where it is only to be shown that it runs.
const QUICK: (usize, u64) = (1000, 5);
/// Bytes of a message.
const BYTES: usize = 16;
/// The longest that all messages may take, in seconds.
const MAX_SECONDS: f64 = 120.0;

/// Producers, consumers, and what each producer makes.
const BUFFER: [&str; 3] = ["40", "30", "5000"];
/// How many numbers that makes.
const NUMBERS: f64 = 200_000.0;

/// What is read of an echo server.
const METRICS: [&str; 5] = [
    "CPU µs/message",
    "messages/s",
    "p50 ms",
    "p99 ms",
    "peak memory, KiB/client",
];

fn run(run: &mut Run) -> anyhow::Result<()> {
    if let Some(missing) = BOTH.iter().find(|threads| !threads.installed()) {
        run.report
            .note(format!("textbook: {} needs {NEEDS}", missing.name()));
        return Ok(());
    }
    for processors in [1, 2] {
        buffer(run, processors)?;
    }
    for processors in [1, 2] {
        echo(run, processors)?;
    }
    Ok(())
}

/// Both builds of the producers and consumers, which have to print the same.
fn buffer(run: &mut Run, processors: usize) -> anyhow::Result<()> {
    let [producers, consumers, items] = BUFFER;
    let mut table = format::table(&["program", "ns for a number: best", "median"], 1);
    let mut times = BOTH.map(|_| fibre_measure::Series::default());
    let mut said = None;
    for _ in 0..run.plan.repetitions(5) {
        for (threads, series) in BOTH.into_iter().zip(&mut times) {
            let program = threads.example("producer_consumer")?.context(NEEDS)?;
            let mut command = Command::new(program);
            command
                .args(BUFFER)
                .stdin(Stdio::null())
                .env("FIBRE_PROCESSORS", processors.to_string())
                .pinned(&run.cores.measured(processors));
            let begun = Instant::now();
            let output = output_within(&mut command, Duration::from_secs(120))
                .with_context(|| format!("producers and consumers, {}", threads.name()))?;
            series.push(begun.elapsed().as_secs_f64() * 1e9 / NUMBERS);
            let before = said.get_or_insert_with(|| output.clone());
            ensure!(*before == output, "one printed {before}, one {output}");
        }
    }
    for (threads, series) in BOTH.iter().zip(&times) {
        table.add_row([
            threads.name().to_owned(),
            figure(series.minimum()),
            figure(series.median()),
        ]);
    }
    run.report.paragraph(&format!(
        "**Producers and consumers, {processors} processor(s)**: {producers} threads that put {items} numbers each into a \
         buffer for 16, {consumers} that take them; wall time of the whole program."
    ));
    run.report.table(&table);
    Ok(())
}

/// Both builds of the echo server under so many clients.
fn echo(run: &mut Run, processors: usize) -> anyhow::Result<()> {
    let (clients, messages) = match run.plan.connections.first() {
        Some(&clients) => (clients, MESSAGES),
        None if run.plan.is_quick() => QUICK,
        None => (CLIENTS, MESSAGES),
    };
    let mut servers = Vec::new();
    for threads in BOTH {
        let program = threads.example("echo_server")?.context(NEEDS)?;
        servers.push(ServerProgram::echoing(threads.name(), program));
    }
    let what = format!("textbook echo, {clients} clients, {processors} processor(s)");
    let repetitions = run.plan.fewer_repetitions(5);
    let rows = turns::take(run, (&what, &servers), repetitions, |run, server| {
        serve(run, server, processors, (clients, messages)).map(Some)
    });
    let mut header = vec!["program"];
    header.extend(METRICS);
    let mut table = format::table(&header, 1);
    for Row { server, readings } in rows {
        let cells = readings.iter().map(|series| figure(series.median()));
        table.add_row(std::iter::once(server).chain(cells));
    }
    run.report.paragraph(&format!(
        "**Echo server, {processors} processor(s)**: {clients} clients at a time, {messages} messages of {BYTES} bytes each, all \
         of which came back; medians of {repetitions} repetitions. Connections are made meanwhile, so latencies hold their \
         rush, too. Fibres run on as many kernel threads as there are processors."
    ));
    run.report.table(&table);
    Ok(())
}

/// One repetition.
fn serve(
    run: &Run,
    program: &ServerProgram,
    processors: usize,
    (clients, messages): (usize, u64),
) -> anyhow::Result<[f64; METRICS.len()]> {
    let duty = Duty {
        echo: true,
        ..Duty::answering(processors)
    };
    let server = run.start(program, duty)?.context("it cannot echo")?;
    let cores = run.cores.load(processors);
    let load = LoadCommand::new(Mode::Echo { bytes: BYTES }, clients, MAX_SECONDS)
        .exchanges(messages)
        .measuring(server.id())
        .pinned_to(&cores)
        .run(&server.address)?;
    ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    let expected = clients as f64 * messages as f64;
    ensure!(
        load.requests == expected,
        "{} of {expected} messages came back",
        load.requests
    );
    let peak = peak_resident(server.id())? as f64;
    Ok([
        load.server_cpu_us.context("no CPU time was read")?,
        load.requests_per_second,
        load.p50_ms,
        load.p99_ms,
        peak / 1024.0 / clients as f64,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_numbers_as_are_made() {
        let [producers, _, items] = BUFFER.map(|word| word.parse::<f64>().unwrap_or(0.0));
        assert_eq!(producers * items, NUMBERS);
    }
}
