//! Servers side by side: each is started, loaded and ended at every point, in turn.
//!
//! The server has its cores and the load has the others. Repetitions are interleaved: at each point all servers take
//! turns, and whoever began last time begins last, so that what changes on the machine falls on all alike. Each
//! run is a fresh server and a load in a process of its own.

mod contestant;
mod point;
mod readings;
mod results;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use fibre_measure::{Cores, Machine};
use indicatif::{ProgressBar, ProgressStyle};

use contestant::Contestant;
use point::{Point, Sizes};
use readings::{Length, Readings};
use results::{Results, Row};

/// What a run takes beside the time of the load: the server's start and end, and storing all keys.
const BESIDE: f64 = 0.7;

/// What to compare.
#[derive(Args)]
pub struct Compare {
    /// A server: a name for tables, and how it is started: words, the first of which may be `VARIABLE=VALUE`. Without `{port}` in it, the usual options are added. The first one is who the others are compared with
    #[arg(long = "server", value_name = "NAME=COMMAND", required = true)]
    servers: Vec<Contestant>,
    /// Where tables, plots and JSON go
    #[arg(long, default_value = "target/memcached-results")]
    output: PathBuf,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', default_value = "64,512,2048")]
    connections: Vec<u32>,
    /// Numbers of requests under way on a connection
    #[arg(long, value_delimiter = ',', default_value = "1,16")]
    pipelines: Vec<usize>,
    /// Repetitions of everything
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// Minutes that all may take; runs are as long as that allows
    #[arg(long, default_value_t = 14.0)]
    minutes: f64,
    /// Seconds that a run counts [default: from the minutes]
    #[arg(long)]
    seconds: Option<f64>,
    /// Idle connections to measure memory with; 0 leaves that out
    #[arg(long, default_value_t = 2000)]
    idle: u32,
    /// A few tiny runs: shows that it works, measures nothing
    #[arg(long)]
    quick: bool,
}

impl Compare {
    /// Measures everything, prints the summary and writes the rest.
    pub fn execute(&self) -> anyhow::Result<ExitCode> {
        let cores = Cores::observe()?;
        let sizes = self.sizes(&cores);
        let points = sizes.points();
        let mut results = Results {
            machine: Machine::observe(),
            servers: self.servers.clone(),
            length: self.length(points.len()),
            points: points.iter().map(|&point| self.row(point)).collect(),
            idle: Vec::new(),
            faults: Vec::new(),
        };
        self.measure(&mut results, &cores)?;
        self.measure_idle(&mut results, &cores);
        results.write_to(&self.output, &sizes.grid(), &sizes.figures())?;
        println!(
            "{}\n\nwritten to {}",
            results.summary(),
            self.output.display()
        );
        for fault in &results.faults {
            eprintln!("fault: {fault}");
        }
        Ok(if results.faults.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// What is asked for.
    fn sizes(&self, cores: &Cores) -> Sizes {
        if self.quick {
            return Sizes {
                connections: vec![8],
                pipelines: vec![1, 16],
                updates: vec![0.1],
                all_updates: vec![0.1, 0.5],
                cores: vec![1],
            };
        }
        Sizes {
            connections: self.connections.clone(),
            pipelines: self.pipelines.clone(),
            updates: vec![0.1, 0.5],
            all_updates: vec![0.0, 0.1, 0.25, 0.5],
            // The load needs as many as the server.
            cores: (1..=(cores.count() / 2).max(1)).collect(),
        }
    }

    /// No readings yet.
    fn row(&self, point: Point) -> Row {
        Row {
            point,
            readings: vec![Readings::default(); self.servers.len()],
        }
    }

    /// How many repetitions there are.
    fn repetitions(&self) -> usize {
        if self.quick {
            1
        } else {
            self.repetitions.max(1)
        }
    }

    /// How long a run may be.
    fn length(&self, points: usize) -> Length {
        if self.quick {
            return Length {
                seconds: 0.1,
                warm_up: 0.05,
            };
        }
        let runs = points * self.servers.len() * self.repetitions();
        let each = self.minutes * 60.0 / runs as f64 - BESIDE;
        let seconds = self.seconds.unwrap_or((each / 1.25).clamp(0.3, 10.0));
        // Hundredths read well.
        let round = |seconds: f64| (seconds * 100.0).round() / 100.0;
        Length {
            seconds: round(seconds),
            warm_up: round(seconds / 4.0),
        }
    }

    /// Measures all points, in as many rounds as there are repetitions.
    fn measure(&self, results: &mut Results, cores: &Cores) -> anyhow::Result<()> {
        let count = self.servers.len();
        let runs = self.repetitions() * results.points.len() * count;
        let bar = ProgressBar::new(runs as u64);
        bar.set_style(ProgressStyle::with_template(
            "{bar:30} {pos}/{len} {eta} {wide_msg}",
        )?);
        bar.enable_steady_tick(Duration::from_secs(1));
        let length = results.length;
        for round in 0..self.repetitions() {
            for row in &mut results.points {
                for turn in 0..count {
                    let index = (turn + round) % count;
                    let server = &self.servers[index];
                    bar.set_message(format!("{}: {}", server.name, row.point.words()));
                    let measured = row.readings[index].measure(server, &row.point, length, cores);
                    if let Err(error) = measured {
                        results.faults.push(format!(
                            "{}, {}: {error:#}",
                            server.name,
                            row.point.words()
                        ));
                    }
                    bar.inc(1);
                }
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Measures what idle connections cost.
    fn measure_idle(&self, results: &mut Results, cores: &Cores) {
        let connections = if self.quick {
            self.idle.min(50)
        } else {
            self.idle
        };
        for server in self.servers.iter().filter(|_| connections > 0) {
            let measured = readings::idle(server, connections, cores);
            results.idle.push(match measured {
                Ok(idle) => Some(idle),
                Err(error) => {
                    results
                        .faults
                        .push(format!("{}, idle: {error:#}", server.name));
                    None
                }
            });
        }
    }
}
