//! The history for people: one page.

use crate::awaited;
use crate::file::{File, Track};
use crate::history::{Ended, History, Run, Scale, Waker};
use crate::statistics::{Times, time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Display, Write};
use std::hash::Hash;

/// The most rows of a table.
const ROWS: usize = 10;

/// A history, to be displayed.
pub(crate) struct Summary<'a> {
    file: &'a File,
    history: &'a History,
    scale: Scale,
}

/// Waits that belong together.
#[derive(Default)]
struct Waits {
    times: Times,
    /// The fibres that waited.
    fibres: BTreeSet<u64>,
    /// One of the objects.
    object: u64,
}

impl<'a> Summary<'a> {
    /// The summary of what is in a file.
    pub(crate) fn new(file: &'a File, history: &'a History) -> Self {
        Self {
            file,
            history,
            scale: Scale::of(file),
        }
    }

    /// A time of so many ticks, in words.
    fn time(&self, ticks: u64) -> String {
        time(self.scale.nanoseconds(ticks))
    }

    /// The fibre with its name.
    fn fibre(&self, fibre: u64) -> String {
        match self.file.names.get(&fibre) {
            Some(name) => format!("fibre {fibre} {name:?}"),
            None => format!("fibre {fibre}"),
        }
    }

    /// The first lines.
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: usize = self
            .file
            .tracks
            .iter()
            .map(|track| track.events.len())
            .sum();
        let begin = self.history.begins.iter().min().copied().unwrap_or(0);
        let time = self.time(self.history.end.saturating_sub(begin));
        writeln!(
            f,
            "trace of process {}: {}",
            self.file.process, self.file.command
        )?;
        let events_are = if events == 1 { "event" } else { "events" };
        writeln!(f, "{time}, {events} {events_are}")?;
        if !self.file.whole {
            writeln!(f, "the file is not whole: what follows is missing")?;
        }
        if !self.file.steady {
            writeln!(
                f,
                "this CPU's time stamp counter is not steady: times are rough"
            )?;
        }
        let dropped = self.file.tracks.iter().map(|track| track.dropped);
        let dropped = dropped.fold(0, u64::saturating_add);
        if dropped > 0 {
            writeln!(
                f,
                "{dropped} events of plain threads are missing, as several came at once"
            )?;
        }
        Ok(())
    }

    /// A table of all processors.
    fn processors(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.file.tracks.len();
        let mut runs: Vec<_> = (0..count).map(|_| Times::default()).collect();
        let mut latencies: Vec<_> = (0..count).map(|_| Times::default()).collect();
        for run in &self.history.runs {
            runs[run.track].add(self.scale.nanoseconds(run.end - run.begin));
            if let Some(wake) = run.wake {
                let waited = run.begin.saturating_sub(self.history.wakes[wake].at);
                latencies[run.track].add(self.scale.nanoseconds(waited));
            }
        }
        writeln!(
            f,
            "\n{:<20} {:>9} {:>10} {:>5} {:>6} {:>7} {:>7}   from ready to running: median, 99 %, \
             99.9 %, longest",
            "processor", "time", "switches/s", "runs", "sleeps", "polls", "steals",
        )?;
        for (place, (runs, latencies)) in runs.iter().zip(&mut latencies).enumerate() {
            if self.file.tracks[place].cluster.is_some() {
                self.processor(f, place, runs, latencies)?;
            }
        }
        let lost = self.file.tracks.iter().map(|track| track.lost);
        let lost = lost.fold(0, u64::saturating_add);
        if lost > 0 {
            writeln!(f, "{lost} older events had made room for newer ones")?;
        }
        Ok(())
    }

    /// The row of the processor with the track at this place.
    fn processor(
        &self,
        f: &mut fmt::Formatter<'_>,
        place: usize,
        runs: &Times,
        latencies: &mut Times,
    ) -> fmt::Result {
        let history = self.history;
        let whole = history.end.saturating_sub(history.begins[place]);
        let whole = self.scale.nanoseconds(whole).max(1);
        let share = |part: u64| format!("{:.0} %", 100.0 * part as f64 / whole as f64);
        let slept = history.sleeps.iter().filter(|span| span.track == place);
        let slept = slept.map(|span| self.scale.nanoseconds(span.end - span.begin));
        let polls = history.polls.iter().filter(|(span, _)| span.track == place);
        let steals = history.steals.iter().filter(|steal| steal.track == place);
        let at = [500, 990, 999, 1000].map(|at| latencies.quantile(at).map_or("-".into(), time));
        writeln!(
            f,
            "{:<20} {:>9} {:>10.0} {:>5} {:>6} {:>7} {:>7}   {}",
            processor(&self.file.tracks[place]),
            time(whole),
            runs.count() as f64 * 1e9 / whole as f64,
            share(runs.sum()),
            share(slept.sum()),
            polls.count(),
            steals.count(),
            at.join(", "),
        )
    }

    /// The longest runs.
    fn longest_runs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<&Run> = self.history.runs.iter().collect();
        runs.sort_by_key(|run| Reverse(run.end - run.begin));
        if !runs.is_empty() {
            writeln!(f, "\nlongest runs without a switch:")?;
        }
        for run in runs.iter().take(ROWS) {
            let then = match run.ended {
                Ended::Not => "and goes on".into(),
                Ended::Yields => "then lets others run".into(),
                Ended::Waits(object) => format!("then waits: {}", awaited::name(object)),
                Ended::Ends => "then ends".into(),
                Ended::Rests => "then rests".into(),
                Ended::Leaves => "then leaves for another cluster".into(),
                Ended::Unknown => "to an unknown end".into(),
            };
            writeln!(
                f,
                "  {:>9}  {} on processor {}, {} before the end; {then}",
                self.time(run.end - run.begin),
                self.fibre(run.fibre),
                processor(&self.file.tracks[run.track]),
                self.time(self.history.end.saturating_sub(run.begin)),
            )?;
        }
        Ok(())
    }

    /// The waits of all fibres, put together by what `key` says of a fibre and an object. Those
    /// that took longest come first.
    fn waits<K: Ord + Hash>(&self, key: impl Fn(u64, u64) -> Option<K>) -> Vec<Waits> {
        let mut rows: HashMap<K, Waits> = HashMap::new();
        for wait in &self.history.waits {
            if let Some(key) = key(wait.fibre, wait.object) {
                let row = rows.entry(key).or_default();
                let took = wait.end.saturating_sub(wait.begin);
                row.times.add(self.scale.nanoseconds(took));
                row.fibres.insert(wait.fibre);
                row.object = wait.object;
            }
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by(|(one, a), (other, b)| {
            let sums = b.times.sum().cmp(&a.times.sum());
            sums.then_with(|| one.cmp(other))
        });
        rows.into_iter().map(|(_, waits)| waits).collect()
    }

    /// The name that a fibre has in common with others, which differ in numbers only.
    fn kinship(&self, fibre: u64) -> String {
        let name = self.file.names.get(&fibre).map_or("", String::as_str);
        let pieces = name.split(|letter: char| letter.is_ascii_digit());
        let pieces: Vec<_> = pieces.filter(|piece| !piece.is_empty()).collect();
        pieces.join("#")
    }

    /// Fibres in words.
    fn fibres(&self, fibres: &BTreeSet<u64>) -> String {
        let first = fibres.first().copied().unwrap_or_default();
        match (fibres.len(), self.file.names.get(&first)) {
            (1, _) => self.fibre(first),
            (count, Some(name)) => format!("{count} fibres such as {name:?}"),
            (count, None) => format!("{count} fibres without names"),
        }
    }

    /// A table of waits: a line of words for each, and its times.
    fn table(
        f: &mut fmt::Formatter<'_>,
        head: &str,
        rows: Vec<Waits>,
        words: impl Fn(&Waits) -> String,
    ) -> fmt::Result {
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{head}:")?;
        let left_out = rows.len().saturating_sub(ROWS);
        for mut waits in rows.into_iter().take(ROWS) {
            let words = words(&waits);
            let times = &mut waits.times;
            let median = times.quantile(500).unwrap_or(0);
            writeln!(
                f,
                "  {:>9}  {words}: {} times, median {}, longest {}",
                time(times.sum()),
                times.count(),
                time(median),
                time(times.longest()),
            )?;
        }
        if left_out > 0 {
            writeln!(f, "  and {left_out} more")?;
        }
        Ok(())
    }

    /// The fibres that wait most, and for what.
    fn all_waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_fibre =
            self.waits(|fibre, object| Some((self.kinship(fibre), awaited::kind(object))));
        let head = "longest waits, all together, by fibres and what they wait for";
        Self::table(f, head, by_fibre, |waits| {
            let kind = awaited::kind(waits.object);
            format!("{}, for: {kind}", self.fibres(&waits.fibres))
        })?;
        let by_object = self.waits(|_, object| {
            // Descriptors and clocks belong to those who wait for them.
            let shared = !matches!(awaited::kind(object), "input or output" | "sleep");
            shared.then_some(object)
        });
        let head = "longest waits, all together, by objects";
        Self::table(f, head, by_object, |waits| {
            let object = awaited::name(waits.object);
            format!("{object}, by {}", self.fibres(&waits.fibres))
        })
    }

    /// Marks of the program.
    fn marks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut marks: HashMap<&str, usize> = HashMap::new();
        for mark in &self.history.marks {
            *marks.entry(&mark.text).or_default() += 1;
        }
        let mut marks: Vec<_> = marks.into_iter().collect();
        marks.sort_by_key(|(text, count)| (Reverse(*count), *text));
        if !marks.is_empty() {
            writeln!(f, "\nmarks:")?;
        }
        for (text, count) in marks.into_iter().take(ROWS) {
            writeln!(f, "  {count:>9}  {text}")?;
        }
        Ok(())
    }
}

/// A processor in words.
fn processor(track: &Track) -> String {
    let cluster = track.cluster.as_deref().unwrap_or_default();
    format!("{} of {cluster:?} ({})", track.processor, track.number)
}

/// What has made fibres ready, in a line.
fn wakers(history: &History) -> String {
    let (mut by_kind, mut spawned) = (HashMap::<_, usize>::new(), 0);
    for wake in &history.wakes {
        let kind = match wake.waker {
            _ if wake.spawned => {
                spawned += 1;
                continue;
            }
            Waker::Fibre(_) => "by fibres",
            Waker::Event => "by events",
            Waker::Deadline => "by deadlines",
            Waker::Thread(_) => "by threads",
            Waker::Processor => "by processors",
            Waker::Unknown => "while leaving",
        };
        *by_kind.entry(kind).or_default() += 1;
    }
    let mut kinds: Vec<_> = by_kind.into_iter().collect();
    kinds.sort_by_key(|(kind, count)| (Reverse(*count), *kind));
    let woken = history.wakes.len() - spawned;
    let mut line = format!("made ready: {woken}");
    let separators = std::iter::once(": ").chain(std::iter::repeat(", "));
    for ((kind, count), separator) in kinds.into_iter().zip(separators) {
        // A string takes it.
        let _ = write!(line, "{separator}{count} {kind}");
    }
    format!("{line}; spawned: {spawned}")
}

/// How many thread blocks have come and gone, and what was done for processors that did not switch:
/// a line for each, if there is any.
fn extras(history: &History) -> String {
    let mut lines = String::new();
    let [born, ended] = history.blocks;
    if [born, ended] != [0; 2] {
        // A string takes it.
        let _ = writeln!(lines, "thread blocks: {born} made, {ended} ended");
    }
    let mut by_processor: BTreeMap<(u64, u32), [u64; 2]> = BTreeMap::new();
    for rescue in &history.rescues {
        let counts = by_processor
            .entry((rescue.cluster, rescue.processor))
            .or_default();
        let count = &mut counts[usize::from(rescue.timers)];
        *count = count.saturating_add(rescue.count);
    }
    for ((cluster, processor), [fibres, timers]) in by_processor {
        let _ = writeln!(
            lines,
            "processor {processor} of cluster {cluster} did not switch: {fibres} fibres were taken, \
             {timers} timers fired by others"
        );
    }
    lines
}

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.processors(f)?;
        writeln!(f, "{}", wakers(self.history))?;
        f.write_str(&extras(self.history))?;
        self.longest_runs(f)?;
        self.all_waits(f)?;
        self.marks(f)
    }
}
