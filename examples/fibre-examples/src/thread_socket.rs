//! A socket of std's with deadlines: what a server with a thread per connection needs to put up
//! with clients that send a byte now and then.
//!
//! std knows a time-out for each call only, which the kernel keeps (`SO_RCVTIMEO`, `SO_SNDTIMEO`).
//! So that is set to what is left of the deadline before a call; but if what is set already comes
//! near to that it stays, as setting it is a system call. A call that wakes up early waits again.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use fibre::sync::Mutex;

use crate::connections::Socket;

/// A socket with calls that block the thread.
#[derive(Debug)]
pub struct ThreadSocket {
    /// The socket.
    stream: TcpStream,
    /// How long calls may wait, and what the kernel knows of that.
    limits: Mutex<Limits>,
}

/// How long calls may wait.
#[derive(Debug)]
struct Limits {
    /// How long each call may wait.
    timeout: Duration,
    /// All together.
    deadline: Option<Instant>,
    /// The time-outs that the kernel has, to receive and to send; zero for none.
    set: [Duration; 2],
}

/// What a call does.
#[derive(Debug, Clone, Copy)]
enum Direction {
    Receive,
    Send,
}

impl ThreadSocket {
    /// Wraps a blocking socket, and sets no limit.
    #[must_use]
    pub fn new(stream: TcpStream) -> Self {
        let limits = Limits {
            timeout: Duration::MAX,
            deadline: None,
            set: [Duration::ZERO; 2],
        };
        Self {
            stream,
            limits: Mutex::new(limits),
        }
    }

    /// Makes a call, which the kernel ends with `WouldBlock` when its time is over.
    fn within<T>(
        &self,
        direction: Direction,
        mut call: impl FnMut(&TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        let begun = Instant::now();
        loop {
            self.arm(direction, begun)?;
            match call(&self.stream) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// Sees to it that a call that began then does not wait for much longer than it may.
    fn arm(&self, direction: Direction, begun: Instant) -> io::Result<()> {
        let mut limits = self.limits.lock();
        let ends = [begun.checked_add(limits.timeout), limits.deadline];
        let Some(end) = ends.into_iter().flatten().min() else {
            return Ok(());
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let set = &mut limits.set[direction as usize];
        if set.abs_diff(left) > left / 16 {
            *set = left;
            match direction {
                Direction::Receive => self.stream.set_read_timeout(Some(left))?,
                Direction::Send => self.stream.set_write_timeout(Some(left))?,
            }
        }
        Ok(())
    }
}

impl Socket for ThreadSocket {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.limits.lock().timeout = timeout;
        Ok(())
    }

    fn set_deadline(&self, deadline: Option<Instant>) {
        self.limits.lock().deadline = deadline;
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }
}

impl Read for &ThreadSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.within(Direction::Receive, |mut stream| stream.read(buffer))
    }
}

impl Write for &ThreadSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.within(Direction::Send, |mut stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn calls_end_at_the_earlier_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _peer = listener.accept().unwrap();
        let socket = ThreadSocket::new(stream);
        let read = || (&socket).read(&mut [0]).unwrap_err().kind();
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(3600));
        for (timeout, deadline) in [(short, None), (short, Some(long)), (long, Some(short))] {
            let begun = Instant::now();
            socket.set_timeout(timeout).unwrap();
            socket.set_deadline(deadline.map(|deadline| begun + deadline));
            assert_eq!(read(), ErrorKind::TimedOut);
            assert!(begun.elapsed() >= short);
        }
        // It is past.
        assert_eq!(read(), ErrorKind::TimedOut);
    }
}
