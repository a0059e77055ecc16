//! Fibres that wait for something outside, and post an event for it: signals, jobs that end by
//! themselves, descriptors that the kernel's epoll does not take, such as files.
//!
//! Each registration has a fibre, its *watcher*. It waits for the thing, posts an event, and waits
//! until that event has run before it waits for the thing again. A registration that is taken back
//! cancels its watcher.

use crate::colour::Colour;
use crate::runtime::{Life, Runtime};
use crate::watch::{Callback, Source, Watch};
use fibre_core::internal::drop_quietly;
use fibre_core::{JoinHandle, Limit};
use fibre_io::poll::{PollFd, Readiness, poll};
use fibre_io::signal::{Signal, Signals};
use fibre_sync::AutoEvent;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A direction that a descriptor is used in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    /// Reading and writing.
    pub(crate) const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// What is waited for.
    fn readiness(self) -> Readiness {
        match self {
            Self::Read => Readiness::READ,
            Self::Write => Readiness::WRITE,
        }
    }
}

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    Descriptor(RawFd, Direction),
    Signal(i32),
    /// Something that ends by itself, with a number.
    Job(u64),
}

/// A watcher, as its callback sees it.
#[derive(Default)]
struct Watcher {
    /// Set when the last event has run.
    handled: AutoEvent,
}

impl Source for Watcher {
    fn handled(watch: &Arc<Watch<Self>>) {
        watch.source.handled.set();
    }
}

/// Posts an event and waits until it has run, or been dropped. Returns whether to go on.
fn tell_and_wait(watch: &Arc<Watch<Watcher>>) -> bool {
    let handled = &watch.source.handled;
    watch.is_on() && watch.tell() && handled.wait_within(Limit::Cancellation).is_ok()
}

/// A registration's entry.
pub(crate) struct Entry {
    /// `None` for jobs.
    watch: Option<Arc<Watch<Watcher>>>,
    /// `None` while the fibre is being made.
    fibre: Option<JoinHandle<()>>,
    /// Tells it from others of the same thing.
    number: u64,
}

/// All registrations. The lock lets threads sleep: the table is changed under it, which allocates.
#[derive(Default)]
pub(crate) struct Watchers {
    table: Mutex<Table>,
}

/// What the lock protects.
#[derive(Default)]
struct Table {
    entries: HashMap<Thing, Entry>,
    next: u64,
    is_closed: bool,
}

impl Watchers {
    /// Watchers one direction of a descriptor.
    pub(crate) fn watch_fd<F: AsFd + Send + 'static>(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        fd: F,
        direction: Direction,
        colour: Colour,
        callback: Callback,
    ) -> io::Result<()> {
        let thing = Thing::Descriptor(fd.as_fd().as_raw_fd(), direction);
        self.watch(runtime, thing, colour, callback, move |watch| {
            let mut fds = [PollFd::new(&fd, direction.readiness())];
            while poll(&mut fds).is_ok() && tell_and_wait(watch) {}
        })
    }

    /// Watchers a signal.
    pub(crate) fn watch_signal(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        signal: Signal,
        colour: Colour,
        callback: Callback,
    ) -> io::Result<()> {
        let signals = Signals::new([signal])?;
        let thing = Thing::Signal(signal.as_raw());
        self.watch(runtime, thing, colour, callback, move |watch| {
            while signals.wait().is_ok() && tell_and_wait(watch) {}
        })
    }

    /// Watchers something, in place of a registration of the same thing.
    fn watch(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        thing: Thing,
        colour: Colour,
        callback: Callback,
        wait: impl FnOnce(&Arc<Watch<Watcher>>) + Send + 'static,
    ) -> io::Result<()> {
        let watch = Watch::new(runtime, colour, callback, Watcher::default());
        let watched = Arc::clone(&watch);
        self.enter(runtime, Some(thing), Some(watch), move || wait(&watched))
    }

    /// Runs a job on a fibre, which is cancelled when the events are stopped.
    pub(crate) fn job(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        job: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        self.enter(runtime, None, None, job)
    }

    /// Makes an entry and its fibre.
    fn enter(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        thing: Option<Thing>,
        watch: Option<Arc<Watch<Watcher>>>,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let mut table = self.table.lock();
        if table.is_closed {
            return Err(stopped());
        }
        let number = table.next;
        table.next += 1;
        let thing = thing.unwrap_or(Thing::Job(number));
        let entry = Entry {
            watch,
            fibre: None,
            number,
        };
        let before = table.entries.insert(thing, entry);
        drop(table);
        end(before);
        let life = Life::begin(runtime);
        let watchers = Arc::clone(self);
        let spawned = fibre_core::Builder::new()
            .name("watcher of events")
            .spawn_in(&runtime.cluster, move || {
                let _life = life;
                let outcome = catch_unwind(AssertUnwindSafe(work));
                drop_quietly(outcome);
                drop_quietly(watchers.take_one(thing, Some(number)));
                drop(watchers);
            });
        match spawned {
            Ok(fibre) => {
                self.has_fibre(thing, number, fibre);
                Ok(())
            }
            Err(error) => {
                drop_quietly(self.take_one(thing, Some(number)));
                Err(error)
            }
        }
    }

    /// Gives an entry its fibre; cancels that if the entry is not there any more.
    fn has_fibre(&self, thing: Thing, number: u64, fibre: JoinHandle<()>) {
        let mut table = self.table.lock();
        let entry = table.entries.get_mut(&thing);
        match entry.filter(|entry| entry.number == number) {
            Some(entry) => entry.fibre = Some(fibre),
            None => {
                drop(table);
                fibre.cancel();
            }
        }
    }

    /// Takes a registration out, for its [`end`].
    pub(crate) fn take(&self, thing: Thing) -> Option<Entry> {
        self.take_one(thing, None)
    }

    /// Takes an entry out, if it has this number.
    fn take_one(&self, thing: Thing, number: Option<u64>) -> Option<Entry> {
        let mut table = self.table.lock();
        let entry = table.entries.get(&thing)?;
        if number.is_some_and(|number| number != entry.number) {
            return None;
        }
        table.entries.remove(&thing)
    }

    /// Takes a registration back. Returns whether there was one.
    pub(crate) fn off(&self, thing: Thing) -> bool {
        let entry = self.take(thing);
        let was_there = entry.is_some();
        end(entry);
        was_there
    }

    /// Takes all registrations back, and accepts no more.
    pub(crate) fn close(&self) {
        let mut table = self.table.lock();
        table.is_closed = true;
        let entries = std::mem::take(&mut table.entries);
        drop(table);
        entries.into_values().for_each(|entry| end(Some(entry)));
    }
}

/// Why nothing is registered any more.
pub(crate) fn stopped() -> io::Error {
    io::Error::other("the events have been stopped")
}

/// Ends a registration.
pub(crate) fn end(entry: Option<Entry>) {
    let Some(entry) = entry else { return };
    if let Some(watch) = &entry.watch {
        watch.take_back();
    }
    if let Some(fibre) = &entry.fibre {
        fibre.cancel();
    }
    drop_quietly(entry);
}
