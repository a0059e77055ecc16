//! Servers side by side: each is started, loaded and ended at every point, in turn.
//!
//! The server has its cores and the load has the others. Repetitions are interleaved: at each point
//! all servers take turns, and whoever began last time begins last, so that what changes on the
//! machine falls on all alike. Each run is a fresh server and a load in a process of its own. After
//! every repetition what there is so far is written.

mod contestant;
mod document;
mod plots;
mod point;
mod readings;
mod results;
mod scorecard;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args;
use fibre_measure::{Cores, Machine};
use indicatif::{ProgressBar, ProgressStyle};

use contestant::{Contestant, Variant};
use point::{Figure, Point, Sizes};
use readings::{Length, Readings, Run, Tiny};
use results::{Results, Row};

/// Seconds of load of the runs that show what a run takes beside.
const TRIAL: f64 = 0.4;

/// Seconds that the measurement of idle connections takes.
const IDLE: f64 = 3.0;

/// What to compare.
#[derive(Args)]
pub(crate) struct Compare {
    /// A server: a name for tables, and how it is started: words; the first ones may be
    /// `VARIABLE=VALUE`. Without `{port}` in it, the usual options are added. The first one is who
    /// the others are compared with
    #[arg(
        long = "server",
        value_name = "NAME=COMMAND",
        required_unless_present = "from"
    )]
    servers: Vec<Contestant>,
    /// Variables that the server called `fibre` is measured under once more, at a few points
    #[arg(long = "variant", value_name = "NAME=VARIABLE=VALUE", default_values = VARIANTS)]
    variants: Vec<Variant>,
    /// Measure no variants
    #[arg(long)]
    no_variants: bool,
    /// Where tables, plots and JSON go
    #[arg(long, default_value = "target/memcached-results")]
    output: PathBuf,
    /// Measure nothing: write again what an earlier run with the same options has kept in its
    /// `results.json`
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
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

/// The variants of the thesis that make a difference with a core for the server.
const VARIANTS: [&str; 4] = [
    "poller fibre=FIBRE_POLLER=fibre",
    "poller thread=FIBRE_POLLER=thread-loop",
    "yield before read=FIBRE_YIELD_BEFORE_READ=1",
    "locked queue=FIBRE_QUEUE=locked",
];

impl Compare {
    /// Measures everything, prints the summary and writes the rest.
    pub(crate) fn execute(&self) -> anyhow::Result<ExitCode> {
        let cores = Cores::observe()?;
        let (results, sizes) = match &self.from {
            Some(file) => self.read(file, &cores)?,
            None => self.observe(&cores)?,
        };
        document::write(&results, &self.output, &sizes.grid(), &sizes.figures())?;
        println!(
            "{}\n\nwritten: {}",
            scorecard::overview(&results),
            self.output.join("report.md").display()
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

    /// Measures everything.
    fn observe(&self, cores: &Cores) -> anyhow::Result<(Results, Sizes)> {
        let servers = self.contestants();
        let sizes = self.sizes(cores, servers.iter().any(|server| server.is_variant));
        let (grid, figures) = (sizes.grid(), sizes.figures());
        let length = self.length(self.runs(&sizes, &servers), || self.beside(&grid, cores))?;
        let mut results = Results {
            machine: Machine::observe(),
            cores: cores.count(),
            length,
            repetitions: self.repetitions(),
            points: sizes
                .points()
                .into_iter()
                .map(|point| row(point, servers.len()))
                .collect(),
            servers,
            idle: Vec::new(),
            faults: Vec::new(),
        };
        self.measure(&mut results, cores, &sizes, &figures)?;
        self.measure_idle(&mut results, cores);
        Ok((results, sizes))
    }

    /// Reads what has been measured before.
    fn read(&self, file: &Path, cores: &Cores) -> anyhow::Result<(Results, Sizes)> {
        let reading = || format!("reading {}", file.display());
        let text = fs::read_to_string(file).with_context(reading)?;
        let results: Results = serde_json::from_str(&text).with_context(reading)?;
        let sizes = self.sizes(
            cores,
            results.servers.iter().any(|server| server.is_variant),
        );
        let missing = sizes
            .points()
            .into_iter()
            .find(|point| results.row(point).is_none());
        if let Some(point) = missing {
            bail!("{}: {} was not measured", file.display(), point.words());
        }
        Ok((results, sizes))
    }

    /// Everybody who is measured: the servers, then the variants.
    fn contestants(&self) -> Vec<Contestant> {
        let mut servers = self.servers.clone();
        let fibre = servers.iter().find(|server| server.name == "fibre");
        if let (Some(fibre), false) = (fibre, self.no_variants) {
            let variants: Vec<_> = self
                .variants
                .iter()
                .map(|variant| fibre.under(variant))
                .collect();
            servers.extend(variants);
        }
        servers
    }

    /// What is asked for.
    fn sizes(&self, cores: &Cores, variants: bool) -> Sizes {
        if self.quick {
            return Sizes {
                connections: vec![8],
                pipelines: vec![4],
                updates: vec![0.1],
                all_updates: vec![0.1],
                cores: vec![1],
                variants,
            };
        }
        Sizes {
            connections: self.connections.clone(),
            pipelines: self.pipelines.clone(),
            updates: vec![0.1, 0.5],
            all_updates: vec![0.0, 0.1, 0.25, 0.5],
            // The load needs as many as the server; where there are only two, they share one in the
            // end.
            cores: (1..=(cores.count() / 2).max(2).min(cores.count())).collect(),
            variants,
        }
    }

    /// How many runs a repetition has.
    fn runs(&self, sizes: &Sizes, servers: &[Contestant]) -> usize {
        let variants = servers.iter().filter(|server| server.is_variant).count();
        sizes.points().len() * (servers.len() - variants) + sizes.with_variants().len() * variants
    }

    /// How many repetitions there are.
    fn repetitions(&self) -> usize {
        if self.quick {
            1
        } else {
            self.repetitions.max(1)
        }
    }

    /// What a run takes beside the load, in seconds: the server's start and end, and storing all
    /// keys. Tries each server once, so that one who cannot be measured at all is known at once.
    fn beside(&self, grid: &[Point], cores: &Cores) -> anyhow::Result<f64> {
        let point = *grid.first().context("there is no point to measure at")?;
        let mut sum = 0.0;
        for contestant in &self.servers {
            let trial = Run {
                contestant,
                point,
                rate: None,
                length: Length {
                    seconds: 0.75 * TRIAL,
                    warm_up: 0.25 * TRIAL,
                    tiny: None,
                },
                cores,
            };
            let started = Instant::now();
            let measured = Readings::default().measure(&trial);
            measured.with_context(|| format!("trying {}", contestant.name))?;
            sum += started.elapsed().as_secs_f64() - TRIAL;
        }
        Ok(sum / self.servers.len() as f64)
    }

    /// How long a run may be, if a repetition has so many, and each takes so many seconds beside.
    fn length(
        &self,
        runs: usize,
        beside: impl FnOnce() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Length> {
        if self.quick {
            return Ok(Length {
                seconds: 60.0,
                warm_up: 0.0,
                tiny: Some(Tiny {
                    keys: 200,
                    requests: 300,
                }),
            });
        }
        let seconds = if let Some(seconds) = self.seconds {
            seconds
        } else {
            let time = self.minutes * 60.0 - IDLE * self.servers.len() as f64;
            let each = time / (runs * self.repetitions()) as f64 - beside()?;
            (each / 1.25).clamp(0.3, 10.0)
        };
        // Hundredths read well.
        let round = |seconds: f64| (seconds * 100.0).round() / 100.0;
        Ok(Length {
            seconds: round(seconds),
            warm_up: round(seconds / 4.0),
            tiny: None,
        })
    }

    /// Measures all points, in as many rounds as there are repetitions.
    fn measure(
        &self,
        results: &mut Results,
        cores: &Cores,
        sizes: &Sizes,
        figures: &[Figure],
    ) -> anyhow::Result<()> {
        let with_variants = sizes.with_variants();
        let runs = self.runs(sizes, &results.servers) * self.repetitions();
        let bar = progress(runs as u64)?;
        for round in 0..self.repetitions() {
            for place in 0..results.points.len() {
                let point = results.points[place].point;
                let among = |index: &usize| {
                    !results.servers[*index].is_variant || with_variants.contains(&point)
                };
                let mut turns: Vec<usize> = (0..results.servers.len()).filter(among).collect();
                let count = turns.len();
                turns.rotate_left(round % count);
                for index in turns {
                    bar.set_message(format!(
                        "{}: {}",
                        results.servers[index].name,
                        point.words()
                    ));
                    if let Err(error) = measure_one(results, place, index, cores) {
                        let fault = format!(
                            "{}, {}: {error:#}",
                            results.servers[index].name,
                            point.words()
                        );
                        bar.println(format!("fault: {fault}"));
                        results.faults.push(fault);
                    }
                    bar.inc(1);
                }
            }
            document::write(results, &self.output, &sizes.grid(), figures)?;
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

/// No readings yet.
fn row(point: Point, servers: usize) -> Row {
    Row {
        point,
        rate: None,
        readings: vec![Readings::default(); servers],
    }
}

/// Measures one server at one point once more.
fn measure_one(
    results: &mut Results,
    place: usize,
    index: usize,
    cores: &Cores,
) -> anyhow::Result<()> {
    let Row { point, rate, .. } = results.points[place];
    let rate = match (point.share, rate) {
        (Some(share), None) => {
            let closed = results.row(&point.closed());
            let most = closed.and_then(|row| row.readings.first());
            let most = most.map_or(f64::NAN, |first| first.throughput.median());
            let rate = Some((most * share).round()).filter(|rate| *rate > 0.0);
            Some(rate.context("the rate is not known, since the first server was not measured")?)
        }
        (_, rate) => rate,
    };
    let row = &mut results.points[place];
    row.rate = rate;
    row.readings[index].measure(&Run {
        contestant: &results.servers[index],
        point,
        rate,
        length: results.length,
        cores,
    })
}

/// A bar over so many runs that says how long the others will take; on a terminal only.
fn progress(runs: u64) -> anyhow::Result<ProgressBar> {
    let template = "{bar:30} {pos}/{len} (about {eta} left) {wide_msg}";
    let bar = ProgressBar::new(runs).with_style(ProgressStyle::with_template(template)?);
    bar.enable_steady_tick(Duration::from_secs(1));
    Ok(bar)
}
