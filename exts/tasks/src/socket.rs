//! Sockets that emit events: Eve's library `io.socket`.
//!
//! A [`Server`] emits a [`Connection`] for each client, and a [`Failure`] if it cannot listen.
//! A client's [`Socket`] emits [`Data`], [`Timeout`] if it was asked to, and at
//! last [`Close`]. Callbacks are added by [`on!`](crate::on), and have permissions like others.
//!
//! Each socket has a fibre that reads. It hands an event over and waits until its callbacks have
//! returned. So the events of a socket come in order, and a client that sends faster than its data
//! is handled waits in the kernel: nothing is buffered without a bound. A callback that panics ends
//! only itself. After the [`Close`] a socket forgets its callbacks, so they may refer to it.
//!
//! Source: Program 2 of A. Fonseca, J. Rafael and B. Cabral, "Eve: A parallel event-driven
//! programming language" (Euro-Par 2014 workshops).

use crate::emitter::{Emits, Emitter};
use fibre_core::internal::quietly;
use fibre_core::spawn;
use fibre_io::net::{TcpListener, TcpStream, ToSocketAddrs};
use fibre_sync::Mutex;
use std::fmt;
use std::io::{self, Read as _, Write};
use std::net::{Shutdown, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes that one [`Data`] has.
const MAX_DATA: usize = 16 << 10;

/// A client has connected. It is closed if no callback asks for its socket.
pub struct Connection(Arc<Socket>);

/// A server cannot listen.
#[derive(Debug, Clone)]
pub struct Failure(Arc<io::Error>);

/// Bytes that have come. It derefs to them.
#[derive(Debug, Clone)]
pub struct Data(Arc<[u8]>);

/// A client has gone, or its connection is broken. No event of its socket follows.
#[derive(Debug, Clone)]
pub struct Close(Option<Arc<io::Error>>);

/// Nothing has come for as long as [`Socket::set_timeout`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout;

/// What clients connect to.
///
/// ```
/// use fibre_tasks::socket::{Connection, Data, Server};
/// use fibre_tasks::{Shared, acquire, on};
/// use std::io::Write;
/// use std::sync::Arc;
///
/// let (server, heard) = (Arc::new(Server::new()), Shared::new(String::new()));
/// on!(server, Connection, [=heard] |connection| {
///     on!(connection.socket(), Data, [+heard] |data| {
///         heard.push_str(&String::from_utf8_lossy(data));
///     });
/// });
/// let listener = server.bind(("127.0.0.1", 0))?;
/// let mut client = fibre::net::TcpStream::connect(listener.local_addr()?)?;
/// let serving = fibre::spawn({
///     let server = Arc::clone(&server);
///     move || server.serve(listener)
/// });
/// client.write_all(b"hello")?;
/// while acquire(heard.read()).len() < 5 {
///     fibre::yield_now();
/// }
/// server.close();
/// serving.join().unwrap();
/// assert_eq!(*acquire(heard.read()), "hello");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Server {
    connections: Emitter<Connection>,
    failures: Emitter<Failure>,
    /// What it accepts from; `None` once it has been closed.
    listeners: Mutex<Option<Vec<Arc<TcpListener>>>>,
}

/// A client's connection. It is written to as [`Write`] says, by a reference; that blocks the
/// fibre. The program decides who may write: a [`Shared`](crate::Shared) socket has one writer at
/// a time.
pub struct Socket {
    stream: TcpStream,
    data: Emitter<Data>,
    close: Emitter<Close>,
    timeouts: Emitter<Timeout>,
}

impl Server {
    /// A server that does not listen yet: callbacks are added first.
    ///
    /// # Panics
    ///
    /// If there is no memory, or the default cluster cannot be started.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connections: Emitter::new(),
            failures: Emitter::new(),
            listeners: Mutex::new(Some(Vec::new())),
        }
    }

    /// Takes an address. Looking up a name blocks the fibre.
    ///
    /// # Errors
    ///
    /// Those of [`TcpListener::bind`], which are emitted as a [`Failure`] before.
    pub fn bind(&self, address: impl ToSocketAddrs) -> io::Result<TcpListener> {
        TcpListener::bind(address).map_err(|error| self.fail(error))
    }

    /// Accepts connections until the server is [closed](Self::close), or the calling fibre is
    /// cancelled. A server may serve several listeners, each in a fibre. Blocks the fibre. Emits
    /// each, waits until the callbacks have returned, and then reads in a fibre of its own: what
    /// those callbacks add misses nothing.
    pub fn serve(&self, listener: TcpListener) {
        let listener = Arc::new(listener);
        match &mut *self.listeners.lock() {
            Some(listeners) => listeners.push(Arc::clone(&listener)),
            None => return,
        }
        for (stream, _) in listener.connections() {
            let socket = Arc::new(Socket::new(stream));
            hand_over(&self.connections, Connection(Arc::clone(&socket)));
            if Arc::strong_count(&socket) > 1 || socket.has_callbacks() {
                drop(spawn(move || socket.read_to_end()));
            }
        }
    }

    /// [`bind`](Self::bind) and [`serve`](Self::serve), as Eve's `listen`.
    ///
    /// # Errors
    ///
    /// Those of `bind`.
    pub fn listen(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        let listener = self.bind(address)?;
        self.serve(listener);
        Ok(())
    }

    /// Accepts no more connections; those that there are go on. Blocks nothing.
    pub fn close(&self) {
        let listeners = self.listeners.lock().take();
        for listener in listeners.into_iter().flatten() {
            listener.close();
        }
    }

    /// Emits an error, and returns the same.
    fn fail(&self, error: io::Error) -> io::Error {
        let kind = error.kind();
        let error = Arc::new(error);
        hand_over(&self.failures, Failure(Arc::clone(&error)));
        io::Error::new(kind, error)
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Socket {
    /// The socket of a connection.
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            data: Emitter::new(),
            close: Emitter::new(),
            timeouts: Emitter::new(),
        }
    }

    /// Emits a [`Timeout`] whenever nothing has come for so long; never, if `None`. Holds from the
    /// next read on: to be sure, call it where the [`Connection`] is handled.
    ///
    /// # Errors
    ///
    /// If the time is zero.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)
    }

    /// The client's address.
    ///
    /// # Errors
    ///
    /// Those of `getpeername`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// Ends the connection in both directions: its [`Close`] follows. Blocks nothing.
    pub fn close(&self) {
        // One that is broken already is closed as well.
        let _broken = self.stream.shutdown(Shutdown::Both);
    }

    /// Whether anybody handles its events.
    fn has_callbacks(&self) -> bool {
        self.data.callbacks() + self.close.callbacks() + self.timeouts.callbacks() > 0
    }

    /// Emits what comes, until nothing more does.
    fn read_to_end(&self) {
        let mut buffer = vec![0; MAX_DATA];
        let end = loop {
            match (&self.stream).read(&mut buffer) {
                Ok(0) => break None,
                Ok(length) => hand_over(&self.data, Data(buffer[..length].into())),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    hand_over(&self.timeouts, Timeout)
                }
                Err(error) => break Some(Arc::new(error)),
            }
        };
        hand_over(&self.close, Close(end));
        // They may refer to the socket, which would keep itself.
        self.data.end();
        self.timeouts.end();
        self.close.end();
    }
}

/// Emits an event, and waits until its callbacks have returned. Those that panic end themselves.
fn hand_over<E: Send + 'static>(emitter: &Emitter<E>, event: E) {
    if emitter.callbacks() > 0 {
        quietly(|| emitter.deliver(event));
    }
}

impl Connection {
    /// The client's socket. Callbacks that are added while the connection is handled miss nothing.
    #[must_use]
    pub fn socket(&self) -> Arc<Socket> {
        Arc::clone(&self.0)
    }
}

impl Failure {
    /// What went wrong.
    #[must_use]
    pub fn error(&self) -> &io::Error {
        &self.0
    }
}

impl Close {
    /// What broke the connection; `None` if the client has closed it.
    #[must_use]
    pub fn error(&self) -> Option<&io::Error> {
        self.0.as_deref()
    }
}

impl Data {
    /// The bytes, to be kept: a counted reference.
    #[must_use]
    pub fn bytes(&self) -> Arc<[u8]> {
        Arc::clone(&self.0)
    }
}

impl Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.stream).flush()
    }
}

impl Emits<Connection> for Server {
    fn emitter(&self) -> &Emitter<Connection> {
        &self.connections
    }
}

impl Emits<Failure> for Server {
    fn emitter(&self) -> &Emitter<Failure> {
        &self.failures
    }
}

impl Emits<Data> for Socket {
    fn emitter(&self) -> &Emitter<Data> {
        &self.data
    }
}

impl Emits<Close> for Socket {
    fn emitter(&self) -> &Emitter<Close> {
        &self.close
    }
}

impl Emits<Timeout> for Socket {
    fn emitter(&self) -> &Emitter<Timeout> {
        &self.timeouts
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket")
            .field("peer", &self.peer_addr())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.0).finish()
    }
}
