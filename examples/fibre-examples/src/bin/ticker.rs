//! An actor topic that reaches over several processes, by Redis.
//!
//! ```sh
//! cargo run --release -p fibre-examples --bin ticker -- --broker redis://127.0.0.1/   # twice
//! ```
//!
//! Each process has a topic of its own. What is published on it comes from Redis; what a process
//! wants to publish goes there: a line of its standard input, here. So actors of all processes get
//! the same messages in the same order. Each is printed behind its position in the stream. A
//! process that died goes on with `--after POSITION`, the last one that it printed.

use std::io::{self, BufRead};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use fibre::Cluster;
use fibre_actors::{Actor, ActorRef, Context, Reply, Topic};
use fibre_examples::broker::{Broker, BrokerOptions, Message, Position};
use fibre_examples::exit_code;
use fibre_examples::server::announce;

/// The topic's name at the broker.
const TICKS: &str = "ticks";

/// How long a line may wait until the broker has taken those before it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Publishes lines, and prints those of all processes, until the standard input ends.
#[derive(Parser)]
#[command(version, name = "ticker")]
struct Options {
    /// Begin behind this message
    #[arg(long, value_name = "POSITION")]
    after: Option<Position>,

    /// The broker
    #[command(flatten)]
    broker: BrokerOptions,
}

/// What the printing actor is told.
enum News {
    /// A message.
    Tick(Message),
    /// To say when all before has been printed.
    Flush(Reply<()>),
}

/// An actor that prints what is published.
struct Printer;

impl Actor for Printer {
    type Message = News;

    fn handle(&mut self, news: News, _: &mut Context<'_, Self>) {
        match news {
            News::Flush(reply) => reply.send(()),
            News::Tick(message) => {
                let position = message.position.map(|position| position.to_string());
                let line = format!("{} {}", position.unwrap_or_default(), message.text);
                // The reader has gone.
                let _ = announce(line.trim_start());
            }
        }
    }
}

fn main() -> ExitCode {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
    unsafe { fibre_libc::install() };
    exit_code("ticker", run(&Options::parse()))
}

/// Publishes and prints, and returns how many fibres outlived it.
fn run(options: &Options) -> io::Result<usize> {
    let cluster = Cluster::builder().name("ticker").build()?;
    let topic = Topic::new();
    let printer: ActorRef<News> = fibre_actors::spawn(Printer);
    topic.subscribe_with(&printer, News::Tick);
    let deliver = move |message: Message| {
        if message.topic == TICKS {
            topic.publish(message);
        }
    };
    let broker = Broker::follow(&cluster, &options.broker, options.after, deliver)?;
    let broker = broker.ok_or_else(|| io::Error::other("--broker is missing"))?;
    announce("following")?;
    for line in io::stdin().lock().lines() {
        let published = broker.publish(TICKS, line?, PATIENCE);
        published.map_err(|_| io::Error::other("the broker takes nothing"))?;
    }
    broker.close();
    let _ = printer.ask(News::Flush);
    let stopped = cluster.stop_within(PATIENCE, PATIENCE);
    Ok(stopped.map_or_else(|error| error.left.len() + error.unseen, |()| 0))
}
