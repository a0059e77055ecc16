//! flume: kernel threads with its channels.

use super::protocol::Workload;
use super::thread::Thread;
use super::wires::{FlumeWire, WireLine};
use super::workloads::{pingpong, stream, unit};

/// What this peer is measured with.
pub fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("channel", pingpong::lines::<Thread, WireLine<FlumeWire>>),
        Workload::new("stream", stream::blocking::<Thread, FlumeWire>),
        Workload::new("work", unit::plain),
    ]
}
