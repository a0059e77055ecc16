//! Benchmarks of servers: what a request, a message, a short connection, an
//! idle connection cost, and how long a bad neighbour holds up the others.

mod contest;
mod delay;
mod idle;
mod serve;
mod syscalls;
mod turns;

pub(crate) use serve::{Load, Setting};

use contest::{Contest, LIMIT};

use crate::plan::{Benchmark, Run};
use crate::plot::{Dots, Plot, Row, Shape};
use crate::report::Goal;

pub(crate) use delay::DELAY;
pub(crate) use idle::IDLE;
pub(crate) use syscalls::SYSCALLS;

/// Keep-alive requests.
pub(crate) const WEBSERVER: Benchmark = Benchmark {
    name: "webserver",
    about: "CPU time per keep-alive HTTP request, one server core, against a bare epoll loop",
    run: webserver,
};

/// Messages that come back.
pub(crate) const ECHO: Benchmark = Benchmark {
    name: "echo",
    about: "CPU time per echoed message of 16 bytes, one server core",
    run: echo,
};

/// Connections that carry one request.
pub(crate) const SHORT: Benchmark = Benchmark {
    name: "short",
    about: "CPU time per connection that carries one HTTP request, one server core",
    run: short,
};

/// Many requests in flight on one connection.
pub(crate) const PIPELINED: Benchmark = Benchmark {
    name: "pipelined",
    about: "CPU time per HTTP request, 16 in flight on each connection, one server core",
    run: pipelined,
};

/// Seconds of load in a repetition: wrk counts whole ones.
const SECONDS: f64 = 1.0;

fn webserver(run: &mut Run) -> anyhow::Result<()> {
    let load = Setting::keep_alive();
    run.report.paragraph(&format!(
        "Load by {}; × epoll is the ratio of minima, paired the median of the ratios within each repetition; both have to \
         reach.",
        match load {
            Load::Wrk => "`wrk -t1`",
            _ => "our own generator (wrk is not installed)",
        }
    ));
    for connections in run.plan.connections(&[100, 1000]) {
        let contest = Contest {
            repetitions: 9,
            cpu_goal: Some(Goal::times_of(LIMIT, 1.04)),
            p99_goal: Some(Goal::times_of(LIMIT, 1.0)),
            ..Contest::new(WEBSERVER.name, load, connections)
        };
        contest.hold(run);
    }
    draw(run, WEBSERVER.name)
}

fn echo(run: &mut Run) -> anyhow::Result<()> {
    for connections in run.plan.connections(&[100, 1000]) {
        let contest = Contest {
            cpu_goal: Some(Goal::scaled(
                4.5,
                if connections <= 100 {
                    &[("epoll", 4.25), ("tokio", 4.40), ("go", 5.47)]
                } else {
                    &[("epoll", 4.50), ("tokio", 4.54), ("go", 5.40)]
                },
            )),
            ..Contest::new(ECHO.name, Load::Messages { bytes: 16 }, connections)
        };
        contest.hold(run);
    }
    draw(run, ECHO.name)
}

fn short(run: &mut Run) -> anyhow::Result<()> {
    for connections in run.plan.connections(&[100]) {
        let contest = Contest {
            cpu_goal: Some(Goal::figure(16.5)),
            ..Contest::new(SHORT.name, Load::Short, connections)
        };
        contest.hold(run);
    }
    draw(run, SHORT.name)
}

fn pipelined(run: &mut Run) -> anyhow::Result<()> {
    for connections in run.plan.connections(&[100]) {
        Contest::new(PIPELINED.name, Load::Requests { pipeline: 16 }, connections).hold(run);
    }
    draw(run, PIPELINED.name)
}

impl Contest {
    /// A contest on one server core without goals.
    fn new(benchmark: &'static str, load: Load, connections: usize) -> Self {
        Self {
            benchmark,
            case: format!("{connections} connections"),
            setting: Setting {
                load,
                connections,
                processors: 1,
                seconds: SECONDS,
            },
            repetitions: 5,
            cpu_goal: None,
            p99_goal: None,
        }
    }
}

/// Draws the CPU times of a benchmark.
fn draw(run: &mut Run, benchmark: &str) -> anyhow::Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for one in run.report.of(benchmark).filter(|one| one.unit == "µs") {
        let dot = (one.subject.clone(), one.figure());
        match rows.iter_mut().find(|row| row.name == one.case) {
            Some(row) => row.dots.push(dot),
            None => rows.push(Row {
                name: one.case.clone(),
                dots: vec![dot],
                bar: None,
            }),
        }
    }
    let dots = Dots {
        label: "CPU time per request, µs (minimum)".into(),
        rows,
    };
    let plot = Plot {
        title: benchmark.into(),
        shape: Shape::Dots(dots),
    };
    run.report.plot(benchmark, &plot)
}
