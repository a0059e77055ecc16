//! The proxy on tokio: a task for each connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use fibre_services::{GRACE, Proxy, say};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Passes bytes on, one way, until they end or none come for a while.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    idle: Duration,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = timeout(idle, from.read(&mut buffer)).await??;
        if count == 0 {
            return to.shutdown().await;
        }
        timeout(idle, to.write_all(&buffer[..count])).await??;
    }
}

/// Passes bytes on, both ways, until both ends have ended or one direction has been silent.
async fn forward(mut client: TcpStream, backend: SocketAddr, idle: Duration) -> io::Result<()> {
    let mut server = timeout(idle, TcpStream::connect(backend)).await??;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let there = copy(from_client, to_server, idle);
    let back = copy(from_server, to_client, idle);
    tokio::try_join!(there, back).map(drop)
}

/// Accepts connections for ever; each is a task.
async fn accept(
    listener: TcpListener,
    options: Proxy,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(options.most));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((client, peer)) => {
                let (backend, idle) = (options.backend, options.idle);
                let stop = stop.clone();
                tasks.spawn(async move {
                    let _place = place;
                    let forward = forward(client, backend, idle);
                    if let Some(Err(error)) = stop.run_until_cancelled(forward).await {
                        eprintln!("{peer}: {error}");
                    }
                });
            }
            Err(error) => {
                eprintln!("accept: {error}");
                // It may be out of descriptors.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// Runs until a signal comes, and then until all connections have ended.
async fn run(options: Proxy) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind(options.listen).await?;
    say(format_args!("listening on {}", listener.local_addr()?))?;
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let drain = options.drain;
    let acceptor = tokio::spawn(accept(listener, options, tasks.clone(), stop.clone()));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    acceptor.abort();
    tasks.close();
    if timeout(drain, tasks.wait()).await.is_err() {
        stop.cancel();
        timeout(GRACE, tasks.wait()).await?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let options = Proxy::parse();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(options.threads.count());
    runtime.enable_all().build()?.block_on(run(options))
}
