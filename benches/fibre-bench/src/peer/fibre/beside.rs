//! `beside` with fibres: the ways that a program of ours may compute in.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use ::fibre::net::TcpListener;
use ::fibre::{Cluster, JoinHandle};

use crate::measure::Sample;
use crate::peer::workloads::beside::{Told, Work, pings};

/// Workers that compute where the connection is served.
pub(super) fn plain(told: Told) -> anyhow::Result<Sample> {
    measure(told, |work| {
        ::fibre::spawn(move || {
            while work.goes_on() {
                work.job();
                ::fibre::yield_now();
            }
        })
    })
}

/// Workers that hand their jobs to the threads for calls which block.
pub(super) fn blocking(told: Told) -> anyhow::Result<Sample> {
    measure(told, |work| {
        ::fibre::spawn(move || {
            while work.goes_on() {
                ::fibre::blocking(|| work.job());
            }
        })
    })
}

/// Workers that hand their jobs to the cluster for work.
pub(super) fn compute(told: Told) -> anyhow::Result<Sample> {
    measure(told, |work| {
        ::fibre::spawn(move || {
            while work.goes_on() {
                ::fibre::compute(|| work.job());
            }
        })
    })
}

/// Workers in a second cluster, with as many processors as the first.
pub(super) fn cluster(told: Told) -> anyhow::Result<Sample> {
    let second = Cluster::builder().processors(told.processors).build()?;
    let spawner = second.clone();
    let sample = measure(told, move |work| {
        spawner.spawn(move || {
            while work.goes_on() {
                work.job();
                ::fibre::yield_now();
            }
        })
    });
    second.stop();
    sample
}

/// Serves the connection, and has `spawn` start each worker, in a cluster.
fn measure(
    told: Told,
    spawn: impl Fn(Arc<Work>) -> JoinHandle<()> + Send + 'static,
) -> anyhow::Result<Sample> {
    let cluster = Cluster::builder().processors(told.processors).build()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = cluster.spawn(move || -> std::io::Result<()> {
        let mut connection = listener.accept()?.0;
        let mut byte = [0];
        while connection.read(&mut byte)? > 0 {
            connection.write_all(&byte)?;
        }
        Ok(())
    });
    let work = Work::new(told)?;
    let sample = pings(told, address, &work, || {
        let workers = Arc::clone(&work);
        let spawner = move || -> Vec<_> {
            let each = (0..told.workers).map(|_| spawn(Arc::clone(&workers)));
            each.collect()
        };
        drop(cluster.spawn(spawner));
    })?;
    let _ = server.join();
    cluster.stop();
    Ok(sample)
}
