//! Where new fibres go.
//!
//! By default a new fibre goes to an idle processor if there is one, else to the next one in turn
//! (work pushing, thesis section 3.2.1). **Idle but overfull**: the processor of a fibre that
//! spawns is never idle. On a quiet cluster every new fibre would go to the other processors, and
//! with two processors all that stay would live on one. So a processor does not count as idle if
//! many more fibres live there than at the spawner's. The new fibre stays with its spawner, which
//! is likely to block soon, and nobody is woken for it. If a second one comes before that, both go
//! where they can run at once. Connections, and what other threads spawn, are spread more evenly:
//! see `spread`.

use crate::config::policy::{Placement, Revival, StealOrder};
use crate::queue::{Level, Runnable};
use crate::scheduler::domain::Domain;
use std::sync::atomic::Ordering;

/// How many more fibres than at the spawner's processor may live at an idle one that gets another.
/// Well above what a computation spreads, well below the connections of a server.
const OVERFULL: u64 = 16;

impl Domain {
    /// Places a new fibre, as its attributes and the cluster's policy want it. `spawner` is the
    /// processor that this thread is, if it is one of ours; `turn` is where the round-robin has
    /// come to. The caller keeps the domain alive.
    pub(crate) fn place(&self, fibre: Runnable, spawner: Option<usize>, turn: usize) {
        let wanted = fibre.block().attributes.processor();
        match (wanted, self.settings.placement) {
            (Some(processor), _) => self.pin(fibre, processor, spawner),
            _ if fibre.link().level() == Level::Background => {
                self.shared_queues.push_background(fibre)
            }
            _ if self.settings.sharing => self.shared_queues.stage(fibre),
            (_, Placement::Push) => self.push_out(fibre, spawner, turn),
            (_, Placement::Staging) => self.shared_queues.stage(fibre),
            (_, Placement::Local) => self.keep(fibre, spawner.unwrap_or(turn)),
            (_, Placement::Head) => match spawner {
                Some(spawner) => self.keep_first(fibre, spawner),
                None => self.keep(fibre, turn),
            },
        }
    }

    /// Places a new fibre on the processor that it asks for. A director takes what comes by the
    /// inbox for another thread's.
    fn pin(&self, fibre: Runnable, processor: usize, spawner: Option<usize>) {
        if spawner.is_some() && self.hooks.director().is_some() {
            self.keep(fibre, processor);
        } else {
            self.queues()[processor].push_inbox(fibre);
        }
    }

    /// Steps the round-robin of foreign threads.
    pub(crate) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) % self.regular()
    }

    /// Places a new fibre that no processor of the cluster spawns, as its attributes and the
    /// cluster's policy want it: one that will serve a connection, if it is to be `spread`. The
    /// caller keeps the domain alive.
    pub(crate) fn place_from_outside(&self, fibre: Runnable, spread: bool) {
        let turn = self.next_turn();
        if !(fibre.link().is_ordinary() && self.settings.pushes()) {
            self.place(fibre, None, turn);
        } else if spread {
            self.spread(fibre, None, turn);
        } else {
            self.push_in(fibre, turn);
        }
    }

    /// Places an activity that has been made ready, as its attributes and the cluster's policy want
    /// it. `waker` is the processor that this thread is, if it is one of ours; `last` the one that
    /// ran the activity last. The caller keeps the domain alive.
    ///
    /// Whoever sends a message is often about to wait for the answer. So a thief is called only if
    /// the processor has others to steal already: a single one will most likely run next where it
    /// is. If the processor is kept from it, a watcher comes within a millisecond or some.
    pub(crate) fn revive(&self, fibre: Runnable, waker: Option<usize>, last: usize) {
        let pinned = fibre.block().attributes.processor();
        if pinned.is_some() || fibre.link().level() == Level::Background || self.settings.sharing {
            return self.place(fibre, waker, last);
        }
        let target = match (self.settings.revival, waker) {
            (Revival::Local, None) => return self.push_out(fibre, None, self.next_turn()),
            (Revival::Local, Some(waker)) => waker,
            (Revival::Affine, _) => last,
        };
        let queue = &self.queues()[target];
        let backlog = queue.has_shared();
        match self.settings.revival {
            Revival::Local => queue.push_shared_first(fibre),
            Revival::Affine => queue.push_shared(fibre),
        }
        if backlog {
            self.call_thief(target);
        } else {
            self.call_watcher(target);
        }
    }

    /// Queues an activity that has been made ready at one processor. Others may take it from there.
    /// The caller keeps the domain alive.
    pub(crate) fn revive_on(&self, fibre: Runnable, processor: usize) {
        self.queues()[processor].push_shared(fibre);
        self.call_watcher(processor);
    }

    /// Queues an activity that has to run again behind the others of the processor that has just
    /// run it. The caller keeps the domain alive.
    pub(crate) fn requeue(&self, fibre: Runnable, processor: usize) {
        if fibre.link().is_ordinary() && !self.settings.sharing {
            self.revive_on(fibre, processor);
        } else {
            self.place(fibre, Some(processor), processor);
        }
    }

    /// Queues a new fibre at one processor, and calls another one that may steal it.
    fn keep(&self, fibre: Runnable, processor: usize) {
        self.queues()[processor].push_shared(fibre);
        self.call_thief(processor);
    }

    /// [`keep`](Self::keep) before what else the processor could share, if its queue has two ends.
    fn keep_first(&self, fibre: Runnable, processor: usize) {
        self.queues()[processor].push_shared_first(fibre);
        self.call_thief(processor);
    }

    /// Calls an idle processor that may steal from this one.
    fn call_thief(&self, processor: usize) {
        if self.settings.steal_order != StealOrder::Never {
            self.shared_queues.wake_one(processor);
        }
    }

    /// Has idle processors look now and then whether this one is kept from what it has.
    fn call_watcher(&self, processor: usize) {
        if self.settings.steal_order != StealOrder::Never {
            self.keep_quietly(processor);
        }
    }

    /// Places a new fibre on an idle processor if there is one, else on the processor `turn`. The
    /// caller keeps the domain alive.
    #[inline]
    pub(crate) fn push_out(&self, fibre: Runnable, spawner: Option<usize>, turn: usize) {
        // Where started fibres move, where they began says little.
        let spawner = spawner.filter(|_| !self.settings.moves_started);
        let needs_help = |spawner: usize| self.queues()[spawner].has_shared();
        let suits = |idle| {
            spawner.is_none_or(|spawner| needs_help(spawner) || !self.is_overfull(idle, spawner))
        };
        for _ in 0..self.processors() {
            let Some(idle) = self.shared_queues.idle.claim_if(turn, suits) else {
                break;
            };
            if self.queues()[idle].is_asleep() {
                return self.queues()[idle].push_shared(fibre);
            }
            // The processor is about to sleep, or has been woken for something else already. Being
            // claimed it must not sleep now: it would be out of the set, and forgotten.
            self.queues()[idle].unpark();
        }
        let stays = spawner.filter(|&spawner| self.keeps(spawner));
        self.queues()[stays.unwrap_or(turn)].push_shared(fibre);
        // Another processor may have become idle since, and have looked too early.
        let suits = |idle| stays.is_none_or(|spawner| !self.is_overfull(idle, spawner));
        if let Some(idle) = self.shared_queues.idle.claim_if(turn, suits) {
            self.queues()[idle].unpark();
        }
    }

    /// Whether an idle processor has so many fibres that it does not count as idle for another
    /// one's spawning.
    #[cold]
    fn is_overfull(&self, idle: usize, spawner: usize) -> bool {
        let bound = self.stats(spawner).residents() + OVERFULL;
        self.stats(idle).residents() > bound
    }

    /// Whether a new fibre should stay with its spawner: there are idle processors, and all of them
    /// are overfull.
    #[inline]
    fn keeps(&self, spawner: usize) -> bool {
        self.shared_queues.idle.is_any() && !self.queues()[spawner].has_shared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::Settings;
    use crate::queue::{Link, Popped};
    use std::ptr::NonNull;

    /// Where a fibre of processor 0 goes while processor 1, with so many live fibres, sleeps.
    fn place(residents: u64, backlog: bool) -> Option<usize> {
        let settings = Settings::from_environment();
        let domain = Domain::new(2, settings);
        (0..residents).for_each(|_| domain.stats(1).count_started());
        let [first, second] = [Link::new(), Link::new()];
        // SAFETY: the links are queued once, and taken out before they go.
        let of = |link| unsafe { Runnable::new(NonNull::from(link)) };
        if backlog {
            domain.queues()[0].push_shared(of(&first));
        }
        // SAFETY: the queue has no owner, so this thread stands in for it.
        let owner = unsafe { domain.queues()[1].as_owner() };
        let armed = owner.announce(true).arm().unwrap();
        domain.push_out(of(&second), Some(0), 1);
        let woken = !domain.shared_queues.idle.is_any();
        let node = Popped::Node(NonNull::from(&second));
        let mut found = None;
        for (index, queue) in domain.queues().iter().enumerate() {
            for _ in 0..2 {
                let stolen = queue.steal().map(|runnable| runnable.node());
                found = found.or((stolen == node).then_some(index));
            }
        }
        assert_eq!(woken, found == Some(1), "who is woken gets it");
        drop(armed);
        found
    }

    #[test]
    fn an_idle_processor_gets_the_new_fibre() {
        assert_eq!(place(0, false), Some(1));
        assert_eq!(place(OVERFULL, false), Some(1));
    }

    #[test]
    fn a_quiet_server_spreads_its_fibres() {
        assert_eq!(place(OVERFULL + 1, false), Some(0));
    }

    #[test]
    fn a_spawner_with_a_backlog_needs_help() {
        assert_eq!(place(OVERFULL + 1, true), Some(1));
    }
}
