//! Several listeners on one port, one for each processor.
//!
//! The kernel gives each connection to one of the listeners, by a hash of its addresses and ports
//! (`SO_REUSEPORT`). So the listeners share no queue and no lock, and wake no acceptor for nothing.
//! An acceptor stays on its processor, and so do the fibres that serve its connections: no two
//! processors ever touch the same connection.

use super::acceptor::is_transient;
use super::{SocketAddr, TcpListener, TcpListenerBuilder, TcpStream, ToSocketAddrs};
use fibre_core::{Builder, JoinHandle};
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;

/// Several listeners on one port. See [`TcpListener::group`].
#[derive(Debug, Clone)]
pub struct AcceptGroup {
    /// The listeners: one or more.
    listeners: Arc<[TcpListener]>,
}

impl TcpListener {
    /// Opens this many listeners on the first address that can be bound; the kernel spreads the
    /// connections among them (`SO_REUSEPORT`). One for each processor is right for servers that
    /// accept very often. Other servers do as well with one listener and several accepting fibres.
    ///
    /// ```
    /// use fibre::net::{TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    ///
    /// let group = TcpListener::group("127.0.0.1:0", fibre::default_processors())?;
    /// let address = group.local_addr()?;
    /// let serving = group.clone();
    /// let server = fibre::spawn(move || {
    ///     serving.serve(|mut stream, _| drop(stream.write_all(b"hello")))
    /// });
    /// let mut text = String::new();
    /// TcpStream::connect(address)?.read_to_string(&mut text)?;
    /// assert_eq!(text, "hello");
    /// group.close();
    /// server.join().unwrap()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind); `InvalidInput` for zero listeners.
    pub fn group(addresses: impl ToSocketAddrs, listeners: usize) -> io::Result<AcceptGroup> {
        AcceptGroup::bind(&Self::builder(), addresses, listeners)
    }
}

impl AcceptGroup {
    /// [`TcpListener::group`] with other options.
    ///
    /// # Errors
    ///
    /// As for [`TcpListener::group`].
    pub fn bind(
        builder: &TcpListenerBuilder,
        addresses: impl ToSocketAddrs,
        listeners: usize,
    ) -> io::Result<Self> {
        let builder = builder.clone().reuse_port(true);
        if listeners == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a group without listeners",
            ));
        }
        let first = builder.bind(addresses)?;
        let address = first.local_addr()?;
        let others = (1..listeners).map(|_| builder.bind(address));
        let all = std::iter::once(Ok(first)).chain(others);
        Ok(Self {
            listeners: all.collect::<io::Result<_>>()?,
        })
    }

    /// The listeners.
    #[must_use]
    pub fn listeners(&self) -> &[TcpListener] {
        &self.listeners
    }

    /// The address that all of them listen on.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listeners[0].local_addr()
    }

    /// Ends [`serve`](Self::serve), and all other calls on the listeners. The kernel refuses new
    /// clients, and resets connections that have not been accepted yet. Blocks nothing.
    pub fn close(&self) {
        self.listeners.iter().for_each(TcpListener::close);
    }

    /// Serves the connections of all listeners, each in a fibre of its own, until
    /// [`close`](Self::close) is called. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    ///
    /// Processor *i* of the caller's cluster accepts and serves the connections of listener number
    /// *i*, or any processor does if there are fewer. A connection is dropped if no fibre can be
    /// spawned for it.
    ///
    /// # Errors
    ///
    /// The first error of accepting that is not transient, from any listener; then the others are
    /// closed. When the accepting fibres cannot be spawned.
    ///
    /// # Panics
    ///
    /// With the panic of an accepting fibre. (A panic of `serve` ends only its own fibre.)
    pub fn serve<F>(&self, serve: F) -> io::Result<()>
    where
        F: Fn(TcpStream, SocketAddr) + Send + Sync + 'static,
    {
        let serve = Arc::new(serve);
        let acceptors: Vec<_> = (0..self.listeners.len())
            .map(|number| {
                let (group, serve) = (self.clone(), Arc::clone(&serve));
                spawn_on(number, move |builder| {
                    group.accept_all(number, &builder, &serve)
                })
            })
            .collect();
        if acceptors.iter().any(Result::is_err) {
            // No fibre would accept the connections that the kernel gives to that listener.
            self.close();
        }
        let mut result = Ok(());
        for acceptor in acceptors {
            let ended = acceptor.and_then(|acceptor| {
                acceptor
                    .join()
                    .unwrap_or_else(|payload| resume_unwind(payload))
            });
            if ended.is_err() {
                self.close();
            }
            result = result.and(ended);
        }
        result
    }

    /// Serves the connections of one listener.
    fn accept_all<F>(&self, number: usize, builder: &Builder, serve: &Arc<F>) -> io::Result<()>
    where
        F: Fn(TcpStream, SocketAddr) + Send + Sync + 'static,
    {
        loop {
            match self.listeners[number].accept() {
                Ok((stream, address)) => {
                    let serve = Arc::clone(serve);
                    // Without a fibre the connection is dropped.
                    drop(builder.clone().spawn(move || serve(stream, address)));
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return Ok(()),
                Err(error) if is_transient(&error) => {}
                Err(error) => {
                    self.close();
                    return Err(error);
                }
            }
        }
    }
}

/// Spawns a fibre on a processor, or anywhere if there is none of this number, and tells it how to
/// spawn others there. It has a stack at once: an acceptor that found none when it first ran would
/// be missed by nobody while the others serve.
fn spawn_on<F>(processor: usize, body: F) -> io::Result<JoinHandle<io::Result<()>>>
where
    F: FnOnce(Builder) -> io::Result<()> + Clone + Send + 'static,
{
    let there = Builder::new().on_processor(processor);
    let (builder, first) = (there.clone(), body.clone());
    match there.eager_stack().spawn(move || first(builder)) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let anywhere = Builder::new().eager_stack();
            anywhere.spawn(move || body(Builder::new()))
        }
        spawned => spawned,
    }
}
