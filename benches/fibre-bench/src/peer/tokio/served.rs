//! The servers of [`crate::tasks::served`]: a task for each connection, and a lock of std's around
//! the counter, which no task holds while it waits.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Choice;
use crate::measure::Sample;
use crate::peer::tasks::ToldServed;
use crate::tasks::served::{Kind, answer, check, is_read};

/// The echo server.
pub(super) fn echoing<C: Choice>(told: ToldServed) -> anyhow::Result<Sample> {
    let bytes = told.bytes;
    let serve = move |stream| echo(stream, bytes);
    let (sample, _) = measure::<C, _>(&told, Kind::Echo(bytes), serve)?;
    Ok(sample)
}

/// The counter server.
pub(super) fn counting<C: Choice>(told: ToldServed) -> anyhow::Result<Sample> {
    let counter = Arc::new(RwLock::new(0));
    let counted = Arc::clone(&counter);
    let serve = move |stream| count(stream, Arc::clone(&counted));
    let (sample, increments) = measure::<C, _>(&told, Kind::Counter(told.reads), serve)?;
    let value = *counter.read().unwrap_or_else(PoisonError::into_inner);
    check(value, increments)?;
    Ok(sample)
}

/// Starts a server, puts the load on it, and stops it.
fn measure<C: Choice, F: Future<Output = io::Result<()>> + Send + 'static>(
    told: &ToldServed,
    kind: Kind,
    serve: impl Fn(TcpStream) -> F + Send + 'static,
) -> anyhow::Result<(Sample, u64)> {
    let runtime = C::start(told.processors)?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    crate::serving::deepen_backlog(&listener)?;
    let address = listener.local_addr()?;
    let accepts = async move {
        while let Ok((stream, _)) = listener.accept().await {
            if stream.set_nodelay(true).is_ok() {
                tokio::spawn(serve(stream));
            }
        }
    };
    let accepts = runtime.spawn(accepts);
    let (done, ended) = tokio::sync::oneshot::channel();
    let load = told.load(kind);
    let client = std::thread::spawn(move || {
        let seen = load.put_on(address);
        let _nobody = done.send(());
        seen
    });
    // The single-threaded scheduler runs while somebody blocks on it.
    let _ended = runtime.block_on(ended);
    accepts.abort();
    let seen = client.join();
    seen.unwrap_or_else(|_| Err(anyhow::anyhow!("the client panicked")))
}

/// Echoes.
async fn echo(mut stream: TcpStream, bytes: usize) -> io::Result<()> {
    let mut buffer = vec![0; bytes];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..length]).await?;
    }
}

/// Counts.
async fn count(mut stream: TcpStream, counter: Arc<RwLock<u64>>) -> io::Result<()> {
    let mut request = [0];
    while stream.read(&mut request).await? == 1 {
        let value = match is_read(request[0])? {
            true => *counter.read().unwrap_or_else(PoisonError::into_inner),
            false => {
                let mut counter = counter.write().unwrap_or_else(PoisonError::into_inner);
                *counter += 1;
                *counter
            }
        };
        stream.write_all(&answer(value)).await?;
    }
    Ok(())
}
