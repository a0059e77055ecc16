//! What others than an actor's own messages may do to its end: values that panic as they end, waits
//! that come and go, a cluster that is stopped.

use crate::support::{Drops, each, eventually, everywhere, watchdog::watched};
use fibre::Cluster;
use fibre::channel::unbounded;
use fibre_actors::{Actor, ActorRef, Actors, AskError, Context, Exit, ExitReason, Reply, Topic};
use std::panic::{panic_any, resume_unwind};
use std::thread;
use std::time::Duration;

/// Panics as it ends, without a word on standard error.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("the end of a bomb"));
    }
}

/// An actor with a value.
struct Link<V>(#[allow(dead_code, reason = "it is dropped")] V);

impl<V: Send + 'static> Actor for Link<V> {
    type Message = u32;

    fn handle(&mut self, _: u32, _: &mut Context<'_, Self>) {}
}

#[test]
fn a_destructor_waits_for_an_actor_that_ends_with_its_own() {
    struct Waits(ActorRef<u32>, fibre::channel::Sender<ExitReason>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.stop();
            self.1.send(self.0.wait()).unwrap();
        }
    }
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let drops = Drops::new();
        let value = drops.value();
        let (tell, told) = unbounded();
        let make = move || {
            let inner = fibre_actors::spawn(Link(value));
            fibre_actors::spawn(Link(Waits(inner, tell)))
        };
        let outer = cluster.spawn(make).join().unwrap();
        cluster.stop();
        fibre::spawn(move || drop(outer)).join().unwrap();
        assert_eq!(told.recv(), Ok(ExitReason::Stopped));
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn many_waits_come_and_go() {
    everywhere(|actors| {
        let idle = actors.spawn(each(|(): ()| ()));
        let waits = |limit: Duration| {
            let idle = idle.clone();
            move || idle.wait_timeout(limit)
        };
        let hour = Duration::from_secs(3600);
        let spawn = |number: u64| {
            let limit = Duration::from_millis(1 + number % 5);
            let limit = if number.is_multiple_of(10) {
                hour
            } else {
                limit
            };
            (limit == hour, fibre::spawn(waits(limit)))
        };
        let waits: Vec<_> = (0..2000).map(spawn).collect();
        let (stay, go): (Vec<_>, Vec<_>) = waits.into_iter().partition(|(stays, _)| *stays);
        for (_, gone) in go {
            assert_eq!(gone.join().unwrap(), None);
        }
        idle.stop();
        for (_, told) in stay {
            assert_eq!(told.join().unwrap(), Some(ExitReason::Stopped));
        }
    });
}

#[test]
fn a_message_of_a_topic_that_cannot_be_made_is_lost_to_one_subscriber() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let reader = || {
            let tell = tell.clone();
            actors.spawn(each(move |news: u32| tell.send(news).unwrap()))
        };
        let topic = Topic::new();
        let (first, fails, stopped, last) = (reader(), reader(), reader(), reader());
        topic.subscribe(&first);
        topic.subscribe_with(&fails, |news: u32| match news {
            1 => panic_any(Bomb),
            news => news,
        });
        let bomb = Bomb;
        topic.subscribe_with(&stopped, move |_: u32| -> u32 {
            let _part = &bomb;
            panic_any("always")
        });
        topic.subscribe(&last);
        stopped.stop();
        stopped.wait();
        assert_eq!(topic.publish(1), 2);
        assert_eq!(topic.subscribers(), 3, "who has stopped has left");
        assert_eq!(topic.publish(2), 3);
        let mut news: Vec<_> = told.iter().take(5).collect();
        news.sort_unstable();
        assert_eq!(news, [1, 1, 2, 2, 2]);
    });
}

#[test]
fn an_answer_that_nobody_wants_may_panic_as_it_ends() {
    everywhere(|actors| {
        let (sender, replies) = unbounded::<Reply<Bomb>>();
        let slow = actors.spawn(each(move |reply: Option<Reply<Bomb>>| match reply {
            Some(reply) => sender.send(reply).unwrap(),
            None => replies.iter().take(1).for_each(|reply| reply.send(Bomb)),
        }));
        let answer = slow.ask_timeout(Duration::from_millis(1), Some);
        assert_eq!(answer.err(), Some(AskError::TimedOut));
        slow.send(None).unwrap();
        slow.stop();
        assert_eq!(slow.wait(), ExitReason::Stopped);
    });
}

#[test]
fn notices_that_panic_keep_the_end_from_nobody() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let observer = actors.spawn(each(move |exit: Exit| tell.send(exit.reason).unwrap()));
        let watched = actors.spawn(each(|(): ()| ()));
        let bomb = Bomb;
        watched.monitor(&observer, |_| panic_any(Bomb));
        watched.monitor(&observer, move |exit| {
            let _part = bomb;
            exit
        });
        watched.monitor(&observer, |exit| exit);
        watched.stop();
        assert_eq!(told.recv(), Ok(ExitReason::Stopped));
        assert_eq!(watched.wait(), ExitReason::Stopped);
    });
}

/// An actor with a timer, and nothing else to do.
struct Heart(u32);

impl Actor for Heart {
    type Message = ();

    fn started(&mut self, context: &mut Context<'_, Self>) {
        context.every(Duration::from_millis(1), ()).detach();
        context.after(Duration::from_secs(3600), ()).detach();
    }

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        self.0 += 1;
    }
}

#[test]
fn no_timer_keeps_a_cluster_from_stopping() {
    watched(|| {
        for within_limits in [false, true] {
            let cluster = Cluster::builder().processors(2).build().unwrap();
            let actors = Actors::within(&cluster);
            let hearts = [(); 3].map(|()| actors.spawn(Heart(0)));
            let waiter = hearts[0].clone();
            let waits = thread::spawn(move || waiter.wait());
            fibre::sleep(Duration::from_millis(5));
            let minute = Duration::from_secs(60);
            match within_limits {
                true => cluster.stop_within(minute, minute).unwrap(),
                false => cluster.stop(),
            }
            assert_eq!(waits.join().unwrap(), ExitReason::ClusterStopped);
            for heart in &hearts {
                assert_eq!(heart.wait(), ExitReason::ClusterStopped);
                assert!(heart.send(()).is_err());
            }
            eventually(|| actors.is_empty());
        }
    });
}
