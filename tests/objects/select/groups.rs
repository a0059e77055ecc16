//! A group's results and its end as arms.

use super::things::LONG;
use crate::support::for_each_cluster;
use fibre::select::after;
use fibre::sync::{AutoEvent, Event};
use fibre::{GroupError, group, select, timeout};
use std::time::Duration;

/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(3);

/// Each result is had once, by an arm or otherwise, and in order if asked for.
#[test]
fn results_are_not_lost() {
    for_each_cluster(|_| {
        let gate = Event::new();
        let done = group(|group| {
            let other = AutoEvent::new();
            for i in 0..20_u64 {
                let gate = &gate;
                group.spawn(move || {
                    gate.wait();
                    fibre::yield_now();
                    Ok::<_, ()>(i)
                });
            }
            let early = select! {
                result = group.next_arm() => result,
                () = group.end_arm() => None,
                default => Some(100),
            };
            assert_eq!(early, Some(100));
            gate.set();
            let (mut sum, mut others, mut results) = (0, 0, 0);
            while results < 15 {
                other.set();
                select! {
                    Some(result) = group.next_arm() => { sum += result; results += 1; }
                    () = other.wait_arm() => { others += 1; fibre::yield_now(); }
                }
            }
            other.reset();
            select! {
                () = group.end_arm() => {}
                () = other.wait_arm() => unreachable!("it has been reset"),
            }
            assert_eq!(group.running(), 0);
            sum += group.results().sum::<u64>();
            let none = select! { none = group.next_arm() => none.is_none() };
            assert!(none && others < u64::MAX);
            Ok(sum)
        });
        assert_eq!(done, Ok(190));

        let in_order = group(|group| {
            for i in 0..5 {
                group.spawn(move || {
                    fibre::sleep(Duration::from_micros(500 * (5 - i)));
                    Ok::<_, ()>(i)
                });
            }
            let mut results = Vec::new();
            while let Some(result) = select! { next = group.next_in_order_arm() => next } {
                results.push(result);
            }
            Ok(results)
        });
        assert_eq!(in_order, Ok(vec![0, 1, 2, 3, 4]));
    });
}

/// A failure ends the waits of the body, and so does a time-out around the group.
#[test]
fn failures_end_the_waits() {
    for_each_cluster(|_| {
        let failed = group(|group| {
            group.spawn(|| fibre::sleep_within(LONG).map_err(|_| "cancelled"));
            group.spawn(|| {
                fibre::sleep(SHORT);
                Err("broken")
            });
            let first = select! {
                result = group.next_arm() => result,
                _ = after(LONG) => Some(()),
            };
            assert_eq!(first, None);
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed("broken")));
        let late = timeout(SHORT, || {
            group(|group| {
                group.spawn(|| fibre::sleep_within(LONG).map_err(|_| ()));
                select! { () = group.end_arm() => {} }
                Ok(())
            })
        });
        assert!(late.is_err());
    });
}
