//! The content of a dump: groups of fibres with equal stacks, and cycles of owners.
//!
//! Fibres that keep their processors come first, then groups by size: a fibre that does something
//! unique says more than a thousand that do the same.

use crate::arch::register_name;
use crate::cycles::cycles;
use crate::gather::{Fibre, Gathered, State};
use crate::stack::modules::Modules;
use crate::stack::unwind::End;
use crate::symbols::{Code, Symbols};
use fibre_core::WaitKind;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Fibres of a cluster that do the same, by equal stacks.
#[derive(Debug)]
pub(crate) struct Group {
    /// The number of the cluster.
    pub cluster: usize,
    pub state: State,
    /// The kind of what they wait for.
    pub kind: Option<WaitKind>,
    /// The number of their stack.
    pub stack: usize,
    /// Their places in [`Gathered::fibres`].
    pub fibres: Vec<usize>,
}

/// The report.
pub(crate) struct Report<'m> {
    pub found: Gathered,
    pub groups: Vec<Group>,
    /// Cycles of fibres that each wait for an object of the next one.
    pub cycles: Vec<Vec<u64>>,
    /// The places of fibres, by their numbers.
    by_id: HashMap<u64, usize>,
    pub symbols: Symbols<'m>,
    /// When the report was made, since 1970.
    pub time: Duration,
    /// The moment that all waits are counted up to.
    moment: Instant,
    /// How long the fibres were looked at.
    pub looked: Duration,
}

impl<'m> Report<'m> {
    /// The report of what was found among the code of these modules.
    pub(crate) fn new(found: Gathered, modules: &'m Modules, begun: Instant) -> Self {
        let numbered = found.fibres.iter().enumerate();
        let by_id: HashMap<u64, usize> = numbered.map(|(at, fibre)| (fibre.id, at)).collect();
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            groups: groups(&found),
            cycles: circles_of(&found),
            by_id,
            symbols: Symbols::new(modules),
            time: time.unwrap_or_default(),
            moment: Instant::now(),
            looked: begun.elapsed(),
            found,
        }
    }

    /// For how long a fibre had waited when the fibres had been looked at.
    pub(crate) fn waited(&self, fibre: &Fibre) -> Option<Duration> {
        let since = fibre.since?;
        Some(self.moment.saturating_duration_since(since))
    }

    /// A fibre by its number, if it was found.
    pub(crate) fn fibre(&self, id: u64) -> Option<&Fibre> {
        Some(&self.found.fibres[*self.by_id.get(&id)?])
    }

    /// The frames of a group, the innermost first, and why there are no more, in words.
    pub(crate) fn stack(&mut self, group: usize) -> (Vec<(usize, Arc<Code>)>, String) {
        let group = &self.groups[group];
        let Some(stack) = self.found.stacks.get(group.stack) else {
            return (Vec::new(), "there was no room for its stack".to_owned());
        };
        let runs = group.state == State::Runs;
        let frames = self.found.frames[stack.frames.clone()].to_vec();
        let end = stack.end;
        let frames = frames.into_iter().enumerate();
        let frames = frames
            .map(|(depth, address)| {
                let called = !runs || depth > 0;
                (address, self.symbols.look_up(address, called))
            })
            .collect();
        (frames, self.words(end))
    }

    /// Why a stack has no more frames.
    fn words(&mut self, end: End) -> String {
        match end {
            End::Entry => "the fibre's entry".to_owned(),
            End::Thread => "the thread's entry".to_owned(),
            End::NoTable(at) => {
                let code = self.symbols.look_up(at, true);
                let module = code.module.as_ref();
                let module = module.map_or("code of no file", |(name, _)| name);
                format!("cut off: {module} has no unwind table for {at:#x}")
            }
            End::Unreadable(at) => format!("cut off: there is no memory at {at:#x}"),
            End::NoRegister(number) => {
                let name = register_name(gimli::Register(number)).unwrap_or("a register");
                format!("cut off: {name} is not known there")
            }
            End::Astray => "cut off: the unwind tables lead astray".to_owned(),
            End::TooDeep => "cut off: there are more frames".to_owned(),
            End::NoRoom => "cut off: there was no room for more".to_owned(),
            End::Missing(reason) => format!("not read: {reason}"),
        }
    }
}

/// The groups, in the order of the report.
fn groups(found: &Gathered) -> Vec<Group> {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (at, fibre) in found.fibres.iter().enumerate() {
        let kind = Gathered::kind(fibre);
        let key = (
            fibre.cluster,
            fibre.state,
            kind.map(|kind| kind as u8),
            fibre.stack,
        );
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Group {
                cluster: fibre.cluster,
                state: fibre.state,
                kind,
                stack: fibre.stack,
                fibres: Vec::new(),
            });
            groups.len() - 1
        });
        groups[place].fibres.push(at);
    }
    for group in &mut groups {
        group.fibres.sort_by_key(|at| found.fibres[*at].id);
    }
    groups.sort_by_key(|group| {
        let first = group.fibres.first().map(|at| found.fibres[*at].id);
        (
            group.cluster,
            group.state != State::Runs,
            group.fibres.len(),
            first,
        )
    });
    groups
}

/// The cycles of fibres that wait for each other, as far as owners are known.
fn circles_of(found: &Gathered) -> Vec<Vec<u64>> {
    let waits = found
        .fibres
        .iter()
        .filter(|fibre| fibre.state == State::Waits);
    let owned: Vec<_> = waits
        .filter_map(|fibre| Some((fibre.id, fibre.owner?)))
        .collect();
    cycles(&owned)
}
