//! What helps to find faults: locks that know their owner, the contention profile.

use super::caught;
use crate::support::process::{errors, no_core_file, plays, spawn_child};
use crate::support::{eventually, for_each_cluster, let_others_block, watched};
use fibre::sync::lock::{
    Barging, Baton, Exchange, Hybrid, RawLock, Settled, SpinThenBlock, Spinning,
};
use fibre::sync::{Condvar, ContendedPlace, Mutex, RwLock, contention, profile_contention};
use fibre::{Limit, Waiting};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Long enough for somebody to find a lock taken.
const A_WHILE: Duration = Duration::from_millis(20);

/// The words of the panic of `f`.
fn words<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = caught(f) else {
        panic!("it has not panicked")
    };
    payload.downcast_ref::<String>().unwrap().clone()
}

/// Checks that one who has `mutex` is told so when it locks it again, in builds that know; in
/// others it waits, for as long as it wants to.
fn refuses_its_owner<L: RawLock>(mutex: &Mutex<i32, L>) {
    assert!(mutex.lock_timeout(Duration::from_millis(1)).is_none());
    assert!(mutex.try_lock().is_none());
    if cfg!(debug_assertions) {
        let address = format!("the mutex at {mutex:p} in {}", file!());
        let expected = |said: &str| said.contains(&address) && said.contains("itself for ever");
        let said = words(|| drop(mutex.lock()));
        assert!(expected(&said), "{said}");
        assert!(said.contains(&fibre_or_thread()), "{said}");
        let said = words(|| drop(mutex.lock_within(Limit::Cancellation)));
        assert!(expected(&said), "{said}");
    }
}

/// What the caller is called in such a panic.
fn fibre_or_thread() -> String {
    match (fibre::id(), fibre::name()) {
        (Some(id), Some(name)) => format!("fibre {id} ({name:?})"),
        (Some(id), None) => format!("fibre {id}"),
        (None, _) => "thread".to_owned(),
    }
}

/// One mutex of a kind: taken, taken again after a panic, handed over, taken again by a wait.
fn has_an_owner<L: RawLock + 'static>() {
    let mutex = Arc::new(Mutex::<_, L>::with_lock(0));
    let guard = mutex.lock();
    refuses_its_owner(&mutex);
    drop(guard);
    drop(mutex.lock());

    let guard = mutex.try_lock().unwrap();
    let other = Arc::clone(&mutex);
    let heir = fibre::Builder::new().name("heir").spawn(move || {
        let _guard = other.lock();
        refuses_its_owner(&other);
    });
    let other = Arc::clone(&mutex);
    let thread = thread::spawn(move || {
        let _guard = other.lock();
        refuses_its_owner(&other);
    });
    let_others_block();
    drop(guard);
    heir.unwrap().join().unwrap();
    fibre::blocking(|| thread.join()).unwrap();

    let changed = Arc::new(Condvar::new());
    let mut guard = mutex.lock();
    let (other, notifier) = (Arc::clone(&mutex), Arc::clone(&changed));
    fibre::spawn(move || {
        let mut guard = other.lock();
        *guard += 1;
        refuses_its_owner(&other);
        notifier.notify_one();
    });
    changed.wait_while(&mut guard, |value| *value == 0);
    refuses_its_owner(&mutex);
}

/// A fibre that locks a mutex that it has gets a clear word, where assertions are on; everybody
/// else gets the mutex, however it changes hands.
#[test]
fn mutexes_know_their_owner() {
    for_each_cluster(|_| {
        has_an_owner::<Barging>();
        has_an_owner::<SpinThenBlock>();
        has_an_owner::<Hybrid>();
        has_an_owner::<Settled>();
        has_an_owner::<Baton>();
        has_an_owner::<Exchange>();
        has_an_owner::<Spinning>();
    });
}

/// The same for one who writes, and wants to read or write.
#[test]
fn read_write_locks_know_who_writes() {
    for_each_cluster(|_| {
        let lock = RwLock::new(0);
        let guard = lock.write();
        assert!(lock.read_timeout(Duration::from_millis(1)).is_none());
        assert!(lock.write_timeout(Duration::from_millis(1)).is_none());
        if cfg!(debug_assertions) {
            let expected = format!(
                "the read-write lock at {:p} in {}",
                &raw const lock,
                file!()
            );
            for said in [
                words(|| drop(lock.read())),
                words(|| drop(lock.write())),
                words(|| drop(lock.write_within(Limit::Cancellation))),
            ] {
                assert!(
                    said.contains(&expected),
                    "{said} does not contain {expected}"
                );
            }
        }
        let guard = fibre::sync::RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard + *lock.read(), 0);
        drop(guard);
        drop(lock.write());
    });
}

/// What the profile knows of a line of this file.
fn known(line: u32) -> Option<ContendedPlace> {
    let here =
        |place: &&ContendedPlace| place.location.file() == file!() && place.location.line() == line;
    contention().places().iter().find(here).cloned()
}

/// Has a fibre `wait` for a mutex, which is taken until it has waited for a while.
fn contend<L: RawLock + 'static>(wait: fn(&Mutex<(), L>)) {
    let mutex = Arc::new(Mutex::<_, L>::with_lock(()));
    let guard = mutex.lock();
    let other = Arc::clone(&mutex);
    let waiter = fibre::spawn(move || wait(&other));
    let waits = || {
        let all = fibre::waits();
        let waits = |it: &Waiting| it.id == waiter.id() && it.stuck.is_none();
        all.iter().any(waits) || waiter.is_finished()
    };
    eventually(waits);
    fibre::sleep(A_WHILE);
    drop(guard);
    waiter.join().unwrap();
}

/// Has a fibre `wait` for a mutex, which is taken until it has given up.
fn contend_in_vain<L: RawLock + 'static>(wait: fn(&Mutex<(), L>)) {
    let mutex = Arc::new(Mutex::<_, L>::with_lock(()));
    let _guard = mutex.lock();
    let other = Arc::clone(&mutex);
    fibre::spawn(move || wait(&other)).join().unwrap();
}

/// The profile knows where locks were waited for, how often, for how long, and how that ended.
#[test]
fn the_profile_tells_who_waits() {
    watched(|| {
        profile_contention(false);
        let unwatched = line!() + 1;
        contend::<Hybrid>(|lock| drop(lock.lock()));
        profile_contention(true);
        let taken = line!() + 1;
        contend::<Barging>(|lock| drop(lock.lock()));
        let handed = line!() + 1;
        (0..3).for_each(|_| contend::<Baton>(|lock| drop(lock.lock())));
        let given_up = line!() + 1;
        contend_in_vain::<Spinning>(|lock| assert!(lock.lock_timeout(A_WHILE / 4).is_none()));
        let uncontended = line!() + 1;
        drop(Mutex::new(()).lock());
        let writing = line!() + 3;
        let lock = Arc::new(RwLock::new(()));
        let (reader, other) = (lock.read(), Arc::clone(&lock));
        let writer = fibre::spawn(move || drop(other.write_timeout(A_WHILE / 4)));
        writer.join().unwrap();
        drop(reader);
        profile_contention(false);

        assert_eq!((known(unwatched), known(uncontended)), (None, None));
        let taken = known(taken).unwrap();
        assert_eq!(
            (taken.contended, taken.handed_over, taken.given_up),
            (1, 0, 0)
        );
        assert!(taken.waited >= A_WHILE / 2 && taken.waited == taken.longest);
        let handed = known(handed).unwrap();
        assert_eq!((handed.contended, handed.handed_over), (3, 3));
        assert!(handed.waited > handed.longest);
        let given_up = known(given_up).unwrap();
        assert_eq!((given_up.contended, given_up.given_up), (1, 1));
        assert_eq!(known(writing).unwrap().given_up, 1);

        let table = contention();
        assert!(table.places().is_sorted_by(|a, b| a.waited >= b.waited));
        assert!(table.to_string().contains(&handed.location.to_string()));
    });
}

/// Where the environment switches the profile on, the table is on standard error in the end;
/// otherwise nothing is.
#[test]
fn the_profile_is_printed_at_the_exit() {
    if plays("contender") {
        no_core_file();
        return contend::<Hybrid>(|lock| drop(lock.lock()));
    }
    for (value, expected) in [("1", true), ("0", false)] {
        let output = spawn_child("contender", &[("FIBRE_LOCK_PROFILE", value)]);
        let text = errors(&output);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.contains("contended locks"), expected, "{text}");
        assert_eq!(text.contains(file!()), expected, "{text}");
    }
    let output = spawn_child("contender", &[("FIBRE_LOCK_PROFILE", "perhaps")]);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert!(text.contains("FIBRE_LOCK_PROFILE must be 0 or 1"), "{text}");
}

/// A lock that lets others run when it is given back.
#[derive(Default)]
struct Generous(Barging);

// SAFETY: as the lock that it is.
unsafe impl RawLock for Generous {
    const FREE: Self = Self(Barging::FREE);

    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    fn lock_within(&self, limit: Limit) -> bool {
        self.0.lock_within(limit)
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.unlock() };
        fibre::yield_now();
    }

    // Left out: `unlock_to_wait`, which is not to yield.

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

/// A fibre that is about to wait and can be woken must not leave its stack: it could be queued
/// twice. Builds with debug assertions abort then; others are not put to the test.
#[test]
fn a_fibre_keeps_its_stack_while_it_publishes_a_wait() {
    let wait = || {
        let (lock, changed) = (Mutex::<_, Generous>::with_lock(()), Condvar::new());
        let mut guard = lock.lock();
        changed.wait_timeout(&mut guard, Duration::from_millis(1))
    };
    // A thread may.
    assert!(!wait());
    if plays("generous") {
        no_core_file();
        fibre::spawn(wait).join().unwrap();
    } else if cfg!(debug_assertions) {
        let output = spawn_child("generous", &[]);
        let text = errors(&output);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{text}");
        assert!(text.contains("leaves its stack while"), "{text}");
    }
}
