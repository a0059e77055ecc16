//! Connections for asynchronous code, in any executor or in [`block_on`](fibre_sync::block_on()).

use super::Shutdown;
use super::endpoint::{RECEIVE, SEND};
use crate::funnel::{Direction, Left};
use crate::gate::single::Gate;
use crate::source::{Source, closed};
use crate::task_turn::{Pollee, TaskTurn};
use crate::transfer::{left, total, useful};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, recv, send, sendmsg};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::task::{Context, Poll};

/// What an [`AsyncStream`] is made of: [`TcpStream`](super::TcpStream) and
/// [`UnixStream`](super::unix::UnixStream).
pub trait Connection {
    /// The socket.
    #[doc(hidden)]
    fn source(&self) -> &Source;

    /// Ends one direction or both, as the stream's own method does.
    ///
    /// # Errors
    ///
    /// Those of the system call.
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;
}

/// One direction of a connection.
struct End<'a>(&'a Source, Direction);

impl Pollee for End<'_> {
    fn gate(&self) -> &'static Gate {
        self.0.gate(self.1)
    }

    fn is_told(&self) -> bool {
        self.0.is_registered()
    }

    fn register(&self) -> io::Result<()> {
        self.0.register()
    }

    fn closed(&self) -> io::Error {
        closed()
    }
}

/// A connection for asynchronous code: tasks poll it, and it never blocks.
///
/// Any executor may poll it, [`block_on`](fibre_sync::block_on()) in a fibre among them. Events
/// come from the pollers of fibres' clusters, which call the task's waker. One task reads and one
/// writes, or the same does both; fibres and other tasks that use the socket meanwhile take turns
/// with it. Time-outs and deadlines of the stream do not hold here.
///
/// A poll does not leave the stack of the calling fibre, so the caller may hold locks of std. After
/// 64 calls in a row that succeed at once, one is pending, and wakes its task, so that others run.
///
/// With the feature `futures-io` it implements that crate's `AsyncRead` and `AsyncWrite`. The crate
/// `fibre-hyper` implements hyper's traits.
///
/// ```
/// use fibre::net::{AsyncStream, TcpListener, TcpStream};
/// use std::future::poll_fn;
/// use std::io::Write;
///
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// fibre::spawn(move || TcpStream::connect(address)?.write_all(b"hello"));
/// let mut stream = AsyncStream::new(listener.accept()?.0);
/// let mut buffer = [0; 16];
/// let count = fibre::block_on(poll_fn(|context| stream.poll_read(context, &mut buffer)))?;
/// assert_eq!(&buffer[..count], &b"hello"[..count]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AsyncStream<S: Connection> {
    // The turns are left before the descriptor goes.
    reading: TaskTurn,
    writing: TaskTurn,
    stream: S,
}

impl<S: Connection> AsyncStream<S> {
    /// Takes a connection over. Blocks nothing.
    #[must_use]
    pub fn new(stream: S) -> Self {
        Self {
            reading: TaskTurn::default(),
            writing: TaskTurn::default(),
            stream,
        }
    }

    /// The connection.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Gives the connection back, which blocks fibres again.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.stream
    }

    /// Reads some bytes; none at the end of the stream.
    ///
    /// # Errors
    ///
    /// Those of the system call; `ConnectionAborted` once the stream has been closed.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let end = End(self.stream.source(), Direction::Read);
        self.reading.poll(&end, context.waker(), || {
            match recv(end.0, &mut *buffer, RECEIVE) {
                Ok((count, _)) => Ok((count, left(count, buffer.len()))),
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => receive_simulated(end.0, errno, buffer),
            }
        })
    }

    /// [`poll_read`](Self::poll_read) into uninitialised memory. The returned number of bytes at
    /// its beginning is initialised then.
    ///
    /// # Errors
    ///
    /// As [`poll_read`](Self::poll_read).
    pub fn poll_read_uninit(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let end = End(self.stream.source(), Direction::Read);
        self.reading.poll(&end, context.waker(), || {
            match recv(end.0, &mut *buffer, RECEIVE) {
                Ok(((read, _), _)) => {
                    let count = read.len();
                    Ok((count, left(count, buffer.len())))
                }
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => {
                    // A simulated socket takes initialised memory only.
                    let mut bytes = vec![0; buffer.len()];
                    let (count, left) = receive_simulated(end.0, errno, &mut bytes)?;
                    for (place, byte) in buffer.iter_mut().zip(&bytes[..count]) {
                        place.write(*byte);
                    }
                    Ok((count, left))
                }
            }
        })
    }

    /// Writes some bytes.
    ///
    /// # Errors
    ///
    /// As [`poll_read`](Self::poll_read).
    pub fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let end = End(self.stream.source(), Direction::Write);
        self.writing
            .poll(&end, context.waker(), || match send(end.0, buffer, SEND) {
                Ok(count) => Ok((count, left(count, buffer.len()))),
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => send_simulated(end.0, errno, &[IoSlice::new(buffer)]),
            })
    }

    /// [`poll_write`](Self::poll_write) from several buffers, one after the other.
    ///
    /// # Errors
    ///
    /// As [`poll_read`](Self::poll_read).
    pub fn poll_write_vectored(
        &mut self,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Some(range) = useful(buffers) else {
            return Poll::Ready(Ok(0));
        };
        let buffers = &buffers[range];
        let end = End(self.stream.source(), Direction::Write);
        self.writing.poll(&end, context.waker(), || {
            match sendmsg(end.0, buffers, &mut SendAncillaryBuffer::default(), SEND) {
                Ok(count) => Ok((count, left(count, total(buffers)))),
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => send_simulated(end.0, errno, buffers),
            }
        })
    }

    /// Ends the writing direction: the peer sees the end of the stream. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of the system call; that the peer has gone is not an error.
    pub fn shut_down(&mut self) -> io::Result<()> {
        match self.stream.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done,
        }
    }
}

/// Receives on a simulated socket, after the kernel has refused that with `errno`.
#[cold]
fn receive_simulated(
    source: &Source,
    errno: Errno,
    buffer: &mut [u8],
) -> Result<(usize, Left), Errno> {
    let slices = &mut [IoSliceMut::new(buffer)];
    let ((count, _), left) = source.refused(errno, |socket| socket.receive(slices, false))?;
    Ok((count, left))
}

/// Sends on a simulated socket, after the kernel has refused that with `errno`.
#[cold]
fn send_simulated(
    source: &Source,
    errno: Errno,
    buffers: &[IoSlice<'_>],
) -> Result<(usize, Left), Errno> {
    source.refused(errno, |socket| socket.send(buffers, None))
}

#[cfg(feature = "futures-io")]
mod traits {
    use super::{AsyncStream, Connection};
    use futures_io::{AsyncRead, AsyncWrite};
    use std::io::{self, IoSlice};
    use std::pin::Pin;
    use std::task::{Context, Poll};

    impl<S: Connection + Unpin> AsyncRead for AsyncStream<S> {
        fn poll_read(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            Self::poll_read(self.get_mut(), context, buffer)
        }
    }

    impl<S: Connection + Unpin> AsyncWrite for AsyncStream<S> {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &[u8],
        ) -> Poll<io::Result<usize>> {
            Self::poll_write(self.get_mut(), context, buffer)
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffers: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            Self::poll_write_vectored(self.get_mut(), context, buffers)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(self.get_mut().shut_down())
        }
    }
}
