//! The run loop, in two forms: one records events, and the other one does not.
//!
//! A processor chooses its loop when it starts. Both consist of the same functions, which tell a
//! [`TraceSink`] what happens. For processors that record nothing the sink is [`NoTrace`], which
//! compiles to no instructions.
//!
//! A processor records its other work at detours: before it sleeps, when it asks for events, when
//! deadlines pass.

use super::Processor;
use super::next_fibre::NextRun;
use crate::fibre::ControlBlock;
use crate::idle::parker::Driver;
use crate::queue::Runnable;
use crate::stack::context::Action;
use crate::trace::{self, TraceKind, TracePhase, Track, forget_name, keep_name};
use std::sync::Arc;

/// What the fibres of a cluster have of a thread.
pub(super) trait Kind {
    /// Whether each has thread-locals of its own.
    const IS_THREAD: bool;
}

/// Fibres that share the thread-locals of their processor's thread.
pub(super) struct ProcessorThreadLocals;

impl Kind for ProcessorThreadLocals {
    const IS_THREAD: bool = false;
}

/// Fibres with thread-locals of their own.
pub(super) struct FibreThreadLocals;

impl Kind for FibreThreadLocals {
    const IS_THREAD: bool = true;
}

/// What is told what a processor does.
pub(super) trait TraceSink {
    /// The kind of the fibres that it runs.
    type Kind: Kind;

    /// Whether nothing is told to anybody.
    const IS_SILENT: bool;

    /// The processor is about to let the fibre run.
    fn resumes(&self, fibre: &mut Runnable);

    /// The fibre has a stack, and is switched to next.
    fn enters(&self, fibre: &Runnable);

    /// The fibre has left its stack, for this reason, and is still the processor's.
    fn left(&self, fibre: &Runnable, action: Action);

    /// The fibre's number, before others may take the fibre.
    fn number_of(&self, fibre: &Runnable) -> u64;

    /// Whether a fibre has been `woken` while it was leaving its stack, which is recorded. Returns
    /// that.
    fn woken_early(&self, number: u64, woken: bool) -> bool;

    /// Another fibre has made way for this one.
    fn succeeds(&self, successor: &Runnable);
}

/// The recorder of processors that record nothing.
pub(super) struct NoTrace;

impl TraceSink for NoTrace {
    type Kind = ProcessorThreadLocals;
    const IS_SILENT: bool = true;

    #[inline(always)]
    fn resumes(&self, _fibre: &mut Runnable) {}

    #[inline(always)]
    fn enters(&self, _fibre: &Runnable) {}

    #[inline(always)]
    fn left(&self, _fibre: &Runnable, _action: Action) {}

    #[inline(always)]
    fn number_of(&self, _fibre: &Runnable) -> u64 {
        0
    }

    #[inline(always)]
    fn woken_early(&self, _number: u64, woken: bool) -> bool {
        woken
    }

    #[inline(always)]
    fn succeeds(&self, _successor: &Runnable) {}
}

impl TraceSink for Track {
    type Kind = ProcessorThreadLocals;
    const IS_SILENT: bool = false;

    fn resumes(&self, fibre: &mut Runnable) {
        if fibre.has_started() {
            return self.record_fibre(TraceKind::Run, fibre.id(), 0);
        }
        self.record_fibre(TraceKind::Start, fibre.id(), 0);
        with_name(fibre.block(), |name| keep_name(fibre.id(), name));
    }

    fn enters(&self, _fibre: &Runnable) {}

    fn left(&self, fibre: &Runnable, action: Action) {
        let id = fibre.id();
        match action {
            // A fibre that cannot wait makes way once.
            Action::Yield | Action::MakeWay => self.record_fibre(TraceKind::Yield, id, 0),
            Action::Park | Action::ParkAtHome => {
                let awaited = fibre.block().wait_slot.awaited();
                self.record(
                    TraceKind::Block,
                    awaited.map_or(0, |awaited| awaited.bits()),
                );
            }
            Action::Exit => {
                self.record_fibre(TraceKind::End, id, 0);
                forget_name(id);
            }
            Action::Idle => {
                self.record_fibre(TraceKind::Rest, id, 0);
                // Its next run brings it back.
                forget_name(id);
            }
            Action::Migrate => self.record_fibre(TraceKind::Leave, id, 0),
            // Its processor holds it: it goes on running, as far as others can tell.
            Action::Hold => {}
        }
    }

    fn number_of(&self, fibre: &Runnable) -> u64 {
        fibre.id()
    }

    fn woken_early(&self, number: u64, woken: bool) -> bool {
        if woken {
            self.set_phase(TracePhase::FindsWoken);
            self.record_ready(TraceKind::Ready, number);
            self.set_phase(TracePhase::Nothing);
        }
        woken
    }

    fn succeeds(&self, successor: &Runnable) {
        // Of a new one it is recorded that it was spawned.
        if successor.has_started() {
            self.set_phase(TracePhase::HandsOver);
            self.record_ready(TraceKind::Ready, successor.id());
            self.set_phase(TracePhase::Nothing);
        }
    }
}

/// Calls `f` with the fibre's name, if it has one.
fn with_name(block: &ControlBlock, mut f: impl FnMut(&str)) {
    // SAFETY: the fibre is the caller's, and has not ended.
    unsafe {
        block.with_current_name(&mut |name| {
            if let Some(name) = name {
                f(name);
            }
        });
    }
}

impl Processor {
    /// Runs fibres until the processor is to end. One function, with the whole of a switch inlined
    /// into it.
    #[inline(always)]
    pub(super) fn run_fibres(&self) {
        self.run_with(&NoTrace);
    }

    /// The run loop of a processor that records events; without memory for them, the other one.
    #[inline(never)]
    pub(super) fn run_recorded(&self) {
        match self.begin_track() {
            Some(track) => self.run_with(&*track),
            None => self.run_fibres(),
        }
    }

    /// The run loop, which tells this recorder what happens.
    #[inline(always)]
    pub(super) fn run_with(&self, recorder: &impl TraceSink) {
        // The loop has one call of each, so that they are inlined.
        let mut chosen = None;
        loop {
            let fibre = match chosen {
                Some(fibre) => fibre,
                None => match self.take_successor() {
                    Some(successor) => {
                        recorder.succeeds(&successor);
                        NextRun::by_the_loop(successor)
                    }
                    None => match self.next() {
                        Some(fibre) => NextRun::by_the_loop(fibre),
                        None => return,
                    },
                },
            };
            chosen = self.execute(fibre, recorder);
        }
    }

    /// Has events recorded here from now on, if any are. `None`: none are, or there is no memory.
    pub(super) fn begin_track(&self) -> Option<Arc<Track>> {
        if !trace::is_on() {
            return None;
        }
        let domain = self.domain();
        self.ready.begin_track(&domain.settings.name, domain.number);
        self.ready.track().map(Arc::clone)
    }

    /// Notes that the processor is in this phase from now on, so that what it makes ready is
    /// recorded as due to that.
    #[inline(always)]
    pub(super) fn begin_phase(&self, phase: TracePhase) {
        if trace::is_on() {
            self.with_track(|track| track.set_phase(phase));
        }
    }

    /// Records the events that `driver` has delivered since the phase began, which is over.
    #[inline(always)]
    pub(super) fn end_poll(&self, driver: &Arc<dyn Driver>) {
        if trace::is_on() {
            self.with_track(|track| track.record_poll(driver.delivered()));
        }
    }

    /// Records that the processor is about to sleep. It may deliver events in that sleep.
    #[inline(always)]
    pub(super) fn begin_sleep(&self) {
        if trace::is_on() {
            self.with_track(|track| {
                track.record(TraceKind::Sleep, 0);
                track.set_phase(TracePhase::Polls);
            });
        }
    }

    /// Records that it is awake again, and whether another thread has woken it.
    #[inline(always)]
    pub(super) fn end_sleep(&self, was_woken: bool) {
        if trace::is_on() {
            self.with_track(|track| {
                track.set_phase(TracePhase::Nothing);
                track.record(TraceKind::Wake, was_woken.into());
            });
        }
    }

    /// Calls `f` with the processor's track, if it has one.
    #[cold]
    #[inline(never)]
    fn with_track(&self, f: impl FnOnce(&Track)) {
        if let Some(track) = self.ready.track() {
            f(track);
        }
    }
}
