//! A server of the crate `tiny_http`, with threads or fibres as its workers.
//!
//! The crate reads requests on threads of its own and hands them over by a mutex and a condition
//! variable of std's, so its workers may be fibres only where these block the fibre.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tiny_http::{Request, Response, Server};

use crate::way::Way;

/// A server that answers `GET /50/abc` by `abc` after 50 ms.
#[derive(Clone)]
pub struct Serving(Arc<Server>);

impl Serving {
    /// A server on a free port of 127.0.0.1, which reads requests from now on.
    ///
    /// # Errors
    ///
    /// The socket cannot be made.
    pub fn bind() -> Result<Self> {
        let server = Server::http("127.0.0.1:0").map_err(|error| anyhow!("{error}"))?;
        Ok(Self(Arc::new(server)))
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// It has no address of IP.
    pub fn address(&self) -> Result<SocketAddr> {
        self.0.server_addr().to_ip().context("no address of IP")
    }

    /// Has so many workers answer requests, until they are stopped. Blocks the calling thread.
    ///
    /// # Errors
    ///
    /// Workers cannot be started.
    pub fn run(&self, way: Way, processors: usize, workers: usize) -> Result<()> {
        let server = Arc::clone(&self.0);
        way.run_all(processors, workers, move |_| {
            while let Ok(request) = way.run(|| server.recv()) {
                // A client that goes away is no failure of its worker.
                let _ = way.run(move || answer(request));
            }
            Ok(())
        })
    }

    /// Tells so many workers to end. Blocks nothing but a mutex of std's.
    pub fn stop(&self, workers: usize) {
        (0..workers).for_each(|_| self.0.unblock());
    }
}

/// Waits as the request says, by std's own sleep, and answers.
fn answer(request: Request) -> std::io::Result<()> {
    let path = request.url().to_owned();
    let parts = path.trim_start_matches('/').split_once('/');
    let wait = parts.and_then(|(wait, token)| Some((wait.parse().ok()?, token)));
    match wait {
        Some((wait, token)) => {
            thread::sleep(Duration::from_millis(wait));
            request.respond(Response::from_string(token))
        }
        None => request.respond(Response::empty(404)),
    }
}
