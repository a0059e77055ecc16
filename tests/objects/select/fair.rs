//! Which of several ready arms is chosen.

use crate::support::for_each_cluster;
use fibre::channel::unbounded;
use fibre::select;
use fibre::select::after;
use fibre::sync::{Event, Semaphore};
use std::time::Duration;

/// How many selections each test makes.
const ROUNDS: usize = 4000;

/// Each of those that are ready is chosen about as often as the others, wherever those stand that
/// are not.
#[test]
fn ready_arms_take_turns() {
    for_each_cluster(|_| {
        let (permits, event, never) = (Semaphore::new(1), Event::new(), Event::new());
        let (sender, receiver) = unbounded();
        event.set();
        (0..ROUNDS).for_each(|i| sender.send(i).unwrap());
        let mut turns = [0; 4];
        for _ in 0..ROUNDS {
            select! {
                () = never.wait_arm() => unreachable!("it is never set"),
                _permit = permits.permit_arm() => turns[0] += 1,
                recv(receiver) -> _ => turns[1] += 1,
                _ = after(Duration::from_secs(1000)) => unreachable!("it is far away"),
                () = event.wait_arm() => turns[2] += 1,
                _ = after(Duration::ZERO) => turns[3] += 1,
            }
        }
        let even = ROUNDS / 4 * 7 / 10..ROUNDS / 4 * 13 / 10;
        assert!(turns.iter().all(|turns| even.contains(turns)), "{turns:?}");
    });
}

/// Also if each of two selections in a loop takes every other draw.
#[test]
fn selections_in_turn_are_fair() {
    let (one, other) = (Semaphore::new(1), Semaphore::new(1));
    let mut turns = [0; 4];
    for _ in 0..ROUNDS {
        select! {
            _permit = one.permit_arm() => turns[0] += 1,
            _permit = other.permit_arm() => turns[1] += 1,
        }
        select! {
            _permit = one.permit_arm() => turns[2] += 1,
            _permit = other.permit_arm() => turns[3] += 1,
        }
    }
    let even = ROUNDS / 2 * 7 / 10..ROUNDS / 2 * 13 / 10;
    assert!(turns.iter().all(|turns| even.contains(turns)), "{turns:?}");
}

/// In a biased selection it is the first one, of whatever kind.
#[test]
fn biased_selections_take_the_first() {
    for_each_cluster(|_| {
        let (permits, event, never) = (Semaphore::new(1), Event::new(), Event::new());
        let (sender, receiver) = unbounded();
        event.set();
        sender.send(()).unwrap();
        for _ in 0..100 {
            let chosen = select! {
                biased;
                () = never.wait_arm() => 0,
                _permit = permits.permit_arm() => 1,
                recv(receiver) -> _ => 2,
                () = event.wait_arm() => 3,
            };
            assert_eq!(chosen, 1);
        }
        let chosen = select! {
            biased;
            () = never.wait_arm() => 0,
            recv(receiver) -> _ => 2,
            _permit = permits.permit_arm() => 1,
        };
        assert_eq!(chosen, 2);
    });
}
