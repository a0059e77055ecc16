//! Mistakes that only a run can show.

use crate::support::everywhere;
use fibre_tasks::{Full, Shared, acquire, finish, spawn, task};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a closure panics with.
#[track_caller]
fn words(of: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(of)).unwrap_err();
    match payload.downcast::<&str>() {
        Ok(words) => (*words).to_owned(),
        Err(payload) => *payload.downcast::<String>().unwrap(),
    }
}

const TWICE: &str = "a task wants the same shared object twice";

#[test]
fn the_same_object_wanted_twice_is_a_panic_of_the_spawner() {
    everywhere(|_| {
        let object = Shared::new(0);
        assert_eq!(
            words(|| drop(acquire((object.full(), object.read())))),
            TWICE
        );
        assert_eq!(words(|| drop(spawn(vec![object.read(); 2], drop))), TWICE);
        // Nothing has been taken.
        *acquire(object.full()) += 1;
    });
}

#[test]
fn the_same_lent_object_wanted_twice_is_a_panic_too() {
    let said = words(|| {
        finish(Full::new(0), |scope, number| {
            scope.task((number.full(), number.full()), drop);
        });
    });
    assert_eq!(said, TWICE);
}

#[test]
fn a_reference_beside_another_permission_is_no_mistake() {
    everywhere(|tasks| {
        let object = Shared::new(0);
        let same = object.clone();
        task!(tasks, [+object, -same] {
            *object = 1;
            drop(same);
        })
        .join()
        .unwrap();
        assert_eq!(*acquire(object.read()), 1);
    });
}

#[test]
fn what_is_referred_to_elsewhere_cannot_be_taken_out() {
    let object = Shared::new(5);
    let other = object.clone();
    let object = object.into_inner().unwrap_err();
    drop(other);
    assert_eq!(object.into_inner().unwrap(), 5);
}
