//! Objects in memory that nobody has initialised but by zeros, as a C program's statics are.

use crate::support::for_each_cluster;
use fibre::Limit;
use fibre::sync::{AutoEvent, Event, Notify, WaitGroup};
use fibre_sync::RawRwLock;
use std::mem::MaybeUninit;

/// Memory that is all zeros.
fn zeroed<T>() -> T {
    // SAFETY: the types below promise that this is what `new` makes of them.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// All zeros is a new object.
#[test]
fn zeros_are_new_objects() {
    for_each_cluster(|_| {
        let (event, auto) = (zeroed::<Event>(), zeroed::<AutoEvent>());
        let (group, notify) = (zeroed::<WaitGroup>(), zeroed::<Notify>());
        let lock = zeroed::<RawRwLock>();
        assert!(!event.is_set() && !auto.is_set() && !notify.try_wait() && !lock.is_in_use());
        assert!(lock.try_write());
        group.add(1);
        fibre::scope(|scope| {
            scope.spawn(|| {
                event.wait();
                auto.wait();
                notify.wait();
                assert!(lock.read(Limit::None));
                group.done();
            });
            event.set();
            auto.set();
            notify.notify_one();
            fibre::yield_now();
            // SAFETY: taken above.
            unsafe { lock.unlock_write() };
            group.wait();
        });
        assert_eq!(lock.readers(), 1);
    });
}
