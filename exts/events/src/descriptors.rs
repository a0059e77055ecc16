//! Descriptors, and which of them are ready.
//!
//! One epoll instance knows them all, and one fibre, the *reader*, waits for it. So a wake-up
//! serves all descriptors that have become ready, and one that is not ready costs neither a stack
//! nor a fibre.
//!
//! A direction of a descriptor is *armed* when it is registered. The reader disarms it and posts
//! its event; when that has run, the direction is armed again. The kernel looks at the descriptor
//! whenever a direction is armed, so what a handler has left unread is told once more; and it tells
//! of a descriptor once (`EPOLLONESHOT`), so one that stays ready meanwhile wakes nobody.
//!
//! A file cannot be waited for, and is always ready: the kernel refuses it, and a watcher
//! ([`crate::watchers`]) tells of it.

use crate::colour::Colour;
use crate::runtime::Runtime;
use crate::watch::{Callback, Source, Watch};
use crate::watchers::{Direction, Thing, Watchers, end, stopped};
use fibre_core::internal::drop_quietly;
use fibre_io::pollable::Pollable;
use parking_lot::Mutex;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Descriptors that one look learns of, at most.
const BATCH: usize = 256;

/// How long the reader lets pass when it cannot wait for its instance, for want of memory.
const PAUSE: Duration = Duration::from_millis(10);

/// What both directions are told of.
const BOTH: EventFlags = EventFlags::HUP.union(EventFlags::ERR);

/// An epoll instance that a fibre can wait for.
type Instance = Pollable<OwnedFd>;

/// What the kernel is asked about a direction.
fn flags_of(direction: Direction) -> EventFlags {
    match direction {
        Direction::Read => EventFlags::IN,
        Direction::Write => EventFlags::OUT,
    }
}

/// All descriptors that have callbacks. The locks let threads sleep: tables are changed under them,
/// and the kernel is asked.
#[derive(Default)]
pub(crate) struct Descriptors {
    /// Made with the first descriptor. Held while its reader is started.
    instance: Mutex<Option<Arc<Instance>>>,
    table: Mutex<Table>,
}

/// What the lock protects.
#[derive(Default)]
struct Table {
    known: HashMap<RawFd, Arc<Descriptor>>,
    /// Tells a descriptor from another one that has had its number.
    next: u32,
    is_closed: bool,
}

/// A descriptor. Its lock comes after that of the table.
struct Descriptor {
    /// What the kernel knows it by: its number, and which one with that number it is.
    name: u64,
    instance: Arc<Instance>,
    sides: Mutex<Sides>,
}

/// The two directions, each at its place.
#[derive(Default)]
struct Sides([Option<Side>; 2]);

/// One direction of a descriptor.
struct Side {
    watch: Arc<Watch<Armed>>,
    is_armed: bool,
    /// Keeps the descriptor open.
    keeper: Box<dyn AsFd + Send>,
}

/// What a callback knows of its descriptor.
struct Armed {
    descriptor: Weak<Descriptor>,
    direction: Direction,
}

impl Source for Armed {
    fn handled(watch: &Arc<Watch<Self>>) {
        if let Some(descriptor) = watch.source.descriptor.upgrade() {
            descriptor.arm_again(watch);
        }
    }
}

impl Sides {
    /// The place of a direction.
    fn of(&mut self, direction: Direction) -> &mut Option<Side> {
        &mut self.0[direction as usize]
    }

    /// What the kernel is to be asked: about the directions that are armed.
    fn wanted(&self) -> EventFlags {
        let sides = Direction::ALL.into_iter().zip(&self.0);
        let armed = sides.filter(|(_, side)| side.as_ref().is_some_and(|side| side.is_armed));
        armed.fold(EventFlags::ONESHOT, |all, (one, _)| all | flags_of(one))
    }

    /// Whether no direction has a callback.
    fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl Descriptor {
    /// The number that is in a name.
    fn number(name: u64) -> RawFd {
        (name >> 32) as RawFd
    }

    /// Makes the kernel look at a descriptor of ours, which it may know already.
    fn enter(&self, fd: impl AsFd, wanted: EventFlags) -> Result<(), Errno> {
        let (epoll, name) = (self.instance.get_ref(), EventData::new_u64(self.name));
        match epoll::add(epoll, &fd, name, wanted) {
            Err(Errno::EXIST) => epoll::modify(epoll, &fd, name, wanted),
            entered => entered,
        }
    }

    /// Makes the kernel look once more at the directions that are armed, if there is one.
    fn ask(&self, sides: &Sides) {
        let wanted = sides.wanted();
        let keeper = sides.0.iter().flatten().find(|side| side.is_armed);
        if let Some(keeper) = keeper {
            let (epoll, name) = (self.instance.get_ref(), EventData::new_u64(self.name));
            // It does not fail: the kernel knows the descriptor, which is open.
            let _ = epoll::modify(epoll, &keeper.keeper, name, wanted);
        }
    }

    /// Arms a direction after its event has run, unless it has been registered anew.
    fn arm_again(&self, watch: &Arc<Watch<Armed>>) {
        let mut sides = self.sides.lock();
        let side = sides.of(watch.source.direction).as_mut();
        if let Some(side) = side.filter(|side| Arc::ptr_eq(&side.watch, watch)) {
            side.is_armed = true;
            self.ask(&sides);
        }
    }

    /// Disarms the directions that are ready, and tells their callbacks.
    fn is_ready(&self, flags: EventFlags) {
        let mut sides = self.sides.lock();
        let ready = Direction::ALL.map(|direction| {
            let side = sides.of(direction).as_mut()?;
            let is_told = side.is_armed && flags.intersects(flags_of(direction) | BOTH);
            is_told.then(|| {
                side.is_armed = false;
                Arc::clone(&side.watch)
            })
        });
        // Having told of one direction, the kernel does not look at the other one, either.
        self.ask(&sides);
        drop(sides);
        for watch in ready.into_iter().flatten() {
            // What belongs to the program may panic: how keys compare, and the end of a callback
            // that has been taken back meanwhile. Refused is an event only when the events have
            // been stopped, and all registrations taken back.
            drop_quietly(catch_unwind(AssertUnwindSafe(move || {
                let _ = watch.tell();
                drop(watch);
            })));
        }
    }

    /// Takes the callback of a direction back. The last one has the kernel forget the descriptor.
    fn take(&self, direction: Direction) -> Option<Side> {
        let mut sides = self.sides.lock();
        let side = sides.of(direction).take()?;
        side.watch.take_back();
        if sides.is_empty() {
            let _ = epoll::delete(self.instance.get_ref(), &side.keeper);
        }
        Some(side)
    }
}

impl Descriptors {
    /// Calls a callback when a direction of a descriptor is ready, in place of an earlier one.
    pub(crate) fn watch<F: AsFd + Send + 'static>(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        watchers: &Arc<Watchers>,
        (fd, direction): (F, Direction),
        colour: Colour,
        callback: Callback,
    ) -> io::Result<()> {
        let instance = self.instance(runtime, watchers)?;
        let number = fd.as_fd().as_raw_fd();
        let mut table = self.table.lock();
        if table.is_closed {
            return Err(stopped());
        }
        let descriptor = table.find(number, &instance);
        let mut sides = descriptor.sides.lock();
        match descriptor.enter(&fd, sides.wanted() | flags_of(direction)) {
            Err(Errno::PERM) => {
                drop((sides, table));
                // Another one had this number, perhaps.
                self.off(number, direction);
                return watchers.watch_fd(runtime, fd, direction, colour, callback);
            }
            entered => entered?,
        }
        let source = Armed {
            descriptor: Arc::downgrade(&descriptor),
            direction,
        };
        let side = Side {
            watch: Watch::new(runtime, colour, callback, source),
            is_armed: true,
            keeper: Box::new(fd),
        };
        let before = sides.of(direction).replace(side);
        if let Some(before) = &before {
            before.watch.take_back();
        }
        drop(sides);
        table.known.insert(number, descriptor);
        // A file had this number, perhaps. While the table is locked: nobody registers another one.
        let file = watchers.take(Thing::Descriptor(number, direction));
        drop(table);
        drop_quietly(before);
        end(file);
        Ok(())
    }

    /// The epoll instance, which is made when it is first asked for.
    fn instance(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        watchers: &Arc<Watchers>,
    ) -> io::Result<Arc<Instance>> {
        let mut instance = self.instance.lock();
        if let Some(instance) = &*instance {
            return Ok(Arc::clone(instance));
        }
        // Said before the instance is taken at the end, so none is made after that.
        if self.table.lock().is_closed {
            return Err(stopped());
        }
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let made = Arc::new(Pollable::new(epoll)?);
        let (this, own) = (Arc::clone(self), Arc::clone(&made));
        watchers.job(runtime, move || this.read(&own))?;
        *instance = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The reader's loop. Blocks the fibre until it is cancelled.
    fn read(&self, instance: &Instance) {
        let mut ready = Vec::with_capacity(BATCH);
        loop {
            ready.clear();
            let look = |epoll: &OwnedFd| {
                let at_once = Timespec::default();
                match epoll::wait(epoll, spare_capacity(&mut ready), Some(&at_once))? {
                    0 => Err(io::ErrorKind::WouldBlock.into()),
                    _ => Ok(()),
                }
            };
            let looked = instance.read_with(look);
            if self.table.lock().is_closed {
                return;
            }
            if fibre_core::is_cancelled() {
                // With its cluster: there will be no events.
                self.close();
                return;
            }
            if looked.is_err() {
                fibre_core::sleep(PAUSE);
            }
            for event in &ready {
                let (data, flags) = (event.data, event.flags);
                if let Some(descriptor) = self.find(data.u64()) {
                    descriptor.is_ready(flags);
                }
            }
        }
    }

    /// The descriptor of this name. `None`: all its callbacks have been taken back.
    fn find(&self, name: u64) -> Option<Arc<Descriptor>> {
        let table = self.table.lock();
        let descriptor = table.known.get(&Descriptor::number(name))?;
        (descriptor.name == name).then(|| Arc::clone(descriptor))
    }

    /// Takes a callback back. Returns whether there was one.
    pub(crate) fn off(&self, number: RawFd, direction: Direction) -> bool {
        let mut table = self.table.lock();
        let Some(descriptor) = table.known.get(&number) else {
            return false;
        };
        let descriptor = Arc::clone(descriptor);
        let side = descriptor.take(direction);
        if descriptor.sides.lock().is_empty() {
            table.known.remove(&number);
        }
        drop(table);
        let was_there = side.is_some();
        drop_quietly(side);
        was_there
    }

    /// Takes all callbacks back, and accepts no more.
    pub(crate) fn close(&self) {
        let mut table = self.table.lock();
        table.is_closed = true;
        let known = std::mem::take(&mut table.known);
        drop(table);
        for descriptor in known.values() {
            for direction in Direction::ALL {
                drop_quietly(descriptor.take(direction));
            }
        }
        drop(known);
        let instance = self.instance.lock().take();
        drop(instance);
    }
}

impl Table {
    /// The descriptor of this number, or else one that is not in the table.
    fn find(&mut self, number: RawFd, instance: &Arc<Instance>) -> Arc<Descriptor> {
        if let Some(descriptor) = self.known.get(&number) {
            return Arc::clone(descriptor);
        }
        self.next = self.next.wrapping_add(1);
        Arc::new(Descriptor {
            name: (u64::from(number.unsigned_abs()) << 32) | u64::from(self.next),
            instance: Arc::clone(instance),
            sides: Mutex::new(Sides::default()),
        })
    }
}
