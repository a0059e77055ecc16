//! The master poller: one thread that waits for the epoll instances of many clusters.
//!
//! An epoll instance is itself a descriptor that is readable when it has events. So the master
//! registers the clusters' instances with one of its own. Each reports once, and then not again
//! until it is watched again. The thread begins with the first cluster that needs it, and ends with
//! the last one.

use crate::epoll::Epoll;
use crate::poller::instance::give_up;
use fibre_core::internal::start_helper;
use fibre_core::sync::thread_mutex::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

/// A poller that the master calls when its instance has events.
pub(super) trait Called: Send + Sync {
    /// Called at most once each time that the instance was put under watch.
    fn call(&self);
}

/// An instance's place with the master.
#[derive(Debug)]
pub(super) struct Place {
    master: Arc<Master>,
    /// The key that tells this instance from the others.
    key: u32,
    epoll: Arc<Epoll>,
}

/// The thread that waits for the instances of all clusters.
struct Master {
    /// The clusters' instances.
    instances: Epoll,
    /// An event counter, written when the master ends.
    interrupt: OwnedFd,
    /// The pollers to call, by key.
    called: Mutex<HashMap<u32, Weak<dyn Called>>>,
    /// Whether the master has ended.
    over: AtomicBool,
    /// The master's thread, until it has been joined.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The master, while a cluster needs it. A cluster that comes or goes holds the lock.
static MASTER: Mutex<Option<Arc<Master>>> = Mutex::new(None);

/// The key of the event that ends the master.
const NOBODY: u32 = 0;

impl Place {
    /// Puts an instance under the master's watch.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started, or the process is out of descriptors.
    pub(super) fn take(epoll: &Arc<Epoll>, called: Weak<dyn Called>) -> io::Result<Self> {
        static KEYS: AtomicU32 = AtomicU32::new(NOBODY + 1);
        let mut current = MASTER.lock();
        let master = match &*current {
            Some(master) => Arc::clone(master),
            None => Master::start()?,
        };
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        let place = Self {
            master: Arc::clone(&master),
            key,
            epoll: Arc::clone(epoll),
        };
        master.called.lock().insert(key, called);
        let begun = master.instances.watch_once(epoll.as_fd(), key);
        if begun.is_err() {
            master.called.lock().remove(&key);
        }
        if master.called.lock().is_empty() {
            master.end();
        } else {
            *current = Some(master);
        }
        begun.map(|()| place)
    }

    /// Makes the master call once more when there are events: at once, if there are some already.
    pub(super) fn watch_again(&self) {
        let watched = self
            .master
            .instances
            .watch_again(self.epoll.as_fd(), self.key);
        match watched {
            // The last processor may have left while the monitor polled in its place.
            Ok(()) | Err(Errno::NOENT) => {}
            // Only if foreign code has closed the descriptor.
            Err(errno) => give_up(errno),
        }
    }

    /// Takes the instance away from the master. The master's thread ends with the last instance.
    /// Blocks the thread until that has ended.
    pub(super) fn leave(&self) {
        let mut current = MASTER.lock();
        self.master.instances.remove(self.epoll.as_fd());
        let mut called = self.master.called.lock();
        called.remove(&self.key);
        if called.is_empty() {
            drop(called);
            *current = None;
            self.master.end();
        }
    }
}

impl Master {
    /// Starts the thread.
    fn start() -> io::Result<Arc<Self>> {
        let interrupt = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let instances = Epoll::new()?;
        instances.watch_once(interrupt.as_fd(), NOBODY)?;
        let master = Arc::new(Self {
            instances,
            interrupt,
            called: Mutex::default(),
            over: AtomicBool::new(false),
            thread: Mutex::default(),
        });
        let runs = Arc::clone(&master);
        let thread = start_helper("fibre-master".to_owned(), move || runs.run())?;
        *master.thread.lock() = Some(thread);
        Ok(master)
    }

    /// The thread's loop.
    fn run(&self) {
        while !self.over.load(Ordering::Acquire) {
            let call = |key| {
                let called = self.called.lock().get(&key).and_then(Weak::upgrade);
                if let Some(called) = called {
                    called.call();
                }
            };
            match self
                .instances
                .wait(None, |event| call(event.generation), |_, _| ())
            {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => give_up(errno),
            }
        }
    }

    /// Ends the thread, and waits until it has ended.
    fn end(&self) {
        self.over.store(true, Ordering::Release);
        // The counter is readable from now on, so the thread does not sleep again.
        let _ = rustix::io::write(&self.interrupt, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.lock().take() {
            // A panic there has ended the process.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Master {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Master").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A poller that hears no call.
    struct Deaf;

    impl Called for Deaf {
        fn call(&self) {}
    }

    #[test]
    fn an_instance_that_has_left_may_be_watched_again() {
        let epoll = Arc::new(Epoll::new().unwrap());
        let called: Arc<dyn Called> = Arc::new(Deaf);
        let place = Place::take(&epoll, Arc::downgrade(&called)).unwrap();
        place.leave();
        // This ended the process.
        place.watch_again();
    }
}
