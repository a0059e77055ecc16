//! Serving the connections of a listener, until a token is cancelled.
//!
//! An acceptor takes a permit for each connection before it accepts it, and a fibre of its own has
//! the permit as long as it serves. So the end of all connections is the return of all permits.

use super::acceptor::is_transient;
use super::unix::{self, UnixListener, UnixStream};
use super::{SocketAddr, TcpListener, TcpStream};
use fibre_core::internal::warn;
use fibre_core::{Builder, CancelToken, Limit, is_cancelled_error};
use fibre_sync::{OwnedSemaphorePermit, Semaphore};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many connections are served at a time, by default.
const MAX_CONNECTIONS: usize = 10_000;

/// The time between two lines about errors, at least.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// What a [`Server`] accepts connections from: [`TcpListener`] and [`UnixListener`].
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: Send + 'static;
    /// The address of its peer.
    type Address: Send + 'static;

    /// Waits for a connection. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As for [`TcpListener::accept`].
    fn accept(&self) -> io::Result<(Self::Stream, Self::Address)>;
}

impl Listener for TcpListener {
    type Stream = TcpStream;
    type Address = SocketAddr;

    fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        Self::accept(self)
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;
    type Address = unix::SocketAddr;

    fn accept(&self) -> io::Result<(UnixStream, unix::SocketAddr)> {
        Self::accept(self)
    }
}

/// What is called with errors of accepting.
type OnError = Arc<dyn Fn(&io::Error) + Send + Sync>;

/// What is called when no more connections are accepted.
type OnDrain = Arc<dyn Fn() + Send + Sync>;

/// A server with a fibre for each connection. [`serve`](serve()) is one on defaults.
#[derive(Clone)]
#[must_use = "it serves nobody until it is told to"]
pub struct Server {
    /// See [`max_connections`](Self::max_connections).
    max_connections: usize,
    /// See [`fibres`](Self::fibres).
    fibres: Builder,
    /// See [`on_error`](Self::on_error).
    on_error: Option<OnError>,
    /// See [`on_drain`](Self::on_drain).
    on_drain: Vec<OnDrain>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
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
            max_connections: MAX_CONNECTIONS,
            fibres: Builder::new(),
            on_error: None,
            on_drain: Vec::new(),
        }
    }

    /// How many connections are served at a time, at most: 10,000 by default. Further clients wait
    /// in the queue of the listener.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// How the fibres of connections are spawned: their names, stacks and priorities. They get the
    /// token of [`serve`](Self::serve).
    pub fn fibres(mut self, builder: Builder) -> Self {
        self.fibres = builder;
        self
    }

    /// Calls `tell` with each error that has cost a client, or makes clients wait, as when the
    /// process is out of descriptors or memory; by default a line is written to standard error,
    /// once a second at most. It may block the accepting fibre.
    pub fn on_error(mut self, tell: impl Fn(&io::Error) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Arc::new(tell));
        self
    }

    /// Calls `tell` once no more connections are accepted, before the end of those that there
    /// are: a probe for readiness can say so, for one. Those that were given earlier are called,
    /// too. It may block the caller of [`serve`](Self::serve).
    pub fn on_drain(mut self, tell: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_drain.push(Arc::new(tell));
        self
    }

    /// Serves each connection of a listener in a fibre of its own, until `token` is cancelled, and
    /// then until all of these fibres have ended. The listener is closed in between, so the kernel
    /// refuses new clients. Blocks the fibre, or the thread if the caller is not a fibre: then the
    /// fibres belong to the default cluster.
    ///
    /// Each fibre has a child of the token. Calls that wait for its client fail once that is
    /// cancelled; after a [`cancel_within`](CancelToken::cancel_within), those within
    /// [`graceful`](fibre_core::graceful) go on until the limit. A handler that does not return
    /// holds the call up.
    ///
    /// Where a clone of the listener is [closed](TcpListener::close) instead, the fibres go on to
    /// their own ends. A panic of a handler ends its connection only. A connection is closed if no
    /// fibre can be spawned for it.
    ///
    /// ```
    /// use fibre::net::{Server, TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    /// use std::time::Duration;
    ///
    /// let stop = fibre::CancelToken::new();
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let token = stop.clone();
    /// let server = fibre::spawn(move || {
    ///     let server = Server::new().max_connections(100);
    ///     server.serve(listener, &token, |mut client: TcpStream, _| {
    ///         let mut buffer = [0; 4096];
    ///         while let Ok(count @ 1..) = client.read(&mut buffer) {
    ///             // An answer that has been begun is sent.
    ///             let answer = || client.write_all(&buffer[..count]);
    ///             if !matches!(fibre::graceful(answer), Ok(Ok(()))) {
    ///                 break;
    ///             }
    ///         }
    ///     })
    /// });
    /// let mut client = TcpStream::connect(address)?;
    /// client.write_all(b"hello")?;
    /// client.read_exact(&mut [0; 5])?;
    /// stop.cancel_within(Duration::from_secs(10))?;
    /// server.join().unwrap()?;
    /// assert_eq!(client.read(&mut [0])?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error of accepting that ends it; the fibres are cancelled then. When the acceptor
    /// cannot be spawned; `InvalidInput` where no connection may be served.
    ///
    /// # Panics
    ///
    /// With a panic of what `on_error` or `on_drain` was given, once all connections have ended.
    pub fn serve<L, F>(&self, listener: L, token: &CancelToken, handler: F) -> io::Result<()>
    where
        L: Listener,
        F: Fn(L::Stream, L::Address) + Send + Sync + 'static,
    {
        if self.max_connections == 0 {
            let words = "a server for no connections";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let permits = Arc::new(Semaphore::new(self.max_connections));
        let connections = token.child();
        let acceptor = Acceptor {
            listener,
            handler: Arc::new(handler),
            permits: Arc::clone(&permits),
            fibres: self.fibres.clone().cancel_token(&connections),
            on_error: self.on_error.clone(),
            last_line: None,
        };
        let builder = Builder::new().name("acceptor").cancel_token(token);
        let accepting = builder.eager_stack().spawn(|| acceptor.accept_all())?;
        let accepted = accepting.join();
        let drained = catch_unwind(AssertUnwindSafe(|| self.on_drain.iter().for_each(|f| f())));
        if !matches!((&accepted, &drained), (Ok(Ok(())), Ok(()))) {
            connections.cancel();
        }
        permits.acquire_many(self.max_connections);
        drained.unwrap_or_else(|payload| resume_unwind(payload));
        accepted.unwrap_or_else(|payload| resume_unwind(payload))
    }
}

/// Serves each connection of a listener in a fibre of its own, until `token` is cancelled and all
/// of them have ended: [`Server::serve`], on defaults.
///
/// ```
/// use fibre::net::{TcpListener, TcpStream};
/// use std::io::{Read, Write};
///
/// let stop = fibre::CancelToken::new();
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let token = stop.clone();
/// let server = fibre::spawn(move || {
///     fibre::net::serve(listener, &token, |mut client: TcpStream, _| {
///         let _ = client.write_all(b"hello");
///     })
/// });
/// let mut text = String::new();
/// TcpStream::connect(address)?.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// stop.cancel();
/// server.join().unwrap()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// As for [`Server::serve`].
#[doc(alias("ListenAndServe", "accept loop"))]
pub fn serve<L, F>(listener: L, token: &CancelToken, handler: F) -> io::Result<()>
where
    L: Listener,
    F: Fn(L::Stream, L::Address) + Send + Sync + 'static,
{
    Server::new().serve(listener, token, handler)
}

/// What accepts connections, and spawns the fibres that serve them.
struct Acceptor<L, F> {
    listener: L,
    handler: Arc<F>,
    /// A permit for each connection that may be served.
    permits: Arc<Semaphore>,
    /// How the fibres are spawned.
    fibres: Builder,
    on_error: Option<OnError>,
    /// When the last line about an error was written.
    last_line: Option<Instant>,
}

impl<L, F> Acceptor<L, F>
where
    L: Listener,
    F: Fn(L::Stream, L::Address) + Send + Sync + 'static,
{
    /// Accepts connections until it is cancelled, or the listener has ended. Blocks the fibre.
    fn accept_all(mut self) -> io::Result<()> {
        while let Ok(permit) = self.permits.permit_owned_within(Limit::Cancellation) {
            match self.listener.accept() {
                Ok((stream, address)) => {
                    if let Err(error) = self.admit(permit, stream, address) {
                        self.tell(&error);
                    }
                }
                Err(error) if is_cancelled_error(&error) => return Ok(()),
                // Closed.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return Ok(()),
                Err(error) if is_transient(&error) => self.tell(&error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Spawns the fibre that serves a connection. Without one it is closed.
    fn admit(
        &self,
        permit: OwnedSemaphorePermit,
        stream: L::Stream,
        address: L::Address,
    ) -> io::Result<()> {
        let handler = Arc::clone(&self.handler);
        let serves = move || {
            // It comes back after the connection has been closed, however the fibre ends.
            let _permit = permit;
            handler(stream, address);
        };
        self.fibres.clone().spawn(serves).map(drop)
    }

    /// Tells of an error.
    fn tell(&mut self, error: &io::Error) {
        if let Some(tell) = &self.on_error {
            return tell(error);
        }
        let is_new = |last: Instant| last.elapsed() >= BETWEEN_LINES;
        if self.last_line.is_none_or(is_new) {
            self.last_line = Some(Instant::now());
            warn(format_args!("a server cannot accept connections: {error}"));
        }
    }
}
