//! The poller `shared`: one epoll instance per cluster, in which the first idle processor sleeps.
//!
//! Who has the duty ([`Duty`]) gives it back as soon as there are events, and wakes nobody to
//! take over: it will come back when it is idle again, meanwhile it polls at each service like
//! all who are busy, and should one fibre keep it for long, an idle processor that watches polls.

use super::instance::Instance;
use crate::duty::Duty;
use fibre_core::Halt;
use std::time::Instant;

/// See the module text.
#[derive(Debug)]
pub struct Shared {
    instance: Instance,
    /// Who polls.
    duty: Duty,
}

impl Shared {
    /// The poller of a cluster.
    pub fn new(instance: Instance) -> Self {
        Self {
            instance,
            duty: Duty::new(),
        }
    }

    /// Its instance.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }
}

impl Halt for Shared {
    fn poll(&self) {
        if self.duty.take() {
            self.instance.poll();
            self.duty.give_back();
        }
    }

    fn enter(&self) -> bool {
        self.duty.take()
    }

    fn sleep(&self, deadline: Option<Instant>) {
        self.instance.wait(deadline);
    }

    fn leave(&self) {
        self.duty.give_back();
    }

    fn interrupt(&self) {
        // Should another one sleep there by now, it wakes up in vain.
        self.instance.interrupt();
    }

    fn retire(&self) {
        self.instance.abandon();
    }
}
