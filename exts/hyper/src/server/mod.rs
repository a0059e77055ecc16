//! A server in one call.
//!
//! | module | what it is |
//! |---|---|
//! | `body` | the body of a request, with limits |
//! | `connection` | one connection, from its first bytes to its end |
//! | `handler` | a service of a function that blocks |
//! | `prefix` | the first bytes of a connection, which tell the protocol |
//! | `streams` | the fibres of a connection's streams |

mod body;
mod connection;
mod handler;
mod prefix;
mod streams;

pub use body::{BodyError, RequestBody};
pub use handler::handler;

use connection::Settings;
use fibre_core::CancelToken;
use fibre_io::net::{self, Connection, Listener};
use fibre_sync::channel::bounded;
use hyper::body::Body;
use hyper::service::Service;
use hyper::{Request, Response};
use std::error::Error;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// A server of HTTP/1.1 and HTTP/2 on one port, with a fibre for each connection, and one for each
/// stream of HTTP/2. [`serve`] is one on defaults.
///
/// Clients that send slowly, send too much, or do not read what they asked for, are cut off: each
/// limit has a default.
#[derive(Debug, Clone)]
#[must_use = "it serves nobody until it is told to"]
pub struct Server {
    connections: net::Server,
    settings: Settings,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A server on defaults.
    pub fn new() -> Self {
        Self {
            connections: net::Server::new(),
            settings: Settings::default(),
        }
    }

    /// How connections are accepted: how many at a time, what errors and the end of accepting are
    /// told to, how fibres are spawned. [`net::Server::new`] by default.
    pub fn connections(mut self, server: net::Server) -> Self {
        self.connections = server;
        self
    }

    /// How large the body of a request may be: 2 MiB by default.
    pub fn max_body(mut self, bytes: u64) -> Self {
        self.settings.max_body = bytes;
        self
    }

    /// How long a client may take for the first bytes of a connection, and for the head of a
    /// request: 10 s by default. The time between two requests of HTTP/1.1 is part of the second
    /// one's. A client of HTTP/2 has to answer a ping in this time, and gets one as often.
    pub fn head_timeout(mut self, time: Duration) -> Self {
        self.settings.head_timeout = time;
        self
    }

    /// How long a client may take for the body of a request: 30 s by default.
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.settings.body_timeout = time;
        self
    }

    /// How long a client may leave an answer unread, over TCP: 30 s by default. The kernel then
    /// ends the connection (`TCP_USER_TIMEOUT`).
    pub fn write_timeout(mut self, time: Duration) -> Self {
        self.settings.write_timeout = time;
        self
    }

    /// Serves the connections of a listener, each by a clone of `service`, until `token` is
    /// cancelled, and then until all have ended. Blocks the fibre, or the thread if the caller is
    /// not a fibre: then the fibres belong to the default cluster.
    ///
    /// * After a [`cancel_within`](CancelToken::cancel_within), and when the cluster is stopped
    ///   within a time, requests that have come are answered. Connections without one are closed.
    ///   What is left at the limit is ended as by `cancel`.
    /// * After a [`cancel`](CancelToken::cancel), connections are ended at once. A handler that
    ///   waits is unwound, as by [`cancellable`](fibre_core::cancellable); one that computes ends
    ///   its connection by returning. Programs with `panic = "abort"` do not unwind: there handlers
    ///   have to notice it.
    ///
    /// `service` is a [`handler`](fn@handler), or any service of hyper's.
    ///
    /// ```
    /// use fibre::net::{self, TcpListener, TcpStream};
    /// use fibre_hyper::{Server, handler};
    /// use hyper::{Request, Response, body::Bytes};
    /// use std::io::{Read, Write};
    /// use std::time::Duration;
    ///
    /// let stop = fibre::CancelToken::new();
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let token = stop.clone();
    /// let server = fibre::spawn(move || {
    ///     let answer = |request: Request<Bytes>| Response::new(request.uri().to_string());
    ///     Server::new()
    ///         .connections(net::Server::new().max_connections(1000))
    ///         .max_body(64 << 10)
    ///         .serve(listener, handler(answer), &token)
    /// });
    /// let mut client = TcpStream::connect(address)?;
    /// client.write_all(b"GET /tea HTTP/1.1\r\nHost: x\r\n\r\n")?;
    /// client.read_exact(&mut [0; 15])?; // it is being answered
    /// stop.cancel_within(Duration::from_secs(10))?;
    /// let mut answer = String::new();
    /// client.read_to_string(&mut answer)?;
    /// assert!(answer.ends_with("/tea"));
    /// server.join().unwrap()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`net::Server::serve`].
    ///
    /// # Panics
    ///
    /// As [`net::Server::serve`]. A panic of the service ends its connection only, or its stream.
    pub fn serve<L, S, B>(&self, listener: L, service: S, token: &CancelToken) -> io::Result<()>
    where
        L: Listener<Stream: Connection + io::Read + AsFd + Unpin>,
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Future<Output = Result<Response<B>, S::Error>> + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        let (running, draining) = bounded::<()>(1);
        // Its end tells all connections.
        let running = Mutex::new(Some(running));
        let ends = move || {
            drop(
                running
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(),
            )
        };
        let settings = self.settings.clone();
        let handle = move |stream: L::Stream, _| {
            connection::serve(&settings, stream, service.clone(), &draining);
        };
        let connections = self.connections.clone().on_drain(ends);
        connections.serve(listener, token, handle)
    }
}

/// Serves HTTP/1.1 and HTTP/2 on a listener until `token` is cancelled and all connections have
/// ended: [`Server::serve`], on defaults.
///
/// ```no_run
/// use fibre_hyper::{handler, serve};
/// use hyper::{Request, Response, body::Bytes};
///
/// fn main() -> std::io::Result<()> {
///     let listener = fibre::net::TcpListener::bind("127.0.0.1:8080")?;
///     let hello = |_: Request<Bytes>| Response::new("hello");
///     serve(listener, handler(hello), &fibre::CancelToken::new())
/// }
/// ```
///
/// # Errors
///
/// As for [`Server::serve`].
pub fn serve<L, S, B>(listener: L, service: S, token: &CancelToken) -> io::Result<()>
where
    L: Listener<Stream: Connection + io::Read + AsFd + Unpin>,
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Future<Output = Result<Response<B>, S::Error>> + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    Server::new().serve(listener, service, token)
}
