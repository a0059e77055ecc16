//! The events of all processors put together: runs, waits, wake-ups.
//!
//! The events of all tracks are gone through in the order of their stamps. A fibre may be made
//! ready by one processor while it is still leaving its stack on another one; its wait is then
//! over before it begins, and takes no time. What began before the oldest event that is left is not
//! known, so a run or a wait is counted only if its beginning is there.

use crate::event::{self, Doing, Event, Rescue, What};
use crate::file::{Clock, File};
use std::collections::HashMap;

/// How a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It has not: the fibre still runs.
    Not,
    /// The fibre lets others run.
    Yields,
    /// It waits for this object.
    Waits(u64),
    /// It has ended.
    Ends,
    /// It is an activity, which rests.
    Rests,
    /// It has left for another cluster.
    Leaves,
    /// The event is not there.
    Unknown,
}

/// A fibre on a processor, from one switch to the next. Times are ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The place of the processor's track.
    pub(crate) track: usize,
    pub(crate) fibre: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) ended: Ended,
    /// The wake-up that it follows.
    pub(crate) wake: Option<usize>,
}

/// What has made a fibre ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waker {
    /// A fibre.
    Fibre(u64),
    /// An event of a descriptor.
    Event,
    /// A deadline that has passed.
    Deadline,
    /// A plain thread, by the kernel's number.
    Thread(u32),
    /// A processor, between two fibres.
    Processor,
    /// Nobody knows.
    Unknown,
}

/// A fibre made ready, or spawned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wake {
    /// The place of the track that this was recorded on.
    pub(crate) track: usize,
    pub(crate) at: u64,
    pub(crate) fibre: u64,
    pub(crate) waker: Waker,
    /// Whether the fibre is new.
    pub(crate) spawned: bool,
    /// The run that follows.
    pub(crate) run: Option<usize>,
}

/// A fibre that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) fibre: u64,
    /// What it waits for.
    pub(crate) object: u64,
    pub(crate) begin: u64,
    /// When it was made ready, or when the trace ends.
    pub(crate) end: u64,
    /// Whether it is over.
    pub(crate) over: bool,
}

/// A time when a processor slept, delivered events, or the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) track: usize,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// A mark of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) track: usize,
    pub(crate) at: u64,
    /// The fibre that ran.
    pub(crate) fibre: Option<u64>,
    /// The plain thread that left it.
    pub(crate) thread: Option<u32>,
    pub(crate) text: String,
}

/// A fibre taken from another processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steal {
    pub(crate) track: usize,
    pub(crate) at: u64,
    pub(crate) fibre: u64,
    /// The other processor's number in the cluster.
    pub(crate) victim: u32,
}

/// All that has happened.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// For each track, the first tick that it tells of.
    pub(crate) begins: Vec<u64>,
    /// The last tick.
    pub(crate) end: u64,
    pub(crate) runs: Vec<Run>,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) sleeps: Vec<Span>,
    /// Deliveries of events, with the number of events.
    pub(crate) polls: Vec<(Span, u64)>,
    pub(crate) steals: Vec<Steal>,
    pub(crate) marks: Vec<Mark>,
    /// How many thread blocks have been made, and how many have been ended.
    pub(crate) blocks: [u64; 2],
    /// What was done for processors that did not switch.
    pub(crate) rescues: Vec<Rescue>,
}

/// What is known of a fibre at some time.
#[derive(Debug, Default)]
struct Fibre {
    /// The track that it runs on.
    runs: Option<usize>,
    /// The wake-up that it has not run after.
    wake: Option<usize>,
    /// Its wait that is not over.
    wait: Option<usize>,
}

/// What is known of a processor at some time.
#[derive(Debug, Default)]
struct Processor {
    /// Its run that is not over.
    run: Option<usize>,
    /// The fibre that ran last.
    last: Option<u64>,
    /// Since when it has slept.
    sleeps: Option<u64>,
    /// Since when it has delivered the events that ended its sleep, and how many.
    delivers: Option<(u64, u64)>,
}

/// The history, while it is put together.
#[derive(Debug, Default)]
struct Teller {
    history: History,
    fibres: HashMap<u64, Fibre>,
    processors: Vec<Processor>,
}

impl History {
    /// Puts the events of a file together.
    pub(crate) fn of(file: &File) -> Self {
        let tracks = file.tracks.iter();
        let tracks: Vec<_> = tracks
            .map(|track| event::read(&track.events, track.cluster.is_some()))
            .collect();
        // Of a damaged file, the last event of a track need not be the newest.
        let newest = tracks.iter().flatten().map(|event| event.at);
        let written = file.clocks.map_or(0, |[_, end]| end.ticks);
        let end = newest.max().unwrap_or(0).max(written);
        let mut teller = Teller::default();
        teller.history.end = end;
        for events in &tracks {
            let first = events.first().map_or(end, |event| event.at);
            teller.history.begins.push(first);
            teller.processors.push(Processor::default());
        }
        let all = tracks.iter().enumerate();
        let mut all: Vec<_> = all
            .flat_map(|(track, events)| events.iter().map(move |event| (track, event)))
            .collect();
        all.sort_by_key(|(_, event)| event.at);
        for (track, event) in all {
            teller.tell(track, event);
        }
        teller.finish()
    }
}

impl Teller {
    /// Takes in one event.
    fn tell(&mut self, track: usize, event: &Event) {
        let at = event.at;
        match &event.what {
            What::Run { fibre, .. } => self.run(track, at, *fibre),
            What::Yield(fibre) => self.leave(track, at, Ended::Yields, Some(*fibre)),
            What::Block { object } => self.block(track, at, *object),
            What::End(fibre) => self.leave(track, at, Ended::Ends, Some(*fibre)),
            What::Rest(fibre) => self.leave(track, at, Ended::Rests, Some(*fibre)),
            What::Leave(fibre) => self.leave(track, at, Ended::Leaves, Some(*fibre)),
            What::Ready {
                fibre,
                doing,
                spawned,
            } => {
                if *doing == Doing::Polls {
                    self.deliver(track, at);
                }
                let waker = self.waker(track, *doing);
                self.wake(track, at, *fibre, waker, *spawned);
            }
            What::ReadyByThread {
                fibre,
                thread,
                spawned,
            } => self.wake(track, at, *fibre, Waker::Thread(*thread), *spawned),
            What::Steal { fibre, victim } => self.history.steals.push(Steal {
                track,
                at,
                fibre: *fibre,
                victim: *victim,
            }),
            What::Poll { took, events } => {
                let begin = at.saturating_sub(*took);
                let span = Span {
                    track,
                    begin,
                    end: at,
                };
                self.history.polls.push((span, *events));
            }
            What::BlockBorn => self.history.blocks[0] += 1,
            What::BlocksEnded(count) => {
                let ended = &mut self.history.blocks[1];
                *ended = ended.saturating_add(*count);
            }
            What::Rescue(rescue) => self.history.rescues.push(*rescue),
            What::Sleep => self.processors[track].sleeps = Some(at),
            What::Wake { .. } => self.end_sleep(track, at),
            What::Mark { text, thread } => {
                let fibre = self.running(track);
                self.history.marks.push(Mark {
                    track,
                    at,
                    fibre,
                    thread: *thread,
                    text: text.clone(),
                });
            }
        }
    }

    /// The fibre that runs on a processor.
    fn running(&self, track: usize) -> Option<u64> {
        self.processors[track]
            .run
            .map(|run| self.history.runs[run].fibre)
    }

    /// What makes a fibre ready on a processor that does this.
    fn waker(&self, track: usize, doing: Doing) -> Waker {
        let fibre = match doing {
            Doing::Polls => return Waker::Event,
            Doing::FiresTimers => return Waker::Deadline,
            Doing::FindsWoken => return Waker::Unknown,
            Doing::HandsOver => self.processors[track].last,
            Doing::Nothing => self.running(track),
        };
        fibre.map_or(Waker::Processor, Waker::Fibre)
    }

    /// A fibre begins to run.
    fn run(&mut self, track: usize, at: u64, fibre: u64) {
        self.leave(track, at, Ended::Unknown, None);
        let number = self.history.runs.len();
        let known = self.fibres.entry(fibre).or_default();
        known.runs = Some(track);
        if let Some(wait) = known.wait.take() {
            // Its end is not there.
            self.history.waits[wait].end = at;
        }
        let wake = known.wake.take();
        if let Some(wake) = wake {
            self.history.wakes[wake].run = Some(number);
        }
        self.processors[track].run = Some(number);
        self.history.runs.push(Run {
            track,
            fibre,
            begin: at,
            end: at,
            ended: Ended::Not,
            wake,
        });
    }

    /// The fibre that runs on a processor leaves its stack. `fibre` is the one that says so.
    fn leave(&mut self, track: usize, at: u64, ended: Ended, fibre: Option<u64>) {
        let processor = &mut self.processors[track];
        let left = processor.run.take().map(|run| {
            let run = &mut self.history.runs[run];
            run.end = at;
            run.ended = ended;
            run.fibre
        });
        let fibre = left.or(fibre);
        processor.last = fibre;
        if let Some(fibre) = fibre {
            self.fibres.entry(fibre).or_default().runs = None;
        }
    }

    /// The fibre that runs on a processor waits.
    fn block(&mut self, track: usize, at: u64, object: u64) {
        let fibre = self.running(track);
        self.leave(track, at, Ended::Waits(object), None);
        let Some(fibre) = fibre else {
            return;
        };
        let known = self.fibres.entry(fibre).or_default();
        // If it is ready already, it was made so while it was leaving.
        let over = known.wake.is_some();
        known.wait = (!over).then_some(self.history.waits.len());
        self.history.waits.push(Wait {
            fibre,
            object,
            begin: at,
            end: if over { at } else { self.history.end },
            over,
        });
    }

    /// A fibre is made ready.
    fn wake(&mut self, track: usize, at: u64, fibre: u64, waker: Waker, spawned: bool) {
        let known = self.fibres.entry(fibre).or_default();
        if let Some(wait) = known.wait.take() {
            let wait = &mut self.history.waits[wait];
            wait.end = at;
            wait.over = true;
        }
        known.wake = Some(self.history.wakes.len());
        self.history.wakes.push(Wake {
            track,
            at,
            fibre,
            waker,
            spawned,
            run: None,
        });
    }

    /// A processor delivers an event: if it slept, that is over.
    fn deliver(&mut self, track: usize, at: u64) {
        if self.processors[track].sleeps.is_some() {
            self.end_sleep(track, at);
            self.processors[track].delivers = Some((at, 0));
        }
        if let Some((_, events)) = &mut self.processors[track].delivers {
            *events += 1;
        }
    }

    /// A processor is awake.
    fn end_sleep(&mut self, track: usize, at: u64) {
        if let Some((begin, events)) = self.processors[track].delivers.take() {
            let span = Span {
                track,
                begin,
                end: at,
            };
            self.history.polls.push((span, events));
        }
        if let Some(begin) = self.processors[track].sleeps.take() {
            self.history.sleeps.push(Span {
                track,
                begin,
                end: at,
            });
        }
    }

    /// Ends what has not ended.
    fn finish(mut self) -> History {
        let end = self.history.end;
        for track in 0..self.processors.len() {
            if let Some(run) = self.processors[track].run {
                self.history.runs[run].end = end;
            }
            self.end_sleep(track, end);
        }
        self.history
    }
}

/// How ticks become nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    begin: Clock,
    end: Clock,
}

impl Scale {
    /// The scale of a file; without clocks, a tick counts as a nanosecond.
    pub(crate) fn of(file: &File) -> Self {
        let one = |ticks| Clock {
            ticks,
            monotonic: ticks,
            realtime: ticks,
        };
        let [begin, end] = file.clocks.unwrap_or([one(0), one(1)]);
        Self { begin, end }
    }

    /// So many ticks in nanoseconds.
    pub(crate) fn nanoseconds(self, ticks: u64) -> u64 {
        let (from, to) = (self.begin, self.end);
        let unit = u128::from(to.ticks.saturating_sub(from.ticks).max(1));
        let time = u128::from(to.monotonic.saturating_sub(from.monotonic));
        u64::try_from(u128::from(ticks) * time / unit).unwrap_or(u64::MAX)
    }

    /// So many nanoseconds in ticks.
    pub(crate) fn ticks(self, nanoseconds: u64) -> u64 {
        let (from, to) = (self.begin, self.end);
        let unit = u128::from(to.monotonic.saturating_sub(from.monotonic).max(1));
        let ticks = u128::from(to.ticks.saturating_sub(from.ticks));
        u64::try_from(u128::from(nanoseconds) * ticks / unit).unwrap_or(u64::MAX)
    }

    /// The moment of a tick on the kernel's monotonic clock, in nanoseconds.
    pub(crate) fn moment(self, ticks: u64) -> u64 {
        let since = ticks.saturating_sub(self.begin.ticks);
        self.begin.monotonic.saturating_add(self.nanoseconds(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Track;

    /// The word of a fibre with something beside it.
    fn of(fibre: u64, beside: u64) -> u64 {
        fibre << 22 | beside
    }

    /// The history of two processors and the plain threads, with events of kinds at times.
    fn history(tracks: [&[(u64, u64, u64)]; 3]) -> History {
        let mut file = File::default();
        for (index, events) in tracks.into_iter().enumerate() {
            let events = events.iter();
            file.tracks.push(Track {
                cluster: (index < 2).then(|| "c".into()),
                processor: index as u32,
                events: events
                    .map(|(at, kind, word)| [at << 8 | kind, *word])
                    .collect(),
                ..Track::default()
            });
        }
        History::of(&file)
    }

    #[test]
    fn the_newest_event_need_not_be_the_last() {
        let history = history([&[(70, 2, of(1, 0)), (20, 4, 16)], &[], &[]]);
        assert_eq!(history.end, 70);
        assert!(history.runs.iter().all(|run| run.begin <= run.end));
    }

    #[test]
    fn a_wake_up_ends_a_wait_and_begins_a_run() {
        let history = history([
            &[
                (10, 2, of(1, 0)),
                (20, 4, 16),
                (40, 1, of(1, 0)),
                (50, 5, of(1, 0)),
            ],
            &[(25, 1, of(2, 0)), (30, 8, of(1, 0)), (60, 3, of(2, 0))],
            &[(5, 9, of(1, 77))],
        ]);
        assert_eq!(history.waits.len(), 1);
        let wait = &history.waits[0];
        assert_eq!(
            (wait.fibre, wait.begin, wait.end, wait.over),
            (1, 20, 30, true)
        );
        let wakers: Vec<_> = history.wakes.iter().map(|wake| wake.waker).collect();
        assert_eq!(wakers, [Waker::Thread(77), Waker::Fibre(2)]);
        let runs: Vec<_> = history
            .runs
            .iter()
            .map(|run| (run.fibre, run.begin, run.end))
            .collect();
        assert_eq!(runs, [(1, 10, 20), (2, 25, 60), (1, 40, 50)]);
        assert_eq!(history.runs[2].wake, Some(1));
        assert_eq!(history.wakes[1].run, Some(2));
        assert_eq!(history.runs[0].ended, Ended::Waits(16));
    }

    #[test]
    fn a_fibre_may_be_woken_while_it_leaves() {
        let history = history([
            &[(10, 1, of(1, 0)), (30, 4, 2), (40, 1, of(1, 0))],
            &[(15, 1, of(2, 0)), (20, 8, of(1, 0))],
            &[],
        ]);
        let wait = &history.waits[0];
        assert_eq!((wait.begin, wait.end, wait.over), (30, 30, true));
        assert_eq!(history.runs[2].wake, Some(0));
    }

    #[test]
    fn a_sleep_is_over_when_events_are_delivered() {
        let history = history([
            &[
                (10, 12, 0),
                (30, 8, of(1, 1)),
                (31, 8, of(2, 1)),
                (33, 13, 0),
            ],
            &[],
            &[],
        ]);
        let span = |begin, end| Span {
            track: 0,
            begin,
            end,
        };
        assert_eq!(history.sleeps, [span(10, 30)]);
        assert_eq!(history.polls, [(span(30, 33), 2)]);
    }

    #[test]
    fn what_goes_on_at_the_end_is_shown() {
        let history = history([&[(10, 1, of(1, 0))], &[(5, 12, 0), (50, 12, 0)], &[]]);
        let run = &history.runs[0];
        assert_eq!((run.end, run.ended), (50, Ended::Not));
        assert_eq!(history.sleeps.len(), 1);
    }

    #[test]
    fn a_processor_that_is_handed_over_has_its_last_fibre_as_the_waker() {
        let history = history([
            &[
                (10, 1, of(1, 0)),
                (20, 3, of(1, 0)),
                (21, 8, of(2, 3)),
                (22, 1, of(2, 0)),
                (30, 8, of(3, 2)),
                (31, 8, of(4, 1)),
            ],
            &[(1, 8, of(5, 0))],
            &[],
        ]);
        let wakers: Vec<_> = history.wakes.iter().map(|wake| wake.waker).collect();
        let expected = [
            Waker::Processor,
            Waker::Fibre(1),
            Waker::Deadline,
            Waker::Event,
        ];
        assert_eq!(wakers, expected);
    }

    #[test]
    fn ticks_become_nanoseconds() {
        let clock = |ticks, monotonic| Clock {
            ticks,
            monotonic,
            realtime: 0,
        };
        let file = File {
            clocks: Some([clock(100, 5000), clock(300, 5100)]),
            ..File::default()
        };
        let scale = Scale::of(&file);
        assert_eq!(scale.nanoseconds(20), 10);
        assert_eq!(scale.moment(300), 5100);
        let unknown = Scale::of(&File::default());
        assert_eq!(unknown.moment(7), 7);
    }
}
