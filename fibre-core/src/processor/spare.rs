//! A spare processor that is not needed stands aside.
//!
//! It is a processor like the others. It was started when fibres that did not switch kept all of
//! these (`cluster/spares.rs`). Once they switch again it takes no work that others could do: it is
//! not in the idle set, it steals nothing, and it offers to all what may run elsewhere. It stays
//! for its own work: fibres that have started here and stay, deadlines of fibres that wait here,
//! and events of descriptors that fibres first waited for here. Without any of these it sleeps
//! until it is needed again.
//!
//! If a spare processor is called for some work, and stands aside before that is done, it calls
//! another one in its place.
//!
//! `processor/calls.rs` limits how often it is called.

use super::Processor;
use super::calls::Call;
use std::time::Instant;

impl Processor {
    /// The threads that may end the sleep that this processor is about to begin.
    pub(super) fn call(&self) -> Call {
        if self.ready.is_aside() {
            return Call::Nobody;
        }
        if self.index < self.domain.regular() {
            return Call::Anybody;
        }
        let barred = self.idle.calls.barred_until(Instant::now());
        barred.map_or(Call::Counted, Call::NobodyUntil)
    }

    /// Gives to all the fibres that they may run. Called as long as it stands aside, before it
    /// sleeps and at each service, which then comes before each fibre.
    #[cold]
    pub(super) fn stand_aside(&self) {
        let given = self.ready.give_away() > 0;
        if self.idle.took_part.replace(false) || given {
            self.call_another();
        }
        self.plan_service(0);
    }

    /// Calls another processor, as this one may have been called for work that it does not take any
    /// more.
    fn call_another(&self) {
        if self.domain.shared_queues.has_work() || self.thief.has_victim(&self.domain) {
            self.domain.shared_queues.wake_next();
        }
    }
}
