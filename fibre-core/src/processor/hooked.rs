//! The run loop of clusters with switch hooks.
//!
//! The hooks are called by a [`TraceSink`] around another one, which records events or does not. So
//! a cluster without hooks pays nothing. Hooks are called between two fibres; builds with debug
//! assertions check that they do not wait.

use super::Processor;
use super::run_loop::{NoTrace, TraceSink};
use crate::fibre::HookList;
use crate::fibre::switch_reason::SwitchReason;
use crate::queue::Runnable;
use crate::stack::context::Action;
use crate::sys::stderr;

/// Calls the hooks of a cluster, and tells another recorder.
struct Hooked<'a, R> {
    processor: &'a Processor,
    hooks: &'a HookList,
    inner: &'a R,
}

impl<R> Hooked<'_, R> {
    /// Calls hooks, with a note that this is done.
    fn call(&self, hooks: impl FnOnce(&HookList)) {
        self.processor.call_state.in_hook.set(true);
        hooks(self.hooks);
        self.processor.call_state.in_hook.set(false);
    }
}

impl<R: TraceSink> TraceSink for Hooked<'_, R> {
    type Kind = R::Kind;
    const IS_SILENT: bool = false;

    fn resumes(&self, fibre: &mut Runnable) {
        self.inner.resumes(fibre);
    }

    fn enters(&self, fibre: &Runnable) {
        self.inner.enters(fibre);
        self.call(|hooks| hooks.switch_in(fibre.block()));
    }

    fn left(&self, fibre: &Runnable, action: Action) {
        self.call(|hooks| hooks.switch_out(fibre.block(), reason_of(action)));
        self.inner.left(fibre, action);
    }

    fn number_of(&self, fibre: &Runnable) -> u64 {
        self.inner.number_of(fibre)
    }

    fn woken_early(&self, number: u64, woken: bool) -> bool {
        self.inner.woken_early(number, woken)
    }

    fn succeeds(&self, successor: &Runnable) {
        self.inner.succeeds(successor);
    }
}

/// What an action is to hooks.
pub(super) fn reason_of(action: Action) -> SwitchReason {
    match action {
        Action::Yield | Action::MakeWay => SwitchReason::Yields,
        Action::Park | Action::ParkAtHome | Action::Hold => SwitchReason::Waits,
        Action::Migrate => SwitchReason::Moves,
        Action::Exit | Action::Idle => SwitchReason::Ends,
    }
}

impl Processor {
    /// The run loop of a processor in a cluster with switch hooks, or with a director.
    #[inline(never)]
    pub(super) fn run_hooked(&self) {
        match self.begin_track() {
            Some(track) => self.run_between_hooks(&*track),
            None => self.run_between_hooks(&NoTrace),
        }
    }

    /// The same, with what records events.
    pub(super) fn run_between_hooks(&self, inner: &impl TraceSink) {
        let recorder = Hooked {
            processor: self,
            hooks: &self.domain.hooks,
            inner,
        };
        match self.domain.hooks.director() {
            Some(director) => self.run_by(&**director, &recorder),
            None => self.run_with(&recorder),
        }
    }

    /// Whether the processor calls a switch hook.
    pub(crate) fn is_in_hook(&self) -> bool {
        self.call_state.in_hook.get()
    }

    /// In builds with debug assertions, aborts if a switch hook is about to block the processor.
    #[inline(always)]
    pub(crate) fn assert_may_block() {
        if cfg!(debug_assertions) && Self::here(Self::is_in_hook) == Some(true) {
            stderr::abort_with(format_args!(
                "a switch hook waits: it would block its processor, with all fibres of that"
            ));
        }
    }
}
