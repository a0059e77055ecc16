//! What Kotlin's guide says of coroutine scopes, supervision, cancellation and time-outs.

use super::{LONG, SHORT, everywhere, no_results};
use crate::support::{Drops, eventually, for_each_cluster};
use fibre::sync::{Event, Mutex};
use fibre::{
    Builder, CancelToken, FibreError, Group, GroupError, cancellable, group, select, select::after,
    shield, timeout,
};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Two calls at the same time, and their sum (`async` and `await` in `coroutineScope`).
#[test]
fn a_concurrent_sum() {
    everywhere(|| {
        let sum = group(|scope| {
            scope.spawn(|| Ok::<_, ()>(13));
            scope.spawn(|| Ok(29));
            Ok(scope.results().sum::<u32>())
        });
        assert_eq!(sum, Ok(42));
    });
}

/// `failedConcurrentSum`: the second child fails, the first is cancelled and runs its `finally`,
/// and the caller has the exception.
#[test]
fn a_failed_concurrent_sum() {
    everywhere(|| {
        let finally = Mutex::new(Vec::new());
        let begun = Event::new();
        let failed: Result<u32, _> = group(|scope| {
            scope.spawn(|| {
                begun.set();
                let value = fibre::sleep_within(LONG)
                    .map(|()| 42)
                    .map_err(|_| "cancelled");
                finally.lock().push("first child was cancelled");
                value
            });
            scope.spawn(|| {
                begun.wait();
                finally.lock().push("second child throws");
                Err("arithmetic")
            });
            Ok(scope.results().sum())
        });
        assert_eq!(failed, Err(GroupError::Failed("arithmetic")));
        let told = finally.into_inner();
        assert_eq!(told, ["second child throws", "first child was cancelled"]);
    });
}

/// `supervisorScope`: a child that fails ends nobody; the scope's own failure ends all.
#[test]
fn a_supervisor_scope() {
    everywhere(|| {
        let goes_on = Event::new();
        let ended = Group::builder().keep_going().run(|scope| {
            scope.spawn(|| Err("the first child is failing"));
            scope.spawn(|| {
                goes_on.wait();
                Ok("the second child is still active")
            });
            let failed = scope.next().unwrap();
            assert!(matches!(failed, Err(FibreError::Failed(_))));
            goes_on.set();
            Ok(scope.next().unwrap().unwrap())
        });
        assert_eq!(ended, Ok("the second child is still active"));
        let cancelled = AtomicU32::new(0);
        let failed: Result<(), _> = Group::builder().keep_going().run(|scope| {
            scope.spawn(|| {
                let ended = fibre::sleep_within(LONG).is_err();
                cancelled.fetch_add(u32::from(ended), Ordering::Relaxed);
                Ok(())
            });
            Err("the scope's")
        });
        assert_eq!(failed, Err(GroupError::Failed("the scope's")));
        assert_eq!(cancelled.into_inner(), 1);
    });
}

/// A `SupervisorJob` with handlers: each child's failure is its handler's, here the one loop over
/// results; a panic is one of them.
#[test]
fn failures_go_to_a_handler() {
    everywhere(|| {
        let mut caught: Vec<String> = Vec::new();
        let ended: Result<(), GroupError<&str>> = Group::builder().keep_going().run(|scope| {
            let _: &fibre::Supervisor<'_, '_, (), _> = scope;
            scope.run(|| Err("assertion"));
            scope.run(|| resume_unwind(Box::new("a bug")));
            scope.run(|| Ok(()));
            let failures = scope.results().filter_map(Result::err);
            caught.extend(failures.map(|error| error.to_string()));
            Ok(())
        });
        caught.sort_unstable();
        assert_eq!(ended, Ok(()));
        assert_eq!(caught, ["assertion", "the fibre has panicked: a bug"]);
    });
}

/// `withTimeoutOrNull`, nested: the inner one's end is not the outer one's, and the other way
/// round. A `TimeoutCancellationException` of Kotlin's may leave a child as if that had been
/// cancelled; here it is a value, so no failure is silent.
#[test]
fn a_time_is_over_where_it_began() {
    everywhere(|| {
        let result: Result<u32, _> = group(|scope| {
            scope.spawn(|| {
                let late = timeout(SHORT, || fibre::sleep(LONG));
                late.map(|()| 1).map_err(|_| "the child's time is over")
            });
            Ok(scope.results().sum())
        });
        assert_eq!(result, Err(GroupError::Failed("the child's time is over")));
        let outer = timeout(SHORT, || timeout(LONG, || fibre::sleep(LONG)).is_err());
        assert!(outer.unwrap_err().into_value().is_none());
    });
}

/// The guide's leak: a resource that is acquired in a time-out may be lost when the time is over
/// just as it is returned. Here it is in the error then, so 10,000 tries leave none open.
#[test]
fn a_resource_of_a_time_out_is_not_lost() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let made = AtomicU32::new(0);
        let ended: Result<(), GroupError<()>> = Group::builder().limit(100).run(|scope| {
            for number in 0..10_000 / if cfg!(debug_assertions) { 4 } else { 1 } {
                let (drops, made) = (&drops, &made);
                scope.run(move || {
                    let time = Duration::from_micros(number % 60);
                    let kept = timeout(time, || {
                        let _ = fibre::sleep_within(Duration::from_micros(30));
                        made.fetch_add(1, Ordering::Relaxed);
                        drops.value()
                    });
                    let kept = kept.map_or_else(fibre::TimedOut::into_value, Some);
                    let open = kept.is_some();
                    drop(kept);
                    assert!(open, "a call that fails does not unwind");
                    Ok(())
                });
            }
            no_results(scope);
            Ok(())
        });
        assert_eq!(ended, Ok(()));
        assert_eq!(drops.count(), made.into_inner() as usize);
    });
}

/// `withContext(NonCancellable)` in a `finally`: a wait in a shield is a wait.
#[test]
fn a_finally_may_wait_in_a_shield() {
    for_each_cluster(|_| {
        let (token, begun) = (CancelToken::new(), Arc::new(Event::new()));
        let fibre = {
            let begun = Arc::clone(&begun);
            Builder::new().cancel_token(&token).spawn(move || {
                begun.set();
                let ended = cancellable(|| fibre::sleep(LONG));
                // The rest is the `finally`.
                assert!(ended.is_err() && fibre::sleep_within(LONG).is_err());
                shield(|| fibre::sleep_within(SHORT))
            })
        };
        begun.wait();
        token.cancel();
        assert_eq!(fibre.unwrap().join().unwrap(), Ok(()));
    });
}

/// A computation asks whether it is active (`isActive`, `ensureActive`).
#[test]
fn a_computation_asks() {
    for_each_cluster(|_| {
        let (token, begun) = (CancelToken::new(), Arc::new(Event::new()));
        let computes = {
            let begun = Arc::clone(&begun);
            Builder::new().cancel_token(&token).spawn(move || {
                let mut rounds = 0_u64;
                begun.set();
                while !fibre::is_cancelled() {
                    rounds += 1;
                    fibre::yield_now();
                }
                (rounds, fibre::cancellation_point())
            })
        };
        begun.wait();
        token.cancel();
        assert_eq!(computes.unwrap().join().unwrap().1, Err(fibre::Cancelled));
    });
}

/// `select` with `onAwait`: the first of several, and the number of those that are still active.
#[test]
fn select_on_await() {
    everywhere(|| {
        let others = Event::new();
        let ended = group(|scope| {
            for number in 0..12 {
                let others = &others;
                scope.spawn(move || {
                    if number != 4 {
                        others.wait();
                    }
                    Ok::<_, ()>(number)
                });
            }
            let first = select! {
                first = scope.next_arm() => first,
                _ = after(LONG) => None,
            };
            // A result is there a moment before its fibre has ended.
            eventually(|| scope.running() < 12);
            let active = scope.running();
            others.set();
            Ok((first, active))
        });
        assert_eq!(ended, Ok((Some(4), 11)));
    });
}
