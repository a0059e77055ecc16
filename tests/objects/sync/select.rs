//! Selecting one of several operations, by the macro and by value.

use super::caught;
use crate::support::{Drops, for_clusters, for_each_cluster, let_others_block, text_of, watched};
use fibre::channel::{
    RecvError, Select, SendError, TryRecvError, TrySelectError, bounded, oneshot, rendezvous,
    unbounded,
};
use fibre::select::SendArm;
use fibre::{Limit, WaitError, select};
use std::thread;
use std::time::{Duration, Instant};

/// A time that tests wait for.
const SHORT: Duration = Duration::from_millis(2);
/// A time that they do not.
const LONG: Duration = Duration::from_secs(1000);

/// The ready arm is chosen, whichever it is; without one, what was said for that case.
#[test]
fn what_is_ready_is_chosen() {
    let (numbers, from_numbers) = bounded(1);
    let (words, from_words) = bounded::<&str>(1);
    let poll = || {
        select! {
            recv(from_numbers) -> number => format!("{number:?}"),
            recv(from_words) -> word => { format!("{word:?}") }
            default => "nothing".to_owned(),
        }
    };
    assert_eq!(poll(), "nothing");
    numbers.send(1).unwrap();
    assert_eq!(poll(), "Ok(1)");
    words.send("one").unwrap();
    assert_eq!(poll(), "Ok(\"one\")");
    assert_eq!(poll(), "nothing");
    drop(words);
    assert_eq!(poll(), "Err(RecvError)");

    let sent = select! {
        send(numbers, 5) -> sent => sent.is_ok(),
    };
    assert!(sent);
    let refused = select! {
        send(numbers, 6) -> sent => sent.is_ok(),
        timeout(Duration::ZERO) => false,
    };
    assert!(!refused);
    assert_eq!(from_numbers.recv(), Ok(5));
}

/// A selection that waits is woken by whichever comes, and has the value in hand.
#[test]
fn a_waiting_selection_is_woken() {
    for_each_cluster(|_| {
        for capacity in [0, 1, usize::MAX] {
            for which in [0, 1] {
                let (one, from_one) = bounded(capacity);
                let (two, from_two) = bounded(capacity);
                let waits = fibre::spawn(move || {
                    select! {
                        recv(from_one) -> value => (0, value),
                        recv(from_two) -> value => (1, value),
                    }
                });
                let_others_block();
                [&one, &two][which].send(7 + which).unwrap();
                assert_eq!(waits.join().unwrap(), (which, Ok(7 + which)));
            }
        }
    });
}

/// A selection that sends gives its value to whoever comes to receive.
#[test]
fn a_waiting_selection_sends() {
    for_each_cluster(|_| {
        for capacity in [0, 1] {
            let (one, from_one) = bounded(capacity);
            let (two, from_two) = bounded(capacity);
            for _ in 0..capacity {
                one.send("before").unwrap();
                two.send("before").unwrap();
            }
            let waits = thread::spawn(move || {
                select! {
                    send(one, "one") -> sent => (1, sent),
                    send(two, "two") -> sent => (2, sent),
                }
            });
            let_others_block();
            (0..capacity).for_each(|_| assert_eq!(from_two.recv(), Ok("before")));
            assert_eq!(from_two.recv(), Ok("two"));
            assert_eq!(fibre::blocking(|| waits.join()).unwrap(), (2, Ok(())));
            assert_eq!(from_one.try_iter().count(), capacity);
        }
    });
}

/// Two selections that could serve each other do, and none serves itself.
#[test]
fn two_selections_meet() {
    for_each_cluster(|_| {
        let (left, from_left) = rendezvous();
        let (right, from_right) = rendezvous();
        let [mut sent, mut received] = [0_u32; 2];
        let (to, from) = (left.clone(), from_right.clone());
        let other = fibre::spawn(move || {
            let [mut sent, mut received] = [0_u32; 2];
            while sent + received < 500 {
                select! {
                    send(to, 1) -> done => sent += u32::from(done.is_ok()),
                    recv(from) -> value => received += u32::from(value == Ok(2)),
                }
            }
            (sent, received)
        });
        while sent + received < 500 {
            select! {
                recv(from_left) -> value => received += u32::from(value == Ok(1)),
                send(right, 2) -> done => sent += u32::from(done.is_ok()),
            }
        }
        assert_eq!(other.join().unwrap(), (received, sent));
    });

    let (sender, receiver) = rendezvous();
    let alone = select! {
        send(sender, 1) -> _ => false,
        recv(receiver) -> _ => false,
        timeout(SHORT) => true,
    };
    assert!(alone, "it has served itself");
}

/// Both ends of one channel with room in one selection.
#[test]
fn both_ends_of_a_channel() {
    let (sender, receiver) = bounded(1);
    let (mut sent, mut received) = (0, 0);
    for _ in 0..100 {
        select! {
            send(sender, ()) -> _ => sent += 1,
            recv(receiver) -> _ => received += 1,
        }
    }
    assert_eq!((sent, received), (50, 50));
}

/// Where several are ready, each has its turn.
#[test]
fn no_ready_arm_is_kept_from_its_turn() {
    const ROUNDS: usize = 3000;
    let channels: Vec<_> = (0..3).map(|_| unbounded()).collect();
    for (sender, _) in &channels {
        (0..ROUNDS).for_each(|i| sender.send(i).unwrap());
    }
    let mut turns = [0; 3];
    for _ in 0..ROUNDS {
        // Another selection in each round, so that they alternate.
        select! {
            recv(channels[0].1) -> _ => turns[0] += 1,
            recv(channels[1].1) -> _ => turns[1] += 1,
            recv(channels[2].1) -> _ => turns[2] += 1,
        }
        select! {
            send(channels[0].0, 0) -> _ => {}
            send(channels[1].0, 0) -> _ => {}
        }
    }
    assert!(turns.iter().all(|&turns| turns > ROUNDS / 5), "{turns:?}");
}

/// Deadlines and cancellation end a selection, and leave nothing behind.
#[test]
fn limits_end_a_selection() {
    for_each_cluster(|_| {
        let (sender, receiver) = rendezvous::<u8>();
        let (other, from_other) = rendezvous::<u8>();
        let deadline = Instant::now() + SHORT;
        let late = select! {
            recv(receiver) -> _ => false,
            send(other, 1) -> _ => false,
            within(deadline) => true,
        };
        assert!(late && Instant::now() >= deadline);
        assert!(sender.try_send(1).is_err() && from_other.try_recv().is_err());

        let (own, from_own) = (sender.clone(), from_other.clone());
        let waits = fibre::spawn(move || {
            let first = select! {
                recv(receiver) -> _ => false,
                within(Limit::Cancellation) => true,
            };
            let second = select! {
                send(other, 2) -> _ => false,
                timeout(LONG) => true,
            };
            let third = select! {
                send(other, 3) -> _ => false,
                within(Limit::Cancellation) => true,
            };
            first && second && third
        });
        let_others_block();
        waits.cancel();
        assert!(waits.join().unwrap());
        assert!(own.try_send(1).is_err() && from_own.try_recv().is_err());
    });
}

/// Closing wakes a selection, on either side.
#[test]
fn closing_ends_a_selection() {
    for_each_cluster(|_| {
        let (sender, receiver) = rendezvous::<u8>();
        let (full, from_full) = rendezvous();
        let waits = fibre::spawn(move || {
            let first = select! {
                recv(receiver) -> value => value == Err(RecvError),
                send(full, 1) -> _ => false,
            };
            let second = select! {
                send(full, 2) -> sent => sent == Err(SendError(2)),
                timeout(LONG) => false,
            };
            first && second
        });
        let_others_block();
        drop(sender);
        let_others_block();
        drop(from_full);
        assert!(waits.join().unwrap());
    });
}

/// The macro's bodies may leave loops and functions, and use the channels.
#[test]
fn bodies_are_ordinary_code() {
    fn first(receiver: &fibre::channel::Receiver<u32>) -> Result<u32, RecvError> {
        loop {
            select! {
                recv(receiver) -> value => {
                    let value = value?;
                    if value > 2 {
                        return Ok(value);
                    }
                    continue;
                }
                default => break Err(RecvError),
            }
        }
    }
    let (sender, receiver) = unbounded();
    (0..5).for_each(|i| sender.send(i).unwrap());
    assert_eq!(first(&receiver), Ok(3));
    let mut receiver = Some(receiver);
    select! {
        recv(receiver.as_ref().unwrap()) -> value => {
            assert_eq!(value, Ok(4));
            receiver = None;
        }
    }
    assert!(receiver.is_none() && sender.is_closed());

    let (answer, question) = oneshot();
    answer.send(5).unwrap();
    let got = select! { recv(question.as_ref()) -> value => value };
    assert_eq!(got, Ok(5));
}

/// The builder: a number of channels that is known at run time.
#[test]
fn a_selection_as_a_value() {
    for_each_cluster(|_| {
        let channels: Vec<_> = (0..20).map(|i| bounded(i % 3)).collect();
        let senders: Vec<_> = channels
            .iter()
            .enumerate()
            .map(|(i, (sender, _))| {
                let sender = sender.clone();
                fibre::spawn(move || (0..10).for_each(|j| sender.send(100 * i + j).unwrap()))
            })
            .collect();
        let mut select = Select::new();
        for (_, receiver) in &channels {
            select.recv(receiver);
        }
        let mut next = [0; 20];
        for _ in 0..200 {
            let chosen = select.select();
            let index = chosen.index();
            let value = chosen.recv(&channels[index].1).unwrap();
            assert_eq!(value, 100 * index + next[index], "out of order");
            next[index] += 1;
        }
        assert_eq!(next, [10; 20]);
        assert_eq!(select.try_select().err(), Some(TrySelectError));
        senders.into_iter().for_each(|one| one.join().unwrap());
    });
}

/// Its values: sent, refused, taken back, or dropped with it, once.
#[test]
fn values_of_a_selection() {
    let drops = Drops::new();
    let (open, from_open) = bounded(1);
    let (full, _from_full) = rendezvous();
    let (closed, _) = rendezvous();
    let mut select = Select::new();
    let sends = select.send(&open, drops.value());
    let stays = select.send(&full, drops.value());
    assert_eq!(
        select.try_select().map(|chosen| chosen.index()).ok(),
        Some(sends)
    );
    assert_eq!(
        select.select_timeout(SHORT).err(),
        Some(WaitError::TimedOut)
    );
    drop(select.take_back(stays, &full).unwrap());
    assert!(select.take_back(stays, &full).is_none());
    assert_eq!(drops.count(), 1);

    let refused = select.send(&closed, drops.value());
    let chosen = select.select();
    assert_eq!(chosen.index(), refused);
    drop(chosen.send(&closed).unwrap_err());
    assert_eq!(drops.count(), 2);

    select.send(&full, drops.value());
    let _unread = select.recv(&from_open);
    let _dropped = select.select();
    drop(select);
    assert_eq!(drops.count(), 4);
}

/// Nothing to select is nothing to wait for, in no form: neither at first nor when all that was to
/// be sent has been.
#[test]
fn a_selection_without_operations_panics() {
    let check = || {
        let (sender, _receiver) = bounded(1);
        let mut used = Select::new();
        used.send(&sender, 1);
        let _ = used.select().send(&sender);
        for mut select in [Select::new(), used] {
            refuses(|| drop(select.select()));
            refuses(|| drop(select.select_timeout(Duration::MAX)));
            refuses(|| drop(select.select_timeout(Duration::ZERO)));
            refuses(|| drop(select.select_within(Instant::now())));
            refuses(|| drop(select.select_within(Limit::Cancellation)));
            assert_eq!(select.try_select().err(), Some(TrySelectError));
        }
    };
    for_clusters(&[1], move |_| check());
    watched(check);
}

/// Checks that `f` panics with the right words.
#[track_caller]
fn refuses(f: impl FnOnce()) {
    let payload = caught(f).unwrap_err();
    assert!(text_of(&*payload).contains("without operations"));
}

/// A result is asked for by the channel it came from.
#[test]
#[should_panic(expected = "another one")]
fn a_result_belongs_to_its_channel() {
    let (sender, receiver) = bounded(1);
    let (_other, from_other) = bounded::<u8>(1);
    sender.send(1_u8).unwrap();
    let mut select = Select::new();
    select.recv(&receiver);
    let _ = select.select().recv(&from_other);
}

/// Selections of fibres and threads share channels with plain calls: nothing is lost.
#[test]
fn selections_share_channels_with_others() {
    for_clusters(&[1, 4], |_| {
        const VALUES: usize = 400;
        let (one, from_one) = bounded(1);
        let (two, from_two) = rendezvous();
        let receive = |from_one: fibre::channel::Receiver<usize>,
                       from_two: fibre::channel::Receiver<usize>| {
            move || {
                let (mut sum, mut open) = (0, 2);
                while open > 0 {
                    let value = select! {
                        recv(from_one) -> value => value,
                        recv(from_two) -> value => value,
                    };
                    match value {
                        Ok(value) => sum += value,
                        // The other one closes, too.
                        Err(RecvError) => {
                            open = 0;
                            sum += from_one.iter().chain(from_two.iter()).sum::<usize>();
                        }
                    }
                }
                sum
            }
        };
        let fibres: Vec<_> = (0..2)
            .map(|_| fibre::spawn(receive(from_one.clone(), from_two.clone())))
            .collect();
        let thread = thread::spawn(receive(from_one.clone(), from_two.clone()));
        let plain = fibre::spawn(move || from_two.iter().sum::<usize>());
        drop(from_one);
        super::crowd(2, 1, move |me| {
            let (one, two) = (one.clone(), two.clone());
            for i in 0..VALUES {
                match (me + i) % 3 {
                    0 => one.send(1).unwrap(),
                    1 => two.send(1).unwrap(),
                    _ => select! {
                        send(one, 1) -> sent => sent.unwrap(),
                        send(two, 1) -> sent => sent.unwrap(),
                    },
                }
            }
        });
        let mut sum = plain.join().unwrap() + fibre::blocking(|| thread.join()).unwrap();
        sum += fibres
            .into_iter()
            .map(|one| one.join().unwrap())
            .sum::<usize>();
        assert_eq!(sum, 3 * VALUES);
    });
}

/// An arm may stand in one selection after the other. One that sends has nothing to send after
/// that.
#[test]
fn arms_stand_in_many_selections() {
    for_each_cluster(|_| {
        let (sender, receiver) = unbounded();
        let mut sends = sender.send_arm(1);
        for sent in [true, false, false] {
            let done = select! {
                sent = &mut sends => sent == Ok(()),
                timeout(Duration::ZERO) => false,
            };
            assert_eq!(done, sent);
        }
        sender.send(2).unwrap();
        let mut receives = receiver.recv_arm();
        for value in [Some(1), Some(2), None] {
            let received = select! {
                value = &mut receives => value.ok(),
                default => None,
            };
            assert_eq!(received, value);
        }
        assert_eq!(
            receiver.try_recv(),
            Err(TryRecvError::Empty),
            "nobody gets what is no value"
        );
        spent_beside_others(sends);
    });
}

/// An arm that has sent its value does not keep others from theirs.
fn spent_beside_others(mut sends: SendArm<'_, i32>) {
    let ((full, from_full), spent) = (rendezvous(), &mut sends);
    let waits = fibre::spawn(move || from_full.recv());
    let sent = select! {
        _ = spent => false,
        send(full, 3) -> sent => sent.is_ok(),
    };
    assert!(sent && waits.join().unwrap() == Ok(3));
}
