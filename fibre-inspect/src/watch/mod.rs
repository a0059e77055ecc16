//! The watch: a thread that reports processors that do not switch, and deadlocks, while the program
//! runs.
//!
//! It runs only if `FIBRE_MONITOR` or `FIBRE_DEADLOCK` asks for it, and starts with the first
//! cluster. While all processors sleep it sleeps, too, once it has seen that their last work has
//! led to nothing: the process's monitor wakes it (`sleep_until_busy`).
//!
//! Its reports go to standard error, as far as somebody reads them.
//!
//! Files:
//!
//! * `told`: what has been reported, so that no place fills a log;
//! * `line`: a stack in one line;
//! * `stacks`: the stack of a thread;
//! * `keeper`: the fibre that a processor runs;
//! * `notice`: fibres that compute while others wait, reported once;
//! * `hog`: processors that do not switch;
//! * `outside`: what else, besides fibres, could end a wait;
//! * `searches`: when to search for stuck fibres;
//! * `deadlock`: fibres that wait for each other, or for nothing that could come.

mod deadlock;
mod hog;
mod keeper;
mod line;
mod notice;
mod outside;
mod searches;
mod stacks;
mod told;

use self::deadlock::Deadlocks;
use self::hog::{Hogs, LOOKS_IN_A_PERIOD};
use crate::descriptors::{with_free_descriptor, with_own_descriptors};
use crate::output::write_error;
use crate::signal::quit::write_dump;
use crate::trace::write_after_report;
use fibre_core::internal::{
    MonitorAction, MonitorSetting, ReportSetting, has_addresses, sleep_until_busy, start_helper,
};
use fibre_core::is_forked_child;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What is watched for.
struct Watch {
    hogs: Option<(Hogs, MonitorAction)>,
    /// The time between two looks at the processors.
    step: Duration,
    deadlocks: Option<(Deadlocks, MonitorAction)>,
}

/// Begins to watch, if the environment asks for it. Without memory for the thread there is no
/// watch.
pub(crate) fn begin() {
    let (monitor, deadlock) = (
        MonitorSetting::from_environment().0,
        ReportSetting::of_deadlocks().0,
    );
    if cfg!(debug_assertions) && !MonitorSetting::is_chosen() {
        notice::begin();
    }
    if (monitor.is_none() && deadlock.is_none()) || is_forked_child() {
        return;
    }
    let step = monitor.map_or(Duration::MAX, |(period, _)| period / LOOKS_IN_A_PERIOD);
    let watch = move || {
        Watch {
            hogs: monitor.map(|(period, reaction)| (Hogs::new(period), reaction)),
            step,
            deadlocks: deadlock.map(|reaction| (Deadlocks::new(), reaction)),
        }
        .run();
    };
    // What a thread takes it takes now: the program may use up its memory as soon as it has its
    // cluster.
    let (begins, begun) = mpsc::channel();
    let body = move || {
        let _ = begins.send(());
        drop(begins);
        watch();
    };
    if has_addresses() && start_helper("fibre-watch".to_owned(), body).is_ok() {
        let _ = begun.recv();
    }
}

impl Watch {
    /// The loop of the thread.
    fn run(mut self) -> ! {
        if let Some((hogs, _)) = &mut self.hogs {
            with_own_descriptors(|| hogs.prepare());
        }
        loop {
            let mut busy = false;
            if let Some((hogs, reaction)) = &mut self.hogs {
                let (lines, runs) = with_free_descriptor(|| hogs.look());
                busy = runs;
                tell(&lines, *reaction, true);
            }
            if let Some((deadlocks, reaction)) = &mut self.deadlocks {
                let found = with_free_descriptor(|| deadlocks.look());
                tell(&found, *reaction, false);
                tell(&deadlocks.search(), MonitorAction::Report, false);
            }
            self.wait(busy);
        }
    }

    /// Whether all has been at rest for so long that only a processor which is busy again gives
    /// reason to look soon.
    fn is_at_rest(&self) -> bool {
        let deadlocks = self.deadlocks.as_ref();
        deadlocks.is_none_or(|(all, _)| all.is_at_rest())
    }

    /// Waits until the next look.
    fn wait(&mut self, busy: bool) {
        if let Some((deadlocks, _)) = &mut self.deadlocks
            && busy
        {
            // Nobody calls a watch that does not sleep.
            deadlocks.note_busy();
        }
        let due = self.deadlocks.as_ref().and_then(|(all, _)| all.due());
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        if busy {
            thread::park_timeout(left.map_or(self.step, |left| left.min(self.step)));
        } else if self.hogs.is_some() || self.is_at_rest() {
            let called = sleep_until_busy(left);
            if let Some((deadlocks, _)) = &mut self.deadlocks
                && called
            {
                deadlocks.note_busy();
            }
        } else {
            thread::park_timeout(left.unwrap_or_default());
        }
    }
}

/// Writes what was found, and the event trace if there is one; and aborts if that is asked for,
/// after a `dump`, unless there is one in the report.
fn tell(found: &[String], reaction: MonitorAction, dump: bool) {
    found.iter().for_each(|text| write_error(text));
    if !found.is_empty() {
        write_after_report(dump);
    }
    if !found.is_empty() && reaction == MonitorAction::Abort {
        if dump {
            with_own_descriptors(write_dump);
        }
        std::process::abort();
    }
}
