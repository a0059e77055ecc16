//! The proxy on fibres: one for each connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use fibre::net::{TcpListener, TcpStream};
use fibre::signal::{SIGINT, SIGTERM, Signals};
use fibre::sync::Semaphore;
use fibre::{Builder, CancelToken, Cluster, Limit};
use fibre_services::{GRACE, Proxy, say};

/// Passes bytes on, both ways, until both ends have ended or one direction has been silent.
fn forward(client: &TcpStream, backend: SocketAddr, idle: Duration) -> io::Result<()> {
    let server = TcpStream::connect_timeout(&backend, idle)?;
    for stream in [client, &server] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(idle))?;
        stream.set_write_timeout(Some(idle))?;
    }
    fibre::io::copy_bidirectional(client, &server).map(drop)
}

/// Accepts connections until it is cancelled.
pub(crate) fn accept(listener: &TcpListener, options: &Proxy) {
    let places = Arc::new(Semaphore::new(options.most));
    while let Ok(place) = places.permit_owned_within(Limit::Cancellation) {
        let Some((client, peer)) = listener.connections().next() else {
            return;
        };
        let (backend, idle) = (options.backend, options.idle);
        fibre::spawn(move || {
            let _place = place;
            if let Err(error) = forward(&client, backend, idle) {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

fn main() -> io::Result<()> {
    let options = Proxy::parse();
    let signals = Signals::new([SIGTERM, SIGINT])?;
    let threads = options.threads.count();
    let cluster = Cluster::builder().processors(threads).build()?;
    let listener = TcpListener::bind(options.listen)?;
    say(format_args!("listening on {}", listener.local_addr()?))?;
    let (drain, accepting) = (options.drain, CancelToken::new());
    let acceptor = Builder::new().cancel_token(&accepting);
    drop(acceptor.spawn_in(&cluster, move || accept(&listener, &options))?);
    signals.wait()?;
    accepting.cancel();
    Ok(cluster.stop_within(drain, GRACE)?)
}
