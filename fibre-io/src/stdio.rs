//! Standard input, output and error, after std's, but calls block the fibre.
//!
//! The program shares these descriptors with its parent, such as a shell and its terminal. So they
//! must not become non-blocking, as they would for everybody who shares them. A call is made in
//! steps; each step is for cases that the one before could not handle:
//!
//! 1. without waiting, with a flag of the call (`RWF_NOWAIT`): pipes, sockets, and cached parts of
//!    files;
//! 2. once more, after `poll` has said that it would not wait;
//! 3. on a thread that may block: for a terminal, which does not support that flag; for a file that
//!    is not cached; or because another reader was faster.
//!
//! A lock keeps one caller's bytes together, and its holder may wait for long. So calls that take
//! the lock themselves wait for it as they wait for the descriptor: until the fibre is cancelled.

use crate::forward::{reads_as_reference, writes_as_reference};
use crate::poll::{PollFd, Readiness, poll};
use fibre_core::internal::yield_point_cancellable;
use fibre_core::{Limit, WaitError, blocking, in_fibre};
use fibre_sync::{Mutex, MutexGuard};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2, retry_on_intr};
use std::fmt;
use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, LineWriter, Lines, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::LazyLock;
use std::time::Duration;

/// The offset that stands for the descriptor's own position, or for none.
const HERE: u64 = u64::MAX;

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It fails where it would have to wait.
    AtOnce,
    /// It blocks its thread.
    Blocking,
}

/// One of the three descriptors, without a buffer.
#[derive(Debug)]
struct Raw<F>(F);

impl<F: AsFd> Raw<F> {
    /// Makes a call, in the steps of the module text.
    fn call(
        &self,
        interest: Readiness,
        mut operation: impl FnMut(BorrowedFd<'_>, Mode) -> Result<usize, Errno> + Send,
    ) -> io::Result<usize> {
        let fd = self.0.as_fd();
        if !in_fibre() {
            return Ok(retry_on_intr(|| operation(fd, Mode::Blocking))?);
        }
        yield_point_cancellable()?;
        let mut asked = [PollFd::new(&fd, interest)];
        if let Some(done) = unless_refused(operation(fd, Mode::AtOnce)) {
            return Ok(done?);
        }
        loop {
            poll(&mut asked)?;
            if let Some(done) = unless_refused(operation(fd, Mode::AtOnce)) {
                return Ok(done?);
            }
            match blocking(|| operation(fd, Mode::Blocking)) {
                // Somebody has made it non-blocking, and taken what there was.
                Err(Errno::AGAIN | Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }
}

/// What a call that must not wait has come to; `None` if it would have to, or is not known here.
fn unless_refused(done: Result<usize, Errno>) -> Option<Result<usize, Errno>> {
    match done {
        Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::INVAL) => None,
        // An older kernel, or a sandbox.
        Err(Errno::NOSYS | Errno::PERM) => None,
        done => Some(done),
    }
}

/// As in std, a program that has closed the descriptor reads the end, and its writes are discarded.
fn unless_closed(done: io::Result<usize>, otherwise: usize) -> io::Result<usize> {
    match done {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BADF) => Ok(otherwise),
        done => done,
    }
}

impl<F: AsFd> Read for Raw<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.call(Readiness::READ, |fd, mode| match mode {
            Mode::AtOnce => {
                let mut whole = [IoSliceMut::new(buffer)];
                preadv2(fd, &mut whole, HERE, ReadWriteFlags::NOWAIT)
            }
            Mode::Blocking => rustix::io::read(fd, &mut *buffer),
        });
        unless_closed(read, 0)
    }
}

impl<F: AsFd> Write for Raw<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.call(Readiness::WRITE, |fd, mode| match mode {
            Mode::AtOnce => pwritev2(fd, &[IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT),
            Mode::Blocking => rustix::io::write(fd, bytes),
        });
        unless_closed(written, bytes.len())
    }

    /// Does nothing: there is no buffer here.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What all handles of the standard input share.
static INPUT: LazyLock<Mutex<BufReader<Raw<io::Stdin>>>> =
    LazyLock::new(|| Mutex::new(BufReader::new(Raw(io::stdin()))));

/// A handle of the process' standard input. See [`std::io::Stdin`]. The two share no buffer: read
/// by one of them only.
///
/// Reads block the fibre, or the thread if the caller is not a fibre, whatever the input is. They
/// do not make it non-blocking for others who have it. A process in a terminal's background gets an
/// error instead of being stopped, since processors block SIGTTIN.
#[derive(Debug)]
pub struct Stdin(());

/// The standard input, for this fibre (or thread) alone while this lives.
#[derive(Debug)]
pub struct StdinLock<'a>(MutexGuard<'a, BufReader<Raw<io::Stdin>>>);

/// A handle of the process' standard input. Blocks nothing.
///
/// ```
/// let fibre = fibre::spawn(|| {
///     let mut line = String::new();
///     fibre::io::stdin().read_line(&mut line)
/// });
/// fibre.join().unwrap()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn stdin() -> Stdin {
    Stdin(())
}

/// The ways to have one of the three alone.
macro_rules! locks {
    ($name:ident, $lock:ident, $shared:ident, $does:literal) => {
        impl $name {
            #[doc = concat!("Waits until nobody else ", $does, ". Blocks the fibre (or thread), also if it is cancelled.")]
            #[must_use]
            pub fn lock(&self) -> $lock<'static> {
                $lock($shared.lock())
            }

            #[doc = concat!("[`lock`](Self::lock), unless somebody else ", $does, " now. Blocks nothing.")]
            #[must_use]
            pub fn try_lock(&self) -> Option<$lock<'static>> {
                $shared.try_lock().map($lock)
            }

            #[doc = concat!("Waits until nobody else ", $does, ", for `timeout` at most, or until the fibre is cancelled: then")]
            /// `None`. Blocks the fibre (or thread).
            #[must_use]
            pub fn lock_timeout(&self, timeout: Duration) -> Option<$lock<'static>> {
                $shared.lock_timeout(timeout).map($lock)
            }

            #[doc = concat!("Waits until nobody else ", $does, ", or until the [`Limit`] comes. Blocks the fibre (or thread).")]
            ///
            /// # Errors
            ///
            /// [`WaitError`]; then the lock is not the caller's.
            #[inline]
            pub fn lock_within(&self, limit: impl Into<Limit>) -> Result<$lock<'static>, WaitError> {
                $shared.lock_within(limit).map($lock)
            }
        }
    };
}

locks!(Stdin, StdinLock, INPUT, "reads");

impl Stdin {
    /// Reads to the end of a line, and appends all of it; 0 at the end of the input. Blocks the
    /// fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`BufRead::read_line`]; `ECANCELED` if the fibre has been cancelled, or is while it
    /// waits.
    pub fn read_line(&self, line: &mut String) -> io::Result<usize> {
        self.lock_within(Limit::Cancellation)?.read_line(line)
    }

    /// The lines to come. Waits as [`lock`](Self::lock).
    #[must_use]
    pub fn lines(self) -> Lines<StdinLock<'static>> {
        self.lock().lines()
    }
}

impl Read for StdinLock<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl BufRead for StdinLock<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.0.consume(count);
    }
}

impl Read for &Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lock_within(Limit::Cancellation)?.read(buffer)
    }

    fn read_to_end(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.lock_within(Limit::Cancellation)?.read_to_end(buffer)
    }
}

reads_as_reference!(Stdin);

/// What the process writes to.
macro_rules! output {
    ($name:ident, $lock:ident, $function:ident, $shared:ident, $what:literal) => {
        /// What all handles share.
        static $shared: LazyLock<Mutex<LineWriter<Raw<io::$name>>>> =
            LazyLock::new(|| Mutex::new(LineWriter::new(Raw(io::$function()))));

        #[doc = concat!("A handle of the process' standard ", $what, ". See [`std::io::", stringify!($name), "`], with")]
        /// which it shares no buffer.
        ///
        /// The output of a call, or of all calls while it is [locked](Self::lock), is written when
        /// that ends, and each line as soon as it is complete; output that an error kept back waits
        /// for the next call. Writes block the fibre, or the thread if the caller is not a fibre,
        /// whatever the output is. They do not make it non-blocking for others who have it.
        #[derive(Debug)]
        pub struct $name(());

        #[doc = concat!("The standard ", $what, ", for this fibre (or thread) alone while this lives.")]
        #[derive(Debug)]
        pub struct $lock<'a>(MutexGuard<'a, LineWriter<Raw<io::$name>>>);

        #[doc = concat!("A handle of the process' standard ", $what, ". Blocks nothing.")]
        ///
        /// ```
        /// use std::io::Write;
        ///
        #[doc = concat!("let fibre = fibre::spawn(|| writeln!(fibre::io::", stringify!($function), "(), \"hello\"));")]
        /// fibre.join().unwrap()?;
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[must_use]
        pub fn $function() -> $name {
            $name(())
        }

        locks!($name, $lock, $shared, "writes");

        impl Drop for $lock<'_> {
            fn drop(&mut self) {
                // A caller that needs the errors flushes by itself.
                let _ = self.0.flush();
            }
        }

        impl Write for $lock<'_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.write(bytes)
            }

            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                self.0.write_all(bytes)
            }

            fn flush(&mut self) -> io::Result<()> {
                self.0.flush()
            }
        }

        impl Write for &$name {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let mut lock = self.lock_within(Limit::Cancellation)?;
                let count = lock.write(bytes)?;
                lock.flush().map(|()| count)
            }

            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                let mut lock = self.lock_within(Limit::Cancellation)?;
                lock.write_all(bytes)?;
                lock.flush()
            }

            fn write_fmt(&mut self, words: fmt::Arguments<'_>) -> io::Result<()> {
                let mut lock = self.lock_within(Limit::Cancellation)?;
                lock.write_fmt(words)?;
                lock.flush()
            }

            fn flush(&mut self) -> io::Result<()> {
                self.lock_within(Limit::Cancellation)?.flush()
            }
        }

        writes_as_reference!($name);
    };
}

output!(Stdout, StdoutLock, stdout, OUTPUT, "output");
output!(Stderr, StderrLock, stderr, ERRORS, "error");
