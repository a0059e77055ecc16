//! PUBSUB: each publisher has a topic, and publishes messages to it one after the other; each
//! subscriber reads several topics. Source: thesis, section 5.4, which prints no parameters.
//!
//! A publisher sends itself a message for each that it publishes, so that it is others' turn in
//! between. A subscriber checks that the messages of a publisher come in their order, and keeps how
//! long each was on its way.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::ensure;
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply, Topic};
use hdrhistogram::Histogram;

use super::{Program, conduct, quantiles, tell};

/// The program and its parameters.
#[derive(Debug, Clone)]
pub struct PubSub {
    /// How many publishers there are, each with a topic.
    pub publishers: usize,
    /// How many subscribers there are.
    pub subscribers: usize,
    /// How many topics each subscriber reads.
    pub topics: usize,
    /// How many messages each publisher publishes.
    pub messages: usize,
}

impl Default for PubSub {
    fn default() -> Self {
        Self {
            publishers: 10,
            subscribers: 1000,
            topics: 2,
            messages: 100,
        }
    }
}

/// What has been counted.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Messages that topics have accepted, for each subscriber.
    pub published: u64,
    /// Messages that subscribers have got.
    pub delivered: u64,
    /// Messages that did not come in the order of their publisher.
    pub disordered: u64,
    /// How long messages were on their way, in nanoseconds.
    pub latency: Histogram<u64>,
}

impl Program for PubSub {
    type Outcome = Outcome;

    fn small() -> Self {
        Self {
            publishers: 4,
            subscribers: 40,
            topics: 2,
            messages: 25,
        }
    }

    fn messages(&self) -> u64 {
        (self.subscribers * self.topics * self.messages) as u64
    }

    fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        ensure!(
            self.topics <= self.publishers,
            "{} topics for each of {} publishers",
            self.topics,
            self.publishers
        );
        // Three digits are 0.1 %.
        let latency = Histogram::new(3)?;
        conduct(actors, Master::new(self, latency), Report::Begin)
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let right = self.messages();
        let Outcome {
            published,
            delivered,
            disordered,
            ..
        } = *outcome;
        ensure!(
            (published, delivered, disordered) == (right, right, 0),
            "{published} published, {delivered} delivered, {disordered} out of order, of {right}"
        );
        ensure!(outcome.latency.len() == right, "latencies are missing");
        Ok(())
    }

    fn values(&self, outcome: &Outcome) -> BTreeMap<&'static str, f64> {
        quantiles::of(&outcome.latency)
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
    Begin(Reply<Outcome>),
    /// A publisher has published all, which so many times was accepted.
    Published(usize),
    /// A subscriber has got all.
    Read {
        disordered: u64,
        /// How long each was on its way, in nanoseconds.
        latencies: Vec<u64>,
    },
}

/// The actor that spawns the others.
struct Master {
    program: PubSub,
    left: usize,
    outcome: Outcome,
    reply: Option<Reply<Outcome>>,
    subscribers: Vec<ActorRef<News>>,
}

impl Master {
    /// A master that has not begun.
    fn new(program: &PubSub, latency: Histogram<u64>) -> Self {
        Self {
            program: program.clone(),
            left: program.publishers + program.subscribers,
            outcome: Outcome {
                published: 0,
                delivered: 0,
                disordered: 0,
                latency,
            },
            reply: None,
            subscribers: Vec::new(),
        }
    }

    /// Spawns the others, and has publishers begin.
    fn begin(&mut self, context: &Context<'_, Self>) {
        let program = &self.program;
        let topics: Vec<Topic<News>> = (0..program.publishers).map(|_| Topic::new()).collect();
        for number in 0..program.subscribers {
            let subscriber = context.spawn(Subscriber {
                next: vec![0; program.publishers],
                left: program.topics * program.messages,
                disordered: 0,
                latencies: Vec::new(),
                master: context.myself(),
            });
            // The first is each in turn, and the others follow it.
            for topic in 0..program.topics {
                topics[(number + topic) % program.publishers].subscribe(&subscriber);
            }
            self.subscribers.push(subscriber);
        }
        for (number, topic) in topics.into_iter().enumerate() {
            let publisher = context.spawn(Publisher {
                number,
                topic,
                published: 0,
                accepted: 0,
                messages: program.messages,
                master: context.myself(),
            });
            tell(&publisher, ());
        }
    }

    /// Counts one that has done its part; when all have, answers.
    fn count(&mut self) {
        self.left -= 1;
        if self.left == 0
            && let Some(reply) = self.reply.take()
        {
            self.subscribers.iter().for_each(ActorRef::stop);
            reply.send(self.outcome.clone());
        }
    }
}

impl Actor for Master {
    type Message = Report;

    fn handle(&mut self, report: Report, context: &mut Context<'_, Self>) {
        match report {
            Report::Begin(reply) => {
                self.reply = Some(reply);
                self.begin(context);
            }
            Report::Published(accepted) => {
                self.outcome.published += accepted as u64;
                self.count();
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
                self.count();
            }
        }
    }
}

/// An actor that publishes to its topic.
struct Publisher {
    number: usize,
    topic: Topic<News>,
    published: usize,
    accepted: usize,
    messages: usize,
    master: ActorRef<Report>,
}

impl Actor for Publisher {
    type Message = ();

    fn handle(&mut self, (): (), context: &mut Context<'_, Self>) {
        if self.published == self.messages {
            tell(&self.master, Report::Published(self.accepted));
            context.stop();
            return;
        }
        self.accepted += self.topic.publish(News {
            publisher: self.number,
            number: self.published,
            at: Instant::now(),
        });
        self.published += 1;
        tell(&context.myself(), ());
    }
}

/// An actor that reads topics.
struct Subscriber {
    /// The number that comes next from each publisher.
    next: Vec<usize>,
    left: usize,
    disordered: u64,
    latencies: Vec<u64>,
    master: ActorRef<Report>,
}

impl Actor for Subscriber {
    type Message = News;

    fn handle(&mut self, news: News, _: &mut Context<'_, Self>) {
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
            tell(&self.master, report);
        }
    }
}
