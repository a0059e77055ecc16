//! Serves HTTP/1.1 and HTTP/2 on one port, by hyper, with a fibre for each connection, and one for
//! each stream of HTTP/2.
//!
//! `cargo run --release --package fibre-hyper --example http -- --address 127.0.0.1:8080`, and then
//! `curl http://127.0.0.1:8080/hello`, `curl --http2-prior-knowledge …`, `wrk`, `h2load`. It ends
//! with its standard input: connections finish what they are at, for 10 seconds at most.

use clap::Parser;
use fibre::channel::{Receiver, bounded};
use fibre::net::{TcpListener, TcpStream};
use fibre_hyper::{FibreExecutor, FibreIo, FibreTimer};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// How long connections may go on at the end.
const GRACE: Duration = Duration::from_secs(10);

/// How long a client may take for the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// Serves HTTP/1.1 and HTTP/2 with a fibre for each connection.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:8080")]
    address: SocketAddr,
    /// How many processors; by default as many as there are CPUs
    #[arg(long)]
    processors: Option<usize>,
}

/// Answers a request. A handler may block its fibre.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/slow") => {
            fibre::sleep(Duration::from_millis(10));
            (StatusCode::OK, Bytes::from_static(b"slow"))
        }
        (&Method::GET, _) => (StatusCode::OK, Bytes::from_static(b"Hello, World!")),
        _ => (StatusCode::METHOD_NOT_ALLOWED, Bytes::new()),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    Ok(response)
}

/// Serves a connection until its client leaves, or it has finished what it is at once `stop` is
/// closed. Blocks the fibre.
fn serve(connection: TcpStream, stop: &Receiver<()>) {
    let mut builder = Builder::new(FibreExecutor::new());
    builder
        .http1()
        .timer(FibreTimer::new())
        .header_read_timeout(HEAD);
    builder.http2().timer(FibreTimer::new());
    let _ = connection.set_nodelay(true);
    fibre::block_on(async {
        let service = service_fn(answer);
        let mut serving = pin!(builder.serve_connection(FibreIo::new(connection), service));
        let mut stopped = pin!(stop.recv_async());
        let mut stops = false;
        // Clients that leave in the middle are no concern of the server's.
        let _served = poll_fn(|context| {
            if !stops && stopped.as_mut().poll(context).is_ready() {
                stops = true;
                serving.as_mut().graceful_shutdown();
            }
            match serving.as_mut().poll(context) {
                Poll::Ready(served) => Poll::Ready(served.is_ok()),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
    });
}

/// Accepts connections until the listener is closed. Blocks the fibre.
fn accept(listener: &TcpListener, stop: &Receiver<()>) {
    for (connection, _) in listener.connections() {
        let stop = stop.clone();
        drop(fibre::spawn(move || serve(connection, &stop)));
    }
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let mut cluster = fibre::Cluster::builder().name("http");
    if let Some(processors) = options.processors {
        cluster = cluster.processors(processors);
    }
    let cluster = cluster.build()?;
    let listener = Arc::new(TcpListener::bind(options.address)?);
    println!("listening on {}", listener.local_addr()?);
    let (running, stop) = bounded::<()>(1);
    let accepting = Arc::clone(&listener);
    drop(cluster.spawn(move || accept(&accepting, &stop)));
    // Until the end of the input.
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    listener.close();
    drop(running);
    let stopped = cluster.stop_within(GRACE, Duration::from_secs(1));
    println!("all connections have ended: {}", stopped.is_ok());
    Ok(())
}
