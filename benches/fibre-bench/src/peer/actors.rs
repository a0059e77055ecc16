//! Ours with actors: the programs of [`crate::actors`] as workloads.
//!
//! The usual way is the cluster's own scheduling; the variants are the policies of the thesis. A
//! repetition runs a program again and again in one cluster, spawning and stopping included, and
//! checks each outcome.

use std::io;
use std::time::{Duration, Instant};

use fibre_actors::{Actors, Policy};

use super::ask;
use super::calibrate::calibrate;
use super::protocol::{Arguments, Basic, Parameters, Refusal, Workload};
use super::rest;
use crate::actors::Program;
use crate::actors::apsp::Apsp;
use crate::actors::bang::Bang;
use crate::actors::big::Big;
use crate::actors::cdict::CDict;
use crate::actors::chat::Chat;
use crate::actors::csll::CSll;
use crate::actors::logm::LogM;
use crate::actors::nqn::{MOST_ROWS, NQn};
use crate::actors::pubsub::PubSub;
use crate::actors::quantiles;
use crate::actors::trapr::TrapR;
use crate::measure::{Sample, Stopwatch};

/// What this peer is measured with beside fibres.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        of::<Big>("big"),
        of::<Bang>("bang"),
        of::<LogM>("logm"),
        of::<Apsp>("apsp"),
        of::<CDict>("cdict"),
        of::<CSll>("csll"),
        of::<NQn>("nqn"),
        of::<TrapR>("trapr"),
        of::<PubSub>("pubsub"),
        Workload::new("rest", rest::<Usual>)
            .variant("random", rest::<Random>)
            .variant("local", rest::<Local>)
            .variant("affine", rest::<Affine>),
        Workload::new("chat", chat::<Usual>)
            .variant("random", chat::<Random>)
            .variant("local", chat::<Local>)
            .variant("affine", chat::<Affine>),
    ]
}

/// The workload of questions and answers.
pub(crate) fn ask() -> Workload {
    Workload::new("ask", question::<Usual>)
        .variant("random", question::<Random>)
        .variant("local", question::<Local>)
        .variant("affine", question::<Affine>)
}

/// The workload of a program, with a variant for each policy.
fn of<P: Readable>(name: &'static str) -> Workload {
    Workload::new(name, run::<P, Usual>)
        .variant("random", run::<P, Random>)
        .variant("local", run::<P, Local>)
        .variant("affine", run::<P, Affine>)
}

/// How actors are scheduled.
trait Scheduling: 'static {
    /// The policy, if it is not the cluster's own way.
    const POLICY: Option<Policy>;

    /// Starts a cluster for actors.
    fn start(processors: usize) -> io::Result<Actors> {
        let builder = Actors::builder().processors(processors);
        match Self::POLICY {
            Some(policy) => builder.policy(policy).build(),
            None => builder.build(),
        }
    }
}

/// The way of other fibres.
struct Usual;
/// [`Policy::RandomStealing`].
struct Random;
/// [`Policy::LocalityLocal`].
struct Local;
/// [`Policy::LocalityAffine`].
struct Affine;

impl Scheduling for Usual {
    const POLICY: Option<Policy> = None;
}

impl Scheduling for Random {
    const POLICY: Option<Policy> = Some(Policy::RandomStealing);
}

impl Scheduling for Local {
    const POLICY: Option<Policy> = Some(Policy::LocalityLocal);
}

impl Scheduling for Affine {
    const POLICY: Option<Policy> = Some(Policy::LocalityAffine);
}

/// What a workload can be told, if its program has parameters of its own.
pub(crate) struct Told<P> {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// The program with its parameters.
    pub(crate) program: P,
}

/// A program with parameters that can be read from the command line.
pub(crate) trait Readable: Program {
    /// Takes them; those that are not given are the default's.
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal>;
}

impl<P: Readable> Parameters for Told<P> {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            program: P::read(arguments)?,
        })
    }
}

/// Takes the number of a kind of things.
fn count(arguments: &mut Arguments, key: &str, default: usize) -> Result<usize, Refusal> {
    let count = arguments.count(key, default as u64)?;
    usize::try_from(count).map_err(|_| Refusal(format!("{key}={count} is too many")))
}

impl Readable for Big {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let players = count(arguments, "players", Self::default().players)?;
        Ok(Self { players })
    }
}

impl Readable for Bang {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        Ok(Self {
            senders: count(arguments, "senders", usual.senders)?,
            numbers: arguments.count("numbers", usual.numbers)?,
        })
    }
}

impl Readable for LogM {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        Ok(Self {
            terms: arguments.count("terms", usual.terms)?,
            series: count(arguments, "series", usual.series)?,
        })
    }
}

impl Readable for Apsp {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        Ok(Self {
            nodes: count(arguments, "nodes", usual.nodes)?,
            block: count(arguments, "block", usual.block)?,
            weight: arguments.count("weight", usual.weight)?,
            seed: arguments.number("seed", usual.seed)?,
        })
    }
}

impl Readable for CDict {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        Ok(Self {
            workers: count(arguments, "workers", usual.workers)?,
            questions: arguments.count("questions", usual.questions)?,
            writes: arguments.number("writes", usual.writes)?,
            words: count(arguments, "words", usual.words)?,
            preload: arguments.number("preload", usual.preload)?,
            seed: arguments.number("seed", usual.seed)?,
        })
    }
}

impl Readable for CSll {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        Ok(Self {
            workers: count(arguments, "workers", usual.workers)?,
            questions: arguments.count("questions", usual.questions)?,
            writes: arguments.number("writes", usual.writes)?,
            sizes: arguments.number("sizes", usual.sizes)?,
            seed: arguments.number("seed", usual.seed)?,
        })
    }
}

impl Readable for NQn {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        let size = count(arguments, "size", usual.size)?;
        if size > MOST_ROWS {
            return Err(Refusal(format!("size={size} is more than {MOST_ROWS}")));
        }
        Ok(Self {
            workers: count(arguments, "workers", usual.workers)?,
            size,
            threshold: count(arguments, "threshold", usual.threshold)?,
            ..usual
        })
    }
}

impl Readable for TrapR {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        Ok(Self {
            pieces: arguments.count("pieces", usual.pieces)?,
            workers: arguments.count("workers", usual.workers)?,
        })
    }
}

impl Readable for PubSub {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Self::default();
        Ok(Self {
            publishers: count(arguments, "publishers", usual.publishers)?,
            subscribers: count(arguments, "subscribers", usual.subscribers)?,
            topics: count(arguments, "topics", usual.topics)?,
            messages: count(arguments, "messages", usual.messages)?,
        })
    }
}

/// Runs a program as a workload.
fn run<P: Readable, S: Scheduling>(told: Told<P>) -> anyhow::Result<Sample> {
    let actors = S::start(told.processors)?;
    let sample = repeat(&told.program, told.seconds, || told.program.run(&actors))?;
    actors.stop();
    Ok(sample)
}

/// Makes runs of a program until they are long enough. An operation is a message; the values are
/// those of the last run, and `run_ms` is how long the shortest took.
pub(crate) fn repeat<P: Program>(
    program: &P,
    seconds: f64,
    mut run: impl FnMut() -> anyhow::Result<P::Outcome>,
) -> anyhow::Result<Sample> {
    let messages = program.messages();
    calibrate(seconds, messages, |operations| {
        let runs = operations.div_ceil(messages);
        let mut outcomes = Vec::new();
        let mut shortest = Duration::MAX;
        let watch = Stopwatch::start()?;
        for _ in 0..runs {
            let begin = Instant::now();
            outcomes.push(run()?);
            shortest = shortest.min(begin.elapsed());
        }
        let mut sample = watch.stop(runs * messages)?;
        for outcome in &outcomes {
            program.check(outcome)?;
            for (name, value) in program.values(outcome) {
                sample = sample.with(name, value);
            }
        }
        Ok(sample.with("run_ms", shortest.as_secs_f64() * 1e3))
    })
}

/// Makes an actor ask another.
fn question<S: Scheduling>(told: Basic) -> anyhow::Result<Sample> {
    let actors = S::start(told.processors)?;
    let sample = ask::measure(told.seconds, |questions| ask::ours(&actors, questions))?;
    actors.stop();
    Ok(sample)
}

/// Leaves actors at rest.
fn rest<S: Scheduling>(told: rest::Told) -> anyhow::Result<Sample> {
    let actors = S::start(told.processors)?;
    let sample = rest::ours(&actors, &told)?;
    actors.stop();
    Ok(sample)
}

/// What the chat server can be told.
struct ToldChat {
    /// Kernel threads for fibres.
    processors: usize,
    /// The server and its load.
    chat: Chat,
}

impl Parameters for ToldChat {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let usual = Chat::default();
        let millis = arguments.count("period_ms", usual.period.as_millis() as u64)?;
        let period = Duration::from_millis(millis);
        let time = Duration::from_secs_f64(arguments.seconds(usual.time.as_secs_f64()));
        let chat = Chat {
            users: count(arguments, "users", usual.users)?,
            groups: count(arguments, "groups", usual.groups)?,
            friends: count(arguments, "friends", usual.friends)?,
            memberships: count(arguments, "memberships", usual.memberships)?,
            blocked: count(arguments, "blocked", usual.blocked)?,
            to_groups: arguments.number("to_groups", usual.to_groups)?,
            length: count(arguments, "length", usual.length)?,
            period,
            // In less, there are users that write nothing.
            time: time.max(period),
            caches: count(arguments, "caches", usual.caches)?,
            seed: arguments.number("seed", usual.seed)?,
        };
        Ok(Self {
            processors: arguments.processors,
            chat,
        })
    }
}

/// Runs the chat server once. An operation is a delivery.
fn chat<S: Scheduling>(told: ToldChat) -> anyhow::Result<Sample> {
    let actors = S::start(told.processors)?;
    let watch = Stopwatch::start()?;
    let outcome = told.chat.run(&actors)?;
    let sample = watch.stop(outcome.delivered)?;
    actors.stop();
    told.chat.check(&outcome)?;
    let sample = quantiles::add(sample, &outcome.latency);
    Ok(sample
        .with("deliveries_per_s", outcome.rate())
        .with("sent", outcome.sent() as f64)
        .with("blocked", outcome.blocked as f64)
        .with("rss_bytes", outcome.resident as f64))
}
