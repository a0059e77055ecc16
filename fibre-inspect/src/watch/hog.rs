//! Processors that do not switch: which fibre keeps each of them, and where.
//!
//! The watch looks at each processor twice in each period. If the processor runs the same fibre at
//! several looks, without a service in between, for two periods, the watch asks the kernel what its
//! thread has done meanwhile. A thread that has had a whole period of CPU time *computes*. A thread
//! that is in the same system call at two looks, at the same place of its stack, is *blocked*. Any
//! other thread has got no CPU, which is nobody's fault; its fibre may be reported later.
//!
//! Only then does the watch take the stack, with a signal if need be, and report it if the
//! processor has still not switched.

use super::keeper::{Keeper, TIMEOUT, is_still_so};
use super::stacks::Stacks;
use super::told::Told;
use crate::threads::{self, Activity};
use fibre_core::internal::{ProcessorState, cpu_time, observe};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Looks in a row, after the first one, that find the same fibre on a processor before that is
/// told.
const LOOKS: u32 = 4;

/// Looks in a period.
pub(crate) const LOOKS_IN_A_PERIOD: u32 = 2;

/// What the fibre does that keeps a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// It computes.
    Computing,
    /// Its thread is blocked.
    Blocked(Activity),
}

/// What was seen of a processor.
#[derive(Debug)]
struct Seen {
    /// The fibre that it ran, and its count of services.
    state: (usize, u64),
    /// When this state was first seen, and how often since.
    since: Instant,
    looks: u32,
    /// The CPU time of its thread at that time.
    cpu: Option<Duration>,
    /// What its thread did at the last look.
    activity: Activity,
    /// Whether this has been told, or left out.
    told: bool,
    /// Whether it was seen at the last look.
    there: bool,
}

impl Seen {
    /// What is seen at the first look.
    fn new(state: (usize, u64), now: Instant, cpu: Option<Duration>) -> Self {
        Self {
            state,
            since: now,
            looks: 0,
            cpu,
            activity: Activity::Unknown,
            told: false,
            there: true,
        }
    }

    /// Looks once more. Returns what keeps the processor, if it has not switched for so long.
    fn look(
        &mut self,
        state: (usize, u64),
        now: Instant,
        period: Duration,
        cpu: impl FnOnce() -> Option<Duration>,
        activity: impl FnOnce() -> Activity,
    ) -> Option<Keeps> {
        self.there = true;
        if self.state != state {
            *self = Self::new(state, now, cpu());
            return None;
        }
        self.looks = self.looks.saturating_add(1);
        let kept = now.saturating_duration_since(self.since);
        if self.told || self.looks + 1 < LOOKS || kept < period {
            return None;
        }
        let activity = activity();
        let before = std::mem::replace(&mut self.activity, activity);
        if self.looks < LOOKS || kept < 2 * period {
            return None;
        }
        match activity {
            Activity::Call { .. } if activity == before => Some(Keeps::Blocked(activity)),
            Activity::Runs => {
                let had = cpu().zip(self.cpu);
                let computes = had.is_some_and(|(now, then)| now.saturating_sub(then) >= period);
                computes.then_some(Keeps::Computing)
            }
            _ => None,
        }
    }
}

/// The looks at all processors.
pub(crate) struct Hogs {
    period: Duration,
    seen: HashMap<(usize, usize), Seen>,
    told: Told,
    stacks: Stacks,
}

impl Hogs {
    /// Nothing has been looked at.
    pub(crate) fn new(period: Duration) -> Self {
        Self {
            period,
            seen: HashMap::new(),
            told: Told::default(),
            stacks: Stacks::default(),
        }
    }

    /// Reads what lines need, before there is anything to tell.
    pub(crate) fn prepare(&mut self) {
        self.stacks.prepare();
    }

    /// Looks at all processors. Returns a line for each that is to be told; and whether any of them
    /// runs a fibre.
    pub(crate) fn look(&mut self) -> (Vec<String>, bool) {
        let now = Instant::now();
        let mut all = Vec::new();
        let _ = observe(TIMEOUT, &mut |state| all.push(state));
        let mut kept = Vec::new();
        self.seen.values_mut().for_each(|seen| seen.there = false);
        for state in &all {
            let (key, thread) = ((state.cluster, state.index), state.thread);
            let now_seen = (state.running, state.services);
            let cpu = || cpu_time(thread);
            let Some(seen) = self.seen.get_mut(&key) else {
                self.seen.insert(key, Seen::new(now_seen, now, cpu()));
                continue;
            };
            let activity = || threads::activity(thread);
            if let Some(keeps) = seen.look(now_seen, now, self.period, cpu, activity) {
                kept.push((*state, keeps));
            }
        }
        self.seen.retain(|_, seen| seen.there);
        let lines = kept.into_iter();
        let lines = lines
            .filter_map(|(state, keeps)| self.tell(state, keeps))
            .collect();
        (lines, !all.is_empty())
    }

    /// The line about a processor, if it is told now.
    fn tell(&mut self, state: ProcessorState, keeps: Keeps) -> Option<String> {
        let key = (state.cluster, state.index);
        if !self.told.may_look(Instant::now()) {
            // It is told at a later look, if it has not switched by then.
            return None;
        }
        let keeper = Keeper::of(state)?;
        let stack = self.stacks.of(state.thread, keeper.root);
        if !is_still_so(state) {
            return None;
        }
        let seen = self.seen.get_mut(&key)?;
        seen.told = true;
        let kept = seen.since.elapsed();
        let left_out = self.told.tell(stack.place, Instant::now())?;
        let mut line = String::from("fibre: ");
        let index = state.index;
        // Writing to a string does not fail.
        let _ = write!(line, "processor {index}");
        if let Some(cluster) = keeper.other_cluster() {
            let _ = write!(line, " of cluster {cluster:?}");
        }
        let kept = kept.as_millis();
        let _ = write!(line, " has not switched for {kept} ms: {keeper}");
        let _ = match keeps {
            Keeps::Computing => write!(line, " computes"),
            Keeps::Blocked(activity) => write!(line, " is blocked in {}", activity.call()),
        };
        let _ = write!(line, " at {}", stack.text);
        if left_out > 0 {
            let were = if left_out == 1 { "was" } else { "were" };
            let _ = write!(
                line,
                " (there {were} {left_out} more since this was last told)"
            );
        }
        line.push('\n');
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(10);

    /// A system call.
    const CALL: Activity = Activity::Call {
        number: 202,
        stack: 4096,
        code: 8192,
    };

    /// Looks at a processor every half a period: at its fibre and services, its CPU time in
    /// milliseconds, and what its thread does. Returns what is told at each look.
    fn looks(all: &[((usize, u64), u64, Activity)]) -> Vec<Option<Keeps>> {
        let begun = Instant::now();
        let first = Seen::new(all[0].0, begun, Some(Duration::from_millis(all[0].1)));
        let mut seen = first;
        let rest = all.iter().enumerate().skip(1);
        let each = rest.map(|(at, (state, cpu, activity))| {
            let now = begun + PERIOD / LOOKS_IN_A_PERIOD * u32::try_from(at).unwrap_or(0);
            let cpu = Duration::from_millis(*cpu);
            seen.look(*state, now, PERIOD, || Some(cpu), || *activity)
        });
        each.collect()
    }

    #[test]
    fn a_fibre_that_uses_its_cpu_computes() {
        let same = |cpu| ((1, 5), cpu, Activity::Runs);
        let told = looks(&[same(0), same(5), same(10), same(15), same(20), same(25)]);
        assert_eq!(told[..3], [None; 3]);
        assert_eq!(told[3], Some(Keeps::Computing));
    }

    #[test]
    fn a_thread_that_gets_no_cpu_is_not_told() {
        let starved = |cpu| ((1, 5), cpu, Activity::Runs);
        let all = [0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 9].map(starved);
        assert_eq!(looks(&all), [None; 10]);
    }

    #[test]
    fn a_processor_that_switches_or_serves_is_not_told() {
        let switches: Vec<_> = (0..9_u8)
            .map(|at| ((usize::from(at % 3), 5), 5 * u64::from(at), Activity::Runs))
            .collect();
        assert_eq!(looks(&switches), [None; 8]);
        let serves: Vec<_> = (0..9).map(|at| ((1, at), 5 * at, Activity::Runs)).collect();
        assert_eq!(looks(&serves), [None; 8]);
    }

    #[test]
    fn a_call_that_lasts_is_a_block() {
        let all = [((1, 5), 0, CALL); 6];
        assert_eq!(looks(&all)[..3], [None; 3]);
        assert_eq!(looks(&all)[3], Some(Keeps::Blocked(CALL)));
    }

    #[test]
    fn calls_that_change_are_none() {
        let calls = (0..9).map(|at| {
            let call = Activity::Call {
                number: at % 2,
                stack: 4096,
                code: 8192,
            };
            ((1, 5), 0, call)
        });
        let calls: Vec<_> = calls.collect();
        assert_eq!(looks(&calls), [None; 8]);
    }
}
