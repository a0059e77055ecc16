//! `RwLock`, and poison.

use crate::support::{SHORT, dropped, panics_there};
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, RwLock, RwLockWriteGuard, TryLockError};
use std::thread;

/// A lock that was poisoned by a writer that panicked.
fn poisoned() -> Arc<RwLock<i32>> {
    let lock = Arc::new(RwLock::new(1));
    let theirs = Arc::clone(&lock);
    panics_there(move || {
        let _guard = theirs.write().unwrap();
        panic!("poisons");
    });
    lock
}

/// A lock that a reader held when it panicked.
fn left_by_a_reader() -> Arc<RwLock<i32>> {
    let lock = Arc::new(RwLock::new(1));
    let theirs = Arc::clone(&lock);
    panics_there(move || {
        let _guard = theirs.read().unwrap();
        panic!("does not poison");
    });
    lock
}

pub(crate) fn lock() {
    let lock = RwLock::new(());
    drop(lock.read().unwrap());
    drop(lock.write().unwrap());
    let both = (lock.read().unwrap(), lock.read().unwrap());
    drop(both);
    drop(lock.write().unwrap());
}

pub(crate) fn exclude() {
    const THREADS: usize = 6;
    const ROUNDS: usize = 100;
    let lock = Arc::new(RwLock::new(0));
    let (send, receive) = channel::<usize>();
    for number in 0..THREADS {
        let (send, lock) = (send.clone(), Arc::clone(&lock));
        thread::spawn(move || {
            let mut writes = 0;
            for round in 0..ROUNDS {
                if (round + number) % 5 == 0 {
                    *lock.write().unwrap() += 1;
                    writes += 1;
                } else {
                    let seen = lock.read().unwrap();
                    let before = *seen;
                    thread::yield_now();
                    assert_eq!(*seen, before);
                }
            }
            send.send(writes).unwrap();
        });
    }
    drop(send);
    let writes: usize = receive.iter().sum();
    assert_eq!(
        (writes, *lock.read().unwrap()),
        (THREADS * ROUNDS / 5, writes)
    );
}

pub(crate) fn are_poisoned_for_writers() {
    let lock = poisoned();
    assert!(lock.is_poisoned() && lock.write().is_err());
}

pub(crate) fn are_poisoned_for_readers() {
    let lock = poisoned();
    assert!(lock.read().is_err());
    assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
}

pub(crate) fn are_not_poisoned_by_readers() {
    assert_eq!(*left_by_a_reader().read().unwrap(), 1);
}

pub(crate) fn are_not_poisoned_by_readers_for_writers() {
    assert_eq!(*left_by_a_reader().write().unwrap(), 1);
}

pub(crate) fn show_whole_writes() {
    let lock = Arc::new(RwLock::new(0));
    let theirs = Arc::clone(&lock);
    let writer = thread::spawn(move || {
        let mut value = theirs.write().unwrap();
        for _ in 0..10 {
            let seen = *value;
            *value = -1;
            thread::yield_now();
            *value = seen + 1;
        }
    });
    let readers: Vec<_> = (0..5)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || assert!(*lock.read().unwrap() >= 0))
        })
        .collect();
    readers.into_iter().for_each(|one| one.join().unwrap());
    writer.join().unwrap();
    assert_eq!(*lock.read().unwrap(), 10);
}

pub(crate) fn lock_while_unwinding() {
    /// Takes the lock at its end.
    struct Adds(Arc<RwLock<i32>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            *self.0.write().unwrap() += 1;
        }
    }
    let lock = Arc::new(RwLock::new(1));
    let adds = Adds(Arc::clone(&lock));
    panics_there(move || {
        let _adds = adds;
        panic!("unwinds");
    });
    assert_eq!(*lock.read().unwrap(), 2);
}

pub(crate) fn lock_slices() {
    let lock: &RwLock<[i32]> = &RwLock::new([1, 2, 3]);
    lock.write().unwrap()[1] = 7;
    assert_eq!(&*lock.read().unwrap(), &[1, 7, 3]);
}

pub(crate) fn try_write_says_so() {
    let lock = RwLock::new(0);
    let held = lock.read().unwrap();
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    drop(held);
    assert!(lock.try_write().is_ok());
}

pub(crate) fn try_read_says_so() {
    let lock = RwLock::new(0);
    let held = lock.write().unwrap();
    assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    drop(held);
    assert!(lock.try_read().is_ok());
}

pub(crate) fn give_their_value() {
    assert_eq!(RwLock::new(10).into_inner().unwrap(), 10);
}

pub(crate) fn drop_their_value() {
    let (value, count) = dropped();
    let value = RwLock::new(value).into_inner().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 0);
    drop(value);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

pub(crate) fn give_poisoned_values() {
    let lock = Arc::into_inner(poisoned()).unwrap();
    assert_eq!(lock.into_inner().unwrap_err().into_inner(), 1);
}

pub(crate) fn give_access_to_owners() {
    let mut lock = RwLock::new(10);
    *lock.get_mut().unwrap() = 20;
    assert_eq!(*lock.read().unwrap(), 20);
}

pub(crate) fn give_poisoned_access() {
    let mut lock = Arc::into_inner(poisoned()).unwrap();
    assert_eq!(**lock.get_mut().unwrap_err().get_ref(), 1);
}

pub(crate) fn are_cured() {
    let lock = poisoned();
    lock.clear_poison();
    assert!(lock.read().is_ok() && lock.write().is_ok());
}

pub(crate) fn downgrade() {
    let lock = RwLock::new(0);
    let mut writer = lock.write().unwrap();
    *writer = 1;
    let reader = RwLockWriteGuard::downgrade(writer);
    assert_eq!((*reader, *lock.try_read().unwrap()), (1, 1));
    assert!(lock.try_write().is_err());
    drop(reader);
    assert!(lock.try_write().is_ok());
}

pub(crate) fn show_what_was_downgraded() {
    // Readers that wait are let in by the downgrade, and see the write.
    let lock = Arc::new(RwLock::new(0));
    let mut writer = lock.write().unwrap();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || *lock.read().unwrap())
        })
        .collect();
    thread::sleep(SHORT);
    *writer = 5;
    let reader = RwLockWriteGuard::downgrade(writer);
    assert!(readers.into_iter().all(|one| one.join().unwrap() == 5));
    assert_eq!(*reader, 5);
}

pub(crate) fn downgrade_without_a_gap() {
    // No other writer comes between.
    let lock = Arc::new(RwLock::new(0));
    for round in 1..=20 {
        let mut writer = lock.write().unwrap();
        let theirs = Arc::clone(&lock);
        let other = thread::spawn(move || *theirs.write().unwrap() = 0);
        thread::yield_now();
        *writer = round;
        let reader = RwLockWriteGuard::downgrade(writer);
        thread::yield_now();
        assert_eq!(*reader, round);
        drop(reader);
        other.join().unwrap();
    }
}

pub(crate) fn let_readers_share() {
    const THREADS: usize = 4;
    let shared = Arc::new((RwLock::new(1), Barrier::new(THREADS)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let value = shared.0.read().unwrap();
                // All of them hold it.
                shared.1.wait();
                *value
            })
        })
        .collect();
    assert!(threads.into_iter().all(|one| one.join().unwrap() == 1));
}

pub(crate) fn debug_and_default() {
    let lock: RwLock<i32> = RwLock::default();
    assert!(format!("{lock:?}").contains("data: 0"));
    let _held = lock.write().unwrap();
    assert!(format!("{lock:?}").contains("<locked>"));
}
