//! A listening socket of any family, and all work of accepting except the system call.

use crate::backoff::{Backoff, Pause};
use crate::funnel::{Direction, Left, Progress};
use crate::poll::shut_down::is_shut_down;
use crate::source::arm::SourceArm;
use crate::source::{Source, closed, number_of};
use crate::timeout::Timeout;
use fibre_core::internal::{Waiter, spread_next_spawn};
use fibre_core::{Arm, Entered, Left as LeftArm, cancellation_point, is_cancelled_error};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketAddrAny, SocketFlags, SocketType};
use rustix::net::{acceptfrom_with, shutdown, socket_with, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

/// How many connections the kernel queues before they are accepted; it cuts this at
/// `net.core.somaxconn`.
pub(super) const BACKLOG: u32 = 4096;

/// How many connections are accepted, if they are there, before the acceptor lets others run. The
/// fibres that serve them take their steps side by side then, with fewer polls in between.
const BURST: u32 = 32;

/// A listening socket.
#[derive(Debug)]
pub(super) struct Acceptor {
    /// The listening socket.
    pub source: Source,
    /// The pauses that accepting makes when the process is out of descriptors.
    backoff: Backoff,
    /// How many connections have been accepted.
    accepted: AtomicU32,
    /// Whether [`stop`](Self::stop) has stopped the socket, on this handle or a clone of it. It is
    /// set before the kernel is told, so a call that the kernel refuses for that reason sees it.
    stopped: Arc<AtomicBool>,
    /// Whether it is a Unix socket: the kernel does not report the shutdown of one.
    is_unix: bool,
}

/// An accepted socket, and its peer's address.
type Accepted = (OwnedFd, Option<SocketAddrAny>);

/// The flags of accepted sockets.
const ACCEPTED: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

impl Acceptor {
    /// An acceptor on a listening socket.
    pub(super) fn new(source: Source) -> Self {
        let domain = sockopt::socket_domain(&source);
        Self {
            is_unix: domain.is_ok_and(|domain| domain == AddressFamily::UNIX),
            source,
            backoff: Backoff::default(),
            accepted: AtomicU32::new(0),
            stopped: Arc::default(),
        }
    }

    /// An acceptor on a foreign listening socket, which is made non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Source::new`].
    pub(super) fn adopt(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(Source::new(fd)?))
    }

    /// An acceptor on a non-blocking listening socket that has just been made.
    ///
    /// # Errors
    ///
    /// As [`Source::made`].
    pub(super) fn made(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(Source::made(fd)?))
    }

    /// A duplicate with a descriptor of its own.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            source: self.source.try_clone()?,
            backoff: Backoff::default(),
            accepted: AtomicU32::new(0),
            stopped: Arc::clone(&self.stopped),
            is_unix: self.is_unix,
        })
    }

    /// Waits for a connection, and makes `T` of its non-blocking socket and the peer's address.
    pub(super) fn accept<T>(
        &self,
        timeout: Timeout<'_>,
        make: impl FnOnce(Source, Option<SocketAddrAny>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.backoff.pause(number_of(&self.source), timeout)?;
        let accept = |fd: BorrowedFd<'_>| self.accept_now(fd);
        let progress = Progress::new(Direction::Read, self.is_in_burst());
        if progress.has_rested() {
            cancellation_point()?;
        }
        let accepted = self.source.io_from(progress, timeout, accept);
        self.note(accepted, make)
    }

    /// Waits for the next connection, whatever goes wrong meanwhile; `None` when there will be
    /// none, or the caller is not to wait for it.
    pub(super) fn next<T>(
        &self,
        make: fn(Source, Option<SocketAddrAny>) -> io::Result<T>,
    ) -> Option<T> {
        loop {
            match self.accept(Timeout::Endless, make) {
                Ok(connection) => return Some(connection),
                Err(error) if is_final(&error) => return None,
                Err(error) => self.pass_over(&error),
            }
        }
    }

    /// Makes the next accept wait after an error that has taken no connection from the queue: that
    /// accept may find the same.
    fn pass_over(&self, error: &io::Error) {
        if !is_transient(error) {
            self.backoff.starved();
        }
    }

    /// Whether the acceptor goes on before others run.
    fn is_in_burst(&self) -> bool {
        !self.accepted.load(Ordering::Relaxed).is_multiple_of(BURST)
    }

    /// The system call.
    fn accept_now(&self, fd: BorrowedFd<'_>) -> Result<(Accepted, Left), Errno> {
        if self.is_stopped() {
            return Err(Errno::INVAL);
        }
        loop {
            if self.source.is_shared() && !has_client(fd)? {
                return Err(Errno::AGAIN);
            }
            self.source.keep_nonblocking();
            match acceptfrom_with(fd, ACCEPTED) {
                // The connection was gone before it was accepted; the next one may be there.
                Err(Errno::CONNABORTED | Errno::PROTO) => {}
                Err(Errno::AGAIN) if self.is_unix && is_shut_down(fd) => {
                    return Err(Errno::INVAL);
                }
                Err(Errno::AGAIN) => return Err(Errno::AGAIN),
                Err(errno) => return self.accept_simulated(errno),
                Ok(accepted) => return Ok((accepted, Left::More)),
            }
        }
    }

    /// Accepts on a simulated socket, after the kernel has refused that with `errno`: makes a
    /// stand-in, which has no address, for the connection that [`note`](Self::note) takes.
    #[cold]
    fn accept_simulated(&self, errno: Errno) -> Result<(Accepted, Left), Errno> {
        self.source.refused(errno, |socket| {
            socket.accept()?;
            let kind = SocketType::STREAM;
            let stand_in = socket_with(AddressFamily::INET, kind, ACCEPTED, None)?;
            Ok((stand_in, None))
        })
    }

    /// Takes the connection that `stand_in` was made for, and returns its peer's address. `None`:
    /// the kernel has accepted a peer without one.
    #[cold]
    fn take_simulated(&self, stand_in: &Source) -> Option<SocketAddrAny> {
        let (socket, peer) = self.source.simulated()?.take_accepted()?;
        stand_in.simulate(socket);
        Some(peer.into())
    }

    /// Notes what has come of an accept, and makes a stream of the socket.
    fn note<T>(
        &self,
        accepted: io::Result<Accepted>,
        make: impl FnOnce(Source, Option<SocketAddrAny>) -> io::Result<T>,
    ) -> io::Result<T> {
        match &accepted {
            Err(error)
                if Errno::from_io_error(error) == Some(Errno::INVAL) && self.is_stopped() =>
            {
                return Err(closed());
            }
            Ok(_) => {
                self.accepted.fetch_add(1, Ordering::Relaxed);
                self.backoff.fed();
            }
            Err(error) if is_starvation(error) => self.backoff.starved(),
            Err(_) => {}
        }
        let (fd, address) = accepted?;
        // The fibre that will serve it.
        spread_next_spawn();
        let source = Source::made(fd)?;
        let address = address.or_else(|| self.take_simulated(&source));
        make(source, address)
    }

    /// Ends accepting on the socket, for all handles, and dismisses the clients in its queue.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        if let Some(socket) = self.source.simulated() {
            // As below.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        // It fails if the socket does not listen, or no longer does; then there is nothing to stop.
        let _ = shutdown(&self.source, Shutdown::Both);
        self.source.close();
        // TCP has already reset the clients in its queue.
        if self.is_unix {
            self.dismiss();
        }
    }

    /// Closes the connections in the queue of a socket that gets no more of them.
    fn dismiss(&self) {
        loop {
            self.source.keep_nonblocking();
            match acceptfrom_with(&self.source, ACCEPTED) {
                Ok(_) | Err(Errno::INTR | Errno::CONNABORTED) => {}
                // The queue is empty, or there is no descriptor to accept into.
                Err(_) => return,
            }
        }
    }

    /// See [`stopped`](Self::stopped).
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Takes the error that the socket has recorded.
    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        if let Some(socket) = self.source.simulated() {
            return Ok(socket.take_error().map(Into::into));
        }
        Ok(sockopt::socket_error(&self.source)?.err().map(Into::into))
    }
}

/// Accepting, as an arm of selections. After an accept that has found no descriptor, it waits for
/// one to be freed, or for the pause that others make.
#[derive(Debug)]
pub(super) struct Accepting<'a, T> {
    /// The listener.
    acceptor: &'a Acceptor,
    /// Makes a stream of the socket.
    make: fn(Source, Option<SocketAddrAny>) -> io::Result<T>,
    /// The wait for a connection.
    arm: SourceArm<'a>,
    /// The wait for a descriptor, which comes first.
    pause: Pause,
}

impl<'a, T> Accepting<'a, T> {
    /// An arm of this listener; `make` makes its streams.
    pub(super) fn new(
        acceptor: &'a Acceptor,
        make: fn(Source, Option<SocketAddrAny>) -> io::Result<T>,
    ) -> Self {
        Self {
            acceptor,
            make,
            arm: SourceArm::new(&acceptor.source, Direction::Read),
            pause: acceptor.backoff.pause_of_arm(),
        }
    }

    /// Notes what has come of a try.
    fn note(&self, accepted: io::Result<Accepted>) -> io::Result<T> {
        let noted = self.acceptor.note(accepted, self.make);
        if noted.is_err() {
            self.pause.renew(&self.acceptor.backoff);
        }
        noted
    }
}

impl<T> Arm for Accepting<'_, T> {
    type Output = io::Result<T>;

    fn attempt(&mut self) -> Option<io::Result<T>> {
        if !self.pause.is_over() {
            return None;
        }
        let accepted = self.arm.attempt(|fd| self.acceptor.accept_now(fd))?;
        Some(self.note(accepted))
    }

    fn due(&self) -> Option<Instant> {
        self.pause.until()
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        if self.pause.until().is_none() {
            // SAFETY: passed on.
            return unsafe { self.arm.enter(waiter) };
        }
        // SAFETY: passed on.
        unsafe { self.pause.enter(waiter) };
        Entered::Waits
    }

    unsafe fn leave(&self, _: &Waiter) -> LeftArm {
        // SAFETY: passed on. A pause does not end between entering and leaving.
        unsafe {
            match self.pause.until() {
                None => self.arm.leave(),
                Some(_) => self.pause.leave(),
            }
        }
    }

    fn is_from_outside(&self) -> bool {
        self.acceptor.source.simulated().is_none()
    }

    fn woken(&mut self, token: u32) -> Option<io::Result<T>> {
        if self.pause.until().is_some() {
            self.pause.end();
            return self.attempt();
        }
        let accepted = self.arm.woken(token, |fd| self.acceptor.accept_now(fd))?;
        Some(self.note(accepted))
    }
}

/// The next connection, as an arm of selections: [`Acceptor::next`], which passes over errors that
/// say nothing about the listener.
#[derive(Debug)]
pub(super) struct Next<'a, T>(Accepting<'a, T>);

impl<'a, T> Next<'a, T> {
    /// An arm of this listener; `make` makes its streams.
    pub(super) fn new(
        acceptor: &'a Acceptor,
        make: fn(Source, Option<SocketAddrAny>) -> io::Result<T>,
    ) -> Self {
        Self(Accepting::new(acceptor, make))
    }

    /// What comes of a try: an error that is passed over does not count, and the call is tried
    /// again after a pause.
    fn settle(&mut self, mut tried: Option<io::Result<T>>) -> Option<Option<T>> {
        loop {
            match tried? {
                Ok(connection) => return Some(Some(connection)),
                Err(error) if is_final(&error) => return Some(None),
                Err(error) => self.0.acceptor.pass_over(&error),
            }
            self.0.pause.renew(&self.0.acceptor.backoff);
            tried = self.0.attempt();
        }
    }
}

impl<T> Arm for Next<'_, T> {
    type Output = Option<T>;

    fn attempt(&mut self) -> Option<Option<T>> {
        let tried = self.0.attempt();
        self.settle(tried)
    }

    fn due(&self) -> Option<Instant> {
        self.0.due()
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        unsafe { self.0.enter(waiter) }
    }

    unsafe fn leave(&self, waiter: &Waiter) -> LeftArm {
        // SAFETY: passed on.
        unsafe { self.0.leave(waiter) }
    }

    fn is_from_outside(&self) -> bool {
        self.0.is_from_outside()
    }

    fn woken(&mut self, token: u32) -> Option<Option<T>> {
        let tried = self.0.woken(token);
        self.settle(tried)
    }
}

/// The arm of a kind of listener, over [`Accepting`] or [`Next`].
macro_rules! accept_arm {
    ($(#[$about:meta])* $arm:ident($over:ident: $connection:ty) => $output:ty) => {
        $(#[$about])*
        #[derive(Debug)]
        #[must_use = "an arm waits in a selection only"]
        pub struct $arm<'a>($crate::net::acceptor::$over<'a, $connection>);

        impl fibre_core::Arm for $arm<'_> {
            type Output = $output;

            fn attempt(&mut self) -> Option<Self::Output> {
                self.0.attempt()
            }

            fn due(&self) -> Option<Instant> {
                self.0.due()
            }

            unsafe fn enter(&self, waiter: &fibre_core::internal::Waiter) -> fibre_core::Entered {
                // SAFETY: passed on.
                unsafe { self.0.enter(waiter) }
            }

            unsafe fn leave(&self, waiter: &fibre_core::internal::Waiter) -> fibre_core::Left {
                // SAFETY: passed on.
                unsafe { self.0.leave(waiter) }
            }

            fn woken(&mut self, token: u32) -> Option<Self::Output> {
                self.0.woken(token)
            }

            fn is_from_outside(&self) -> bool {
                self.0.is_from_outside()
            }
        }
    };
}

pub(super) use accept_arm;

impl AsFd for Acceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

/// Whether a listening socket has a client to accept, or is no longer one. Accepting has no flag
/// that says not to wait, and another process may take the socket's own away at any moment.
fn has_client(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut asked = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    Ok(poll(&mut asked, Some(&at_once))? != 0)
}

/// Whether an error says nothing about the next call: the process or the system is out of some
/// resource, or the network reported a connection that failed.
pub(super) fn is_transient(error: &io::Error) -> bool {
    let of_the_network = matches!(
        Errno::from_io_error(error),
        Some(
            Errno::NETDOWN
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
                | Errno::PERM
        )
    );
    of_the_network || is_starvation(error)
}

/// Whether an error says that no call will get a connection, or that the caller is not to wait for
/// one: the listener is closed or does not listen, the fibre is cancelled, its time is over.
fn is_final(error: &io::Error) -> bool {
    let of_the_socket = matches!(
        Errno::from_io_error(error),
        Some(Errno::INVAL | Errno::BADF | Errno::NOTSOCK | Errno::OPNOTSUPP | Errno::AFNOSUPPORT)
    );
    let of_the_caller = is_cancelled_error(error) || error.kind() == io::ErrorKind::TimedOut;
    of_the_socket || of_the_caller || error.kind() == io::ErrorKind::ConnectionAborted
}

/// Whether an error says that the process or the system is out of some resource.
fn is_starvation(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}
