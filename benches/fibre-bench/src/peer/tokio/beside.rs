//! `beside` with tasks.

use std::panic;
use std::sync::Arc;
use std::thread;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::Choice;
use crate::measure::Sample;
use crate::peer::workloads::beside::{Told, Work, pings};

/// Workers that compute where the connection is served.
pub(super) fn plain<C: Choice>(told: Told) -> anyhow::Result<Sample> {
    measure::<C>(told, |work| {
        tokio::spawn(async move {
            while work.goes_on() {
                work.job();
                tokio::task::yield_now().await;
            }
        })
    })
}

/// Workers that hand their jobs to the threads for calls which block.
pub(super) fn blocking<C: Choice>(told: Told) -> anyhow::Result<Sample> {
    measure::<C>(told, |work| {
        tokio::spawn(async move {
            while work.goes_on() {
                let job = Arc::clone(&work);
                let _ = tokio::task::spawn_blocking(move || job.job()).await;
            }
        })
    })
}

/// Serves the connection, and has `spawn` start each worker.
fn measure<C: Choice>(
    told: Told,
    spawn: impl Fn(Arc<Work>) -> JoinHandle<()> + Send + 'static,
) -> anyhow::Result<Sample> {
    let runtime = C::start(told.processors)?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let server = runtime.spawn(async move {
        let (mut connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        let mut byte = [0];
        while connection.read(&mut byte).await? > 0 {
            connection.write_all(&byte).await?;
        }
        std::io::Result::Ok(())
    });
    let work = Work::new(told)?;
    let handle = runtime.handle().clone();
    let begin = || {
        let workers = Arc::clone(&work);
        drop(handle.spawn(async move {
            for _ in 0..told.workers {
                drop(spawn(Arc::clone(&workers)));
            }
        }));
    };
    thread::scope(|scope| {
        let pings = scope.spawn(|| pings(told, address, &work, begin));
        // A runtime of one thread runs only in here; the last ping closes the connection.
        let served = runtime.block_on(server)?;
        let sample = pings.join();
        let sample = sample.unwrap_or_else(|payload| panic::resume_unwind(payload))?;
        served?;
        Ok(sample)
    })
}
