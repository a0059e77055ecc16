//! Ours with coloured events: the programs of [`crate::events`] as workloads.
//!
//! The usual way is the default policy, which steals by the time left; the variants are other
//! policies, and for `table2` the steps of the paper.

use fibre_events::{Events, EventsBuilder, Policy, Report};

use super::calibrate::calibrate;
use super::protocol::{Arguments, Parameters, Refusal, Workload};
use crate::events::cache_efficient::{self, CacheEfficient};
use crate::events::penalty::{self, Penalty};
use crate::events::table2::Table2;
use crate::events::unbalanced::Unbalanced;
use crate::measure::{Sample, Stopwatch};

/// What this peer is measured with beside fibres.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("unbalanced", unbalanced::<TimeLeft>)
            .variant("libasync-alone", unbalanced::<LibasyncAlone>)
            .variant("libasync", unbalanced::<Libasync>)
            .variant("alone", unbalanced::<Alone>)
            .variant("base", unbalanced::<Base>),
        Workload::new("table2", table2::<Libasync>)
            .variant("one-queue", table2::<OneQueue>)
            .variant("queues", table2::<Queues>)
            .variant("free-lists", table2::<LibasyncAlone>),
        Workload::new("penalty", penalty::<TimeLeft>)
            .variant("libasync-alone", penalty::<LibasyncAlone>)
            .variant("libasync", penalty::<Libasync>)
            .variant("base", penalty::<Base>)
            .variant("no-penalties", penalty::<NoPenalties>),
        Workload::new("cache_efficient", cache_efficient::<Local>)
            .variant("libasync-alone", cache_efficient::<LibasyncAlone>)
            .variant("libasync", cache_efficient::<Libasync>)
            .variant("base", cache_efficient::<Base>)
            .variant("anywhere", cache_efficient::<TimeLeft>),
    ]
}

/// How events are scheduled.
trait Scheduling: 'static {
    /// Chooses that.
    fn choose(builder: EventsBuilder) -> EventsBuilder;
}

/// Declares ways of scheduling.
macro_rules! schedulings {
    ($($(#[$about:meta])* $name:ident: $builder:ident => $chosen:expr;)+) => {
        $(
            $(#[$about])*
            struct $name;

            impl Scheduling for $name {
                fn choose($builder: EventsBuilder) -> EventsBuilder {
                    $chosen
                }
            }
        )+
    };
}

schedulings! {
    /// Mely's stealing by the time left.
    TimeLeft: builder => builder.policy(Policy::TimeLeft);
    /// The same without penalties of handlers.
    NoPenalties: builder => TimeLeft::choose(builder).penalties(false);
    /// The same from the nearest processor first.
    Local: builder => TimeLeft::choose(builder).locality(true);
    /// Mely's queues, and the choice of libasync-smp.
    Base: builder => builder.policy(Policy::MelyBase);
    /// Mely's queues without stealing.
    Alone: builder => builder.policy(Policy::Off);
    /// Queues and choice of libasync-smp: all four steps of its table 2.
    Libasync: builder => builder.policy(Policy::Libasync);
    /// The queues of libasync-smp without stealing.
    LibasyncAlone: builder => Libasync::choose(builder).stealing(false);
    /// Without free lists either.
    Queues: builder => LibasyncAlone::choose(builder).free_lists(false).remembered(0);
    /// One queue for all processors.
    OneQueue: builder => Queues::choose(builder).one_queue(true);
}

/// What these workloads can be told.
struct Told {
    /// Kernel threads for fibres.
    processors: usize,
    /// CPU time of the last round.
    seconds: f64,
    /// Events of a round, or of a colour.
    events: Option<u64>,
}

impl Parameters for Told {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let events = arguments.count("events", 0)?;
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            events: Some(events).filter(|events| *events > 0),
        })
    }
}

/// Runs rounds of events that all begin on one processor. An operation is an event.
fn unbalanced<S: Scheduling>(told: Told) -> anyhow::Result<Sample> {
    let usual = Unbalanced::default();
    let events = told.events.unwrap_or(usual.events);
    calibrate(told.seconds, events, |operations| {
        let rounds = operations.div_ceil(events);
        let program = Unbalanced { events, rounds };
        let all = S::choose(Events::builder().processors(told.processors)).build()?;
        let watch = Stopwatch::start()?;
        let outcome = program.run(&all)?;
        let sample = watch.stop(rounds * events)?;
        let thefts = outcome.report.thefts.max(1) as f64;
        let stolen = outcome.stolen_cycles as f64 / thefts;
        Ok(with_thefts(sample, &outcome.report).with("stolen_cycles", stolen))
    })
}

/// Runs colours that go on by themselves. An operation is an event.
fn table2<S: Scheduling>(told: Told) -> anyhow::Result<Sample> {
    let usual = Table2::default();
    let links = told.events.unwrap_or(usual.links);
    calibrate(told.seconds, usual.colours * links, |operations| {
        let links = operations.div_ceil(usual.colours);
        let program = Table2 { links, ..usual };
        let all = S::choose(Events::builder().processors(told.processors)).build()?;
        let watch = Stopwatch::start()?;
        let report = program.run(&all)?;
        Ok(with_thefts(watch.stop(links * usual.colours)?, &report))
    })
}

/// Runs rounds of arrays that are made and read. An operation is an event.
fn penalty<S: Scheduling>(told: Told) -> anyhow::Result<Sample> {
    let usual = Penalty::default();
    let arrays = told.events.unwrap_or(usual.arrays);
    let events = arrays * penalty::EVENTS;
    calibrate(told.seconds, events, |operations| {
        let rounds = operations.div_ceil(events);
        let program = Penalty { arrays, rounds };
        let all = S::choose(Events::builder().processors(told.processors)).build()?;
        let watch = Stopwatch::start()?;
        let outcome = program.run(&all)?;
        let sample = watch.stop(rounds * events)?;
        let reads = rounds * arrays * (penalty::EVENTS - 1);
        let moved = 100.0 * outcome.moved as f64 / reads as f64;
        Ok(with_thefts(sample, &outcome.report).with("moved", moved))
    })
}

/// Runs rounds of arrays with sorted halves. An operation is an event.
fn cache_efficient<S: Scheduling>(told: Told) -> anyhow::Result<Sample> {
    let usual = CacheEfficient::default();
    let arrays = told.events.unwrap_or(usual.arrays);
    let of_round = CacheEfficient { arrays, rounds: 1 }.of_round(told.processors as u64);
    let events = of_round * cache_efficient::EVENTS;
    calibrate(told.seconds, events, |operations| {
        let rounds = operations.div_ceil(events);
        let program = CacheEfficient { arrays, rounds };
        let all = S::choose(Events::builder().processors(told.processors)).build()?;
        let watch = Stopwatch::start()?;
        let outcome = program.run(&all)?;
        let sample = watch.stop(rounds * events)?;
        let moved = 100.0 * outcome.moved as f64 / (2 * rounds * of_round) as f64;
        Ok(with_thefts(sample, &outcome.report).with("moved", moved))
    })
}

/// Adds what was stolen to a sample.
fn with_thefts(sample: Sample, report: &Report) -> Sample {
    let thefts = report.thefts as f64;
    let rate = 1e6 / sample.wall_ns;
    let cost = report.theft_time.as_nanos() as f64 / thefts.max(1.0);
    sample
        .with("kev_per_s", rate)
        .with("thefts", thefts)
        .with("theft_ns", cost)
}
