//! Work stealing: which processors an idle one helps.
//!
//! Victims are the busy processors only, in the order that [`StealOrder`] says. By default the
//! processor that has been busy for the longest time comes first: it is the likeliest to have a
//! backlog, and an idle one has none. A processor that is just being woken has one: the fibre that
//! it is woken for. A thief that took it would draw all fibres that are spawned at about the same
//! time to its own processor, where they then stay. So the thief leaves it alone, unless the owner
//! takes too long to come. By default thieves take only fibres that have not started; these stay
//! with the processor that starts them. If started fibres move, a stolen one goes home when it
//! yields or blocks, unless the policy is sticky.
//!
//! An order is a function in a file of its own, which asks the [`Thief`] to try one victim after
//! the other. It may give up before it has tried all: a processor does not sleep while it could
//! take something from another one ([`Thief::has_victim`]), and comes again.
//!
//! Files:
//!
//! * `longest_busy`: the default order;
//! * `variants`: the other ones.

mod longest_busy;
mod variants;

use crate::config::policy::{StealOrder, Stealing};
use crate::config::settings::Settings;
use crate::config::steal_orders::steal_orders;
use crate::queue::Runnable;
use crate::scheduler::counts::RescuerAction;
use crate::scheduler::domain::Domain;
use crate::trace::{self, TraceKind};
use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an owner without a service counts as stuck: several times the distance of services.
const STUCK: Duration = Duration::from_millis(1);

/// A processor that steals. For its own thread only.
#[derive(Debug)]
pub(crate) struct Thief {
    /// Its place in the domain.
    index: usize,
    /// The state of its random choices; never zero.
    random: Cell<u64>,
    /// For each processor: when the thief found others there with a fibre that it left alone, and
    /// how many services the processor had done.
    looks: RefCell<Vec<Option<(Instant, u64)>>>,
}

/// Makes the choice of an order's function.
macro_rules! steal_by {
    (enum $choice:ident {
        $($(#[$_about:meta])* $order:ident = $_name:literal, $steal:path;)+
    }) => {
        /// Takes a fibre that its owner shares with others, in this order.
        fn steal_by(
            order: $choice,
            thief: &Thief,
            domain: &Domain,
            mode: StealMode,
        ) -> Option<Runnable> {
            match order {
                $($choice::$order => $steal(thief, domain, mode),)+
            }
        }
    };
}

steal_orders!(steal_by);

/// How far a thief goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StealMode {
    /// It leaves processors alone that are just being woken.
    SkipWaking,
    /// It takes from every processor.
    Any,
}

impl Thief {
    /// The thief that processor `index` is.
    pub(crate) fn new(index: usize, settings: &Settings) -> Self {
        let seed = settings
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one(index));
        // Neighbours get very different numbers, whatever the seed.
        let mixed = (seed ^ index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self {
            index,
            random: Cell::new(mixed | 1),
            looks: RefCell::default(),
        }
    }

    /// Takes one fibre from another processor, unless all attempts that the order makes fail.
    pub(crate) fn steal(&self, domain: &Domain, mode: StealMode) -> Option<Runnable> {
        // What a stuck owner shares may come back to it again and again, so this comes first.
        self.steal_next(domain)
            .or_else(|| steal_by(domain.settings.steal_order, self, domain, mode))
    }

    /// Whether another processor has a fibre that this one could take, whatever the order makes of
    /// it. Asked before each sleep.
    #[inline(always)]
    pub(crate) fn has_victim(&self, domain: &Domain) -> bool {
        let others = domain.queues().iter().enumerate();
        domain.settings.steal_order != StealOrder::Never
            && others
                .filter(|(index, _)| *index != self.index)
                .any(|(_, queue)| queue.has_shared())
    }

    /// Takes from a processor that is busy and has something to steal.
    fn try_victim(&self, domain: &Domain, mode: StealMode, victim: usize) -> Option<Runnable> {
        if victim == self.index || !domain.queues()[victim].has_shared() {
            return None;
        }
        busy_since(domain, victim, mode)?;
        self.take_from(domain, victim)
    }

    /// Takes the one of a victim's fibres that thieves take first. If the policy says so, a started
    /// fibre is at home here from then on.
    fn take_from(&self, domain: &Domain, victim: usize) -> Option<Runnable> {
        let queue = &domain.queues()[victim];
        let length = queue.length();
        let stats = domain.stats(self.index);
        stats.steals_tried.add(1);
        let fibre = queue.steal().node()?;
        stats.steals.add(1);
        if queue.is_stuck() {
            domain.stats(victim).add_rescues(RescuerAction::Fibres, 1);
        }
        self.record(domain, &fibre, victim);
        if let Stealing::Sticky { threshold } = domain.settings.stealing
            && domain.settings.moves_started
            && length >= threshold
        {
            let home = Arc::as_ptr(&domain.queues()[self.index]);
            fibre.block().set_home(home);
        }
        Some(fibre)
    }

    /// Records that it has taken a fibre, if events are recorded.
    #[inline(always)]
    fn record(&self, domain: &Domain, fibre: &Runnable, victim: usize) {
        if trace::is_on() {
            self.record_steal(domain, fibre, victim);
        }
    }

    /// [`record`](Self::record) where events are recorded.
    #[cold]
    #[inline(never)]
    fn record_steal(&self, domain: &Domain, fibre: &Runnable, victim: usize) {
        if let Some(track) = domain.queues()[self.index].track() {
            track.record_fibre(TraceKind::Steal, fibre.id(), victim as u64);
        }
    }

    /// Takes the fibre that an owner has made ready last, which thieves leave alone, if the owner
    /// has not come to any other fibre for long.
    fn steal_next(&self, domain: &Domain) -> Option<Runnable> {
        if !domain.settings.moves_started || domain.settings.steal_order == StealOrder::Never {
            return None;
        }
        let mut looks = self.looks.borrow_mut();
        looks.resize(domain.processors(), None);
        let others = (0..domain.processors()).filter(|index| *index != self.index);
        for victim in others.filter(|&index| domain.queues()[index].has_next()) {
            let (now, services) = (Instant::now(), domain.stats(victim).services());
            match looks[victim] {
                Some((then, before)) if before == services => {
                    if now - then >= STUCK
                        && let Some(fibre) = domain.queues()[victim].take_next()
                    {
                        let stats = domain.stats(self.index);
                        stats.steals_tried.add(1);
                        stats.steals.add(1);
                        domain.stats(victim).add_rescues(RescuerAction::Fibres, 1);
                        self.record(domain, &fibre, victim);
                        return Some(fibre);
                    }
                }
                _ => looks[victim] = Some((now, services)),
            }
        }
        None
    }

    /// When to look again, if there will be something that may be taken then.
    pub(crate) fn next_look(&self, domain: &Domain) -> Option<Instant> {
        let others = domain.queues().iter().enumerate();
        let mut others = others.filter(|(index, _)| *index != self.index);
        let worth_it = domain.settings.moves_started
            && domain.settings.steal_order != StealOrder::Never
            && others.any(|(_, queue)| queue.has_next());
        worth_it.then(|| Instant::now() + STUCK)
    }

    /// The next random number. Source: Marsaglia, "Xorshift RNGs" (2003). Each thief has a state of
    /// its own, without a thread-local or a crate; a seed repeats it.
    fn next_random(&self) -> usize {
        let mut state = self.random.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.random.set(state);
        // The upper half is the better one.
        (state >> 32) as usize
    }
}

/// When a processor became busy. A processor that is being woken is the last one for an impatient
/// thief, and none at all for a patient one.
fn busy_since(domain: &Domain, processor: usize, mode: StealMode) -> Option<u64> {
    let waking = (mode == StealMode::Any).then_some(u64::MAX);
    domain.stats(processor).busy_since().or(waking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Link;
    use std::ptr::NonNull;

    /// A domain of busy processors that have a fibre each, but for the first, the thief; the higher
    /// its number, the longer a processor has been busy.
    fn domain(order: StealOrder, links: &[Link]) -> Domain {
        let mut settings = Settings::from_environment();
        settings.steal_order = order;
        settings.seed = Some(1);
        settings.neighbours = Some([Box::from([2, 1])].into());
        let domain = Domain::new(links.len() + 1, settings);
        for (index, link) in links.iter().enumerate() {
            domain.stats(index + 1).set_busy_since(100 - index as u64);
            // SAFETY: the link is queued once, and taken out before it goes.
            let runnable = unsafe { Runnable::new(NonNull::from(link)) };
            domain.queues()[index + 1].push_shared(runnable);
        }
        domain
    }

    /// The numbers of the processors that the first one takes from, in its order.
    fn victims(domain: &Domain, links: &[Link], mode: StealMode) -> Vec<usize> {
        let thief = Thief::new(0, &domain.settings);
        let taken = std::iter::from_fn(|| thief.steal(domain, mode));
        let place = |node| links.iter().position(|link| NonNull::from(link) == node);
        taken
            .filter_map(|fibre| Some(place(fibre.node())? + 1))
            .collect()
    }

    /// Four links, for processors 1 to 4.
    fn links() -> [Link; 4] {
        std::array::from_fn(|_| Link::new())
    }

    #[test]
    fn each_order_is_kept() {
        for (order, expected) in [
            (StealOrder::LongestBusy, vec![4, 3, 2, 1]),
            (StealOrder::Ring, vec![1, 2, 3, 4]),
            (StealOrder::Topology, vec![2, 1, 3, 4]),
            (StealOrder::Never, vec![]),
        ] {
            let links = links();
            let domain = domain(order, &links);
            assert_eq!(
                victims(&domain, &links, StealMode::SkipWaking),
                expected,
                "{order}"
            );
        }
    }

    #[test]
    fn random_victims_are_all_of_them_and_follow_the_seed() {
        for order in [StealOrder::Random, StealOrder::Hierarchical] {
            let orders = [0, 1].map(|_| {
                let links = links();
                let domain = domain(order, &links);
                victims(&domain, &links, StealMode::SkipWaking)
            });
            assert_eq!(orders[0], orders[1]);
            let mut sorted = orders[0].clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [1, 2, 3, 4], "{order}");
        }
    }

    #[test]
    fn random_choices_reach_everybody() {
        let mut settings = Settings::from_environment();
        settings.seed = Some(7);
        let thief = Thief::new(3, &settings);
        let mut seen = [false; 8];
        (0..200).for_each(|_| seen[thief.next_random() % 8] = true);
        assert_eq!(seen, [true; 8]);
    }

    /// Also if the thief never sleeps, so that it watches nobody.
    #[test]
    fn what_an_owner_keeps_is_taken_once_it_does_not_switch() {
        let mut settings = Settings::from_environment();
        settings.moves_started = true;
        settings.steal_order = StealOrder::LongestBusy;
        let domain = Domain::new(2, settings);
        let (thief, link) = (Thief::new(0, &domain.settings), Link::new());
        domain.stats(1).set_busy_since(1);
        // SAFETY: the queue has no owner, so this thread stands in for it; the link is queued once,
        // and taken out before it goes.
        unsafe {
            domain.queues()[1]
                .as_owner()
                .fill_next(Runnable::new(NonNull::from(&link)))
        };
        let taken = || {
            thief
                .steal(&domain, StealMode::Any)
                .map(|fibre| fibre.node())
        };
        assert_eq!(taken(), None, "it has just been made ready");
        std::thread::sleep(STUCK);
        domain.stats(1).count_service();
        assert_eq!(taken(), None, "its owner goes on");
        std::thread::sleep(STUCK);
        assert_eq!(taken(), Some(NonNull::from(&link)));
        assert_eq!(taken(), None);
    }

    #[test]
    fn who_is_being_woken_keeps_its_work() {
        let orders = StealOrder::ALL.into_iter();
        for order in orders.filter(|order| *order != StealOrder::Never) {
            let links = links();
            let domain = domain(order, &links);
            domain.stats(3).set_idle();
            let patient = victims(&domain, &links, StealMode::SkipWaking);
            assert!(patient.len() == 3 && !patient.contains(&3), "{order}");
            assert_eq!(victims(&domain, &links, StealMode::Any), [3], "{order}");
        }
    }
}
