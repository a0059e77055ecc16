//! Where long-lived fibres go: to the processor with the fewest live fibres.
//!
//! A fibre that serves a connection lives as long as the connection, and stays on the processor
//! where it started. Other new fibres go to an idle processor if there is one. That rule would put
//! it wherever there was nothing to do at that moment, and never on the processor that accepts
//! connections, as that is busy. So two kinds of new fibres are spread by numbers:
//!
//! * the next fibre that a fibre or thread spawns after it has accepted a connection. It goes to
//!   the processor with the fewest fibres, busy or not, as a server's processors are busy for
//!   microseconds at a time; but not to a processor that one fibre is known to keep for long. No
//!   thief takes it: otherwise an idle processor would take every fibre that is sent to the others,
//!   and end up with most. If its processor is kept for some 20 ms before it starts, the monitor
//!   moves it elsewhere (`ready/rescue.rs`);
//! * a fibre that is not spawned on a processor of the cluster. It wakes a sleeping processor, one
//!   with the fewest fibres, which runs it at once. If none sleeps, the rule of `placement` holds.
//!
//! Where the monitor moves nothing, as in a cluster without spare processors, thieves may take the
//! second kind. Otherwise a fibre that runs first and keeps the processor could keep such a fibre
//! from an idle one for ever.
//!
//! For all other spawns the rule of `placement` holds: the parts of a computation should run at
//! once, and end soon. If started fibres move, numbers say little, and that rule holds for all.
//!
//! A burst of connections is placed before the first of its fibres has started, so fibres on their
//! way count, too (`arrivals`).

use crate::queue::Runnable;
use crate::scheduler::domain::Domain;

/// How many processors are compared. With more, those are that come next in turn.
const COMPARED: usize = 16;

impl Domain {
    /// Places a new fibre where the fewest live: with its spawner if no processor has fewer, and
    /// nothing else is on its way there. The caller keeps the domain alive.
    #[cold]
    pub(crate) fn spread(&self, fibre: Runnable, spawner: Option<usize>, turn: usize) {
        if self.settings.moves_started {
            return self.push_out(fibre, spawner, turn);
        }
        let first = spawner.filter(|&spawner| self.on_their_way(spawner) == 0);
        let first = first.unwrap_or(turn);
        let switches = |processor| !self.is_kept(processor);
        let target = self.fewest(first, switches).unwrap_or(turn);
        self.arrivals[target].note(self.started(target), self.on_their_way(target));
        self.queues()[target].push_inbox(fibre);
    }

    /// Places a new fibre that no processor of the cluster spawns. The caller keeps the domain
    /// alive.
    pub(crate) fn push_in(&self, fibre: Runnable, turn: usize) {
        if self.settings.moves_started {
            return self.push_out(fibre, None, turn);
        }
        for _ in 0..self.processors() {
            let is_idle = |processor| self.shared_queues.idle.contains(processor);
            let Some(best) = self.fewest(turn, is_idle) else {
                break;
            };
            if self
                .shared_queues
                .idle
                .claim_if(best, |idle| idle == best)
                .is_none()
            {
                continue;
            }
            if self.queues()[best].is_asleep() {
                return self.wake_for(fibre, best);
            }
            // As in `push_out`.
            self.queues()[best].unpark();
        }
        self.push_out(fibre, None, turn);
    }

    /// Queues a new fibre at a processor that is about to wake up for it: out of the reach of
    /// thieves if the monitor frees it when another fibre comes first and keeps the processor.
    fn wake_for(&self, fibre: Runnable, processor: usize) {
        let queue = &self.queues()[processor];
        if self.has_rescuer() {
            queue.push_inbox(fibre);
        } else {
            // It comes before what is queued for that processor alone.
            queue.push_shared(fibre);
        }
    }

    /// Whether the monitor moves fibres that have not started from a processor that is kept.
    fn has_rescuer(&self) -> bool {
        self.has_monitor() && self.settings.max_spare.is_some_and(|count| count > 0)
    }

    /// The processor with the fewest fibres of those that suit: of several, the first one from
    /// `first` on, in a ring.
    fn fewest(&self, first: usize, suits: impl Fn(usize) -> bool) -> Option<usize> {
        let all = self.regular();
        let ring = (first..all).chain(0..first.min(all)).take(COMPARED);
        ring.filter(|&processor| suits(processor))
            .min_by_key(|&processor| {
                self.stats(processor).residents() + self.on_their_way(processor)
            })
    }

    /// Whether one fibre keeps a processor from all others, as far as that is known.
    fn is_kept(&self, processor: usize) -> bool {
        // The monitor does not look while no processor is busy.
        self.arrivals[processor].is_kept() && self.stats(processor).works_since().is_some()
    }

    /// How many fibres have started on a processor.
    fn started(&self, processor: usize) -> u64 {
        let [_, started, _] = self.stats(processor).fibres();
        started
    }

    /// How many connections' fibres are on their way to a processor.
    fn on_their_way(&self, processor: usize) -> u64 {
        if !self.queues()[processor].has_own() {
            return 0;
        }
        let started = self.started(processor);
        self.arrivals[processor].on_their_way(started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::Settings;
    use crate::queue::Link;
    use crate::ready::ReadyQueue;
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// A domain with processors that have so many fibres.
    fn domain(residents: &[u64]) -> Domain {
        let domain = Domain::new(residents.len(), Settings::from_environment());
        for (processor, &count) in residents.iter().enumerate() {
            (0..count).for_each(|_| domain.stats(processor).count_started());
        }
        domain
    }

    /// How many fibres of a burst each processor gets, if none starts meanwhile.
    fn burst(domain: &Domain, fibres: usize, place: impl Fn(Runnable, usize)) -> Vec<u64> {
        let links: Vec<_> = (0..fibres).map(|_| Link::new()).collect();
        for (turn, link) in links.iter().enumerate() {
            // SAFETY: the links are queued once, and taken out below, before they go.
            let fibre = unsafe { Runnable::new(NonNull::from(link)) };
            place(fibre, turn % domain.processors());
        }
        let count = |queue: &Arc<ReadyQueue>| {
            // SAFETY: the queue has no owner, so this thread stands in for it.
            let owner = unsafe { queue.as_owner() };
            // SAFETY: the same.
            let nodes = std::iter::from_fn(|| unsafe { owner.pop() }.map(|it| it.node()));
            nodes.count() as u64
        };
        domain.queues().iter().map(count).collect()
    }

    #[test]
    fn a_burst_is_levelled_before_it_starts() {
        for (residents, spawner, fibres) in [
            (&[0, 0][..], 0, 10),
            (&[1, 0], 0, 11),
            (&[0, 0, 0, 0], 2, 41),
            (&[9, 0, 4, 0], 0, 20),
            (&[50, 40], 1, 10),
            (&[40, 50], 1, 30),
            (&[0; 16], 3, 100),
        ] {
            let domain = domain(residents);
            let spread = |fibre, turn| domain.spread(fibre, Some(spawner), turn);
            let new = burst(&domain, fibres, spread);
            assert_eq!(new.iter().sum::<u64>(), fibres as u64);
            let after: Vec<u64> = new
                .iter()
                .zip(residents)
                .map(|(new, old)| new + old)
                .collect();
            let least = after.iter().min().copied().unwrap_or_default();
            let fits = |(new, after): (&u64, &u64)| *new == 0 || *after <= least + 1;
            let all_fit = new.iter().zip(&after).all(fits);
            assert!(all_fit, "{residents:?} and {new:?}");
        }
    }

    #[test]
    fn a_quiet_spawner_keeps_one_if_nobody_has_fewer() {
        let new = |residents: &[u64]| {
            let domain = domain(residents);
            burst(&domain, 1, |fibre, turn| {
                domain.spread(fibre, Some(2), turn)
            })
        };
        assert_eq!(new(&[1, 1, 1]), [0, 0, 1]);
        assert_eq!(new(&[1, 0, 1]), [0, 1, 0]);
    }

    #[test]
    fn what_comes_from_outside_goes_to_an_idle_processor_with_few() {
        let domain = domain(&[7, 3, 0, 3]);
        // SAFETY: the queues have no owners, so this thread stands in for them.
        let owner = |processor: usize| unsafe { domain.queues()[processor].as_owner() };
        let owners = [0, 1, 3].map(owner);
        let armed = owners
            .each_ref()
            .map(|owner| owner.announce(true).arm().unwrap());
        let new = burst(&domain, 3, |fibre, _| domain.push_in(fibre, 2));
        assert_eq!(new, [1, 1, 0, 1], "each wakes one, the fewest first");
        assert!(!domain.shared_queues.idle.is_any());
        drop(armed);
    }

    /// A processor that wakes up may run another fibre first, and that one may keep it.
    #[test]
    fn what_comes_from_outside_can_be_stolen_unless_the_monitor_frees_it() {
        for (monitor, spare, is_stolen) in [(false, 1, true), (true, 0, true), (true, 1, false)] {
            let mut settings = Settings::from_environment();
            settings.max_spare = Some(spare);
            let domain = Domain::new(2, settings);
            domain.set_has_monitor(monitor);
            let (link, queue) = (Link::new(), &domain.queues()[1]);
            // SAFETY: the queue has no owner, so this thread stands in for it.
            let owner = unsafe { queue.as_owner() };
            let armed = owner.announce(true).arm().unwrap();
            // SAFETY: the link is queued once, and taken out below, before it goes.
            domain.push_in(unsafe { Runnable::new(NonNull::from(&link)) }, 0);
            drop(armed);
            let stolen = queue.steal().node();
            assert_eq!(stolen.is_some(), is_stolen, "{monitor}, {spare}");
            // SAFETY: the same.
            let left = unsafe { owner.pop() };
            assert_eq!(left.is_some(), !is_stolen);
        }
    }

    #[test]
    fn no_connection_goes_where_one_fibre_keeps_the_processor() {
        let domain = domain(&[3, 0]);
        domain.arrivals[1].set_kept(true);
        let spread = |fibre, turn| domain.spread(fibre, Some(0), turn);
        assert_eq!(burst(&domain, 1, spread), [0, 1], "it rests since");
        domain.stats(1).set_busy_since(0);
        assert_eq!(burst(&domain, 2, spread), [2, 0]);
    }
}
