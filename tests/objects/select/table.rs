//! Every kind of arm in every situation, in clusters and on plain threads.

use super::things::{Chosen, How, KINDS, Kind, LONG, Thing, take_soon};
use crate::support::{
    any_cluster, for_each_cluster, let_others_block, run_in, until_waiting, watched,
};
use fibre::net::TcpListener;
use fibre::select::AcceptArm;
use fibre::sync::{AutoEvent, Event};
use fibre::{JoinHandle, WaitKind, cancellable, select, shield, timeout};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(3);

/// All forms that wait.
const WAITING: [How; 4] = [How::First, How::Last, How::Within, How::Long];

/// One of each, and an event beside it.
fn pair(kind: &Kind) -> (Arc<dyn Thing>, Arc<AutoEvent>) {
    ((kind.make)(), Arc::new(AutoEvent::new()))
}

/// A fibre that selects.
fn selecting(thing: &Arc<dyn Thing>, other: &Arc<AutoEvent>, how: How) -> JoinHandle<Chosen> {
    let (thing, other) = (Arc::clone(thing), Arc::clone(other));
    fibre::spawn(move || thing.select(&other, how))
}

/// The thing has been chosen: it has been taken, once, unless it stays.
fn was_chosen(kind: &Kind, thing: &dyn Thing, other: &AutoEvent) {
    assert_eq!(thing.take(), kind.stays, "{}: it was chosen", kind.name);
    assert!(!other.try_wait(), "{}", kind.name);
}

/// The event has been chosen, or nothing: the thing waits to be made ready, and is there then.
fn was_not_chosen(kind: &Kind, thing: &dyn Thing, other: &AutoEvent) {
    assert!(!thing.take(), "{}: it is not ready", kind.name);
    assert!(!other.try_wait(), "{}", kind.name);
    thing.ready();
    take_soon(thing);
    assert_eq!(
        thing.take(),
        kind.stays,
        "{}: it was there twice",
        kind.name
    );
}

/// An arm that is made ready wins, also if it was ready before.
fn wins(kind: &Kind) {
    for how in WAITING {
        let (thing, other) = pair(kind);
        let waits = selecting(&thing, &other, how);
        let_others_block();
        thing.ready();
        assert_eq!(
            waits.join().unwrap(),
            Chosen::Thing,
            "{}, {how:?}",
            kind.name
        );
        was_chosen(kind, &*thing, &other);

        drop((thing, other));
        let (thing, other) = pair(kind);
        thing.ready();
        assert_eq!(
            thing.select(&other, how),
            Chosen::Thing,
            "{}, {how:?}",
            kind.name
        );
        was_chosen(kind, &*thing, &other);
    }
}

/// An arm loses to another one without losing what it waits for.
fn loses(kind: &Kind) {
    for how in WAITING {
        let (thing, other) = pair(kind);
        let waits = selecting(&thing, &other, how);
        let_others_block();
        other.set();
        assert_eq!(
            waits.join().unwrap(),
            Chosen::Other,
            "{}, {how:?}",
            kind.name
        );
        was_not_chosen(kind, &*thing, &other);
    }
}

/// Two arms that become ready at once: one is chosen, and the other one has what it had.
fn both(kind: &Kind) {
    for how in WAITING.into_iter().cycle().take(12) {
        let (thing, other) = pair(kind);
        let waits = selecting(&thing, &other, how);
        if how != How::Last {
            let_others_block();
        }
        let (sets, readies) = (Arc::clone(&other), Arc::clone(&thing));
        let setter = fibre::spawn(move || sets.set());
        let readier = fibre::spawn(move || readies.ready());
        let chosen = waits.join().unwrap();
        setter.join().unwrap();
        readier.join().unwrap();
        match chosen {
            Chosen::Thing => {
                assert!(other.try_wait(), "{}: the event is lost", kind.name);
                was_chosen(kind, &*thing, &other);
            }
            Chosen::Other => {
                take_soon(&*thing);
                was_chosen(kind, &*thing, &other);
            }
            Chosen::None => panic!("{}: nobody has ended it", kind.name),
        }
    }
}

/// A selection that does not wait takes what is there.
fn looks(kind: &Kind) {
    let (thing, other) = pair(kind);
    assert_eq!(
        thing.select(&other, How::Now),
        Chosen::None,
        "{}",
        kind.name
    );
    was_not_chosen(kind, &*thing, &other);
    drop((thing, other));
    let (thing, other) = pair(kind);
    other.set();
    assert_eq!(
        thing.select(&other, How::Now),
        Chosen::Other,
        "{}",
        kind.name
    );
    was_not_chosen(kind, &*thing, &other);
    drop((thing, other));
    let (thing, other) = pair(kind);
    thing.ready();
    while thing.select(&other, How::Now) == Chosen::None {
        let_others_block();
    }
    was_chosen(kind, &*thing, &other);
}

/// Cancellation ends a selection that has a limit, and one that may be unwound. Others do not
/// notice it, nor do those in a shield.
fn cancelled(kind: &Kind) {
    for how in [How::Within, How::Long] {
        let (thing, other) = pair(kind);
        let waits = selecting(&thing, &other, how);
        let_others_block();
        waits.cancel();
        assert_eq!(
            waits.join().unwrap(),
            Chosen::None,
            "{}, {how:?}",
            kind.name
        );
        was_not_chosen(kind, &*thing, &other);
    }
    let (thing, other) = pair(kind);
    let (selects, beside) = (Arc::clone(&thing), Arc::clone(&other));
    let waits = fibre::spawn(move || cancellable(|| selects.select(&beside, How::First)).is_err());
    let_others_block();
    waits.cancel();
    assert!(waits.join().unwrap(), "{}: it is unwound", kind.name);
    was_not_chosen(kind, &*thing, &other);
    drop((thing, other));
    for shielded in [false, true] {
        let (thing, other) = pair(kind);
        let (selects, beside) = (Arc::clone(&thing), Arc::clone(&other));
        let waits = fibre::spawn(move || match shielded {
            true => shield(|| selects.select(&beside, How::Long)),
            false => selects.select(&beside, How::First),
        });
        waits.cancel();
        let_others_block();
        assert!(!waits.is_finished(), "{}", kind.name);
        thing.ready();
        assert_eq!(waits.join().unwrap(), Chosen::Thing, "{}", kind.name);
        was_chosen(kind, &*thing, &other);
    }
}

/// A time-out ends it: one without a limit is unwound, and the others fail.
fn timed_out(kind: &Kind) {
    for how in WAITING {
        let (thing, other) = pair(kind);
        let late = timeout(SHORT, || thing.select(&other, how)).unwrap_err();
        let returned = matches!(how, How::Within | How::Long).then_some(Chosen::None);
        assert_eq!(late.into_value(), returned, "{}, {how:?}", kind.name);
        was_not_chosen(kind, &*thing, &other);
    }
    let (thing, other) = pair(kind);
    thing.ready();
    let chosen = timeout(LONG, || thing.select(&other, How::First));
    assert_eq!(chosen.ok(), Some(Chosen::Thing), "{}", kind.name);
    was_chosen(kind, &*thing, &other);
}

/// Runs a part of the table for all kinds, in clusters.
fn in_clusters(part: fn(&Kind)) {
    for_each_cluster(move |_| KINDS.iter().for_each(part));
}

#[test]
fn what_comes_is_chosen() {
    in_clusters(wins);
}

#[test]
fn what_is_not_chosen_is_not_lost() {
    in_clusters(loses);
}

#[test]
fn of_two_at_once_none_is_lost() {
    in_clusters(both);
}

#[test]
fn looking_takes_what_is_there() {
    in_clusters(looks);
}

#[test]
fn cancellation_takes_nothing() {
    in_clusters(cancelled);
}

#[test]
fn time_outs_take_nothing() {
    in_clusters(timed_out);
}

/// All of it by plain threads, but what needs a fibre; things are made ready by fibres.
#[test]
fn plain_threads_select() {
    let cluster = any_cluster().processors(2).build().unwrap();
    let body = |_: &fibre::Cluster| {
        let threads = thread::spawn(|| {
            watched(|| {
                for kind in KINDS {
                    for how in WAITING {
                        thread_waits(kind, how);
                    }
                    looks(kind);
                    timed_out(kind);
                }
            });
        });
        fibre::blocking(|| threads.join()).unwrap();
    };
    run_in(cluster, Arc::new(body));
}

/// A thread waits for a thing, and then for the event beside it.
fn thread_waits(kind: &Kind, how: How) {
    for chosen in [Chosen::Thing, Chosen::Other] {
        let (thing, other) = pair(kind);
        let (selects, beside) = (Arc::clone(&thing), Arc::clone(&other));
        let waits = thread::spawn(move || selects.select(&beside, how));
        thread::sleep(Duration::from_micros(200));
        match chosen {
            Chosen::Thing => thing.ready(),
            _ => other.set(),
        }
        assert_eq!(waits.join().unwrap(), chosen, "{}, {how:?}", kind.name);
        match chosen {
            Chosen::Thing => was_chosen(kind, &*thing, &other),
            _ => was_not_chosen(kind, &*thing, &other),
        }
    }
}

/// All kinds have names of their own, which failures tell.
#[test]
fn kinds_have_names() {
    let mut names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KINDS.len());
}

/// Reports show that a selection waits, and whether something from outside can end that.
#[test]
fn reports_show_selections() {
    for_each_cluster(|_| {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let event = Arc::new(Event::new());
        let (sets, accepts) = (Arc::clone(&event), Arc::clone(&listener));
        let outside = fibre::spawn(move || {
            select! {
                _ = accepts.accept_arm() => false,
                () = sets.wait_arm() => true,
            }
        });
        let sets = Arc::clone(&event);
        let inside = fibre::spawn(move || {
            select! {
                _ = accepts_nothing() => false,
                () = sets.wait_arm() => true,
            }
        });
        until_waiting(WaitKind::SelectOutside, &[outside.id()]);
        until_waiting(WaitKind::Select, &[inside.id()]);
        event.set();
        assert!(outside.join().unwrap() && inside.join().unwrap());
    });
}

/// An arm that is never chosen.
fn accepts_nothing() -> Option<AcceptArm<'static>> {
    None
}
