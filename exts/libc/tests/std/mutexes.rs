//! `Mutex`, and poison.

use crate::support::{SHORT, dropped, panics_there};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, TryLockError, mpsc};
use std::thread;

/// A lock and a condition variable that share what they are about.
type Pair = Arc<(Mutex<bool>, Condvar)>;

/// A lock that was poisoned by a thread that panicked.
fn poisoned() -> Arc<Mutex<i32>> {
    let lock = Arc::new(Mutex::new(1));
    let theirs = Arc::clone(&lock);
    panics_there(move || {
        let _guard = theirs.lock().unwrap();
        panic!("poisons");
    });
    lock
}

pub(crate) fn lock() {
    let lock = Mutex::new(());
    drop(lock.lock().unwrap());
    drop(lock.lock().unwrap());
}

pub(crate) fn exclude() {
    const THREADS: u32 = 3;
    const ROUNDS: u32 = 200;
    static LOCK: Mutex<u32> = Mutex::new(0);
    *LOCK.lock().unwrap() = 0;
    let (send, receive) = mpsc::channel();
    for number in 0..2 * THREADS {
        let send = send.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                let mut count = LOCK.lock().unwrap();
                let seen = *count;
                if number % 2 == 0 {
                    thread::yield_now();
                }
                *count = seen + 1;
            }
            send.send(()).unwrap();
        });
    }
    drop(send);
    assert_eq!(receive.iter().count(), 2 * THREADS as usize);
    assert_eq!(*LOCK.lock().unwrap(), 2 * THREADS * ROUNDS);
}

pub(crate) fn try_lock_says_so() {
    let lock = Mutex::new(1);
    let held = lock.try_lock().unwrap();
    thread::scope(|scope| {
        let refused = scope.spawn(|| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        assert!(refused.join().unwrap());
    });
    drop(held);
    assert_eq!(*lock.try_lock().unwrap(), 1);
}

pub(crate) fn give_their_value() {
    assert_eq!(Mutex::new(10).into_inner().unwrap(), 10);
}

pub(crate) fn drop_their_value() {
    let (value, count) = dropped();
    let lock = Mutex::new(value);
    {
        let _value = lock.into_inner().unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

pub(crate) fn give_poisoned_values() {
    let lock = Arc::into_inner(poisoned()).unwrap();
    assert_eq!(lock.into_inner().unwrap_err().into_inner(), 1);
}

pub(crate) fn give_access_to_owners() {
    let mut lock = Mutex::new(10);
    *lock.get_mut().unwrap() = 20;
    assert_eq!(lock.into_inner().unwrap(), 20);
}

pub(crate) fn give_poisoned_access() {
    let mut lock = Arc::into_inner(poisoned()).unwrap();
    assert_eq!(**lock.get_mut().unwrap_err().get_ref(), 1);
}

pub(crate) fn work_with_condvars() {
    let pair: Pair = Arc::default();
    let theirs = Arc::clone(&pair);
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let mut is_set = pair.0.lock().unwrap();
    send.send(()).unwrap();
    while !*is_set {
        is_set = pair.1.wait(is_set).unwrap();
    }
    drop(is_set);
    thread.join().unwrap();
}

pub(crate) fn poison_waiters() {
    let pair: Pair = Arc::default();
    let theirs = Arc::clone(&pair);
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
        let _guard = theirs.0.lock().unwrap();
        theirs.1.notify_one();
        panic!("poisons the one that waits");
    });
    let guard = pair.0.lock().unwrap();
    send.send(()).unwrap();
    let waited = pair.1.wait_while(guard, |is_set| !*is_set);
    assert!(waited.is_err());
    drop(waited);
    assert!(thread.join().is_err());
}

pub(crate) fn are_poisoned() {
    let lock = poisoned();
    assert!(lock.is_poisoned());
    assert!(matches!(lock.try_lock(), Err(TryLockError::Poisoned(_))));
    assert_eq!(*lock.lock().unwrap_err().into_inner(), 1);
}

pub(crate) fn nest() {
    let inner = Arc::new(Mutex::new(1));
    let outer = Arc::new(Mutex::new(inner));
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        let outer = outer.lock().unwrap();
        assert_eq!(*outer.lock().unwrap(), 1);
        send.send(()).unwrap();
    });
    receive.recv().unwrap();
    thread.join().unwrap();
}

pub(crate) fn lock_while_unwinding() {
    /// Takes the lock at its end.
    struct Adds(Arc<Mutex<i32>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let lock = Arc::new(Mutex::new(1));
    let adds = Adds(Arc::clone(&lock));
    panics_there(move || {
        let _adds = adds;
        panic!("unwinds");
    });
    assert_eq!(*lock.lock().unwrap(), 2);
}

pub(crate) fn lock_slices() {
    let lock: &Mutex<[i32]> = &Mutex::new([1, 2, 3]);
    {
        let values = &mut *lock.lock().unwrap();
        values[0] = 4;
        values[2] = 5;
    }
    assert_eq!(&*lock.lock().unwrap(), &[4, 2, 5]);
}

pub(crate) fn are_cured() {
    let lock = poisoned();
    lock.clear_poison();
    assert!(!lock.is_poisoned() && lock.lock().is_ok());
}

pub(crate) fn are_not_poisoned_by_readers() {
    // A thread that holds the lock no more does not poison it.
    let lock = Arc::new(Mutex::new(1));
    let theirs = Arc::clone(&lock);
    panics_there(move || {
        drop(theirs.lock().unwrap());
        panic!("holds nothing");
    });
    assert!(!lock.is_poisoned());
}

pub(crate) fn debug_and_default() {
    let lock: Mutex<i32> = Mutex::default();
    assert!(format!("{lock:?}").contains("data: 0"));
    let _held = lock.lock().unwrap();
    assert!(format!("{lock:?}").contains("<locked>"));
}

pub(crate) fn are_held_over_waits() {
    let lock = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                let mut count = lock.lock().unwrap();
                thread::sleep(SHORT);
                *count += 1;
            })
        })
        .collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(*lock.lock().unwrap(), 4);
}
