//! What `http` does, on tokio: the same server by hyper with a task for each connection, for
//! `beside` to measure.
//!
//! `cargo run --release --package fibre-hyper --example http_tokio`. It ends with its standard
//! input.

use clap::Parser;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::time::{sleep, timeout};

/// How long connections may go on at the end.
const GRACE: Duration = Duration::from_secs(10);

/// How long a client may take for the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// Serves HTTP/1.1 and HTTP/2 with a task for each connection.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:8080")]
    address: SocketAddr,
    /// How many worker threads; by default as many as there are CPUs
    #[arg(long)]
    processors: Option<usize>,
}

/// Answers a request.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/slow") => {
            tokio::time::sleep(Duration::from_millis(10)).await;
            (StatusCode::OK, Bytes::from_static(b"slow"))
        }
        (&Method::GET, _) => (StatusCode::OK, Bytes::from_static(b"Hello, World!")),
        _ => (StatusCode::METHOD_NOT_ALLOWED, Bytes::new()),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    Ok(response)
}

/// Serves a connection in a task of its own, which `graceful` can tell to end.
fn serve(connection: TcpStream, graceful: &GracefulShutdown) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD);
    builder.http2().timer(TokioTimer::new());
    let _ = connection.set_nodelay(true);
    let connection =
        builder.serve_connection_with_upgrades(TokioIo::new(connection), service_fn(answer));
    let serving = graceful.watch(connection.into_owned());
    tokio::spawn(async move {
        // Clients that leave in the middle are no concern of the server's.
        let _ = serving.await;
    });
}

/// How long no connection is accepted after an error.
const PAUSE: Duration = Duration::from_millis(10);

/// Accepts connections until the end of the input.
async fn accept(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let graceful = GracefulShutdown::new();
    let mut end = tokio::task::spawn_blocking(|| io::stdin().lock().read_to_end(&mut Vec::new()));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((connection, _)) => serve(connection, &graceful),
                // No descriptor is free, say.
                Err(_) => sleep(PAUSE).await,
            },
            _ = &mut end => break,
        }
    }
    drop(listener);
    let stopped = timeout(GRACE, graceful.shutdown()).await;
    println!("all connections have ended: {}", stopped.is_ok());
    Ok(())
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let mut runtime = runtime::Builder::new_multi_thread();
    if let Some(processors) = options.processors {
        runtime.worker_threads(processors);
    }
    let runtime = runtime.enable_all().build()?;
    runtime.block_on(async { tokio::spawn(accept(options.address)).await? })
}
