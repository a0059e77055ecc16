//! `pollers`: the same server with each way to wait for descriptors, at low and
//! at high load.

use super::contest::{Contest, LIMIT};
use super::serve::Load;
use crate::plan::{Benchmark, Run};
use crate::report::OURS;
use crate::servers::ServerProgram;
use fibre::Poller;

pub(crate) const POLLERS: Benchmark = Benchmark {
    name: "pollers",
    about: "every poller: CPU time and latency of a keep-alive request, from 1 to 1000 connections",
    run,
};

/// Our server with each poller.
pub(crate) fn pollers(run: &Run) -> Vec<ServerProgram> {
    let ours = run.servers.iter().filter(|server| server.name == OURS);
    let variant = |server: &ServerProgram, poller: Poller| {
        let name = poller.to_string();
        server.variant(&name, "FIBRE_POLLER", &name)
    };
    ours.flat_map(|server| Poller::ALL.map(|poller| variant(server, poller)))
        .collect()
}

fn run(run: &mut Run) -> anyhow::Result<()> {
    let limit = run.servers.iter().find(|server| server.name == LIMIT);
    let among: Vec<ServerProgram> = limit.cloned().into_iter().chain(pollers(run)).collect();
    let load = Load::Requests { pipeline: 1 };
    let two_cores: &[usize] = if run.plan.is_full() {
        &[1, 8, 100, 1000]
    } else {
        &[8, 1000]
    };
    let places = [
        (1, run.plan.connections(&[1, 8, 100, 1000])),
        (2, super::on_two_cores(run, two_cores)),
    ];
    for (processors, counts) in places {
        for connections in counts {
            let contest = Contest {
                servers: among.clone(),
                is_traced: run.plan.is_full(),
                ..Contest::new(run, POLLERS.name, load, connections, processors)
            };
            contest.hold(run);
        }
    }
    run.report.picture(POLLERS.name);
    Ok(())
}
