//! What a layer above sees of running processors, and how it sleeps while none is busy.
//!
//! An observer reads words that processors write anyway. What it reads of one processor may be
//! inconsistent: then it looks again.
//!
//! It sleeps while all processors do: the process's monitor (`monitor`) wakes it.

use super::inspect::FibreView;
use super::look::FibrePhase;
use super::monitor;
use super::processor_state::ProcessorState;
use super::register;
use super::running::Running;
use crate::fibre::ControlBlock;
use crate::idle::observer_call::OBSERVER;
use crate::sync::Ordering;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Shows the processors of all clusters that run a fibre; of others, their services are counted.
/// Those are left out that are there for calls which block, or for work that computes.
/// Returns the sum of the services of all. Blocks the thread for as long as processors that begin
/// or end take; `None`: the list of clusters was locked for longer than `limit`.
pub fn observe(limit: Duration, f: &mut dyn FnMut(ProcessorState)) -> Option<u64> {
    let mut sum = 0_u64;
    for running in register::try_all(limit)? {
        let domain = &running.domain;
        let cluster = Arc::as_ptr(domain).addr();
        if domain.settings.blocks || domain.settings.computes {
            continue;
        }
        // Processors that begin or end wait for this lock, so nothing takes long under it.
        let all: Vec<_> = domain.with_runs(|runs| {
            let noted = |index| {
                let running = runs.of(index)?;
                Some((index, running.load(Ordering::Relaxed).addr().wrapping_neg()))
            };
            (0..domain.processors()).filter_map(noted).collect()
        });
        for (index, running) in all {
            let stats = domain.stats(index);
            sum = sum.wrapping_add(stats.services());
            if let (Some(thread), Some(_), true) =
                (stats.thread(), stats.works_since(), running != 0)
            {
                f(ProcessorState {
                    cluster,
                    index,
                    thread,
                    running,
                    services: stats.services(),
                });
            }
        }
    }
    Some(sum)
}

/// Shows the fibre that a processor runs, or has run a moment ago, and the name of its cluster; and
/// lets all others go on. `f` must neither wait nor allocate much, as the processor may wait for
/// it. `false`: there is none, or it cannot be seen.
pub fn observe_running(
    processor: ProcessorState,
    limit: Duration,
    f: &mut dyn FnMut(&str, FibreView<'_>),
) -> bool {
    let all = register::try_all(limit).unwrap_or_default();
    let is_its = |running: &&Arc<Running>| Arc::as_ptr(&running.domain).addr() == processor.cluster;
    let its = all.iter().find(is_its);
    its.is_some_and(|running| running.show_running(processor.index, limit, f))
}

impl Running {
    /// Shows the fibre that a processor runs. See [`observe_running`].
    fn show_running(
        &self,
        processor: usize,
        limit: Duration,
        f: &mut dyn FnMut(&str, FibreView<'_>),
    ) -> bool {
        let domain = &self.domain;
        // Processors do not end meanwhile.
        let Some(fibre_lists) = domain.fibre_lists.own.try_lock_for(limit) else {
            return false;
        };
        let its = fibre_lists.iter().find(|(index, _)| *index == processor);
        let Some((_, fibre_list)) = its else {
            return false;
        };
        let stuck = self.stuck(processor);
        let mut show = |block: &ControlBlock| {
            let view = FibreView::new(block, FibrePhase::Runs(stuck), Some(processor));
            f(&domain.settings.name, view);
        };
        let Some(shared) = &domain.fibre_lists.shared else {
            // SAFETY: what runs is in the fibre list, and is not freed during a look.
            return fibre_list
                .look(|running| show(unsafe { running.as_ref() }))
                .is_some();
        };
        // Those in the fibre list are not freed while it is locked.
        let (shared, running) = (shared.lock(), fibre_list.last());
        let mut found = false;
        shared.for_each_fibre(|_, block| {
            if !found && ptr::eq(block, running) {
                found = true;
                show(block);
            }
        });
        found
    }
}

/// How long an observer sleeps where there is no monitor.
const UNMONITORED: Duration = Duration::from_millis(100);

/// Sleeps until the monitor looks at the processors, as some are busy, or were a moment ago; and
/// for `limit` at most. `false`: the limit came first. Where there is no monitor, it is as if that
/// looked every now and then. Blocks the thread. The observer only; there is one.
pub fn sleep_until_busy(limit: Option<Duration>) -> bool {
    if monitor::is_there() {
        return OBSERVER.sleep(limit.map(|limit| Instant::now() + limit));
    }
    thread::park_timeout(limit.map_or(UNMONITORED, |limit| limit.min(UNMONITORED)));
    true
}
