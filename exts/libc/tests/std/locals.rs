//! Thread-locals and their destructors.

use crate::support::{Dropped, SHORT, dropped};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, ThreadId};

thread_local! {
    static NUMBER: Cell<i32> = const { Cell::new(1) };
    static HELD: RefCell<Vec<Dropped>> = const { RefCell::new(Vec::new()) };
    static MADE: usize = MAKES.fetch_add(1, Ordering::Relaxed);
    static WAITED: ThreadId = {
        thread::sleep(SHORT);
        thread::current().id()
    };
}

/// How often [`MADE`] was made.
static MAKES: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn are_each_threads_own() {
    NUMBER.set(2);
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        assert_eq!(NUMBER.get(), 1);
        NUMBER.set(3);
        send.send(()).unwrap();
        thread::sleep(SHORT);
        assert_eq!(NUMBER.get(), 3);
    });
    receive.recv().unwrap();
    assert_eq!(NUMBER.get(), 2);
    thread.join().unwrap();
    assert_eq!(NUMBER.get(), 2);
    NUMBER.set(1);
}

pub(crate) fn end_with_their_thread() {
    let (value, count) = dropped();
    let thread = thread::spawn(move || HELD.with_borrow_mut(|held| held.push(value)));
    thread.join().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

pub(crate) fn are_valid_then_ended() {
    /// Asks for itself at its end.
    struct Asks(Cell<Option<Arc<AtomicBool>>>);
    impl Drop for Asks {
        fn drop(&mut self) {
            let is_gone = ASKS.try_with(|_| ()).is_err();
            self.0.take().unwrap().store(is_gone, Ordering::SeqCst);
        }
    }
    thread_local!(static ASKS: Asks = const { Asks(Cell::new(None)) });
    let is_gone = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&is_gone);
    let thread = thread::spawn(move || {
        assert!(ASKS.try_with(|asks| asks.0.set(Some(theirs))).is_ok());
    });
    thread.join().unwrap();
    assert!(is_gone.load(Ordering::SeqCst));
}

pub(crate) fn are_made_once_in_a_thread() {
    let before = MAKES.load(Ordering::Relaxed);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(|| {
                let first = MADE.with(|made| *made);
                thread::yield_now();
                assert_eq!(MADE.with(|made| *made), first);
            })
        })
        .collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(MAKES.load(Ordering::Relaxed), before + 4);
}

/// The two of a circle: each asks for the other one at its end, and says so.
struct Side(fn(&Side), Arc<AtomicUsize>);

impl Drop for Side {
    fn drop(&mut self) {
        (self.0)(self);
    }
}

thread_local! {
    static LEFT: RefCell<Option<Side>> = const { RefCell::new(None) };
    static RIGHT: RefCell<Option<Side>> = const { RefCell::new(None) };
}

pub(crate) fn may_end_in_a_circle() {
    fn ask_right(side: &Side) {
        let seen = RIGHT.try_with(|_| ()).is_ok();
        side.1
            .fetch_add(1 + 10 * usize::from(seen), Ordering::SeqCst);
    }
    fn ask_left(side: &Side) {
        let seen = LEFT.try_with(|_| ()).is_ok();
        side.1
            .fetch_add(100 + 1000 * usize::from(seen), Ordering::SeqCst);
    }
    let told = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&told);
    let thread = thread::spawn(move || {
        LEFT.set(Some(Side(ask_right, Arc::clone(&theirs))));
        RIGHT.set(Some(Side(ask_left, theirs)));
    });
    thread.join().unwrap();
    // Both have ended, and at least one of them could not see the other.
    let told = told.load(Ordering::SeqCst);
    assert!([101, 111, 1101].contains(&told), "{told}");
}

pub(crate) fn refuse_access_at_their_end() {
    /// Asks for its own place, which is being destroyed.
    struct Own(mpsc::Sender<String>);
    impl Drop for Own {
        fn drop(&mut self) {
            let refused = OWN.try_with(|_| ()).unwrap_err();
            self.0.send(refused.to_string()).unwrap();
        }
    }
    thread_local!(static OWN: UnsafeCell<Option<Own>> = const { UnsafeCell::new(None) });
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        // SAFETY: nobody else has a reference.
        OWN.with(|own| unsafe { *own.get() = Some(Own(send)) });
    });
    thread.join().unwrap();
    assert!(receive.recv().unwrap().contains("destroyed"));
}

pub(crate) fn make_others_at_the_end() {
    /// Makes the next value, so that it has to be destroyed, too.
    struct First(mpsc::Sender<u8>);
    struct Second(mpsc::Sender<u8>);
    struct Third(mpsc::Sender<u8>);
    impl Drop for First {
        fn drop(&mut self) {
            self.0.send(1).unwrap();
            SECOND.set(Some(Second(self.0.clone())));
        }
    }
    impl Drop for Second {
        fn drop(&mut self) {
            self.0.send(2).unwrap();
            THIRD.set(Some(Third(self.0.clone())));
        }
    }
    impl Drop for Third {
        fn drop(&mut self) {
            self.0.send(3).unwrap();
        }
    }
    thread_local! {
        static FIRST: RefCell<Option<First>> = const { RefCell::new(None) };
        static SECOND: RefCell<Option<Second>> = const { RefCell::new(None) };
        static THIRD: RefCell<Option<Third>> = const { RefCell::new(None) };
    }
    let (send, receive) = mpsc::channel();
    thread::spawn(move || FIRST.set(Some(First(send))));
    assert_eq!(receive.iter().collect::<Vec<_>>(), [1, 2, 3]);
}

pub(crate) fn end_before_a_join() {
    /// Takes its time.
    struct Slow(Arc<AtomicBool>);
    impl Drop for Slow {
        fn drop(&mut self) {
            thread::sleep(SHORT);
            self.0.store(true, Ordering::Relaxed);
        }
    }
    thread_local!(static SLOW: RefCell<Option<Slow>> = const { RefCell::new(None) });
    for _ in 0..5 {
        let is_done = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&is_done);
        thread::spawn(move || SLOW.set(Some(Slow(theirs))))
            .join()
            .unwrap();
        assert!(is_done.load(Ordering::Relaxed));
    }
}

pub(crate) fn know_their_thread_at_the_end() {
    /// Tells which thread it ends on.
    struct Tells(mpsc::Sender<ThreadId>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }
    thread_local!(static TELLS: RefCell<Option<Tells>> = const { RefCell::new(None) });
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || TELLS.set(Some(Tells(send))));
    let id = thread.thread().id();
    thread.join().unwrap();
    assert_eq!(receive.recv(), Ok(id));
}

pub(crate) fn hold_borrows_over_waits() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(|| {
                HELD.with_borrow_mut(|held| {
                    thread::sleep(SHORT);
                    held.clear();
                });
            })
        })
        .collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
}

pub(crate) fn cells_take_and_replace() {
    let thread = thread::spawn(|| {
        assert_eq!(NUMBER.replace(8), 1);
        assert_eq!(NUMBER.take(), 8);
        assert_eq!(NUMBER.get(), 0);
        assert!(HELD.take().is_empty());
    });
    thread.join().unwrap();
}

pub(crate) fn initialisers_may_wait() {
    let threads: Vec<_> = (0..4)
        .map(|_| thread::spawn(|| WAITED.with(|id| *id == thread::current().id())))
        .collect();
    assert!(threads.into_iter().all(|one| one.join().unwrap()));
}
