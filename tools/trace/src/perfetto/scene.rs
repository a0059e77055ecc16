//! What is drawn, and on what track.

use super::packets::{Details, Packets};
use crate::awaited;
use crate::file::{File, Track};
use crate::history::{Ended, History, Mark, Scale, Wake, Waker};
use std::collections::{HashMap, HashSet};

/// The track of the process.
const PROCESS: u64 = 1;

/// The track above those of fibres.
const FIBRES: u64 = 2;

/// Tracks of processors begin here.
const PROCESSORS: u64 = 1000;

/// Tracks of fibres begin here.
const FIBRE: u64 = 1 << 32;

/// Draws a history; at most so many fibres get tracks of their own, those with names first, and
/// then those that run most often.
pub(crate) fn draw(file: &File, history: &History, fibres: usize) -> Vec<u8> {
    let mut scene = Scene {
        file,
        history,
        scale: Scale::of(file),
        packets: Packets::of_process(PROCESS, file.process, &file.command),
        followed: followed(file, history, fibres),
    };
    scene.tracks();
    scene.runs();
    scene.wakes();
    scene.spans();
    scene.marks();
    scene.fibres();
    scene.packets.into_bytes()
}

/// The fibres that get tracks.
fn followed(file: &File, history: &History, most: usize) -> HashSet<u64> {
    let mut runs: HashMap<u64, usize> = HashMap::new();
    for run in &history.runs {
        *runs.entry(run.fibre).or_default() += 1;
    }
    for wait in &history.waits {
        runs.entry(wait.fibre).or_default();
    }
    let mut all: Vec<_> = runs.into_iter().collect();
    let has_name = |fibre| file.names.contains_key(&fibre);
    all.sort_by_key(|(fibre, runs)| (!has_name(*fibre), std::cmp::Reverse(*runs), *fibre));
    all.into_iter().map(|(fibre, _)| fibre).take(most).collect()
}

/// These fibres, each with the one among them that has the track above its own: the fibre that has
/// spawned it, or the next one up from there. Parents come before their children.
fn below_parents(history: &History, followed: &HashSet<u64>) -> Vec<(u64, Option<u64>)> {
    let spawns = history.wakes.iter().filter(|wake| wake.spawned);
    let parents: HashMap<u64, u64> = spawns
        .filter_map(|wake| match wake.waker {
            // A damaged file may have any numbers.
            Waker::Fibre(parent) if parent != wake.fibre => Some((wake.fibre, parent)),
            _ => None,
        })
        .collect();
    let above = |fibre: u64| {
        let chain = std::iter::successors(Some(fibre), |fibre| parents.get(fibre).copied());
        // No chain is longer, unless it goes round.
        let mut chain = chain.skip(1).take(parents.len());
        chain.find(|parent| followed.contains(parent))
    };
    let mut children: HashMap<Option<u64>, Vec<u64>> = HashMap::new();
    for fibre in followed {
        children.entry(above(*fibre)).or_default().push(*fibre);
    }
    for siblings in children.values_mut() {
        siblings.sort_unstable_by_key(|fibre| std::cmp::Reverse(*fibre));
    }
    let mut all = Vec::new();
    let mut rest: Vec<(u64, Option<u64>)> = Vec::new();
    let mut next = None;
    loop {
        let siblings = children.remove(&next).into_iter().flatten();
        rest.extend(siblings.map(|fibre| (fibre, next)));
        let Some((fibre, parent)) = rest.pop() else {
            break;
        };
        all.push((fibre, parent));
        next = Some(fibre);
    }
    // Those that stand below each other in a circle, in a damaged file.
    let circles = children.into_values().flatten();
    all.extend(circles.map(|fibre| (fibre, None)));
    all
}

/// A drawing.
struct Scene<'a> {
    file: &'a File,
    history: &'a History,
    scale: Scale,
    packets: Packets,
    /// The fibres that have tracks.
    followed: HashSet<u64>,
}

impl Scene<'_> {
    /// A fibre with its name.
    fn fibre(&self, fibre: u64) -> String {
        match self.file.names.get(&fibre) {
            Some(name) => format!("fibre {fibre} {name:?}"),
            None => format!("fibre {fibre}"),
        }
    }

    /// The track of a processor, or of all plain threads.
    fn processor(track: usize) -> u64 {
        PROCESSORS + track as u64
    }

    /// From one tick to another, in nanoseconds.
    fn span(&self, begin: u64, end: u64) -> (u64, u64) {
        (self.scale.moment(begin), self.scale.moment(end))
    }

    /// What has made a fibre ready, in words.
    fn waker(&self, wake: &Wake) -> String {
        match wake.waker {
            Waker::Fibre(fibre) => self.fibre(fibre),
            Waker::Event => "an event of a descriptor".into(),
            Waker::Deadline => "a deadline".into(),
            Waker::Thread(thread) => format!("thread {thread}"),
            Waker::Processor => "the processor".into(),
            Waker::Unknown => "somebody, while it was leaving its stack".into(),
        }
    }

    /// The tracks themselves.
    fn tracks(&mut self) {
        for (place, track) in self.file.tracks.iter().enumerate() {
            let uuid = Self::processor(place);
            if track.cluster.is_some() {
                let (process, thread) = (self.file.process, track.thread);
                let name = name(track);
                self.packets.thread(uuid, PROCESS, process, thread, &name);
            } else {
                self.packets.track(uuid, PROCESS, "plain threads");
            }
        }
        self.packets.track(FIBRES, PROCESS, "fibres");
        for (fibre, parent) in below_parents(self.history, &self.followed) {
            let name = self.fibre(fibre);
            let above = parent.map_or(FIBRES, |parent| FIBRE + parent);
            self.packets.track(FIBRE + fibre, above, &name);
        }
    }

    /// What fibres run on each processor; an arrow comes from where a fibre was made ready.
    fn runs(&mut self) {
        for run in &self.history.runs {
            let mut notes = Vec::new();
            let wake = run.wake.map(|wake| &self.history.wakes[wake]);
            if let Some(wake) = wake {
                let verb = if wake.spawned {
                    "spawned by"
                } else {
                    "woken by"
                };
                notes.push((verb, self.waker(wake)));
                let waited = run.begin.saturating_sub(wake.at);
                let waited = crate::statistics::time(self.scale.nanoseconds(waited));
                notes.push(("ready for", waited));
            }
            notes.push(("then", then(run.ended)));
            let details = Details {
                ends: run.wake.map(arrow),
                notes,
                ..Details::default()
            };
            let (track, span) = (Self::processor(run.track), self.span(run.begin, run.end));
            let name = self.fibre(run.fibre);
            self.packets.slice(track, span, &name, details);
        }
    }

    /// Where fibres are made ready; an arrow goes to where they run.
    fn wakes(&mut self) {
        for (number, wake) in self.history.wakes.iter().enumerate() {
            let verb = if wake.spawned { "spawns" } else { "wakes" };
            let details = Details {
                begins: wake.run.map(|_| arrow(number)),
                notes: vec![("fibre", self.fibre(wake.fibre)), ("by", self.waker(wake))],
                ..Details::default()
            };
            let (track, at) = (Self::processor(wake.track), self.scale.moment(wake.at));
            self.packets.instant(track, at, verb, details);
        }
    }

    /// What processors do apart from fibres.
    fn spans(&mut self) {
        for span in &self.history.sleeps {
            let (track, time) = (Self::processor(span.track), self.span(span.begin, span.end));
            self.packets
                .slice(track, time, "asleep", Details::default());
        }
        for (span, events) in &self.history.polls {
            let (track, time) = (Self::processor(span.track), self.span(span.begin, span.end));
            let details = Details {
                notes: vec![("events", events.to_string())],
                ..Details::default()
            };
            self.packets.slice(track, time, "delivers events", details);
        }
        for steal in &self.history.steals {
            let details = Details {
                notes: vec![
                    ("fibre", self.fibre(steal.fibre)),
                    ("from processor", steal.victim.to_string()),
                ],
                ..Details::default()
            };
            let (track, at) = (Self::processor(steal.track), self.scale.moment(steal.at));
            self.packets.instant(track, at, "steals", details);
        }
    }

    /// Marks of the program, on the processor and on the fibre.
    fn marks(&mut self) {
        for mark in &self.history.marks {
            let Mark {
                track,
                at,
                fibre,
                thread,
                text,
            } = mark;
            let at = self.scale.moment(*at);
            let notes = || {
                let fibre = fibre.map(|fibre| ("fibre", self.fibre(fibre)));
                let thread = thread.map(|thread| ("thread", thread.to_string()));
                fibre.into_iter().chain(thread).collect()
            };
            let details = Details {
                notes: notes(),
                ..Details::default()
            };
            self.packets
                .instant(Self::processor(*track), at, text, details);
            if let Some(fibre) = fibre.filter(|fibre| self.followed.contains(fibre)) {
                self.packets
                    .instant(FIBRE + fibre, at, text, Details::default());
            }
        }
    }

    /// What each fibre does.
    fn fibres(&mut self) {
        // When a fibre became ready, if it has not run since.
        let mut slices = Vec::new();
        for run in &self.history.runs {
            let place = name(&self.file.tracks[run.track]);
            slices.push((run.fibre, run.begin, run.end, format!("runs on {place}")));
            let ready = run.wake.map(|wake| self.history.wakes[wake].at);
            if let Some(ready) = ready.filter(|ready| *ready < run.begin) {
                slices.push((run.fibre, ready, run.begin, "ready".into()));
            }
        }
        for wait in &self.history.waits {
            let text = format!("waits: {}", awaited::name(wait.object));
            slices.push((wait.fibre, wait.begin, wait.end, text));
        }
        slices.retain(|(fibre, begin, end, _)| self.followed.contains(fibre) && begin < end);
        slices.sort_by_key(|(fibre, begin, ..)| (*fibre, *begin));
        let mut last = (0, 0);
        for (fibre, begin, end, text) in slices {
            // A fibre that was woken while it was leaving is ready only once it has left.
            let free = if last.0 == fibre { last.1 } else { 0 };
            let begin = begin.max(free);
            last = (fibre, end.max(begin));
            let span = self.span(begin, end.max(begin));
            self.packets
                .slice(FIBRE + fibre, span, &text, Details::default());
        }
    }
}

/// The number of the arrow from a wake-up.
fn arrow(wake: usize) -> u64 {
    wake as u64 + 1
}

/// A processor in words.
fn name(track: &Track) -> String {
    let cluster = track.cluster.as_deref().unwrap_or_default();
    format!(
        "processor {} of {cluster:?} ({})",
        track.processor, track.number
    )
}

/// What follows a run, in words.
fn then(ended: Ended) -> String {
    match ended {
        Ended::Not => "it goes on".into(),
        Ended::Yields => "lets others run".into(),
        Ended::Waits(object) => format!("waits: {}", awaited::name(object)),
        Ended::Ends => "ends".into(),
        Ended::Rests => "rests".into(),
        Ended::Leaves => "leaves for another cluster".into(),
        Ended::Unknown => "not known".into(),
    }
}
