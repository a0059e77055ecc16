//! `pipe`: a number goes to a partner and back over two pipes.
//!
//! One operation is a round trip of four system calls. Every read has to wait, as the
//! partner writes only after it has read.

use std::io::{self, Read, Write};

use super::blocking::Line;

/// How a runtime makes pipes.
pub(crate) trait Pipes: Send + 'static {
    /// The end that is read from.
    type Reader: Read + Send + 'static;
    /// The end that is written to.
    type Writer: Write + Send + 'static;

    /// A pipe.
    fn pipe() -> io::Result<(Self::Reader, Self::Writer)>;
}

/// One end of a conversation over two pipes.
pub(crate) struct PipeLine<P: Pipes> {
    from: P::Reader,
    to: P::Writer,
}

impl<P: Pipes> Line for PipeLine<P>
where
    for<'a> &'a P::Reader: Read,
    for<'a> &'a P::Writer: Write,
{
    fn ends() -> (Self, Self) {
        let pipe = || P::pipe().unwrap_or_else(|error| panic!("no pipe: {error}"));
        let ((near_reader, far_writer), (far_reader, near_writer)) = (pipe(), pipe());
        (
            Self {
                from: near_reader,
                to: near_writer,
            },
            Self {
                from: far_reader,
                to: far_writer,
            },
        )
    }

    fn send(&self, number: u64) -> anyhow::Result<()> {
        Ok((&self.to).write_all(&number.to_ne_bytes())?)
    }

    fn receive(&self) -> anyhow::Result<u64> {
        let mut number = [0; 8];
        (&self.from).read_exact(&mut number)?;
        Ok(u64::from_ne_bytes(number))
    }
}
