//! What Trio's documentation and tests say of nurseries and cancel scopes.
//!
//! A nursery is a group. `move_on_after` and `fail_after` are `timeout`, with an error that the
//! program passes over or hands on. Trio cancels every checkpoint of a scope, until that ends;
//! fibre ends every wait. Trio raises all failures of a nursery together; the error of a group is
//! the first, and a group that keeps going has all.

use super::{LONG, SHORT, everywhere, no_results};
use crate::support::{eventually, for_each_cluster};
use fibre::sync::{Event, Mutex};
use fibre::{
    Builder, CancelToken, FibreError, Group, GroupError, StartError, cancellable, group, shield,
    timeout,
};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What happens, in order.
#[derive(Default)]
struct Story(Mutex<Vec<&'static str>>);

impl Story {
    fn tell(&self, what: &'static str) {
        self.0.lock().push(what);
    }

    fn told(&self) -> Vec<&'static str> {
        self.0.lock().clone()
    }
}

/// The tutorial's first program: the parent goes on when both children have ended.
#[test]
fn a_nursery_ends_after_its_children() {
    everywhere(|| {
        let (story, second) = (Story::default(), Event::new());
        let ended: Result<(), GroupError<()>> = group(|nursery| {
            no_results(nursery);
            nursery.run(|| {
                second.wait();
                story.tell("child 1");
                Ok(())
            });
            nursery.run(|| {
                story.tell("child 2");
                second.set();
                Ok(())
            });
            Ok(())
        });
        story.tell("parent");
        assert_eq!(ended, Ok(()));
        assert_eq!(story.told(), ["child 2", "child 1", "parent"]);
    });
}

/// A function that starts fibres says so by a parameter: the nursery of its caller, which outlives
/// the function, and waits for what it has started.
#[test]
fn a_nursery_is_handed_to_those_who_start_children() {
    fn in_the_background<'scope>(
        nursery: &Group<'scope, '_, u32, ()>,
        depth: u32,
        count: &'scope AtomicU32,
    ) {
        let inner = nursery.clone();
        nursery.run(move || {
            count.fetch_add(1, Ordering::Relaxed);
            if depth > 0 {
                in_the_background(&inner, depth - 1, count);
                in_the_background(&inner, depth - 1, count);
            }
            Ok(())
        });
    }
    everywhere(|| {
        let count = AtomicU32::new(0);
        let ended = group(|nursery| {
            in_the_background(nursery, 4, &count);
            Ok(())
        });
        assert_eq!((ended, count.into_inner()), (Ok(()), 31));
    });
}

/// A child that fails while it is cancelled, because another one has failed: Trio raises both, a
/// group the first. Both destructors have run.
#[test]
fn the_error_of_a_nursery_is_the_first() {
    everywhere(|| {
        let (story, waits) = (Story::default(), Event::new());
        let failed: Result<(), _> = group(|nursery| {
            no_results(nursery);
            nursery.run(|| {
                waits.set();
                let _ = fibre::sleep_within(LONG);
                story.tell("second");
                Err("second")
            });
            nursery.run(|| {
                waits.wait();
                story.tell("first");
                Err("first")
            });
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed("first")));
        assert_eq!(story.told(), ["first", "second"]);
    });
}

/// All failures, as an exception group has them: in the order of starts, or of ends.
#[test]
fn all_failures_are_had_in_either_order() {
    everywhere(|| {
        for in_order in [true, false] {
            let later = Event::new();
            let errors = Group::builder().keep_going().run(|nursery| {
                nursery.spawn(|| {
                    later.wait();
                    Err::<(), _>("started first")
                });
                let first = {
                    nursery.spawn(|| Err("ended first"));
                    eventually(|| nursery.running() == 1);
                    later.set();
                    let error = |result: Result<_, FibreError<_>>| result.unwrap_err().into_error();
                    match in_order {
                        true => nursery
                            .results_in_order()
                            .filter_map(error)
                            .collect::<Vec<_>>(),
                        false => nursery.results().filter_map(error).collect(),
                    }
                };
                Ok(first)
            });
            let mut expected = ["ended first", "started first"];
            if in_order {
                expected.reverse();
            }
            assert_eq!(errors.unwrap(), expected);
        }
    });
}

/// `move_on_after` within `move_on_after`: only the scope with no time left has been cancelled,
/// and the program goes on after it.
#[test]
fn a_scope_catches_its_own_time_only() {
    everywhere(|| {
        let reached = Cell::new(0);
        let outer = timeout(SHORT, || {
            let inner = timeout(LONG, || fibre::sleep(LONG));
            reached.set(1); // not reached: the inner scope has time left
            inner.is_err()
        });
        assert!(outer.is_err() && reached.get() == 0);
        let outer = timeout(LONG, || {
            let inner = timeout(SHORT, || fibre::sleep(LONG));
            reached.set(2);
            inner.is_err()
        });
        assert!(matches!(outer, Ok(true)) && reached.get() == 2);
        // Both are over: the outer one catches, as in Trio.
        let outer = timeout(SHORT, || timeout(SHORT, || fibre::sleep(LONG)).is_err());
        let inner = outer.unwrap_or_else(|late| late.into_value().unwrap_or(true));
        assert!(inner);
    });
}

/// `fail_after`: the end of the time is an error, which goes up as any other.
#[test]
fn the_end_of_a_time_goes_up_as_an_error() {
    fn answer(wait: &Event) -> Result<u32, &'static str> {
        timeout(SHORT, || wait.wait()).map_err(|_| "too slow")?;
        Ok(42)
    }
    everywhere(|| {
        let event = Event::new();
        let failed: Result<u32, _> = group(|nursery| {
            nursery.spawn(|| answer(&event));
            Ok(nursery.next().unwrap_or(0))
        });
        assert_eq!(failed, Err(GroupError::Failed("too slow")));
        event.set();
        assert_eq!(answer(&event), Ok(42));
    });
}

/// A scope without time from the start: what need not wait is done, and the first wait
/// ends.
#[test]
fn a_scope_without_time_ends_the_first_wait() {
    everywhere(|| {
        let story = Story::default();
        let ended = fibre::deadline(std::time::Instant::now(), || {
            story.tell("before the first wait");
            fibre::sleep(LONG);
            story.tell("after it");
        });
        assert!(ended.is_err());
        assert_eq!(story.told(), ["before the first wait"]);
    });
}

/// Sets an event when it is dropped, after a farewell that may take a while, in a shield with a
/// time of its own.
struct Farewell<'a> {
    story: &'a Story,
    said: &'a Event,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        shield(|| {
            self.story.tell("farewell");
            let endless = timeout(SHORT, || fibre::sleep(LONG));
            assert!(endless.is_err(), "the time in the shield holds");
            fibre::sleep(SHORT); // waits, though its fibre is cancelled
            self.said.set();
        });
    }
}

/// Trio's graceful close: `with move_on_after(…) as scope: scope.shield = True` in a `finally`.
#[test]
fn a_farewell_is_shielded_and_has_its_own_time() {
    everywhere(|| {
        let (story, said) = (Story::default(), Event::new());
        let ended: Result<(), GroupError<()>> = Group::builder().cancellable(true).run(|nursery| {
            no_results(nursery);
            let (begun, never) = (Event::new(), Event::new());
            let begins = Arc::new(begun);
            let (tells, story, said) = (Arc::clone(&begins), &story, &said);
            nursery.run(move || {
                let _farewell = Farewell { story, said };
                tells.set();
                never.wait();
                Ok(())
            });
            begins.wait();
            nursery.cancel();
            Ok(())
        });
        assert_eq!(ended, Err(GroupError::Cancelled));
        assert!(said.is_set() && story.told() == ["farewell"]);
    });
}

/// A fibre that is cancelled again while it handles its cancellation goes on with that; its stack
/// is not unwound a second time.
#[test]
fn cancelled_while_cancelling() {
    for_each_cluster(|_| {
        let (outer, goes_on) = (CancelToken::new(), Arc::new(Event::new()));
        let inner = outer.child();
        let (begun, handles) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let fibre = {
            let (begun, handles) = (Arc::clone(&begun), Arc::clone(&handles));
            let goes_on = Arc::clone(&goes_on);
            Builder::new().cancel_token(&inner).spawn(move || {
                let _handler = crate::support::drops::OnDrop(|| {
                    handles.set();
                    goes_on.wait(); // a destructor of a stack that unwinds: it waits
                });
                let ended = cancellable(|| {
                    let _handler = crate::support::drops::OnDrop(|| {
                        handles.set();
                        goes_on.wait();
                    });
                    begun.set();
                    fibre::sleep(LONG);
                });
                assert!(ended.is_err());
                fibre::sleep_within(LONG)
            })
        }
        .unwrap();
        begun.wait();
        inner.cancel();
        handles.wait();
        outer.cancel();
        outer.cancel_within(LONG).unwrap();
        fibre.cancel();
        goes_on.set();
        assert_eq!(fibre.join().unwrap(), Err(fibre::Cancelled));
    });
}

/// Cancellation is a level: who swallows it is told again by the next wait, and who leaves the
/// scope is free.
#[test]
fn cancellation_is_told_again() {
    for_each_cluster(|_| {
        let token = CancelToken::new();
        token.cancel();
        let body = || {
            let told = (0..3).filter(|_| fibre::sleep_within(LONG).is_err());
            assert_eq!(told.count(), 3);
            let swallows = cancellable(|| {
                let swallowed = catch_unwind(|| fibre::sleep(LONG));
                assert!(swallowed.is_err());
                fibre::sleep(LONG);
                unreachable!("the next wait unwinds again")
            });
            swallows.is_err()
        };
        let fibre = Builder::new().cancel_token(&token).spawn(body).unwrap();
        assert!(fibre.join().unwrap());
        let free = timeout(SHORT, || {
            let _ = catch_unwind(|| fibre::sleep(LONG));
        });
        assert!(free.is_err());
        fibre::sleep(SHORT); // after the scope, waits are waits again
    });
}

/// A scope around a part of a child's work is cancelled without the rest of it, from a sibling. The
/// part is a fibre of its own: a token cancels fibres, and not the body of a group.
#[test]
fn a_part_of_a_child_is_cancelled_by_a_sibling() {
    everywhere(|| {
        let (begun, token) = (Event::new(), CancelToken::new());
        let sum = group(|nursery| {
            nursery.spawn(|| {
                let builder = Group::builder().cancellable(true).cancel_token(&token);
                let endless: Result<(), GroupError<()>> = builder.run(|part| {
                    part.run(|| {
                        begun.set();
                        fibre::sleep(LONG);
                        Ok(())
                    });
                    no_results(part);
                    assert!(part.next().is_none());
                    Ok(())
                });
                assert_eq!(endless, Err(GroupError::Cancelled));
                fibre::sleep(SHORT);
                Ok::<_, ()>(1)
            });
            nursery.spawn(|| {
                begun.wait();
                token.cancel();
                Ok(2)
            });
            Ok(nursery.results().sum::<u32>())
        });
        assert_eq!(sum, Ok(3));
    });
}

/// A loop without a checkpoint is not cancelled; one that asks is.
#[test]
fn a_checkpoint_is_where_cancellation_is_noticed() {
    for_each_cluster(|_| {
        let token = CancelToken::new();
        token.cancel();
        let fibre = Builder::new().cancel_token(&token).spawn(|| {
            let sum = (0..1000_u64).map(std::hint::black_box).sum::<u64>();
            (sum, fibre::cancellation_point())
        });
        assert_eq!(
            fibre.unwrap().join().unwrap(),
            (499_500, Err(fibre::Cancelled))
        );
    });
}

/// An exception of the body cancels the children, as one of theirs does; a panic goes on up.
#[test]
fn the_body_of_a_nursery_fails_it() {
    everywhere(|| {
        let cancelled = AtomicU32::new(0);
        let waits = || {
            let ended = fibre::sleep_within(LONG).is_err();
            cancelled.fetch_add(u32::from(ended), Ordering::Relaxed);
            Ok::<(), &str>(())
        };
        let failed: Result<(), _> = group(|nursery| {
            nursery.run(waits);
            nursery.run(waits);
            no_results(nursery);
            Err("the body's")
        });
        assert_eq!(failed, Err(GroupError::Failed("the body's")));
        let panics = catch_unwind(AssertUnwindSafe(|| {
            group(|nursery: &Group<'_, '_, (), &str>| -> Result<(), _> {
                nursery.run(waits);
                resume_unwind(Box::new("the body's panic"))
            })
        }));
        assert_eq!(
            panics.unwrap_err().downcast_ref(),
            Some(&"the body's panic")
        );
        assert_eq!(cancelled.into_inner(), 3);
    });
}

/// `nursery.start`: a child that is ready says so with a value; one that fails before is the
/// caller's to handle, and one that never says so has made a mistake.
#[test]
fn a_start_returns_when_the_child_is_ready() {
    everywhere(|| {
        let (story, end) = (Story::default(), Event::new());
        let ended = group(|nursery: &Group<'_, '_, (), &'static str>| {
            let port = nursery.start(|status| {
                story.tell("opens");
                status.send(7000);
                end.wait();
                story.tell("closes");
                Ok(())
            });
            story.tell("has the port");
            let in_use = nursery.start::<u16, _>(|_status| Err("the port is in use"));
            assert_eq!(in_use.unwrap_err().into_error(), Some("the port is in use"));
            let silent = nursery.start::<u16, _>(|_status| Ok(()));
            assert!(matches!(silent, Err(StartError::Ended(()))));
            end.set();
            port.map_err(|_| "it was to start")
        });
        assert_eq!(ended, Ok(7000));
        assert_eq!(story.told(), ["opens", "has the port", "closes"]);
    });
}

/// A start in a `move_on_after` that is over cancels this child, and the nursery goes on; a nursery
/// that is cancelled ends the start.
#[test]
fn a_start_is_cancelled_alone_or_with_its_nursery() {
    everywhere(|| {
        let ended = AtomicU32::new(0);
        let never_ready = || {
            let cancelled = fibre::sleep_within(LONG).is_err();
            ended.fetch_add(u32::from(cancelled), Ordering::Relaxed);
            Err::<u32, _>(())
        };
        let sum = group(|nursery| {
            let slow = timeout(SHORT, || nursery.start::<(), _>(|_status| never_ready()));
            assert!(slow.is_err());
            nursery.spawn(|| Ok(5));
            Ok(nursery.results().sum::<u32>())
        });
        assert_eq!(sum, Ok(5));
        let cancelled = group(|nursery| {
            let canceller = nursery.clone();
            nursery.run(move || {
                canceller.cancel();
                Ok(())
            });
            // The child's own error may come first, which is a consequence, too.
            assert!(nursery.start::<(), _>(|_status| never_ready()).is_err());
            Ok(())
        });
        assert_eq!(cancelled, Err(GroupError::Cancelled));
        assert!(ended.into_inner() >= 1);
    });
}
