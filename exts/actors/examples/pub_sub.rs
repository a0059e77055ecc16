//! Publishers and subscribers: each message of a topic goes to all that want it, and each reader
//! keeps up as well as its mailbox says.
//!
//! `cargo run --release -p fibre-actors --example pub_sub`

use fibre_actors::{Actor, Actors, Builder, Context, Mailbox, Overflow, Reply, Topic};
use std::error::Error;
use std::time::{Duration, Instant};

/// How many publishers there are.
const PUBLISHERS: u32 = 10;
/// How many messages each publishes.
const MESSAGES: u32 = 100;
/// How many readers there are.
const READERS: u32 = 1000;

/// What is published.
#[derive(Clone)]
struct News {
    publisher: u32,
    number: u32,
    published: Instant,
}

/// What a reader is told.
enum Line {
    News(News),
    HowMany(Reply<(u32, Duration)>),
}

/// Counts what it reads.
struct Reader {
    read: u32,
    next: [u32; PUBLISHERS as usize],
    latest: Duration,
}

impl Actor for Reader {
    type Message = Line;

    fn handle(&mut self, line: Line, _: &mut Context<'_, Self>) {
        match line {
            Line::News(news) => {
                let next = &mut self.next[news.publisher as usize];
                assert_eq!(news.number, *next, "out of order");
                *next += 1;
                self.read += 1;
                self.latest = self.latest.max(news.published.elapsed());
            }
            Line::HowMany(reply) => reply.send((self.read, self.latest)),
        }
    }
}

/// Shows the latest news only, when it has the time.
struct Ticker;

impl Actor for Ticker {
    type Message = News;

    fn handle(&mut self, news: News, _: &mut Context<'_, Self>) {
        println!("ticker: {} of publisher {}", news.number, news.publisher);
        fibre::sleep(Duration::from_millis(5));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let actors = Actors::builder().build()?;
    let topics = [Topic::new(), Topic::new()];
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let reader = actors.spawn(Reader {
                read: 0,
                next: [0; PUBLISHERS as usize],
                latest: Duration::ZERO,
            });
            for topic in &topics {
                topic.subscribe_with(&reader, Line::News);
            }
            reader
        })
        .collect();
    let latest_only = Mailbox::bounded(1, Overflow::DropOldest);
    let ticker = Builder::new()
        .mailbox(latest_only)
        .spawn_in(&actors, Ticker)?;
    topics[0].subscribe(&ticker);

    let begin = Instant::now();
    let publishers: Vec<_> = (0..PUBLISHERS)
        .map(|publisher| {
            let topic = topics[publisher as usize % 2].clone();
            fibre::spawn(move || {
                for number in 0..MESSAGES {
                    topic.publish(News {
                        publisher,
                        number,
                        published: Instant::now(),
                    });
                }
            })
        })
        .collect();
    for publisher in publishers {
        publisher.join().map_err(|_| "a publisher has panicked")?;
    }
    let (mut read, mut latest) = (0, Duration::ZERO);
    for reader in &readers {
        let (of_it, late) = reader.ask(Line::HowMany)?;
        read += of_it;
        latest = latest.max(late);
    }
    let took = begin.elapsed();
    println!("{read} deliveries in {took:?}, the latest after {latest:?}");
    println!("the ticker has left out {}", ticker.dropped());
    assert_eq!(read, PUBLISHERS * MESSAGES * READERS);
    ticker.kill();
    actors.stop();
    Ok(())
}
