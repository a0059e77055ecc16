//! A connection as ureq knows it.

use crate::limits::{deadline_of, told};
use fibre_io::net::TcpStream;
use fibre_io::poll::{PollFd, Readiness, try_poll};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, Weak};
use ureq::Error;
use ureq::unversioned::transport::{Buffers, LazyBuffers, NextTimeout, ShutdownHandle, Transport};

/// A stream that the agent may end while it is in use.
#[derive(Debug)]
struct Shared(TcpStream);

impl ShutdownHandle for Shared {
    fn shutdown(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// A connection over a stream of fibre's, with the buffers that ureq reads from and writes to.
#[derive(Debug)]
pub struct FibreTransport {
    stream: Arc<Shared>,
    buffers: LazyBuffers,
}

impl FibreTransport {
    /// A connection with buffers of these sizes, which are allocated when they are used.
    pub(crate) fn new(stream: TcpStream, input: usize, output: usize) -> Self {
        Self {
            stream: Arc::new(Shared(stream)),
            buffers: LazyBuffers::new(input, output),
        }
    }

    /// The error that makes the agent end the connection.
    pub(crate) fn shutdown_handle(&self) -> Weak<dyn ShutdownHandle> {
        let handle: Weak<Shared> = Arc::downgrade(&self.stream);
        handle
    }

    /// The stream.
    #[must_use]
    pub fn get_ref(&self) -> &TcpStream {
        &self.stream.0
    }
}

impl Transport for FibreTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        let deadline = deadline_of(timeout)?;
        let mut stream = &self.stream.0;
        stream.set_write_deadline(deadline);
        let output = &self.buffers.output()[..amount];
        let written = stream.write_all(output);
        written.map_err(|error| told(error, timeout, deadline))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        let deadline = deadline_of(timeout)?;
        let mut stream = &self.stream.0;
        stream.set_read_deadline(deadline);
        let input = self.buffers.input_append_buf();
        let read = stream.read(input);
        let count = read.map_err(|error| told(error, timeout, deadline))?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    /// A connection at rest has nothing to read: bytes or an end mean that it is of no use. Does
    /// not wait: see the crate.
    fn is_open(&mut self) -> bool {
        let mut fds = [PollFd::new(&self.stream.0, Readiness::READ)];
        try_poll(&mut fds).is_ok_and(|ready| ready == 0)
    }
}
