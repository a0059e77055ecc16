//! Moments and ticks as arms.

use super::things::LONG;
use crate::support::{for_each_cluster, let_others_block};
use fibre::select::{after, at};
use fibre::sync::{AutoEvent, Event};
use fibre::{Interval, Limit, WallTime, cancellable, select, timeout};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(3);

/// A moment comes, and not before; the first of several is chosen, and the limit may come before.
#[test]
fn the_first_moment_is_chosen() {
    for_each_cluster(|_| {
        let never = Event::new();
        let begun = Instant::now();
        let chosen = select! {
            () = never.wait_arm() => 0,
            _ = after(LONG) => 1,
            due = after(SHORT) => { assert!(due >= begun + SHORT); 2 }
            _ = at(None) => 3,
        };
        assert_eq!(chosen, 2);
        assert!(begun.elapsed() >= SHORT);
        let begun = Instant::now();
        let chosen = select! {
            _ = after(LONG) => false,
            () = never.wait_arm() => false,
            default(SHORT) => true,
        };
        assert!(chosen && begun.elapsed() >= SHORT);
        let chosen = select! {
            _ = after(SHORT) => true,
            default(LONG) => false,
        };
        assert!(chosen);
        let past = Instant::now();
        assert!(select! { due = at(past) => due == past, default => false });
        assert!(select! { _ = after(LONG) => false, default => true });
    });
}

/// A moment that another arm has forestalled comes in the next selection.
#[test]
fn moments_are_not_lost() {
    for_each_cluster(|_| {
        let event = AutoEvent::new();
        let (mut end, mut rounds) = (after(SHORT), 0);
        loop {
            event.set();
            select! {
                biased;
                _ = &mut end => break,
                () = event.wait_arm() => rounds += 1,
            }
            fibre::yield_now();
        }
        assert!(rounds > 0);

        let start = Instant::now();
        let mut interval = Interval::new(SHORT);
        let mut ticks = 0;
        while ticks < 5 {
            event.set();
            select! {
                due = interval.tick_arm() => {
                    ticks += 1;
                    assert!(due >= start + ticks * SHORT && Instant::now() >= due);
                }
                () = event.wait_arm() => fibre::yield_now(),
            }
        }
        assert!(start.elapsed() >= 5 * SHORT);
    });
}

/// A moment is no limit: a selection that has only moments does not notice cancellation, unless it
/// may be unwound.
#[test]
fn moments_are_no_limits() {
    for_each_cluster(|_| {
        let waits = fibre::spawn(|| {
            let begun = Instant::now();
            select! { _ = after(5 * SHORT) => begun.elapsed() >= 5 * SHORT }
        });
        let_others_block();
        waits.cancel();
        assert!(waits.join().unwrap());

        let waits = fibre::spawn(|| cancellable(|| select! { _ = after(LONG) => {} }).is_err());
        let_others_block();
        waits.cancel();
        assert!(waits.join().unwrap());

        let waits = fibre::spawn(|| {
            select! {
                _ = after(LONG) => false,
                within(Limit::Cancellation) => true,
            }
        });
        let_others_block();
        waits.cancel();
        assert!(waits.join().unwrap());
    });
}

/// In a time-out, the first of both comes.
#[test]
fn moments_in_a_time_out() {
    for_each_cluster(|_| {
        let late = timeout(SHORT, || select! { _ = after(LONG) => {} });
        assert!(late.is_err_and(|late| late.into_value().is_none()));
        let early = timeout(LONG, || select! { _ = after(SHORT) => 7 });
        assert_eq!(early.ok(), Some(7));
        let late = timeout(SHORT, || {
            select! {
                _ = after(LONG) => 1,
                default(LONG) => 2,
            }
        });
        assert_eq!(late.unwrap_err().into_value(), Some(2));
        // A moment that has come has come, though the time is over, too.
        let both = timeout(Duration::ZERO, || {
            fibre::shield(|| fibre::sleep(SHORT));
            select! { _ = after(Duration::ZERO) => 3 }
        });
        assert_eq!(both.ok(), Some(3));
    });
    let late = timeout(SHORT, || select! { _ = after(LONG) => {} });
    assert!(late.is_err(), "on a plain thread");
    assert!(select! { _ = after(SHORT) => true });
}

/// Limits of the wall clock are limits, and come after moments or before.
#[test]
fn limits_of_the_wall_clock() {
    for_each_cluster(|_| {
        let in_time = |time: Duration| {
            let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + time;
            WallTime::new(moment.as_secs().cast_signed(), moment.subsec_nanos()).unwrap()
        };
        let hour = in_time(Duration::from_secs(3600));
        let moment = select! { _ = after(SHORT) => true, within(Limit::Wall(hour)) => false };
        assert!(moment);
        let soon = in_time(SHORT);
        let limit = select! { _ = after(LONG) => false, within(Limit::Wall(soon)) => true };
        assert!(limit);
    });
}

/// A plain thread and a fibre wait for one event, and moments end the waits of both.
#[test]
fn threads_and_fibres_tick() {
    for_each_cluster(|_| {
        let event = Arc::new(Event::new());
        let tick = |event: Arc<Event>| {
            let mut ticks = 0;
            loop {
                select! {
                    () = event.wait_arm() => break ticks,
                    _ = after(Duration::from_micros(300)) => ticks += 1,
                }
            }
        };
        let (of_fibre, of_thread) = (Arc::clone(&event), Arc::clone(&event));
        let fibre = fibre::spawn(move || tick(of_fibre));
        let thread = std::thread::spawn(move || tick(of_thread));
        fibre::sleep(5 * SHORT);
        event.set();
        assert!(fibre.join().unwrap() > 0);
        assert!(fibre::blocking(|| thread.join()).unwrap() > 0);
    });
}
