//! Serves HTTP/1.1 and HTTP/2 on one port, by hyper, with a fibre for each connection, and one for
//! each stream of HTTP/2.
//!
//! `cargo run --release --package fibre-hyper --example http -- --address 127.0.0.1:8080`, and then
//! `curl http://127.0.0.1:8080/hello`, `curl --http2-prior-knowledge …`, `wrk`, `h2load`. It ends
//! with its standard input: connections finish what they are at, for 10 seconds at most.

use clap::Parser;
use fibre::CancelToken;
use fibre::net::{self, TcpListener};
use fibre_hyper::{RequestBody, Server};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;

/// How long connections may go on at the end.
const GRACE: Duration = Duration::from_secs(10);

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
async fn answer(request: Request<RequestBody>) -> Result<Response<Full<Bytes>>, Infallible> {
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

fn main() -> io::Result<()> {
    let options = Options::parse();
    let mut cluster = fibre::Cluster::builder().name("http");
    if let Some(processors) = options.processors {
        cluster = cluster.processors(processors);
    }
    let cluster = cluster.build()?;
    let listener = TcpListener::bind(options.address)?;
    println!("listening on {}", listener.local_addr()?);
    let server = Server::new().connections(net::Server::new().max_connections(100_000));
    let stop = CancelToken::new();
    let token = stop.clone();
    let serving = cluster.spawn(move || server.serve(listener, service_fn(answer), &token));
    // Until the end of the input.
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    stop.cancel_within(GRACE)?;
    let served = serving
        .join()
        .unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    println!("all connections have ended: {}", served.is_ok());
    served
}
