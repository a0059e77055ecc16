//! Messages between the processes of one service, by a Redis server that all of them use.
//!
//! A runtime ends at its machine. What is published here goes to Redis, and comes back from there
//! to every process that follows, the publisher's own included: so all of them see all messages in
//! one order. Redis is spoken to by its blocking client, on fibres by `fibre-libc`.
//!
//! | `--by` | Redis calls it | what is lost |
//! |---|---|---|
//! | `streams` | `XADD`, `XREAD` | nothing, while Redis keeps it: who was away reads on from the last message it has seen. A message may come twice: one that Redis took and did not acknowledge is sent again |
//! | `channels` | `PUBLISH`, `SUBSCRIBE` | what is published while a process is away, and what Redis did not acknowledge. Nothing comes twice |
//!
//! The program's `main` has to call `fibre_libc::install` first. Three kinds of fibres speak to
//! Redis, each on a connection of its own: one that writes, in batches; one that follows; and those
//! that [`replay`](Broker::replay) what somebody has missed.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fibre::channel::{Receiver, Sender, bounded};
use fibre::sync::{Mutex, Semaphore};
use fibre::{Builder, CancelToken, Cluster, JoinHandle};
use redis::streams::{StreamId, StreamRangeReply, StreamReadReply};
use redis::{Client, Cmd, Connection, Pipeline, RedisError, RedisResult};

use crate::options::{at_least_one, seconds};

/// The stream, or the channel.
const KEY: &str = "fibre:messages";

/// Messages that wait to be written, at most; and those written at a time.
const OUTGOING: usize = 1024;
const BATCH: usize = 128;

/// Messages read at a time.
const READ: usize = 512;

/// Fibres that replay at a time; others wait.
const REPLAYS: usize = 16;

/// The pauses between attempts to reach Redis: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// How long what is still to be written at the end may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A stream, which Redis keeps: at least once
    Streams,
    /// A channel, which hands on and forgets: at most once
    Channels,
}

/// Where Redis is, and what to ask of it.
#[derive(Args, Debug)]
pub struct BrokerOptions {
    /// The Redis server that the processes of the service have in common
    #[arg(long, value_name = "URL")]
    broker: Option<String>,

    /// How messages travel
    #[arg(long, value_enum, default_value = "streams")]
    by: By,

    /// How many messages a stream keeps, or some more
    #[arg(long, default_value_t = 100_000, value_parser = at_least_one)]
    keep: usize,

    /// Seconds that Redis may take for an answer
    #[arg(long, default_value = "5", value_parser = seconds)]
    broker_timeout: Duration,
}

/// The place of a message in the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Redis' clock when it took the message, in milliseconds.
    time: u64,
    /// How many it had taken in that millisecond.
    number: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.time, self.number)
    }
}

impl FromStr for Position {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let parts = text.split_once('-');
        let parts = parts.and_then(|(time, number)| Some((time.parse(), number.parse().ok()?)));
        match parts {
            Some((Ok(time), number)) => Ok(Self { time, number }),
            _ => Err(io::Error::other(format!(
                "no position in a stream: {text:?}"
            ))),
        }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place in the stream, if it came by one.
    pub position: Option<Position>,
    /// What it is about.
    pub topic: String,
    /// What it says.
    pub text: String,
}

/// A message that nobody took in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overloaded;

/// The connections of this process to the broker.
pub struct Broker {
    /// Where it is.
    server: Arc<Server>,
    /// The way to the fibre that writes.
    outgoing: Sender<Draft>,
    /// Places for fibres that replay.
    replays: Semaphore,
    /// What ends the fibres.
    stop: CancelToken,
    /// The fibres, until they are joined.
    fibres: Mutex<Vec<JoinHandle<()>>>,
}

/// A message that is to be written: topic and text.
type Draft = (String, String);

/// The broker, as its fibres see it.
struct Server {
    /// What opens connections.
    client: Client,
    /// How messages travel.
    by: By,
    /// How many the stream keeps.
    keep: usize,
    /// How long an answer may take.
    timeout: Duration,
}

impl Broker {
    /// Follows the broker that the options name, if they do: calls `deliver` with each message, in
    /// the broker's order, in a fibre of the cluster. With a position it begins behind that,
    /// else with what is published from now on. Blocks the thread until the broker has answered.
    ///
    /// # Errors
    ///
    /// If the address is not one of Redis, or the broker cannot be reached.
    pub fn follow(
        cluster: &Cluster,
        options: &BrokerOptions,
        after: Option<Position>,
        deliver: impl Fn(Message) + Send + 'static,
    ) -> io::Result<Option<Arc<Self>>> {
        let Some(url) = &options.broker else {
            return Ok(None);
        };
        let server = Arc::new(Server {
            client: Client::open(url.as_str()).map_err(into_io)?,
            by: options.by,
            keep: options.keep,
            timeout: options.broker_timeout,
        });
        let stop = CancelToken::new();
        let builder = |name: &str| Builder::new().name(name).cancel_token(&stop);
        let (outgoing, drafts) = bounded(OUTGOING);
        let writes = Arc::clone(&server);
        let writer = move || {
            // It ends with its channel; what waits there has until the token's limit.
            let _ = fibre::graceful(|| writes.write_all(&drafts));
        };
        let writer = builder("broker-writer").spawn_in(cluster, writer)?;
        let (begun, has_begun) = bounded(1);
        let reads = Arc::clone(&server);
        let reader = move || reads.read_all(after, &begun, &deliver);
        let reader = builder("broker-reader").spawn_in(cluster, reader)?;
        let broker = Self {
            server,
            outgoing,
            replays: Semaphore::new(REPLAYS),
            stop,
            fibres: Mutex::new(vec![writer, reader]),
        };
        let first = has_begun.recv().unwrap_or_else(|_| Err(gone()));
        if let Err(error) = first {
            broker.close();
            return Err(error);
        }
        Ok(Some(Arc::new(broker)))
    }

    /// Publishes a message. Blocks the fibre while too many wait to be written, for as long as
    /// `timeout` says.
    ///
    /// # Errors
    ///
    /// If they still do; then the message is not published.
    pub fn publish(&self, topic: &str, text: String, timeout: Duration) -> Result<(), Overloaded> {
        let draft = (topic.to_owned(), text);
        let sent = self.outgoing.send_timeout(draft, timeout);
        sent.map_err(|_| Overloaded)
    }

    /// Whether messages are kept, and can be replayed.
    pub fn keeps(&self) -> bool {
        self.server.by == By::Streams
    }

    /// Calls `deliver` with the messages of a topic behind a position, as far as they are kept.
    /// Returns the position of the last message that was looked at. Blocks the fibre.
    ///
    /// # Errors
    ///
    /// Those of the broker, and of `deliver`.
    pub fn replay(
        &self,
        topic: &str,
        after: Position,
        mut deliver: impl FnMut(Message) -> io::Result<()>,
    ) -> io::Result<Position> {
        let _place = self.replays.permit();
        let mut connection = self.server.open().map_err(into_io)?;
        let mut last = after;
        loop {
            let mut ask = Cmd::new();
            ask.arg("XRANGE").arg(KEY).arg(format!("({last}")).arg("+");
            let kept: StreamRangeReply = ask
                .arg("COUNT")
                .arg(READ)
                .query(&mut connection)
                .map_err(into_io)?;
            if kept.ids.is_empty() {
                return Ok(last);
            }
            for entry in &kept.ids {
                let message = message(entry)?;
                last = message.position.unwrap_or(last);
                if message.topic == topic {
                    deliver(message)?;
                }
            }
        }
    }

    /// Writes what waits, for a second at most, and ends the fibres. Blocks the fibre, or the
    /// thread if the caller is not a fibre.
    pub fn close(&self) {
        self.outgoing.close();
        // Fails for a limit beyond what a clock can show.
        let _ = self.stop.cancel_within(FAREWELL);
        for fibre in std::mem::take(&mut *self.fibres.lock()) {
            // Its panic has been reported.
            let _ = fibre.join();
        }
    }
}

impl Server {
    /// Opens a connection.
    fn open(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(self.timeout)?;
        connection.set_read_timeout(Some(self.timeout))?;
        connection.set_write_timeout(Some(self.timeout))?;
        Ok(connection)
    }

    /// Writes what comes until nothing can: the life of the fibre that writes.
    fn write_all(&self, drafts: &Receiver<Draft>) {
        let mut connection = None;
        let mut batch = Vec::new();
        let mut pause = Pause::default();
        loop {
            if batch.is_empty() {
                let Ok(draft) = drafts.recv() else { return };
                batch.push(draft);
            }
            while batch.len() < BATCH
                && let Ok(draft) = drafts.try_recv()
            {
                batch.push(draft);
            }
            match self.write(&mut connection, &batch) {
                Ok(()) => {
                    batch.clear();
                    pause = Pause::default();
                }
                Err(error) if fibre::is_cancelled() => return complain("left unwritten", &error),
                Err(error) => {
                    connection = None;
                    complain("writing", &error);
                    if self.by == By::Channels {
                        batch.clear();
                    }
                    pause.sleep();
                }
            }
        }
    }

    /// Writes a batch in one piece and waits for the acknowledgements.
    fn write(&self, open: &mut Option<Connection>, batch: &[Draft]) -> RedisResult<()> {
        let connection = match open {
            Some(connection) => connection,
            None => open.insert(self.open()?),
        };
        let mut pipeline = Pipeline::new();
        for (topic, text) in batch {
            match self.by {
                By::Streams => pipeline
                    .cmd("XADD")
                    .arg(KEY)
                    .arg("MAXLEN")
                    .arg("~")
                    .arg(self.keep)
                    .arg("*")
                    .arg("topic")
                    .arg(topic)
                    .arg("text")
                    .arg(text)
                    .ignore(),
                By::Channels => pipeline
                    .cmd("PUBLISH")
                    .arg(KEY)
                    .arg(format!("{topic}\n{text}"))
                    .ignore(),
            };
        }
        pipeline.exec(connection)
    }

    /// Delivers what comes until it is cancelled: the life of the fibre that follows. It says once
    /// how its first attempt to begin went, and ends if that failed.
    fn read_all(
        &self,
        after: Option<Position>,
        begun: &Sender<io::Result<()>>,
        deliver: &impl Fn(Message),
    ) {
        let mut last = after;
        let mut has_begun = false;
        let mut pause = Pause::default();
        loop {
            let mut begin = || {
                pause = Pause::default();
                if !std::mem::replace(&mut has_begun, true) {
                    let _ = begun.send(Ok(()));
                }
            };
            let ended = match self.by {
                By::Streams => self.read_stream(&mut last, &mut begin, deliver),
                By::Channels => self.read_channel(&mut begin, deliver),
            };
            let Err(error) = ended;
            if fibre::is_cancelled() {
                return;
            }
            if !has_begun {
                let _ = begun.send(Err(error));
                return;
            }
            complain("reading", &error);
            pause.sleep();
        }
    }

    /// Reads the stream, from behind the last message that has been seen.
    fn read_stream(
        &self,
        last: &mut Option<Position>,
        begin: &mut impl FnMut(),
        deliver: &impl Fn(Message),
    ) -> io::Result<std::convert::Infallible> {
        let mut connection = self.open().map_err(into_io)?;
        let mut after = match *last {
            Some(last) => last,
            None => newest(&mut connection)?,
        };
        begin();
        // It answers by then, so that a broker that is silent is noticed.
        let block = self.timeout.as_millis() as u64 / 2;
        loop {
            *last = Some(after);
            let mut ask = Cmd::new();
            ask.arg("XREAD")
                .arg("COUNT")
                .arg(READ)
                .arg("BLOCK")
                .arg(block);
            let ask = ask.arg("STREAMS").arg(KEY).arg(after.to_string());
            let news: Option<StreamReadReply> = ask.query(&mut connection).map_err(into_io)?;
            let streams = news.into_iter().flat_map(|news| news.keys);
            for entry in streams.flat_map(|stream| stream.ids) {
                let message = message(&entry)?;
                after = message.position.unwrap_or(after);
                deliver(message);
            }
        }
    }

    /// Reads the channel.
    fn read_channel(
        &self,
        begin: &mut impl FnMut(),
        deliver: &impl Fn(Message),
    ) -> io::Result<std::convert::Infallible> {
        let mut connection = self.open().map_err(into_io)?;
        let mut channel = connection.as_pubsub();
        channel.subscribe(KEY).map_err(into_io)?;
        begin();
        loop {
            match channel.get_message() {
                Ok(news) => {
                    let text: String = news.get_payload().map_err(into_io)?;
                    let Some((topic, text)) = text.split_once('\n') else {
                        return Err(io::Error::other(format!("no topic: {text:?}")));
                    };
                    let (topic, text) = (topic.to_owned(), text.to_owned());
                    let position = None;
                    deliver(Message {
                        position,
                        topic,
                        text,
                    });
                }
                // Silence, of the broker or of everybody else.
                Err(error) if error.is_timeout() && !fibre::is_cancelled() => {
                    let _: redis::Value = channel.ping().map_err(into_io)?;
                }
                Err(error) => return Err(into_io(error)),
            }
        }
    }
}

/// The position of the newest message in the stream.
fn newest(connection: &mut Connection) -> io::Result<Position> {
    let mut ask = Cmd::new();
    let ask = ask
        .arg("XREVRANGE")
        .arg(KEY)
        .arg("+")
        .arg("-")
        .arg("COUNT")
        .arg(1);
    let newest: StreamRangeReply = ask.query(connection).map_err(into_io)?;
    newest
        .ids
        .first()
        .map_or(Ok(Position::default()), |entry| entry.id.parse())
}

/// The message in an entry of the stream.
fn message(entry: &StreamId) -> io::Result<Message> {
    let field = |name| {
        let value = entry.get(name);
        value.ok_or_else(|| io::Error::other(format!("an entry without its {name}")))
    };
    Ok(Message {
        position: Some(entry.id.parse()?),
        topic: field("topic")?,
        text: field("text")?,
    })
}

/// The pauses between attempts, each twice the one before.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(PAUSES[0])
    }
}

impl Pause {
    /// Sleeps, unless the fibre is cancelled. Blocks the fibre.
    fn sleep(&mut self) {
        // Whoever called looks whether it is cancelled.
        let _ = fibre::sleep_within(self.0);
        self.0 = PAUSES[1].min(2 * self.0);
    }
}

/// Says on standard error what went wrong; the caller tries again.
fn complain(doing: &str, error: &impl fmt::Display) {
    eprintln!("broker: {doing}: {error}");
}

/// The error of a broker that has ended before it had begun.
fn gone() -> io::Error {
    io::Error::other("the reader has ended")
}

/// An error of Redis among those of the operating system.
fn into_io(error: RedisError) -> io::Error {
    io::Error::other(error)
}
