//! Events that are handled together: what a program holds.

use crate::clock::{Alarm, Clock, Periodic, Timer};
use crate::colour::Colour;
use crate::descriptors::Descriptors;
use crate::handler::Event;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::watch::Callback;
use crate::watchers::{Direction, Thing, Watchers};
use crate::worker;
use fibre_core::Cluster;
use fibre_core::internal::{ShortLock, StopListener, listen_for_stop};
use fibre_core::sync::Ordering;
use fibre_io::net::{TcpStream, lookup_host};
use fibre_io::process::{Child, ExitStatus};
use fibre_io::signal::Signal;
use fibre_sync::AutoEvent;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Events that are handled together: those of one [`Colour`] one after the other, those of
/// different colours on all processors. Clones are the same. When the last one is dropped, the
/// events stop, as by [`stop`](Self::stop), and nobody waits for that; events that were never
/// started are dropped.
///
/// Handlers are plain closures that run once. A handler may block, as any fibre: its colour is held
/// meanwhile, and its processor goes on with other colours.
///
/// ```
/// use fibre_events::Events;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::sync::Arc;
///
/// let events = Events::builder().processors(2).build()?;
/// let count = Arc::new(AtomicU32::new(0));
/// for number in 0..100 {
///     let count = Arc::clone(&count);
///     events.post(number % 10, move || {
///         count.fetch_add(1, Relaxed);
///     });
/// }
/// events.stop(); // what has been posted runs before
/// let report = events.run();
/// assert_eq!((count.load(Relaxed), report.ran, report.dropped), (100, 100, 0));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Events(Arc<House>);

/// What all clones share.
struct House {
    runtime: Arc<Runtime>,
    clock: Arc<Clock>,
    descriptors: Arc<Descriptors>,
    watchers: Arc<Watchers>,
    /// Whether the cluster was made for these events, and has not been stopped with them.
    owns_cluster: ShortLock<bool>,
}

impl Events {
    /// Events over what the builder has made.
    pub(crate) fn of(runtime: Arc<Runtime>, owns_cluster: bool) -> Self {
        Self(Arc::new(House {
            runtime,
            clock: Arc::new(Clock::new()),
            descriptors: Arc::new(Descriptors::default()),
            watchers: Arc::new(Watchers::default()),
            owns_cluster: ShortLock::new(owns_cluster),
        }))
    }

    /// Stops the events with their cluster.
    pub(crate) fn live_in_cluster(&self) -> io::Result<()> {
        let house: Weak<House> = Arc::downgrade(&self.0);
        match listen_for_stop(self.cluster(), house) {
            true => Ok(()),
            false => Err(io::Error::other("the cluster has been stopped")),
        }
    }

    /// Runs an event as soon as its turn comes: events of one colour run in the order they are
    /// posted (`cpucb`). Any thread may post, handlers included; the event gets the colour that is
    /// named here, and never that of the handler. After a stop the event is dropped, and counted.
    /// Blocks nothing.
    pub fn post(&self, colour: impl Into<Colour>, event: impl Into<Event>) {
        self.try_post(colour, event);
    }

    /// [`post`](Self::post) that says whether the event was accepted. One that was not has been
    /// dropped.
    pub fn try_post(&self, colour: impl Into<Colour>, event: impl Into<Event>) -> bool {
        worker::post(&self.0.runtime, colour.into(), event.into())
    }

    /// Runs `call` under a colour, and waits for what it returns. Blocks the fibre, or the thread
    /// if the caller is not a fibre. A handler that calls holds its own colour meanwhile; two that
    /// call each other's colours wait forever, unless one of them [releases](Self::release) its
    /// own.
    ///
    /// ```
    /// use fibre_events::Events;
    ///
    /// let events = Events::builder().processors(1).build()?;
    /// events.start();
    /// assert_eq!(events.call(3, || 6 * 7), Ok(42));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotRun`] if the events have been stopped, or `call` panics.
    ///
    /// # Panics
    ///
    /// If the caller is a handler of the same colour, which would wait for itself.
    pub fn call<T: Send + 'static>(
        &self,
        colour: impl Into<Colour>,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        let colour = colour.into();
        assert!(
            !worker::has_colour(&self.0.runtime, &colour),
            "a handler would wait for its own colour, {colour:?}"
        );
        let answer = Arc::new(Answer {
            value: ShortLock::new(None),
            given: AutoEvent::new(),
        });
        let giver = Giver(Arc::clone(&answer));
        self.post(colour, move || {
            let value = call();
            *giver.0.value.lock() = Some(value);
        });
        // Its event may lie with a handler that was left behind.
        fibre_sync::select! {
            () = answer.given.wait_arm() => (),
            () = self.0.runtime.ended.wait_arm() => (),
        }
        let value = answer.value.lock().take();
        value.ok_or(NotRun)
    }

    /// Calls `call` on the caller's stack while other events may have the caller's colour, and then
    /// waits for the colour. For a handler that waits for something that may need its colour, or
    /// for long. Of several that wait for their colour, the first is the first. Calls it all the
    /// same if the caller is not a handler, or has released its colour already. Blocks the fibre.
    ///
    /// ```
    /// use fibre_events::Events;
    ///
    /// let events = Events::builder().processors(1).build()?;
    /// let handle = events.clone();
    /// events.post(1, move || {
    ///     let other = handle.clone();
    ///     // This would wait for itself if it held the colour.
    ///     let answer = handle.release(move || other.call(1, || "of the same colour"));
    ///     assert_eq!(answer, Ok("of the same colour"));
    ///     handle.stop();
    /// });
    /// assert_eq!(events.run().panicked, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn release<R>(&self, call: impl FnOnce() -> R) -> R {
        worker::release(&self.0.runtime, call)
    }

    /// Posts an event when some time has passed (`delaycb`). Blocks nothing.
    ///
    /// ```
    /// use fibre_events::Events;
    /// use std::time::Duration;
    ///
    /// let events = Events::builder().processors(1).build()?;
    /// let handle = events.clone();
    /// events.after(Duration::from_millis(1), 0, move || handle.stop())?;
    /// let never = events.after(Duration::from_secs(3600), 0, || unreachable!())?;
    /// assert!(never.cancel());
    /// assert_eq!(events.run().ran, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there can be no fibre for the clock; after a stop. The event is dropped then.
    pub fn after(
        &self,
        delay: Duration,
        colour: impl Into<Colour>,
        event: impl Into<Event>,
    ) -> io::Result<Timer> {
        let due = Instant::now().checked_add(delay);
        self.at(due.unwrap_or_else(far_away), colour, event)
    }

    /// Posts an event at some time, at once if that has passed (`timecb`). Blocks nothing.
    ///
    /// # Errors
    ///
    /// As [`after`](Self::after).
    pub fn at(
        &self,
        due: Instant,
        colour: impl Into<Colour>,
        event: impl Into<Event>,
    ) -> io::Result<Timer> {
        let alarm = Alarm::Once(event.into());
        let House { runtime, clock, .. } = &*self.0;
        clock.set(runtime, due, colour.into(), alarm)
    }

    /// Posts what `make` makes each time that `period` has passed, without drift. Times that pass
    /// while the clock is late are left out, and so are those when the timer's last event has not
    /// run to its end: a timer has one event under way at most, however long handlers take. `make`
    /// runs beside other events, and is to be short. Blocks nothing.
    ///
    /// # Errors
    ///
    /// As [`after`](Self::after).
    ///
    /// # Panics
    ///
    /// If the period is zero.
    pub fn every<E: Into<Event>>(
        &self,
        period: Duration,
        colour: impl Into<Colour>,
        mut make: impl FnMut() -> E + Send + 'static,
    ) -> io::Result<Timer> {
        assert!(!period.is_zero(), "a timer that is always due");
        let due = Instant::now().checked_add(period);
        let alarm = Alarm::Every(Periodic::new(period, move || make().into()));
        let House { runtime, clock, .. } = &*self.0;
        clock.set(runtime, due.unwrap_or_else(far_away), colour.into(), alarm)
    }

    /// Calls `callback` whenever a descriptor can be read from, or is at its end or in error
    /// (`fdcb`). It is called again if that is still so when it has returned. There is one callback
    /// for each descriptor and direction: a later one takes the place of an earlier one. The
    /// descriptor is kept open until the callback is [off](Self::off_readable), so a program hands
    /// over an `Arc` of what it reads from itself. Blocks nothing.
    ///
    /// ```
    /// use fibre_events::Events;
    /// use std::io::{Read, Write};
    /// use std::sync::Arc;
    ///
    /// let (reader, mut writer) = std::io::pipe()?;
    /// let reader = Arc::new(reader);
    /// let events = Events::builder().processors(1).build()?;
    /// let (handle, source) = (events.clone(), Arc::clone(&reader));
    /// events.on_readable(reader, 5, move || {
    ///     let mut byte = [0];
    ///     assert_eq!((&*source).read(&mut byte).unwrap(), 1);
    ///     handle.off_readable(&source);
    ///     handle.stop();
    /// })?;
    /// writer.write_all(b"x")?;
    /// assert_eq!(events.run().ran, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there can be no fibre for it; after a stop.
    pub fn on_readable<F: AsFd + Send + 'static>(
        &self,
        fd: F,
        colour: impl Into<Colour>,
        callback: impl Into<Callback>,
    ) -> io::Result<()> {
        self.watch_fd(fd, Direction::Read, colour.into(), callback.into())
    }

    /// Calls `callback` whenever a descriptor can be written to. Otherwise as
    /// [`on_readable`](Self::on_readable).
    ///
    /// # Errors
    ///
    /// As [`on_readable`](Self::on_readable).
    pub fn on_writable<F: AsFd + Send + 'static>(
        &self,
        fd: F,
        colour: impl Into<Colour>,
        callback: impl Into<Callback>,
    ) -> io::Result<()> {
        self.watch_fd(fd, Direction::Write, colour.into(), callback.into())
    }

    /// The common part.
    fn watch_fd<F: AsFd + Send + 'static>(
        &self,
        fd: F,
        direction: Direction,
        colour: Colour,
        callback: Callback,
    ) -> io::Result<()> {
        let House {
            runtime, watchers, ..
        } = &*self.0;
        let descriptors = &self.0.descriptors;
        descriptors.watch(runtime, watchers, (fd, direction), colour, callback)
    }

    /// Takes the callback of a direction back.
    fn off(&self, fd: &impl AsFd, direction: Direction) -> bool {
        let number = fd.as_fd().as_raw_fd();
        self.0.descriptors.off(number, direction)
            | self.0.watchers.off(Thing::Descriptor(number, direction))
    }

    /// Takes the callback for reading back. Returns whether there was one. A handler of the
    /// callback's colour that calls this knows that the callback does not run any more; elsewhere
    /// it may be running. Blocks nothing.
    pub fn off_readable(&self, fd: &impl AsFd) -> bool {
        self.off(fd, Direction::Read)
    }

    /// Takes the callback for writing back. Otherwise as [`off_readable`](Self::off_readable).
    pub fn off_writable(&self, fd: &impl AsFd) -> bool {
        self.off(fd, Direction::Write)
    }

    /// Calls `callback` for a signal of this process (`sigcb`); signals that come while it runs are
    /// one. There is one callback for each signal. Blocks nothing.
    ///
    /// # Errors
    ///
    /// As [`Signals::new`](fibre_io::signal::Signals::new); when there can be no fibre for it;
    /// after a stop.
    pub fn on_signal(
        &self,
        signal: Signal,
        colour: impl Into<Colour>,
        callback: impl Into<Callback>,
    ) -> io::Result<()> {
        let House {
            runtime, watchers, ..
        } = &*self.0;
        watchers.watch_signal(runtime, signal, colour.into(), callback.into())
    }

    /// Takes the callback of a signal back. Otherwise as [`off_readable`](Self::off_readable).
    pub fn off_signal(&self, signal: Signal) -> bool {
        self.0.watchers.off(Thing::Signal(signal.as_raw()))
    }

    /// Calls `call` when a child process has ended (`chldcb`). Blocks nothing.
    ///
    /// # Errors
    ///
    /// When there can be no fibre for it; after a stop. `call` gets the errors of
    /// [`Child::wait`]: a cancelled one if the events are stopped before the child ends, and then
    /// its event is dropped.
    pub fn on_child(
        &self,
        mut child: Child,
        colour: impl Into<Colour>,
        call: impl FnOnce(io::Result<ExitStatus>) + Send + 'static,
    ) -> io::Result<()> {
        self.job(colour.into(), move || child.wait(), call)
    }

    /// Looks a name up, and calls `call` with its addresses. Look-ups run beside each other, each
    /// on a fibre. Blocks nothing.
    ///
    /// # Errors
    ///
    /// When there can be no fibre for it; after a stop. `call` gets the errors of [`lookup_host`].
    pub fn lookup(
        &self,
        host: impl Into<String>,
        port: u16,
        colour: impl Into<Colour>,
        call: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> io::Result<()> {
        let host = host.into();
        let lookup = move || Ok(lookup_host((host.as_str(), port))?.collect());
        self.job(colour.into(), lookup, call)
    }

    /// Looks a name up, connects to the first of its addresses that accepts, and calls `call` with
    /// the connection (`tcpconnect`). Blocks nothing.
    ///
    /// ```
    /// use fibre_events::Events;
    /// use std::net::TcpListener;
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let port = listener.local_addr()?.port();
    /// let events = Events::builder().processors(1).build()?;
    /// let handle = events.clone();
    /// events.tcp_connect("localhost", port, 0, move |stream| {
    ///     assert_eq!(stream.unwrap().peer_addr().unwrap().port(), port);
    ///     handle.stop();
    /// })?;
    /// assert_eq!(events.run().panicked, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there can be no fibre for it; after a stop. `call` gets the errors of
    /// [`TcpStream::connect`].
    pub fn tcp_connect(
        &self,
        host: impl Into<String>,
        port: u16,
        colour: impl Into<Colour>,
        call: impl FnOnce(io::Result<TcpStream>) + Send + 'static,
    ) -> io::Result<()> {
        let host = host.into();
        let connect = move || TcpStream::connect((host.as_str(), port));
        self.job(colour.into(), connect, call)
    }

    /// Runs `work` on a fibre, and posts `call` with what it returns.
    fn job<T: Send + 'static>(
        &self,
        colour: Colour,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
        call: impl FnOnce(io::Result<T>) + Send + 'static,
    ) -> io::Result<()> {
        let House {
            runtime, watchers, ..
        } = &*self.0;
        let shared = Arc::clone(runtime);
        watchers.job(runtime, move || {
            let found = work();
            let event = Event::from(move || call(found));
            shared.post(colour, event.detected());
        })
    }

    /// Has events run from now on. [`run`](Self::run) does so, too. Events that are posted before
    /// that wait, so that what a program sets up at first happens before all handlers. Blocks
    /// nothing.
    pub fn start(&self) {
        self.0.runtime.opened.set();
    }

    /// Starts the events, and waits until they have been [stopped](Self::stop) and what was pending
    /// has run (`amain`). Then all registrations and timers are gone, and a cluster that was made
    /// for the events has been stopped. Blocks the fibre (of another cluster), or the thread if the
    /// caller is not a fibre.
    ///
    /// Handlers that block are waited for, and so are look-ups of names. If the cluster is stopped
    /// [within limits](Cluster::stop_within) by others, this returns then; handlers that were left
    /// behind never go on, and what was pending has been dropped, and counted.
    ///
    /// # Panics
    ///
    /// If the caller is a handler of these events, which would wait for itself.
    pub fn run(&self) -> Report {
        let House { runtime, .. } = &*self.0;
        assert!(
            !worker::is_worker(runtime),
            "events cannot be waited for by one of their handlers"
        );
        self.start();
        runtime.ended.wait();
        let stops = !runtime.cluster.is_callers();
        if stops && std::mem::take(&mut *self.0.owns_cluster.lock()) {
            runtime.cluster.clone().stop();
        }
        self.report()
    }

    /// Stops the events: no more are accepted, timers and callbacks are taken back, and what has
    /// been posted runs. Events that are posted from now on are dropped and counted, those of
    /// handlers included. Any handler or thread may call this; [`run`](Self::run) returns when
    /// everything has run. Blocks nothing.
    pub fn stop(&self) {
        self.0.stop(false);
    }

    /// Stops the events as [`stop`](Self::stop) does, but what has been posted is dropped, too, and
    /// counted. Handlers that run go on. Blocks nothing.
    pub fn stop_now(&self) {
        self.0.stop(true);
    }

    /// What has happened up to now. The counts of a processor that runs may be a moment old.
    #[must_use]
    pub fn report(&self) -> Report {
        Report::of(&self.0.runtime)
    }

    /// The cluster with the processors that run the handlers.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.0.runtime.cluster
    }

    /// How many colours are known at the moment: those that have events, and some that had.
    #[must_use]
    pub fn colours(&self) -> usize {
        self.0.runtime.scheduler.colours()
    }
}

impl House {
    /// Begins to stop.
    fn stop(&self, drops: bool) {
        self.clock.close();
        self.descriptors.close();
        self.watchers.close();
        self.runtime.stop(drops);
    }
}

impl House {
    /// Begins to stop events that nobody will stop or start any more.
    fn close(&self) {
        let has_begun = self.runtime.opened.is_set();
        self.stop(!has_begun);
        self.runtime.opened.set();
    }
}

impl StopListener for House {
    fn cluster_stops(&self) {
        self.close();
    }

    fn cluster_has_stopped(&self) {
        *self.owns_cluster.lock() = false;
        if !self.runtime.ended.is_set() {
            self.close();
            self.runtime.end_with_cluster();
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stops = self.0.runtime.is_stopping.load(Ordering::Relaxed);
        f.debug_struct("Events")
            .field("cluster", self.cluster())
            .field("is_stopping", &stops)
            .finish_non_exhaustive()
    }
}

/// A time that no program sees.
fn far_away() -> Instant {
    const THIRTY_YEARS: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);
    Instant::now() + THIRTY_YEARS
}

/// What a call returns, once it has.
struct Answer<T> {
    value: ShortLock<Option<T>>,
    given: AutoEvent,
}

/// The event's end of an answer. Its drop says that there will be no other one.
struct Giver<T>(Arc<Answer<T>>);

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        self.0.given.set();
    }
}

/// What was called has not run to its end: the events have been stopped, or it has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotRun;

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call has not run to its end")
    }
}

impl Error for NotRun {}
