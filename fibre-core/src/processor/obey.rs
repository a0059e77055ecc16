//! What a processor does about the orders of its cluster's handles, between two fibres.

use super::Processor;
use std::time::Instant;

impl Processor {
    /// Does what is ordered; stands still for as long as that is. `false`: it is to end.
    #[cold]
    pub(super) fn obey(&self) -> bool {
        let orders = &self.domain.orders;
        if orders.stand_still(self.index) {
            while !orders.may_move(self.index) {
                self.ready.stand();
            }
            self.last_service.set(Instant::now());
        }
        true
    }
}
