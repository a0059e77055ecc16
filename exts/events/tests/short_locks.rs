//! Registrations of events allocate and free nothing under short locks: timers, descriptors,
//! signals. In a process of its own, for its allocator.
#![cfg(all(debug_assertions, not(loom)))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fibre_events::Events;
use std::time::Duration;

#[path = "../../../tests/support/holding.rs"]
#[allow(dead_code, reason = "a part is used")]
mod holding;

#[test]
fn memory_is_neither_allocated_nor_freed_under_short_locks() {
    holding::begin();
    let events = Events::builder().processors(1).build().unwrap();
    let hour = Duration::from_secs(3600);
    let timers: Vec<_> = (0..200)
        .map(|number| match number % 2 {
            0 => events.after(hour, number, || ()).unwrap(),
            _ => events.every(hour, number, || || ()).unwrap(),
        })
        .collect();
    assert!(timers.iter().all(fibre_events::Timer::cancel));
    let sockets: Vec<_> = (0..50)
        .map(|_| std::os::unix::net::UnixStream::pair().unwrap())
        .collect();
    for (number, (one, _)) in sockets.iter().enumerate() {
        let one = one.try_clone().unwrap();
        events.on_readable(one, number as u64, || ()).unwrap();
    }
    assert_eq!(holding::own(), 1, "but for the check of the check");
}
