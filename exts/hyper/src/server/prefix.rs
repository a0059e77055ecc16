//! The first bytes of a connection, which tell the protocol.

use crate::FibreIo;
use fibre_io::net::Connection;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a client of HTTP/2 sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The bytes that have been read of a connection before hyper reads it.
#[derive(Debug)]
pub(super) struct Prefix {
    bytes: [u8; PREFACE.len()],
    /// How many they are.
    count: usize,
}

impl Prefix {
    /// Reads as many bytes of a new connection as tell its protocol; `None` if the client leaves.
    /// Blocks the fibre.
    pub(super) fn read(mut stream: impl io::Read) -> io::Result<Option<Self>> {
        let mut prefix = Self {
            bytes: [0; PREFACE.len()],
            count: 0,
        };
        while prefix.is_open() {
            match stream.read(&mut prefix.bytes[prefix.count..])? {
                0 => return Ok(None),
                more => prefix.count += more,
            }
        }
        Ok(Some(prefix))
    }

    /// Whether the bytes tell nothing yet.
    fn is_open(&self) -> bool {
        self.count < PREFACE.len() && PREFACE.starts_with(&self.bytes[..self.count])
    }

    /// Whether the client speaks HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.bytes == *PREFACE
    }
}

/// A connection after its first bytes have been read.
#[derive(Debug)]
pub(super) struct Prefixed<S: Connection> {
    io: FibreIo<S>,
    prefix: Prefix,
    /// How many bytes of the prefix hyper has read.
    used: usize,
}

impl<S: Connection> Prefixed<S> {
    /// A connection after its prefix has been read.
    pub(super) fn new(prefix: Prefix, stream: S) -> Self {
        Self {
            io: FibreIo::new(stream),
            prefix,
            used: 0,
        }
    }
}

impl<S: Connection + Unpin> Read for Prefixed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let rest = &this.prefix.bytes[this.used..this.prefix.count];
        if rest.is_empty() {
            return Pin::new(&mut this.io).poll_read(context, buffer);
        }
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        this.used += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: Connection + Unpin> Write for Prefixed<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, buffer)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(context, buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::Prefix;

    /// What is read of a stream that gives these pieces, one a call.
    fn prefix_of(pieces: &[&[u8]]) -> Option<Prefix> {
        struct Pieces<'a>(&'a [&'a [u8]]);
        impl std::io::Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let Some((first, rest)) = self.0.split_first() else {
                    return Ok(0);
                };
                let count = first.len().min(buffer.len());
                buffer[..count].copy_from_slice(&first[..count]);
                self.0 = rest;
                Ok(count)
            }
        }
        Prefix::read(Pieces(pieces)).ok().flatten()
    }

    #[test]
    fn the_first_bytes_tell_the_protocol() {
        let whole = prefix_of(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore"]).map(|one| one.is_http2());
        assert_eq!(whole, Some(true));
        let in_pieces: Vec<&[u8]> = super::PREFACE.chunks(1).collect();
        assert_eq!(prefix_of(&in_pieces).map(|one| one.is_http2()), Some(true));
        for pieces in [
            &[&b"G"[..]][..],
            &[b"P", b"R", b"OPFIND / HTTP/1.1"],
            &[b"PRI * HTTP/1.1"],
        ] {
            let prefix = prefix_of(pieces).map(|one| (one.is_http2(), one.count));
            let count = pieces.concat().len();
            assert_eq!(prefix, Some((false, count)), "{pieces:?}");
        }
        assert!(prefix_of(&[b"PRI"]).is_none());
        assert!(prefix_of(&[]).is_none());
    }
}
