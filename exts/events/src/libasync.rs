//! The names of libasync, for programs that are written for it, over one set of events for the
//! whole process.
//!
//! | libasync | here |
//! |---|---|
//! | `wrap(f, x, y)`, `cwrap(f, x, y, colour)` | [`wrap`]`(move \|\| f(x, y))`, [`cwrap`]`(move \|\| f(x, y), colour)` |
//! | `cpucb(cb)` | [`cpucb`] |
//! | `fdcb(fd, READ, cb)`, `fdcb(fd, READ, NULL)` | [`fdcb`] with `Some(&cb)`, and with `None` |
//! | `timecb`, `delaycb`, `timecb_remove` | [`timecb`], [`delaycb`], [`timecb_remove`] |
//! | `sigcb`, `chldcb` | [`sigcb`], [`chldcb`] |
//! | `tcpconnect`, `inetsocket` | [`tcpconnect`], [`inetsocket`] |
//! | `amain()` | [`amain`] |
//!
//! A callback is a closure with its colour, may be called more than once, and is shared by its
//! clones; captured arguments take the place of curried ones. As in libasync, nothing runs before
//! [`amain`], and a callback without a colour has colour 0.
//!
//! Source: Zeldovich, Yip, Dabek, Morris, Mazières, Kaashoek, "Multiprocessor support for
//! event-driven programs" (2003), sections 2 and 3.
//!
//! ```
//! use fibre_events::libasync::{amain, cpucb, cwrap, delaycb, events, wrap};
//!
//! let add = |x: u32, y: u32| println!("{}", x + y);
//! cpucb(&cwrap(move |()| add(1, 2), 7));
//! delaycb(0, 1_000_000, &wrap(|()| events().stop()))?;
//! amain();
//! # Ok::<(), std::io::Error>(())
//! ```

use crate::clock::Timer;
use crate::colour::Colour;
use crate::events::Events;
use crate::report::Report;
use fibre_io::net::TcpStream;
use fibre_io::process::{Child, ExitStatus};
use fibre_io::signal::Signal;
use std::fmt;
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// What is called: a function of one argument, and its colour. Clones share the function.
pub struct Callback<A = ()> {
    call: Arc<dyn Fn(A) + Send + Sync>,
    colour: Colour,
}

impl<A: 'static> Callback<A> {
    /// Calls it at once, on the caller's stack and under the caller's colour.
    pub fn call(&self, argument: A) {
        (self.call)(argument);
    }

    /// Its colour.
    #[must_use]
    pub fn colour(&self) -> &Colour {
        &self.colour
    }
}

impl<A> Clone for Callback<A> {
    fn clone(&self) -> Self {
        Self {
            call: Arc::clone(&self.call),
            colour: self.colour.clone(),
        }
    }
}

impl<A> fmt::Debug for Callback<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback")
            .field("colour", &self.colour)
            .finish_non_exhaustive()
    }
}

/// Which way a descriptor is to be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selop {
    /// It can be read from (`selread`).
    Read,
    /// It can be written to (`selwrite`).
    Write,
}

/// A callback of colour 0.
#[must_use]
pub fn wrap<A: 'static>(call: impl Fn(A) + Send + Sync + 'static) -> Callback<A> {
    cwrap(call, 0)
}

/// A callback of a colour.
#[must_use]
pub fn cwrap<A: 'static>(
    call: impl Fn(A) + Send + Sync + 'static,
    colour: impl Into<Colour>,
) -> Callback<A> {
    Callback {
        call: Arc::new(call),
        colour: colour.into(),
    }
}

/// The events of the process, with the defaults of [`Events::builder`] unless [`use_events`] came
/// first.
///
/// # Panics
///
/// If their cluster cannot be started; [`use_events`] lets a program see the error.
pub fn events() -> &'static Events {
    EVENTS.get_or_init(|| match Events::builder().build() {
        Ok(events) => events,
        Err(error) => panic!("cannot start the events of libasync: {error}"),
    })
}

/// The events of the process.
static EVENTS: OnceLock<Events> = OnceLock::new();

/// Makes these the events of the process.
///
/// # Errors
///
/// The events, if the process has some already.
pub fn use_events(events: Events) -> Result<(), Events> {
    EVENTS.set(events)
}

/// Runs a callback as soon as its turn comes. Blocks nothing.
pub fn cpucb(callback: &Callback) {
    let call = Arc::clone(&callback.call);
    events().post(callback.colour.clone(), move || call(()));
}

/// Registers the callback of one direction of a descriptor, in place of an earlier one; or takes
/// that back, for `None`. Blocks nothing. See [`Events::on_readable`]. It keeps the descriptor.
///
/// # Errors
///
/// As [`Events::on_readable`].
pub fn fdcb<F>(fd: F, direction: Selop, callback: Option<&Callback>) -> io::Result<()>
where
    F: AsFd + Send + 'static,
{
    let Some(callback) = callback else {
        match direction {
            Selop::Read => events().off_readable(&fd),
            Selop::Write => events().off_writable(&fd),
        };
        return Ok(());
    };
    let (call, colour) = (Arc::clone(&callback.call), callback.colour.clone());
    match direction {
        Selop::Read => events().on_readable(fd, colour, move || call(())),
        Selop::Write => events().on_writable(fd, colour, move || call(())),
    }
}

/// Runs a callback at a time of the day; at once, if that has passed. A clock that is set meanwhile
/// changes nothing. Blocks nothing.
///
/// # Errors
///
/// As [`Events::after`].
pub fn timecb(time: SystemTime, callback: &Callback) -> io::Result<Timer> {
    let delay = time.duration_since(SystemTime::now()).unwrap_or_default();
    let due = Instant::now().checked_add(delay);
    match due {
        Some(due) => at(due, callback),
        None => after(delay, callback),
    }
}

/// Runs a callback when so many seconds and nanoseconds have passed. Blocks nothing.
///
/// # Errors
///
/// As [`Events::after`].
pub fn delaycb(seconds: u64, nanoseconds: u32, callback: &Callback) -> io::Result<Timer> {
    let delay =
        Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanoseconds.into()));
    after(delay, callback)
}

/// See [`delaycb`].
fn after(delay: Duration, callback: &Callback) -> io::Result<Timer> {
    let call = Arc::clone(&callback.call);
    events().after(delay, callback.colour.clone(), move || call(()))
}

/// See [`timecb`].
fn at(due: Instant, callback: &Callback) -> io::Result<Timer> {
    let call = Arc::clone(&callback.call);
    events().at(due, callback.colour.clone(), move || call(()))
}

/// Cancels a timer. Returns whether it would have run. Blocks nothing.
pub fn timecb_remove(timer: &Timer) -> bool {
    timer.cancel()
}

/// Registers the callback of a signal, in place of an earlier one; or takes that back, for `None`.
/// Blocks nothing.
///
/// # Errors
///
/// As [`Events::on_signal`].
pub fn sigcb(signal: Signal, callback: Option<&Callback>) -> io::Result<()> {
    let Some(callback) = callback else {
        events().off_signal(signal);
        return Ok(());
    };
    let call = Arc::clone(&callback.call);
    events().on_signal(signal, callback.colour.clone(), move || call(()))
}

/// Runs a callback when a child process has ended. Blocks nothing.
///
/// # Errors
///
/// As [`Events::on_child`].
pub fn chldcb(child: Child, callback: &Callback<io::Result<ExitStatus>>) -> io::Result<()> {
    let call = Arc::clone(&callback.call);
    let call = move |status| call(status);
    events().on_child(child, callback.colour.clone(), call)
}

/// Looks a name up and connects. Blocks nothing.
///
/// # Errors
///
/// As [`Events::tcp_connect`].
pub fn tcpconnect(
    host: &str,
    port: u16,
    callback: &Callback<io::Result<TcpStream>>,
) -> io::Result<()> {
    let call = Arc::clone(&callback.call);
    let call = move |stream| call(stream);
    events().tcp_connect(host, port, callback.colour.clone(), call)
}

/// A socket that listens for TCP at an address, does not block, and may be given to [`fdcb`].
/// Blocks the thread while a name is looked up.
///
/// # Errors
///
/// When the address cannot be had.
pub fn inetsocket(address: impl ToSocketAddrs) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Runs callbacks until [`events`]`().stop()` is called. Blocks the thread.
pub fn amain() -> Report {
    events().run()
}
