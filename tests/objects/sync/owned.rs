//! Guards and permits with a share of their object.

use crate::support::{Drops, eventually, for_each_cluster, let_others_block};
use fibre::sync::lock::Baton;
use fibre::sync::{Mutex, OwnedMutexGuard, RwLock, Semaphore};
use fibre::{Limit, WaitError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_mutex_is_locked_by_its_share() {
    for_each_cluster(|_| {
        let mutex = Arc::new(Mutex::<_, Baton>::with_lock(0));
        let mut guard: OwnedMutexGuard<_, Baton> = mutex.lock_owned();
        *guard += 1;
        assert!(mutex.try_lock().is_none() && mutex.try_lock_owned().is_none());
        let (inside, tried) = (Arc::clone(&mutex), Arc::new(AtomicBool::new(false)));
        let has_tried = Arc::clone(&tried);
        let waits = fibre::spawn(move || {
            let refused = inside.lock_owned_within(Instant::now()).map(|_| ());
            has_tried.store(true, Ordering::Relaxed);
            *inside.lock_owned() += 1;
            refused
        });
        eventually(|| tried.load(Ordering::Relaxed));
        let_others_block();
        assert_eq!(format!("{guard:?}"), "1");
        drop(guard);
        assert_eq!(waits.join().unwrap(), Err(WaitError::TimedOut));
        assert_eq!(*mutex.try_lock_owned().unwrap(), 2);
    });
}

/// A guard keeps what it locks, and unlocks before it gives up the last share.
#[test]
fn a_guard_keeps_the_value() {
    let drops = Drops::new();
    let mutex = Arc::new(Mutex::new(drops.value()));
    let guard = mutex.lock_owned();
    drop(mutex);
    assert_eq!(drops.count(), 0);
    drop(guard);
    assert_eq!(drops.count(), 1);
    let lock = Arc::new(RwLock::new(drops.value()));
    let (one, two) = (lock.read_owned(), lock.read_owned());
    drop(lock);
    drop(one);
    assert_eq!(drops.count(), 1);
    drop(two);
    assert_eq!(drops.count(), 2);
}

#[test]
fn a_read_write_lock_is_locked_by_its_share() {
    for_each_cluster(|_| {
        let lock = Arc::new(RwLock::new(vec![1]));
        let reads = (lock.read_owned(), lock.try_read_owned().unwrap());
        assert!(lock.try_write_owned().is_none());
        let refused = lock.write_owned_within(Instant::now()).map(|_| ());
        assert_eq!(refused, Err(WaitError::TimedOut));
        assert_eq!(*reads.0, *reads.1);
        drop(reads);
        let mut writes = lock.write_owned();
        writes.push(2);
        assert!(lock.try_read_owned().is_none());
        let inside = Arc::clone(&lock);
        let waits = fibre::spawn(move || inside.read_owned_within(Limit::Cancellation).map(|_| ()));
        let_others_block();
        waits.cancel();
        assert_eq!(waits.join().unwrap(), Err(WaitError::Cancelled));
        drop(writes);
        assert_eq!(*lock.try_write_owned().unwrap(), [1, 2]);
    });
}

/// Permits go with what they were taken for.
#[test]
fn permits_go_along() {
    for_each_cluster(|_| {
        let most = Arc::new(Semaphore::new(3));
        let one = most.permit_owned();
        let two = most.try_permits_owned(2).unwrap();
        assert_eq!((one.count(), two.count()), (1, 2));
        assert!(most.try_permits_owned(1).is_none());
        let refused = most.permit_owned_within(Instant::now()).map(|_| ());
        assert_eq!(refused, Err(WaitError::TimedOut));
        let fibre = fibre::spawn(move || drop(two));
        fibre.join().unwrap();
        assert_eq!(most.available(), 2);
        most.permits_owned(2).forget();
        drop(one);
        assert_eq!(most.available(), 1);
    });
}

/// A time that is over before a wait of the tests ends.
const SHORT: Duration = Duration::from_millis(2);
/// A time that is never over.
const LONG: Duration = Duration::from_secs(3600);

/// One permit has the forms that many permits have.
#[test]
fn a_permit_has_four_forms() {
    for_each_cluster(|_| {
        let permits = Arc::new(Semaphore::new(4));
        {
            let _three = (
                permits.try_permit().unwrap(),
                permits.permit_timeout(LONG).unwrap(),
                permits.permit_within(LONG).unwrap(),
            );
            assert_eq!(permits.available(), 1);
        }
        {
            let _three = (
                permits.try_permit_owned().unwrap(),
                permits.permit_owned_timeout(LONG).unwrap(),
                permits.permit_owned_within(LONG).unwrap(),
            );
            let _last = fibre::select! { permit = permits.permit_owned_arm() => permit };
            assert_eq!(permits.available(), 0);
            assert!(permits.try_permit().is_none() && permits.try_permit_owned().is_none());
            assert!(permits.permit_timeout(SHORT).is_none());
            assert!(permits.permit_owned_timeout(SHORT).is_none());
            assert!(permits.permits_owned_timeout(2, SHORT).is_none());
            let late = permits.permit_within(SHORT).map(drop);
            assert_eq!(late, Err(WaitError::TimedOut));
            let late = permits.permit_owned_within(Instant::now()).map(drop);
            assert_eq!(late, Err(WaitError::TimedOut));
        }
        assert_eq!(permits.permits_owned_timeout(4, SHORT).unwrap().count(), 4);
        assert_eq!(permits.available(), 4);
    });
}

/// A guard with a share has the forms that a plain guard has.
#[test]
fn owned_guards_have_four_forms() {
    for_each_cluster(|_| {
        let lock = Arc::new(RwLock::new(0));
        *lock.write_owned_timeout(LONG).unwrap() += 1;
        let reader = lock.read_owned_timeout(LONG).unwrap();
        assert_eq!(*reader, 1);
        let (locked, mutex) = (Arc::clone(&lock), Arc::new(Mutex::new(0)));
        let guard = mutex.lock_owned_timeout(LONG).unwrap();
        let others = Arc::clone(&mutex);
        let refused = fibre::spawn(move || {
            let no_write = locked.write_owned_timeout(SHORT).is_none();
            no_write && others.lock_owned_timeout(SHORT).is_none()
        });
        assert!(refused.join().unwrap());
        drop((reader, guard));
        let writer = lock.write_owned();
        let locked = Arc::clone(&lock);
        let refused = fibre::spawn(move || locked.read_owned_timeout(SHORT).is_none());
        assert!(refused.join().unwrap());
        drop(writer);
    });
}
