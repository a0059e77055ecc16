//! Messages for all that want them.

use crate::support::{each, eventually, everywhere, with_mailbox};
use fibre::channel::unbounded;
use fibre_actors::{Mailbox, Overflow, Topic};
use std::thread;

#[test]
fn all_subscribers_get_all_messages_in_order() {
    everywhere(|actors| {
        let (done, all_done) = unbounded();
        let topics = [Topic::new(), Topic::new()];
        for _ in 0..50 {
            let (done, mut next) = (done.clone(), [0; 4]);
            let reader = actors.spawn(each(move |(publisher, number): (usize, u32)| {
                assert_eq!(number, next[publisher]);
                next[publisher] += 1;
                if next == [20; 4] {
                    done.send(()).unwrap();
                }
            }));
            assert!(topics.iter().all(|topic| topic.subscribe(&reader)));
            assert!(!topics[0].subscribe(&reader), "twice");
        }
        thread::scope(|scope| {
            for publisher in 0..4 {
                let topic = topics[publisher % 2].clone();
                scope.spawn(move || {
                    for number in 0..20 {
                        assert_eq!(topic.publish((publisher, number)), 50);
                    }
                });
            }
        });
        assert_eq!(all_done.iter().take(50).count(), 50);
    });
}

#[test]
fn subscribers_leave() {
    everywhere(|actors| {
        let topic = Topic::new();
        assert_eq!(topic.publish(0), 0);
        let (tell, told) = unbounded();
        let readers: Vec<_> = (0..4)
            .map(|reader| {
                let tell = tell.clone();
                actors.spawn(each(move |news: u32| tell.send((reader, news)).unwrap()))
            })
            .collect();
        readers
            .iter()
            .for_each(|reader| assert!(topic.subscribe(reader)));
        assert!(topic.unsubscribe(&readers[1]));
        assert!(!topic.unsubscribe(&readers[1]));
        readers[3].stop();
        readers[3].wait();
        assert_eq!(topic.subscribers(), 3);
        assert_eq!(topic.publish(7), 2);
        assert_eq!(topic.subscribers(), 2, "who has stopped has left");
        let mut got: Vec<_> = told.iter().take(2).collect();
        got.sort_unstable();
        assert_eq!(got, [(0, 7), (2, 7)]);
        // The topic's references are the last ones.
        drop(readers);
        eventually(|| actors.len() == 2);
        drop(topic);
        eventually(|| actors.is_empty());
    });
}

#[test]
fn subscribers_with_a_bound_may_miss_messages() {
    everywhere(|actors| {
        let topic = Topic::new();
        let go = std::sync::Arc::new(fibre::sync::Event::new());
        let let_go = std::sync::Arc::clone(&go);
        let slow = each(move |_: u32| let_go.wait());
        let slow = with_mailbox(actors, Mailbox::bounded(2, Overflow::Refuse), slow);
        topic.subscribe(&slow);
        let accepted: usize = (0..10).map(|number| topic.publish(number)).sum();
        assert!((2..=3).contains(&accepted), "{accepted}");
        assert_eq!(topic.subscribers(), 1);
        go.set();
    });
}
