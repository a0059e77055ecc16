//! Figure 4.4: who waits in the kernel for descriptors.

use super::visit::{Panels, Point, draw, most_server_cores};
use crate::benchmarks::{Load, pollers};
use crate::plan::Run;
use fibre_measure::plot::Axis;

/// Connections, as in the thesis.
const CONNECTIONS: usize = 2048;
/// Pipeline depths of the thesis, and those of a brief run.
const DEPTHS: &[usize] = &[1, 2, 4, 8, 16, 32];
const FEW_DEPTHS: &[usize] = &[1, 4, 16];

/// Throughput and latency of each poller over the pipeline depth.
pub(super) fn depth(run: &mut Run) -> anyhow::Result<()> {
    let processors = most_server_cores(run);
    let connections = run.plan.connections(&[CONNECTIONS])[0];
    run.report.paragraph(&format!(
        "The web server with each poller, {connections} connections, on {processors} of {} cores, which a poller thread shares \
         with the processors. (Thesis: Memcached on 16 cores.) The latency is that of all requests that one write sends. The \
         benchmark `pollers` has low loads beside high ones.",
        run.cores.count()
    ));
    let depths = if run.plan.is_full() {
        DEPTHS
    } else {
        FEW_DEPTHS
    };
    let programs = pollers(run);
    let mut points = Vec::new();
    for &pipeline in depths {
        let load = Load::Requests { pipeline };
        let place =
            |program| Point::new(run, program, pipeline as f64, load, connections, processors);
        points.extend(programs.iter().map(place));
    }
    let x = Axis::logarithmic("pipeline depth");
    let mut panels = Panels::new("4.4", "", &x).with_latencies("4.4", "", &x);
    panels.fill(run, &points);
    draw(run, "4.4", &[panels]);
    Ok(())
}
