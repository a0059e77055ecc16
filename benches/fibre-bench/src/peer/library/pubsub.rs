//! PUBSUB; see [`crate::actors::pubsub`]. A topic is a list of subscribers, which costs each
//! library least.

use std::time::Instant;

use anyhow::ensure;
use hdrhistogram::Histogram;

use super::{Behaviour, Context, Hosted, Library, Reply, conduct};
use crate::actors::pubsub::{Outcome, PubSub};

impl<L: Library> Hosted<L> for PubSub {
    fn host() -> fn(&L::Runtime, &Self) -> anyhow::Result<Outcome> {
        |runtime, program| {
            ensure!(program.topics <= program.publishers, "too many topics");
            let latency = Histogram::new(3)?;
            let master = |reply| Master::<L> {
                program: program.clone(),
                left: program.publishers + program.subscribers,
                outcome: Outcome {
                    published: 0,
                    delivered: 0,
                    disordered: 0,
                    latency,
                },
                reply,
                subscribers: Vec::new(),
            };
            conduct::<L, _, _>(runtime, master, Report::Begin)
        }
    }
}

/// What is published.
#[derive(Clone)]
struct News {
    publisher: usize,
    number: usize,
    at: Instant,
}

/// What the master is sent.
enum Report {
    Begin,
    /// A publisher has sent so many.
    Published(u64),
    /// A subscriber has got all.
    Read {
        disordered: u64,
        /// How long each was on its way, in nanoseconds.
        latencies: Vec<u64>,
    },
}

/// The actor that spawns the others.
struct Master<L: Library> {
    program: PubSub,
    left: usize,
    outcome: Outcome,
    reply: Reply<Outcome>,
    subscribers: Vec<L::Ref<Subscriber<L>>>,
}

impl<L: Library> Master<L> {
    /// Spawns the others, and has publishers begin.
    fn begin(&mut self, context: &impl Context<L, Self>) {
        let program = &self.program;
        let subscriber = |_| {
            L::spawn(Subscriber {
                next: vec![0; program.publishers],
                left: program.topics * program.messages,
                disordered: 0,
                latencies: Vec::new(),
                master: context.myself(),
            })
        };
        self.subscribers = (0..program.subscribers).map(subscriber).collect();
        let mut topics = vec![Vec::new(); program.publishers];
        for (number, subscriber) in self.subscribers.iter().enumerate() {
            // The first is each in turn, and the others follow it.
            for topic in 0..program.topics {
                topics[(number + topic) % program.publishers].push(subscriber.clone());
            }
        }
        for (number, topic) in topics.into_iter().enumerate() {
            let publisher = L::spawn(Publisher {
                number,
                topic,
                published: 0,
                messages: program.messages,
                master: context.myself(),
            });
            L::tell(&publisher, ());
        }
    }

    /// Counts one that has done its part; when all have, answers.
    fn count(&mut self, context: &mut impl Context<L, Self>) {
        self.left -= 1;
        if self.left == 0 {
            for subscriber in &self.subscribers {
                L::tell(subscriber, Event::End);
            }
            self.reply.send(self.outcome.clone());
            context.stop();
        }
    }
}

impl<L: Library> Behaviour<L> for Master<L> {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut impl Context<L, Self>) {
        match report {
            Report::Begin => self.begin(context),
            Report::Published(count) => {
                self.outcome.published += count;
                self.count(context);
            }
            Report::Read {
                disordered,
                latencies,
            } => {
                self.outcome.delivered += latencies.len() as u64;
                self.outcome.disordered += disordered;
                for latency in latencies {
                    self.outcome.latency += latency;
                }
                self.count(context);
            }
        }
    }
}

/// An actor that publishes to its topic, a message at a time.
struct Publisher<L: Library> {
    number: usize,
    topic: Vec<L::Ref<Subscriber<L>>>,
    published: usize,
    messages: usize,
    master: L::Ref<Master<L>>,
}

impl<L: Library> Behaviour<L> for Publisher<L> {
    type Message = ();

    fn handle(&mut self, (): (), context: &mut impl Context<L, Self>) {
        if self.published == self.messages {
            let count = self.published * self.topic.len();
            L::tell(&self.master, Report::Published(count as u64));
            context.stop();
            return;
        }
        let news = News {
            publisher: self.number,
            number: self.published,
            at: Instant::now(),
        };
        for subscriber in &self.topic {
            L::tell(subscriber, Event::News(news.clone()));
        }
        self.published += 1;
        L::tell(&context.myself(), ());
    }
}

/// What subscribers are sent.
enum Event {
    News(News),
    End,
}

/// An actor that reads topics.
struct Subscriber<L: Library> {
    /// The number that comes next from each publisher.
    next: Vec<usize>,
    left: usize,
    disordered: u64,
    latencies: Vec<u64>,
    master: L::Ref<Master<L>>,
}

impl<L: Library> Behaviour<L> for Subscriber<L> {
    type Message = Event;

    fn handle(&mut self, event: Event, context: &mut impl Context<L, Self>) {
        let Event::News(news) = event else {
            context.stop();
            return;
        };
        self.latencies.push(news.at.elapsed().as_nanos() as u64);
        let next = &mut self.next[news.publisher];
        self.disordered += u64::from(news.number != *next);
        *next = news.number + 1;
        self.left -= 1;
        if self.left == 0 {
            let report = Report::Read {
                disordered: self.disordered,
                latencies: std::mem::take(&mut self.latencies),
            };
            L::tell(&self.master, report);
        }
    }
}
