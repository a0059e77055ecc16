//! Benchmarks of servers: what a request, a message, a short connection, an
//! idle connection cost, and how long a bad neighbour holds up the others.

mod beside;
mod calls;
mod contest;
mod delay;
mod files;
mod idle;
mod inside;
mod lines;
mod metrics;
mod pollers;
mod rows;
mod serve;
mod sfs;
mod stall;
mod sws;
mod syscalls;
mod textbook;
mod turns;

pub(crate) use serve::{Load, Served, Setting};

use contest::{Contest, LIMIT};

use crate::plan::{Benchmark, Run};
use crate::report::{Goal, OURS};

pub(crate) use delay::DELAY;
pub(crate) use files::HTTP_CACHE;
pub(crate) use idle::IDLE;
pub(crate) use inside::INSIDE;
pub(crate) use lines::LINES;
pub(crate) use metrics::METRICS;
pub(crate) use pollers::{POLLERS, pollers};
pub(crate) use sfs::SFS;
pub(crate) use stall::STALL;
pub(crate) use sws::SWS;
pub(crate) use syscalls::SYSCALLS;
pub(crate) use textbook::TEXTBOOK;

/// Keep-alive requests.
pub(crate) const WEBSERVER: Benchmark = Benchmark {
    name: "webserver",
    about: "CPU time per keep-alive HTTP request on one and two cores, against a bare epoll loop",
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
    about: "CPU time per connection that carries one HTTP request, on one and two cores",
    run: short,
};

/// Many requests in flight on one connection.
pub(crate) const PIPELINED: Benchmark = Benchmark {
    name: "pipelined",
    about: "CPU time per HTTP request, 16 in flight on each connection, on one and two cores",
    run: pipelined,
};

/// Seconds of load in a repetition of a case that has a bar: wrk counts whole ones.
const SECONDS: f64 = 1.0;
/// Seconds of load in a repetition of other cases.
const BRIEF_SECONDS: f64 = 0.5;

/// Connections of the echo with a fixed number of messages, and that number.
const COUNTED: (usize, u64) = (150, 10_000);
/// The number of messages where it is only to be shown that it runs.
const QUICK_MESSAGES: u64 = 20;

/// How tables of contests are read.
const LEGEND: &str = "\
× epoll is the ratio of minima, paired the median of the ratios within each repetition; both have to reach. Requests per \
second and latencies are medians of the repetitions. Latencies are those of a closed loop, which sends the next request \
when the last one is answered; they are not corrected for the requests it would have sent meanwhile. System calls are counted \
under strace in one further run. With two cores the load shares the second one where there are no more: then only the CPU \
time means much.";

fn webserver(run: &mut Run) -> anyhow::Result<()> {
    let keep_alive = if run.plan.is_quick() {
        Load::Requests { pipeline: 1 } // wrk runs for a second at least
    } else {
        Load::keep_alive()
    };
    run.report.paragraph(match keep_alive {
        Load::Wrk => {
            "Load by `wrk -t1` at 100 and 1000 connections on one core, else by our own generator."
        }
        _ => "Load by our own generator: wrk is not installed, or has no time.",
    });
    run.report.paragraph(LEGEND);
    for connections in run.plan.connections(&[1, 8, 100, 1000]) {
        let contest = if connections < 100 {
            Contest::new(
                run,
                WEBSERVER.name,
                Load::Requests { pipeline: 1 },
                connections,
                1,
            )
        } else {
            Contest {
                repetitions: run.plan.repetitions(9),
                cpu_goal: Some(Goal::times_of(LIMIT, 1.04)),
                p99_goal: Some(Goal::times_of(LIMIT, 1.0)),
                ..Contest::new(run, WEBSERVER.name, keep_alive, connections, 1)
            }
            .lasting(run.plan.seconds(SECONDS))
        };
        contest.hold(run);
    }
    for connections in on_two_cores(run, &[100, 1000]) {
        let load = Load::Requests { pipeline: 1 };
        Contest::new(run, WEBSERVER.name, load, connections, 2).hold(run);
    }
    run.report.picture(WEBSERVER.name);
    Ok(())
}

fn echo(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(LEGEND);
    for connections in run.plan.connections(&[100, 1000]) {
        let load = Load::Messages {
            bytes: 16,
            each: None,
        };
        let contest = Contest {
            repetitions: run.plan.repetitions(3),
            cpu_goal: Some(Goal::scaled(
                4.5,
                if connections <= 100 {
                    &[("epoll", 4.25), ("tokio", 4.40), ("go", 5.47)]
                } else {
                    &[("epoll", 4.50), ("tokio", 4.54), ("go", 5.40)]
                },
            )),
            ..Contest::new(run, ECHO.name, load, connections, 1)
        };
        contest.hold(run);
    }
    counted_echo(run);
    run.report.picture(ECHO.name);
    Ok(())
}

/// The echo with a fixed number of messages for each connection.
fn counted_echo(run: &mut Run) {
    let (connections, messages) = COUNTED;
    let each = if run.plan.is_quick() {
        QUICK_MESSAGES
    } else {
        messages
    };
    let load = Load::Messages {
        bytes: 16,
        each: Some(each),
    };
    let contest = Contest {
        case: format!("{connections} connections of {each} messages"),
        repetitions: run.plan.fewer_repetitions(3),
        cpu_goal: Some(Goal::scaled(
            4.5,
            &[("epoll", 4.25), ("tokio", 4.40), ("go", 5.47)],
        )),
        ..Contest::new(run, ECHO.name, load, connections, 1)
    };
    contest.hold(run);
}

fn short(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(LEGEND);
    for connections in run.plan.connections(&[100]) {
        Contest {
            cpu_goal: Some(Goal::figure(16.5)),
            ..Contest::new(run, SHORT.name, Load::Short, connections, 1)
        }
        .hold(run);
    }
    for connections in on_two_cores(run, &[100]) {
        Contest::new(run, SHORT.name, Load::Short, connections, 2).hold(run);
    }
    run.report.picture(SHORT.name);
    Ok(())
}

fn pipelined(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(LEGEND);
    let load = Load::Requests { pipeline: 16 };
    for connections in run.plan.connections(&[100, 1000]) {
        Contest::new(run, PIPELINED.name, load, connections, 1).hold(run);
    }
    for connections in on_two_cores(run, &[100]) {
        Contest::new(run, PIPELINED.name, load, connections, 2).hold(run);
    }
    run.report.picture(PIPELINED.name);
    Ok(())
}

/// Connection counts of the cases on two cores; none when quick.
fn on_two_cores(run: &Run, usual: &[usize]) -> Vec<usize> {
    if run.plan.is_quick() {
        Vec::new()
    } else {
        run.plan.connections(usual)
    }
}

impl Contest {
    /// A contest without goals.
    fn new(
        run: &Run,
        benchmark: &'static str,
        load: Load,
        connections: usize,
        processors: usize,
    ) -> Self {
        let cores = if processors > 1 { ", two cores" } else { "" };
        let plural = if connections == 1 { "" } else { "s" };
        Self {
            benchmark,
            case: format!("{connections} connection{plural}{cores}"),
            setting: Setting {
                load,
                connections,
                processors,
                seconds: run.plan.seconds(BRIEF_SECONDS),
            },
            repetitions: run.plan.fewer_repetitions(5),
            ours: OURS,
            servers: run.servers.clone(),
            is_traced: run.plan.is_full() || (!run.plan.is_quick() && processors == 1),
            cpu_goal: None,
            p99_goal: None,
        }
    }

    /// The same with so many seconds of load in a repetition.
    fn lasting(mut self, seconds: f64) -> Self {
        self.setting.seconds = seconds;
        self
    }
}
