//! Ways to leave fibres behind. Most come from Go's suite of leaks (go#74609), rewritten. Where Go
//! leaks a channel that nobody closes, the fibre here has the other end itself: the end of a
//! channel that is dropped closes it.

use super::{leaks, leave, spawn};
use fibre::channel;
use fibre::os::unix::net::UnixStream;
use fibre::sync::{Barrier, Condvar, Event, Mutex, Notify, Once, RwLock, Semaphore, WaitGroup};
use fibre::{Builder, CancelToken, JoinHandle, Limit, select};
use std::hint::black_box;
use std::io::{Read, Write};
use std::mem;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

#[test]
fn a_send_that_nobody_receives() {
    leaks("double_send", &[&["sender"]], |prefix| {
        let (sender, receiver) = channel::bounded(1);
        leave(&format!("{prefix}sender"), move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            drop(receiver);
        });
    });
}

#[test]
fn workers_with_an_early_return_of_who_asked_them() {
    leaks("early_return", &[&["one"], &["two"]], |prefix| {
        for name in ["one", "two"] {
            let (sender, receiver) = channel::rendezvous::<String>();
            let keeps = receiver.clone();
            leave(&format!("{prefix}{name}"), move || {
                sender.send("result".to_owned()).unwrap();
                drop(keeps);
            });
        }
    });
}

#[test]
fn a_range_over_a_channel_that_is_never_closed() {
    leaks("range", &[&["consumer"]], |prefix| {
        let (sender, receiver) = channel::unbounded::<u32>();
        leave(&format!("{prefix}consumer"), move || {
            sender.send(1).unwrap();
            let sum: u32 = receiver.iter().sum();
            drop((sender, sum));
        });
    });
}

#[test]
fn a_second_receive() {
    leaks("double_receive", &[&["receiver"]], |prefix| {
        let (sender, receiver) = channel::bounded(1);
        leave(&format!("{prefix}receiver"), move || {
            sender.send(1).unwrap();
            receiver.recv().unwrap();
            receiver.recv().unwrap();
            drop(sender);
        });
    });
}

/// What wakes a reader faster names it for as long as the descriptor is open.
#[test]
fn after_a_read_that_had_to_wait() {
    leaks("after_read", &[&["handler"]], |prefix| {
        let (mut reads, mut writes) = UnixStream::pair().unwrap();
        let (sender, receiver) = channel::bounded::<u32>(1);
        leave(&format!("{prefix}handler"), move || {
            reads.read_exact(&mut [0]).unwrap();
            receiver.recv().unwrap();
            drop((sender, reads));
        });
        // The handler waits by then.
        fibre::sleep(Duration::from_millis(20));
        writes.write_all(&[1]).unwrap();
    });
}

/// A ready queue links its fibres by words in their blocks.
#[test]
fn behind_one_that_goes_on_in_the_ready_queue() {
    leaks("neighbour", &[&["leaked"]], |prefix| {
        // Both are ready before either runs, where there is one processor.
        static NEVER_SET: Event = Event::new();
        leave("goes_on", || NEVER_SET.wait());
        leave(&format!("{prefix}leaked"), || {
            let (sender, receiver) = channel::bounded::<u32>(1);
            drop((receiver.recv(), sender));
        });
    });
}

/// The deadlines of a processor's fibres lie in a heap, and name entries on their stacks.
#[test]
fn after_a_sleep() {
    leaks("after_sleep", &[&["sleeper"]], |prefix| {
        leave(&format!("{prefix}sleeper"), || {
            fibre::sleep(Duration::from_millis(1));
            waits_deep_down();
        });
    });
}

/// Waits in a frame further down than where a sleep does.
#[inline(never)]
fn waits_deep_down() {
    let room = black_box([0_u8; 16 << 10]);
    let (sender, receiver) = channel::bounded::<u32>(1);
    drop((receiver.recv(), sender, room));
}

/// The ring of a channel that goes on had a reference to the event.
#[test]
fn after_a_reference_was_received() {
    static ALL: LazyLock<[Requests; 2]> =
        LazyLock::new(|| [channel::bounded(4), channel::unbounded()]);
    leaks("received", &[&["bounded"], &["unbounded"]], |prefix| {
        for (name, requests) in ["bounded", "unbounded"].into_iter().zip(&*ALL) {
            leave(&format!("{prefix}{name}"), || {
                let done = Arc::new(Event::new());
                requests.0.send(Arc::clone(&done)).unwrap();
                done.wait();
            });
            let serve = || drop(requests.1.recv());
            fibre::spawn(serve).join().unwrap();
        }
    });
}

type Requests = (channel::Sender<Arc<Event>>, channel::Receiver<Arc<Event>>);

#[test]
fn two_orders() {
    leaks("two_orders", &[&["ab", "ba"]], |prefix| {
        let both = Arc::new((Mutex::new(0), Mutex::new(0), Barrier::new(2)));
        let other = Arc::clone(&both);
        leave(&format!("{prefix}ab"), move || {
            let one = both.0.lock();
            both.2.wait();
            drop((both.1.lock(), one));
        });
        leave(&format!("{prefix}ba"), move || {
            let one = other.1.lock();
            other.2.wait();
            drop((other.0.lock(), one));
        });
    });
}

#[test]
fn a_missing_unlock() {
    leaks("missing_unlock", &[&["locker"]], |prefix| {
        let mutex = Arc::new(Mutex::new(0));
        mem::forget(mutex.lock());
        leave(&format!("{prefix}locker"), move || drop(mutex.lock()));
    });
}

#[test]
fn a_reader_that_never_leaves() {
    leaks("missing_read_unlock", &[&["writer"]], |prefix| {
        let lock = Arc::new(RwLock::new(0));
        mem::forget(lock.read());
        leave(&format!("{prefix}writer"), move || drop(lock.write()));
    });
}

#[test]
fn a_missing_done() {
    leaks("missing_done", &[&["waiter"]], |prefix| {
        let jobs = Arc::new(WaitGroup::new());
        jobs.add(1);
        leave(&format!("{prefix}waiter"), move || jobs.wait());
    });
}

#[test]
fn a_condition_that_nobody_signals() {
    leaks("condition", &[&["waiter"]], |prefix| {
        leave(&format!("{prefix}waiter"), || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let mut ready = pair.0.lock();
            while !*ready {
                pair.1.wait(&mut ready);
            }
        });
    });
}

#[test]
fn a_select_without_a_sender() {
    leaks("select", &[&["selects"]], |prefix| {
        leave(&format!("{prefix}selects"), || {
            let (first, second) = (channel::bounded::<u32>(1), channel::bounded::<u32>(1));
            select! {
                recv(first.1) -> _ => (),
                recv(second.1) -> _ => (),
            }
            drop((first, second));
        });
    });
}

#[test]
fn an_event_that_is_never_set() {
    leaks("event", &[&["in_a_box"], &["on_the_stack"]], |prefix| {
        leave(&format!("{prefix}in_a_box"), || {
            Box::new((Event::new(), [0; 7000])).0.wait()
        });
        leave(&format!("{prefix}on_the_stack"), || Event::new().wait());
    });
}

#[test]
fn a_barrier_with_a_party_too_few() {
    leaks("barrier", &[&["one", "two"]], |prefix| {
        let barrier = Arc::new(Barrier::new(3));
        for name in ["one", "two"] {
            let barrier = Arc::clone(&barrier);
            leave(&format!("{prefix}{name}"), move || {
                let _ = barrier.wait();
            });
        }
    });
}

#[test]
fn permits_that_nobody_gives_back() {
    leaks("semaphore", &[&["acquires"]], |prefix| {
        let permits = Arc::new(Semaphore::new(1));
        permits.acquire();
        leave(&format!("{prefix}acquires"), move || permits.acquire());
    });
}

#[test]
fn a_notification_that_does_not_come() {
    leaks("notify", &[&["waiter"]], |prefix| {
        leave(&format!("{prefix}waiter"), || {
            Arc::new(Notify::new()).wait()
        });
    });
}

#[test]
fn an_initialiser_that_waits_for_ever() {
    leaks("once", &[&["initialises", "waits"]], |prefix| {
        let once = Arc::new((Once::new(), Event::new(), Event::new()));
        let first = Arc::clone(&once);
        leave(&format!("{prefix}initialises"), move || {
            first.0.call_once(|| {
                first.1.set();
                first.2.wait();
            });
        });
        once.1.wait();
        leave(&format!("{prefix}waits"), move || once.0.call_once(|| ()));
    });
}

#[test]
fn actors_that_ask_each_other_in_a_ring() {
    let ring = ["stage0", "stage1", "stage2", "stage3", "stage4"];
    leaks("ring", &[&ring], |prefix| {
        let mut ends: Vec<_> = (0..5).map(|_| channel::bounded::<u32>(1)).collect();
        let first = ends[0].0.clone();
        for stage in 0..5 {
            let next = ends
                .get(stage + 1)
                .map_or(first.clone(), |(next, _)| next.clone());
            let own = mem::replace(&mut ends[stage].1, channel::bounded(1).1);
            leave(&format!("{prefix}stage{stage}"), move || {
                let _ = own.recv().map(|item| next.send(item));
            });
        }
    });
}

#[test]
fn producers_for_a_consumer_that_has_left() {
    leaks("fan_in", &[&["one", "three", "two"]], |prefix| {
        let (sender, receiver) = channel::rendezvous::<u32>();
        for name in ["one", "two", "three"] {
            let (sender, keeps) = (sender.clone(), receiver.clone());
            leave(&format!("{prefix}{name}"), move || {
                sender.send(1).unwrap();
                drop(keeps);
            });
        }
    });
}

#[test]
fn a_producer_and_a_consumer_that_wait_for_each_other() {
    leaks("both_wait", &[&["consumer", "producer"]], |prefix| {
        let (items, taken) = (channel::bounded::<u32>(1), channel::bounded::<()>(1));
        let (item_sender, item_receiver) = items;
        let (taken_sender, taken_receiver) = taken;
        leave(&format!("{prefix}producer"), move || {
            taken_receiver.recv().unwrap();
            item_sender.send(1).unwrap();
        });
        leave(&format!("{prefix}consumer"), move || {
            item_receiver.recv().unwrap();
            taken_sender.send(()).unwrap();
        });
    });
}

#[test]
fn two_that_join_each_other() {
    leaks("join", &[&["one", "two"]], |prefix| {
        let hand_over = |name: &str| {
            let (sender, receiver) = channel::bounded::<JoinHandle<()>>(1);
            let joins = move || receiver.recv().unwrap().join().unwrap();
            (sender, spawn(&format!("{prefix}{name}"), joins))
        };
        let ((to_one, one), (to_two, two)) = (hand_over("one"), hand_over("two"));
        to_one.send(two).unwrap();
        to_two.send(one).unwrap();
    });
}

#[test]
fn who_joins_a_stuck_one() {
    leaks("joiner", &[&["child", "parent"]], |prefix| {
        let child = format!("{prefix}child");
        leave(&format!("{prefix}parent"), move || {
            let child = spawn(&child, || Event::new().wait());
            child.join().unwrap();
        });
    });
}

#[test]
fn a_scope_with_a_stuck_child() {
    leaks("scope", &[&["child", "parent"]], |prefix| {
        let name = format!("{prefix}child");
        leave(&format!("{prefix}parent"), move || {
            let event = Event::new();
            fibre::scope(|scope| {
                Builder::new()
                    .name(&name)
                    .spawn_scoped(scope, || event.wait())
                    .unwrap();
            });
        });
    });
}

#[test]
fn a_sender_in_blocks_of_the_heap_that_are_its_own() {
    leaks("heap", &[&["waiter"]], |prefix| {
        leave(&format!("{prefix}waiter"), || {
            let (sender, receiver) = channel::oneshot::<u32>();
            let mut keeps = Vec::with_capacity(900);
            keeps.push(Box::new((Some(sender), [0; 7000])));
            let _ = receiver.recv();
            drop(keeps);
        });
    });
}

#[test]
fn a_sender_in_a_channel_of_its_own() {
    leaks("handles_sent", &[&["waiter"]], |prefix| {
        leave(&format!("{prefix}waiter"), || {
            let (sender, receiver) = channel::bounded::<u32>(1);
            let (senders, keeps) = channel::unbounded();
            senders.send(sender).unwrap();
            let _ = receiver.recv();
            drop(keeps);
        });
    });
}

#[test]
fn news_that_only_the_waiting_fibre_could_send() {
    leaks("news", &[&["broadcast"], &["watch"]], |prefix| {
        leave(&format!("{prefix}broadcast"), || {
            let (sender, mut receiver) = channel::broadcast::<u32>(4);
            let _ = receiver.recv();
            drop(sender);
        });
        leave(&format!("{prefix}watch"), || {
            let (sender, mut receiver) = channel::watch(1);
            let _ = receiver.changed();
            drop(sender);
        });
    });
}

#[test]
fn a_token_that_only_the_fibre_has() {
    leaks("context", &[&["waiter"]], |prefix| {
        let token = CancelToken::new();
        let builder = Builder::new()
            .name(format!("{prefix}waiter"))
            .cancel_token(&token);
        drop(builder.spawn(move || {
            let _ = Event::new().wait_within(Limit::Cancellation);
            drop(token);
        }));
    });
}
