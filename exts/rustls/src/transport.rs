//! What TLS lies over.

use fibre_io::net::TcpStream;
use fibre_io::net::unix::UnixStream;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

/// A stream of bytes that one fibre may read while another writes. Fibre's own streams are, and so
/// is a stream in an [`Arc`]; other types can be made to.
pub trait Transport: Send + Sync + 'static {
    /// Receives some bytes; zero: the peer has ended its direction. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the stream. An error that passes, such as `TimedOut`, leaves TLS unharmed.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends some of the bytes, and says how many. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the stream, if no byte has been sent.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Ends one direction, or both.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;
}

impl Transport for TcpStream {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&mut &*self).read(buffer)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        (&mut &*self).write(bytes)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        Self::shutdown(self, how)
    }
}

impl Transport for UnixStream {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&mut &*self).read(buffer)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        (&mut &*self).write(bytes)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        Self::shutdown(self, how)
    }
}

impl<T: Transport> Transport for Arc<T> {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        T::receive(self, buffer)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        T::send(self, bytes)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        T::shutdown(self, how)
    }
}
