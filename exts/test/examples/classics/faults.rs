//! Faults that tools of this kind are shown by, each as a test that fails by some schedules.

use fibre::sync::{Condvar, Mutex, RwLock};
use fibre_test::{Sim, switch_point};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};

/// A fault.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// What is wrong, in short.
    pub name: &'static str,
    /// What a failed run says.
    pub says: &'static str,
    /// Whether it is seen in order, too.
    pub in_order: bool,
    /// The test.
    pub test: fn(&Sim),
}

/// A fault that is not seen in order.
const fn hidden(name: &'static str, says: &'static str, test: fn(&Sim)) -> Fault {
    Fault {
        name,
        says,
        in_order: false,
        test,
    }
}

/// The faults of the table.
pub const FAULTS: [Fault; 15] = [
    hidden("two accounts lock each other out", "deadlock", two_accounts),
    hidden("three philosophers starve", "deadlock", philosophers),
    Fault {
        in_order: true,
        ..hidden("a buffer with one condition variable", "deadlock", buffer)
    },
    hidden("a wake-up before the wait", "deadlock", lost_wake_up),
    hidden(
        "a check is out of date when one acts",
        "opened twice",
        check_then_act,
    ),
    hidden(
        "a counter is read and written",
        "an update is lost",
        counter,
    ),
    hidden(
        "A-B-A: a list is popped with an old successor",
        "popped twice",
        aba,
    ),
    hidden("two readers upgrade", "deadlock", upgrade),
    hidden(
        "a reader lets go before it writes",
        "written twice",
        read_then_write,
    ),
    hidden(
        "initialised, checked twice, told too early",
        "half initialised",
        double_check,
    ),
    hidden("a lock of two flags", "two are inside", two_flags),
    Fault {
        in_order: true,
        ..hidden("a barrier is used again", "deadlock", barrier)
    },
    hidden(
        "a queue is closed with a job in it",
        "a job is lost",
        closed_queue,
    ),
    hidden("a count of owners in two steps", "freed", owners),
    hidden(
        "a stack is popped after it was seen full",
        "popped from nothing",
        seen_full,
    ),
];

/// Runs several closures as fibres, and joins them.
fn beside<const COUNT: usize>(closures: [Box<dyn FnOnce() + Send>; COUNT]) {
    let fibres = closures.map(fibre::spawn);
    for fibre in fibres {
        if let Err(payload) = fibre.join() {
            resume_unwind(payload);
        }
    }
}

/// The same of one closure, with a number.
fn numbered<const COUNT: usize>(closure: impl Fn(usize) + Send + Sync + 'static) {
    let closure = Arc::new(closure);
    let mut number = 0;
    beside([(); COUNT].map(|()| {
        let (closure, own) = (Arc::clone(&closure), number);
        number += 1;
        Box::new(move || closure(own)) as Box<dyn FnOnce() + Send>
    }));
}

fn two_accounts(_: &Sim) {
    let accounts = [100, 100].map(Mutex::new);
    numbered::<2>(move |from| {
        let mut source = accounts[from].lock();
        let mut target = accounts[1 - from].lock();
        *source -= 10;
        *target += 10;
    });
}

fn philosophers(_: &Sim) {
    let forks = [(); 3].map(Mutex::new);
    numbered::<3>(move |seat| {
        let _left = forks[seat].lock();
        let _right = forks[(seat + 1) % 3].lock();
    });
}

/// A buffer with room for one, where producers and consumers wait for one condition variable and
/// wake one of all that wait.
fn buffer(_: &Sim) {
    let (count, changed) = (Mutex::new(0_u32), Condvar::new());
    numbered::<4>(move |number| {
        let fills = number < 2;
        for _ in 0..2 {
            let mut count = count.lock();
            while (*count == 1) == fills {
                changed.wait(&mut count);
            }
            *count = u32::from(fills);
            changed.notify_one();
        }
    });
}

/// A waiter looks, lets the lock go, and waits without having looked again.
fn lost_wake_up(_: &Sim) {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    numbered::<2>(move |number| {
        if number == 0 {
            let seen = *ready.lock();
            if !seen {
                changed.wait(&mut ready.lock());
            }
        } else {
            *ready.lock() = true;
            changed.notify_one();
        }
    });
}

fn check_then_act(_: &Sim) {
    let opened = Arc::new(Mutex::new(0));
    let opens = Arc::clone(&opened);
    numbered::<2>(move |_| {
        if *opens.lock() == 0 {
            *opens.lock() += 1;
        }
    });
    assert!(*opened.lock() == 1, "opened twice");
}

fn counter(_: &Sim) {
    let count = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&count);
    numbered::<3>(move |_| {
        let before = counts.load(SeqCst);
        switch_point();
        counts.store(before + 1, SeqCst);
    });
    assert!(count.load(SeqCst) == 3, "an update is lost");
}

/// A list of three nodes by their numbers; zero is its end.
struct List {
    head: AtomicUsize,
    next: [AtomicUsize; 4],
}

impl List {
    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            if head == 0 {
                return None;
            }
            let next = self.next[head].load(SeqCst);
            switch_point();
            if self
                .head
                .compare_exchange(head, next, SeqCst, SeqCst)
                .is_ok()
            {
                return Some(head);
            }
        }
    }

    fn push(&self, node: usize) {
        loop {
            let head = self.head.load(SeqCst);
            self.next[node].store(head, SeqCst);
            switch_point();
            if self
                .head
                .compare_exchange(head, node, SeqCst, SeqCst)
                .is_ok()
            {
                return;
            }
        }
    }
}

/// One pops the first node; meanwhile another one pops two, and pushes the first one again.
fn aba(_: &Sim) {
    let list = List {
        head: AtomicUsize::new(1),
        next: [0, 2, 3, 0].map(AtomicUsize::new),
    };
    let owned = [(); 4].map(|()| AtomicBool::new(false));
    numbered::<2>(move |number| {
        let take = || {
            let node = list.pop()?;
            assert!(!owned[node].swap(true, SeqCst), "popped twice");
            Some(node)
        };
        let first = take();
        let second = take();
        if let (1, Some(first), Some(_)) = (number, first, second) {
            owned[first].store(false, SeqCst);
            list.push(first);
            take();
        }
    });
}

/// A read-write lock by hand, where a reader that wants to write waits for the others to go.
fn upgrade(_: &Sim) {
    let (readers, gone) = (Mutex::new(0_u32), Condvar::new());
    numbered::<2>(move |_| {
        *readers.lock() += 1;
        switch_point();
        let mut count = readers.lock();
        while *count > 1 {
            gone.wait(&mut count);
        }
        *count -= 1;
        gone.notify_all();
    });
}

fn read_then_write(_: &Sim) {
    let cache = RwLock::new(None);
    let writes = AtomicU32::new(0);
    numbered::<2>(move |number| {
        let known = *cache.read();
        if known.is_none() {
            *cache.write() = Some(number);
            let before = writes.fetch_add(1, SeqCst);
            assert!(before == 0, "written twice");
        }
    });
}

fn double_check(_: &Sim) {
    let (is_ready, value, lock) = (AtomicBool::new(false), AtomicU32::new(0), Mutex::new(()));
    numbered::<2>(move |_| {
        if !is_ready.load(SeqCst) {
            let _guard = lock.lock();
            if !is_ready.load(SeqCst) {
                is_ready.store(true, SeqCst);
                switch_point();
                value.store(42, SeqCst);
            }
        }
        assert!(value.load(SeqCst) == 42, "half initialised");
    });
}

/// Each looks at the other's flag before it sets its own.
fn two_flags(_: &Sim) {
    let flags = [false, false].map(AtomicBool::new);
    let inside = AtomicU32::new(0);
    numbered::<2>(move |own| {
        while flags[1 - own].load(SeqCst) {
            fibre::yield_now();
        }
        switch_point();
        flags[own].store(true, SeqCst);
        assert!(inside.fetch_add(1, SeqCst) == 0, "two are inside");
        switch_point();
        inside.fetch_sub(1, SeqCst);
        flags[own].store(false, SeqCst);
    });
}

/// The last one to come resets the count; one that comes again at once sets it before a waiter has
/// looked.
fn barrier(_: &Sim) {
    let (here, changed) = (Mutex::new(0), Condvar::new());
    numbered::<2>(move |_| {
        for _ in 0..2 {
            let mut count = here.lock();
            *count += 1;
            if *count == 2 {
                *count = 0;
                changed.notify_all();
            }
            while *count != 0 {
                changed.wait(&mut count);
            }
            drop(count);
            switch_point();
        }
    });
}

/// A worker ends when the queue is closed and was empty; the producer looks at the flag first.
fn closed_queue(_: &Sim) {
    let jobs = Arc::new((AtomicBool::new(false), Mutex::new(0)));
    let shared = Arc::clone(&jobs);
    numbered::<2>(move |number| {
        let (is_closed, jobs) = &*shared;
        if number == 0 {
            if !is_closed.load(SeqCst) {
                *jobs.lock() += 1;
            }
        } else {
            is_closed.store(true, SeqCst);
            *jobs.lock() = 0;
        }
    });
    assert!(*jobs.1.lock() == 0, "a job is lost");
}

/// The last owner frees; the count is read and written in two steps.
fn owners(_: &Sim) {
    let (count, freed) = (AtomicU32::new(2), Arc::new(AtomicU32::new(0)));
    let frees = Arc::clone(&freed);
    numbered::<2>(move |_| {
        let left = count.load(SeqCst) - 1;
        switch_point();
        count.store(left, SeqCst);
        if left == 0 {
            frees.fetch_add(1, SeqCst);
        }
    });
    let times = freed.load(SeqCst);
    assert!(times == 1, "freed {times} times");
}

fn seen_full(_: &Sim) {
    let stack = Mutex::new(vec![1]);
    numbered::<2>(move |_| {
        let is_empty = stack.lock().is_empty();
        if !is_empty {
            assert!(stack.lock().pop().is_some(), "popped from nothing");
        }
    });
}
