//! Models of the read-write lock: who is inside with whom, who is woken, and who touches what last.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::Limit;
use fibre_core::model::{Shared, Watched, check, finds_planted};
use fibre_sync::RawRwLock;
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// A limit that comes at any moment.
fn soon() -> Limit {
    Limit::Deadline(Instant::now())
}

/// Writes, unless the limit comes first.
fn count(lock: &RawRwLock, number: &Watched, limit: Limit) -> u32 {
    if !lock.write(limit) {
        return 0;
    }
    number.count();
    // SAFETY: taken above.
    unsafe { lock.unlock_write() };
    1
}

/// Reads, unless the limit comes first.
fn look(lock: &RawRwLock, number: &Watched, limit: Limit) -> Option<u32> {
    lock.read(limit).then(|| {
        let seen = number.get();
        // SAFETY: taken above.
        unsafe { lock.unlock_read() };
        seen
    })
}

/// Two writers and a reader.
fn write_write_read() {
    let (lock, number) = (
        Shared::new(RawRwLock::new()),
        Shared::new(Watched::new(0)).get(),
    );
    let writer = thread::spawn(move || count(&lock, number, Limit::None));
    let reader = thread::spawn(move || look(&lock, number, Limit::None));
    count(&lock, number, Limit::None);
    writer.join().unwrap();
    assert!(reader.join().unwrap().unwrap() <= 2);
    assert_eq!(number.get(), 2);
    assert!(!lock.is_in_use());
    lock.free();
}

/// Writers are alone, and each sees what the one before did.
#[test]
fn writers_are_alone() {
    check(write_write_read);
}

/// Planted: the holder goes and wakes nobody.
#[test]
fn planted_missing_mark_is_found() {
    finds_planted(faults::rw_lock::WAITER_LEAVES_NO_MARK, write_write_read);
}

/// Planted: a reader that was woken before a writer takes the lock, and goes without a look at it.
#[test]
fn planted_forgotten_writer_is_found() {
    finds_planted(
        faults::rw_lock::WOKEN_FORGETS_THOSE_BEHIND,
        write_write_read,
    );
}

/// One writes twice and then reads, beside a reader and a writer. The reader may be woken before
/// the writer, come while the second write goes on, and join the one that reads then.
fn woken_and_joining() {
    let (lock, number) = (
        Shared::new(RawRwLock::new()),
        Shared::new(Watched::new(0)).get(),
    );
    let reader = thread::spawn(move || look(&lock, number, Limit::None));
    let writer = thread::spawn(move || count(&lock, number, Limit::None));
    count(&lock, number, Limit::None);
    count(&lock, number, Limit::None);
    assert!(look(&lock, number, Limit::None).unwrap() >= 2);
    assert!(reader.join().unwrap().unwrap() <= 3);
    writer.join().unwrap();
    assert_eq!(number.get(), 3);
    assert!(!lock.is_in_use());
    lock.free();
}

/// A reader that joins others when it was woken forgets no writer behind it.
#[test]
fn who_joins_when_woken_forgets_nobody() {
    check(woken_and_joining);
}

/// Planted: it does.
#[test]
fn planted_joining_that_forgets_is_found() {
    finds_planted(faults::rw_lock::WOKEN_JOINS_AND_FORGETS, woken_and_joining);
}

/// One writes again and again, so the other one, which writes or reads once, is woken for nothing.
fn woken_in_vain(writes: bool) {
    let (lock, number) = (
        Shared::new(RawRwLock::new()),
        Shared::new(Watched::new(0)).get(),
    );
    let other = thread::spawn(move || match writes {
        true => count(&lock, number, Limit::None),
        false => look(&lock, number, Limit::None).map_or(9, |_| 0),
    });
    let mut sum = 0;
    (0..3).for_each(|_| sum += count(&lock, number, Limit::None));
    sum += other.join().unwrap();
    assert_eq!(number.get(), sum);
    assert!(!lock.is_in_use());
    lock.free();
}

/// A waiter that was woken for nothing is handed the lock: it is alone, or reads what was written.
#[test]
fn who_is_handed_it_has_it() {
    for writes in [true, false] {
        check(move || woken_in_vain(writes));
    }
}

/// Planted: whoever comes takes what has been handed over.
#[test]
fn planted_free_hand_over_is_found() {
    finds_planted(faults::rw_lock::HANDED_OVER_IS_FREE_TOO, || {
        woken_in_vain(true);
    });
}

/// Two readers and a writer.
#[test]
fn readers_see_what_was_written() {
    check(|| {
        let (lock, number) = (
            Shared::new(RawRwLock::new()),
            Shared::new(Watched::new(0)).get(),
        );
        let readers = [(); 2].map(|()| thread::spawn(move || look(&lock, number, Limit::None)));
        count(&lock, number, Limit::None);
        for reader in readers {
            assert!(reader.join().unwrap().unwrap() <= 1);
        }
        lock.free();
    });
}

/// Everybody may give up; who has not has been inside, and the lock is free in the end.
#[test]
fn who_gives_up_leaves_no_trace() {
    check(|| {
        let (lock, number) = (
            Shared::new(RawRwLock::new()),
            Shared::new(Watched::new(0)).get(),
        );
        let writer = thread::spawn(move || count(&lock, number, soon()));
        let reader = thread::spawn(move || look(&lock, number, soon()));
        let writes = count(&lock, number, Limit::None) + writer.join().unwrap();
        assert!(reader.join().unwrap().is_none_or(|seen| seen <= writes));
        assert_eq!(number.get(), writes);
        assert!(!lock.is_in_use());
        lock.free();
    });
}

/// One has the lock, which the other one waits for, gets, and frees.
fn get_and_free(write: bool, then_write: bool) {
    let lock = Shared::new(RawRwLock::new());
    assert!(if write {
        lock.try_write()
    } else {
        lock.try_read()
    });
    // SAFETY: just taken.
    let holder = thread::spawn(move || unsafe { lock.unlock() });
    assert!(if then_write {
        lock.write(Limit::None)
    } else {
        lock.read(Limit::None)
    });
    lock.free();
    holder.join().unwrap();
}

/// Giving back touches nothing once somebody else can have the lock.
#[test]
fn who_gets_it_may_free_it() {
    for (write, then_write) in [(true, true), (true, false), (false, true)] {
        check(move || get_and_free(write, then_write));
    }
}

/// Planted: who was resumed frees the lock of the queue, which is then given back.
#[test]
fn planted_late_unlock_is_found() {
    finds_planted(faults::rw_lock::UNLOCKS_AFTER_RESUME, || {
        get_and_free(true, true);
    });
}

/// One reads until another one has read; a writer that comes in between gives up.
fn read_together() {
    let lock = Shared::new(RawRwLock::new());
    assert!(lock.try_read());
    let writer = thread::spawn(move || lock.write(soon()));
    let reader = thread::spawn(move || {
        assert!(lock.read(Limit::None));
        // SAFETY: taken above.
        unsafe { lock.unlock_read() };
    });
    reader.join().unwrap();
    assert!(!writer.join().unwrap());
    // SAFETY: taken above.
    unsafe { lock.unlock_read() };
    assert!(!lock.is_in_use());
    lock.free();
}

/// The readers behind a writer that gives up come in.
#[test]
fn who_gives_up_holds_back_nobody() {
    check(read_together);
}

/// Planted: a reader waits behind nobody, for ever.
#[test]
fn planted_forgotten_readers_are_found() {
    finds_planted(
        faults::rw_lock::GIVING_UP_FORGETS_READERS_BEHIND,
        read_together,
    );
}

/// A writer that goes on as a reader, beside one who reads and one who writes.
#[test]
fn a_writer_becomes_a_reader() {
    check(|| {
        let (lock, number) = (
            Shared::new(RawRwLock::new()),
            Shared::new(Watched::new(0)).get(),
        );
        assert!(lock.try_write());
        let reader = thread::spawn(move || look(&lock, number, Limit::None));
        let writer = thread::spawn(move || count(&lock, number, soon()));
        number.count();
        // SAFETY: taken above.
        unsafe { lock.downgrade() };
        assert_eq!(number.get(), 1);
        // SAFETY: it has become a reading.
        unsafe { lock.unlock_read() };
        assert!(reader.join().unwrap().unwrap() >= 1);
        let writes = 1 + writer.join().unwrap();
        assert_eq!(number.get(), writes);
        assert!(!lock.is_in_use());
        lock.free();
    });
}

/// One reads, and goes while a writer waits; another one joins it, or comes later.
fn join_and_write() {
    let (lock, number) = (
        Shared::new(RawRwLock::new()),
        Shared::new(Watched::new(0)).get(),
    );
    assert!(lock.read(Limit::None));
    let writer = thread::spawn(move || count(&lock, number, Limit::None));
    let joins = thread::spawn(move || {
        assert!(lock.read_joining(Limit::None));
        assert!(number.get() <= 1);
        // SAFETY: taken above.
        unsafe { lock.unlock_read() };
    });
    // SAFETY: taken above.
    unsafe { lock.unlock_read() };
    writer.join().unwrap();
    joins.join().unwrap();
    assert_eq!(number.get(), 1);
    assert!(!lock.is_in_use());
    lock.free();
}

/// Readers that join others, though a writer waits, are not there beside it.
#[test]
fn who_joins_readers_is_counted() {
    check(join_and_write);
}

/// Planted: the last reader hands the lock over and forgets who joined it meanwhile.
#[test]
fn planted_join_without_the_lock_is_found() {
    finds_planted(faults::rw_lock::READER_JOINS_WITHOUT_LOCK, join_and_write);
}
