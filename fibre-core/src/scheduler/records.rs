//! The clusters of the process as a debugger finds them: a list with a fixed layout of head and
//! members.
//!
//! A debugger reads memory of a process that stands still, or of a core file; it calls nothing, and
//! no lock would keep it out. So each store leaves a list that can be read. A [`ClusterRecord`] is
//! a part of its domain, and leaves the list when that ends. Nothing here is written while fibres
//! switch: a cluster is listed when it starts, and a processor says where it keeps its fibres when
//! it begins and when it ends. The file `debugger.rs` says where the rest lies.
//!
//! # Memory ordering
//!
//! Release stores: what a pointer leads to has been written before. The debugger sees all threads
//! between two instructions, so it needs no acquire.

use crate::config::settings::Settings;
use crate::fibre::FibreList;
use crate::queue::Link;
use crate::ready::ReadyQueue;
use crate::sync::short_lock::ShortLock;
use crate::sync::thread_mutex::Mutex;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// The head of the list of all clusters.
pub(crate) static CLUSTERS: AtomicPtr<ClusterRecord> = AtomicPtr::new(ptr::null_mut());

/// Held by the thread that changes the list.
static CHANGES: Mutex<()> = Mutex::new(());

/// What a debugger finds of a cluster.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ClusterRecord {
    /// The next member of the list; null at the end.
    next: AtomicPtr<Self>,
    /// The cluster's number in the process.
    number: u64,
    /// The bytes of its name.
    name: *const u8,
    /// How many bytes its name has.
    name_length: usize,
    /// The fibre list of all of its started fibres, if these move; else null.
    shared: AtomicPtr<FibreList>,
    /// The first of its processors.
    first: *const ProcessorRecord,
    /// How many processors there may ever be.
    capacity: usize,
    /// Owns what `first` points to. Not for debuggers: the layout of a box is the compiler's.
    processors: Box<[ProcessorRecord]>,
}

// SAFETY: the plain pointers lead to constants; the rest is atomic.
unsafe impl Send for ClusterRecord {}
// SAFETY: the same.
unsafe impl Sync for ClusterRecord {}

/// What a debugger finds of a processor.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ProcessorRecord {
    /// Its ready queue, which is the home of its fibres.
    queue: *const ReadyQueue,
    /// The kernel's number of its thread; zero before that has begun.
    thread: AtomicI32,
    /// The word that has the fibre which runs there; null while the processor does not run.
    running: AtomicPtr<AtomicPtr<Link>>,
    /// The fibre list of its own fibres; null while the processor does not run.
    fibre_list: AtomicPtr<FibreList>,
}

impl ClusterRecord {
    /// The record of a cluster that is not listed, with these ready queues.
    pub(crate) fn new(number: u64, settings: &Settings, queues: &[Arc<ReadyQueue>]) -> Self {
        let record = |queue: &Arc<ReadyQueue>| ProcessorRecord {
            queue: Arc::as_ptr(queue),
            thread: AtomicI32::new(0),
            running: AtomicPtr::new(ptr::null_mut()),
            fibre_list: AtomicPtr::new(ptr::null_mut()),
        };
        let processors: Box<[_]> = queues.iter().map(record).collect();
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            number,
            name: settings.name.as_ptr(),
            name_length: settings.name.len(),
            shared: AtomicPtr::new(ptr::null_mut()),
            first: processors.as_ptr(),
            capacity: processors.len(),
            processors,
        }
    }

    /// Lists the cluster. Its started fibres are in `shared` if they move.
    ///
    /// # Safety
    ///
    /// Neither this nor the fibre list is moved from now on, and it is called once.
    pub(crate) unsafe fn list(&self, shared: Option<&ShortLock<FibreList>>) {
        // The lock begins with what it protects.
        let shared = shared.map_or(ptr::null(), ptr::from_ref);
        let shared = shared.cast::<FibreList>().cast_mut();
        self.shared.store(shared, Ordering::Relaxed);
        let _changes = CHANGES.lock();
        self.next
            .store(CLUSTERS.load(Ordering::Relaxed), Ordering::Relaxed);
        CLUSTERS.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    /// Notes the kernel's number of a processor's thread.
    pub(crate) fn set_thread(&self, processor: usize, thread: i32) {
        self.processors[processor]
            .thread
            .store(thread, Ordering::Relaxed);
    }

    /// Notes the word that has the fibre which a processor runs; null: there is none any more.
    pub(crate) fn set_running(&self, processor: usize, running: *const AtomicPtr<Link>) {
        self.processors[processor]
            .running
            .store(running.cast_mut(), Ordering::Release);
    }

    /// Notes the fibre list of a processor's own fibres; null: there is none any more.
    pub(crate) fn set_fibre_list(&self, processor: usize, fibre_list: *const FibreList) {
        self.processors[processor]
            .fibre_list
            .store(fibre_list.cast_mut(), Ordering::Release);
    }
}

impl Drop for ClusterRecord {
    /// Takes it out of the list, if it is there.
    fn drop(&mut self) {
        let _changes = CHANGES.lock();
        let mut link = &CLUSTERS;
        // SAFETY: members of the list are there, as they take themselves out under the lock.
        while let Some(record) = unsafe { link.load(Ordering::Relaxed).as_ref() } {
            let next = record.next.load(Ordering::Relaxed);
            if ptr::eq(record, self) {
                link.store(next, Ordering::Release);
                return;
            }
            link = &record.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of these clusters, as far as they are listed, in the list's order.
    fn listed(numbers: &[u64]) -> Vec<u64> {
        let _changes = CHANGES.lock();
        let mut found = Vec::new();
        let mut at = CLUSTERS.load(Ordering::Relaxed);
        // SAFETY: as in `drop`.
        while let Some(record) = unsafe { at.as_ref() } {
            found.push(record.number);
            at = record.next.load(Ordering::Relaxed);
        }
        found.retain(|number| numbers.contains(number));
        found
    }

    #[test]
    fn clusters_come_and_go_anywhere_in_the_list() {
        // Far from the numbers of real clusters, which other tests start.
        let numbers = [1 << 60, 2 << 60, 3 << 60];
        let settings = Settings::from_environment();
        let make = |number| Box::new(ClusterRecord::new(number, &settings, &[]));
        let [first, second, third] = numbers.map(make);
        let unlisted = make(4 << 60);
        for record in [&first, &second, &third] {
            // SAFETY: boxed, and listed once.
            unsafe { record.list(None) };
        }
        assert_eq!(listed(&numbers), [3 << 60, 2 << 60, 1 << 60]);
        drop(second);
        assert_eq!(listed(&numbers), [3 << 60, 1 << 60]);
        drop(unlisted);
        drop(third);
        assert_eq!(listed(&numbers), [1 << 60]);
        drop(first);
        assert!(listed(&numbers).is_empty());
    }
}
