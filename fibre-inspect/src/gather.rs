//! All fibres, in their state while their clusters stand still.
//!
//! A gatherer takes its memory before a cluster stands still, and none while it does
//! ([`FibreVisitor`]). It walks stacks at once, as they are gone a moment later. It keeps equal
//! stacks once; most are equal. The kernel copies each stack. So it is harmless that some belong to
//! a processor that does not stand still, which may run and end the fibre at any time.
//!
//! The gatherer asks about threads that do not stand still when all others go on again.

use crate::arch;
use crate::descriptors::with_shared_descriptors;
use crate::sample::{self, Sample};
use crate::stack::memory;
use crate::stack::modules::Modules;
use crate::stack::unwind::{DEEPEST, End, Frame, Walker};
use crate::threads::{self, Activity};
use fibre_core::internal::{
    ClusterView, FibreView, FibreVisitor, LabelLine, ProcessorView, inspect,
};
use fibre_core::{StuckProcessor, WaitKind, WaitObject};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a lock of the runtime is waited for.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The most different stacks of a cluster.
const STACKS: usize = 1 << 16;

/// The most bytes of a fibre's stack that are looked at in one piece.
const COPIED: usize = 256 << 10;

/// The bytes that most stacks have.
const SHORT: usize = 8 << 10;

/// The bytes that a switch pushes.
const PUSHED: usize = 2 * size_of::<usize>();

/// Bytes of a fibre's name and labels that there is room for, on the average.
const NAMED: usize = 64;

/// Fibres that may come between the count and the standstill.
const MORE: usize = 4096;

/// What a fibre does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum State {
    /// It runs, and does not switch.
    Runs,
    /// It could run, but another fibre keeps its processor and does not switch.
    Behind,
    /// It waits.
    Waits,
    /// It could run, and is about to.
    Ready,
}

/// A fibre.
#[derive(Debug, Clone)]
pub(crate) struct Fibre {
    /// Its number; zero: unknown.
    pub id: u64,
    /// Where its name is in [`Gathered::names`]; empty: it has none.
    pub name: Range<usize>,
    /// Where its labels are there, a line for each; empty: it has none.
    pub labels: Range<usize>,
    /// The number of the fibre that has spawned it, if that is noted.
    pub parent: Option<u64>,
    /// The place of the group that it is cancelled with in [`Gathered::cancel_groups`].
    pub cancel_group: Option<usize>,
    /// The number of its cluster.
    pub cluster: usize,
    pub state: State,
    /// What it waits for.
    pub awaited: Option<WaitObject>,
    /// The fibre or thread that has that, or that keeps its processor.
    pub owner: Option<u64>,
    /// Since when it waits, if that is noted.
    pub since: Option<Instant>,
    /// The processor that it belongs to.
    pub processor: Option<usize>,
    /// The number of its stack.
    pub stack: usize,
    /// The thread that it runs on.
    thread: Option<i32>,
    /// The address where its stack begins.
    root: Option<usize>,
}

/// A stack: where its frames are in [`Gathered::frames`], and why there are no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stack {
    pub frames: Range<usize>,
    pub end: End,
}

/// A processor.
#[derive(Debug)]
pub(crate) struct Processor {
    pub view: ProcessorView,
    /// What its thread does, if a fibre keeps it.
    pub stuck: Option<Activity>,
}

/// A cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub name: String,
    /// Its fibres, those included that have not started.
    pub live: usize,
    /// If they have thread-locals of their own: how many thread blocks they have begun with, and
    /// how many of these had been there before.
    pub thread_blocks: Option<[u64; 2]>,
    pub processors: Vec<Processor>,
}

/// A group of fibres that are cancelled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CancelGroup {
    /// The place of the group that it is within, if it is and there was room.
    pub outer: Option<usize>,
    /// Whether it has been cancelled.
    pub cancelled: bool,
}

/// All that was found.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub clusters: Vec<Cluster>,
    pub fibres: Vec<Fibre>,
    /// The groups that fibres are cancelled with, and those that these are within.
    pub cancel_groups: Vec<CancelGroup>,
    /// The names and labels of all fibres.
    pub names: String,
    /// The frames of all stacks.
    pub frames: Vec<usize>,
    /// All stacks that differ.
    pub stacks: Vec<Stack>,
    /// Data that could not be read.
    pub unread: Vec<String>,
    /// Fibres that came too late, so that there was no room for them.
    pub omitted: usize,
    /// Processors that did not show their fibres.
    pub missed: usize,
}

/// What gathers.
struct Gatherer<'m> {
    walker: Walker<'m>,
    found: Gathered,
    /// The stacks by a hash of their frames.
    known: HashMap<u64, usize>,
    /// The groups of the cluster by their addresses.
    groups: HashMap<usize, usize>,
    /// Where a stack is copied to.
    copy: Vec<u8>,
    /// The name of the only clusters that are looked at.
    only: Option<String>,
    /// Whether the cluster is another one.
    skips: bool,
}

/// All fibres of the process, as of the time of the walk. Blocks the thread, which must be no
/// fibre's.
pub(crate) fn gather(modules: &Modules) -> Gathered {
    gather_of(modules, None)
}

/// The same, of all clusters with this name if there is one.
pub(crate) fn gather_of(modules: &Modules, only: Option<&str>) -> Gathered {
    memory::prepare();
    let mut gatherer = Gatherer {
        walker: Walker::new(modules),
        found: Gathered::default(),
        known: HashMap::new(),
        groups: HashMap::new(),
        copy: vec![0; COPIED],
        only: only.map(str::to_owned),
        skips: false,
    };
    with_shared_descriptors(|| inspect(&mut gatherer, TIMEOUT));
    gatherer.sample();
    if let Some(error) = modules.unread {
        let what = format!("where code lies, so there are no stacks: {}", reason(error));
        gatherer.found.unread.push(what);
    }
    gatherer.found
}

/// Why a file could not be read, in words.
pub(crate) fn reason(error: Errno) -> String {
    match error {
        Errno::MFILE | Errno::NFILE => "no descriptor is free".to_owned(),
        error => error.to_string(),
    }
}

impl FibreVisitor for Gatherer<'_> {
    fn cluster(&mut self, cluster: ClusterView<'_>) {
        self.skips = self.only.as_ref().is_some_and(|only| only != cluster.name);
        if self.skips {
            return;
        }
        let fibres = cluster.live + cluster.live / 8 + MORE;
        let stacks = fibres.min(STACKS);
        self.found.fibres.reserve(fibres);
        self.found.names.reserve(fibres * NAMED);
        self.found.stacks.reserve(stacks);
        self.found.frames.reserve(stacks * 32);
        self.known.reserve(stacks);
        self.found.cancel_groups.reserve(stacks);
        // Those of a cluster before may be gone, and others lie there.
        self.groups.clear();
        self.groups.reserve(stacks);
        self.found.clusters.push(Cluster {
            name: cluster.name.to_owned(),
            live: cluster.live,
            thread_blocks: cluster.thread_blocks,
            processors: Vec::with_capacity(cluster.processors),
        });
    }

    fn processor(&mut self, view: ProcessorView) {
        if self.skips {
            return;
        }
        if let Some(cluster) = self.found.clusters.last_mut() {
            cluster.processors.push(Processor { view, stuck: None });
        }
    }

    fn fibre(&mut self, fibre: FibreView<'_>) {
        if self.skips {
            return;
        }
        if self.found.fibres.len() == self.found.fibres.capacity() {
            self.found.omitted += 1;
            return;
        }
        let runs = fibre.runs();
        let awaited = fibre.awaited().filter(|_| runs.is_none());
        let state = match (runs, awaited, fibre.behind()) {
            (Some(_), ..) => State::Runs,
            (None, Some(_), _) => State::Waits,
            (None, None, Some(_)) => State::Behind,
            (None, None, None) => State::Ready,
        };
        let stack = match runs {
            // It is asked later.
            Some(_) => usize::MAX,
            None => self.walk(&fibre),
        };
        let name = self.name(&fibre);
        let labels = self.labels(&fibre);
        let cancel_group = self.cancel_group(&fibre);
        self.found.fibres.push(Fibre {
            id: fibre.id(),
            name,
            labels,
            parent: fibre.parent(),
            cancel_group,
            cluster: self.found.clusters.len().saturating_sub(1),
            state,
            awaited,
            owner: fibre.owner(),
            since: fibre.since(),
            processor: fibre.processor(),
            stack,
            thread: runs.map(|stuck| stuck.thread),
            root: Some(fibre.root()),
        });
    }

    fn unseen(&mut self, processor: StuckProcessor) {
        if self.skips {
            return;
        }
        if self.found.fibres.len() == self.found.fibres.capacity() {
            self.found.omitted += 1;
            return;
        }
        self.found.fibres.push(Fibre {
            id: 0,
            name: 0..0,
            labels: 0..0,
            parent: None,
            cancel_group: None,
            cluster: self.found.clusters.len().saturating_sub(1),
            state: State::Runs,
            awaited: None,
            owner: None,
            since: None,
            processor: Some(processor.index),
            stack: usize::MAX,
            thread: Some(processor.thread),
            root: None,
        });
    }

    fn missed(&mut self) {
        self.found.missed += usize::from(!self.skips);
    }

    fn unread(&mut self, what: &str) {
        self.found.unread.push(what.to_owned());
    }
}

impl Gatherer<'_> {
    /// Keeps the fibre's name, if there is room.
    fn name(&mut self, fibre: &FibreView<'_>) -> Range<usize> {
        let names = &mut self.found.names;
        let from = names.len();
        fibre.with_name(&mut |name| {
            if let Some(name) = name.filter(|name| names.len() + name.len() <= names.capacity()) {
                names.push_str(name);
            }
        });
        from..names.len()
    }

    /// Keeps the fibre's labels, if there is room.
    fn labels(&mut self, fibre: &FibreView<'_>) -> Range<usize> {
        let names = &mut self.found.names;
        let from = names.len();
        fibre.with_labels(&mut |LabelLine(labels)| {
            if names.len() + labels.len() <= names.capacity() {
                names.push_str(labels);
            }
        });
        from..names.len()
    }

    /// Keeps the groups that the fibre is cancelled with, if there is room; returns the place of
    /// the innermost one.
    fn cancel_group(&mut self, fibre: &FibreView<'_>) -> Option<usize> {
        let (found, known) = (&mut self.found.cancel_groups, &mut self.groups);
        let (mut innermost, mut inner) = (None, None);
        fibre.with_cancel_groups(&mut |address, cancelled| {
            let place = known.get(&address).copied();
            let has_room = found.len() < found.capacity() && known.len() < known.capacity();
            if place.is_none() && !has_room {
                return false;
            }
            let at = place.unwrap_or_else(|| {
                let outer = None;
                found.push(CancelGroup { outer, cancelled });
                known.insert(address, found.len() - 1);
                found.len() - 1
            });
            innermost = innermost.or(Some(at));
            if let Some(inner) = inner.replace(at) {
                let inner: &mut CancelGroup = &mut found[inner];
                inner.outer = Some(at);
            }
            // The groups around a known one are known.
            place.is_none()
        });
        innermost
    }

    /// Walks up the stack of a fibre that does not run; returns the stack's number.
    fn walk(&mut self, fibre: &FibreView<'_>) -> usize {
        let root = fibre.root();
        let left = fibre.left();
        // The stack of a fibre that has not begun has not even room for a frame.
        let Some([pointer, code]) = left.filter(|[pointer, _]| pointer.abs_diff(root) > PUSHED)
        else {
            let reason = "it has not been there, or has just begun to run";
            return self.keep(&[], End::Missing(reason));
        };
        // On a stack of its own, or on one that it was lent.
        let own = root.checked_sub(pointer).unwrap_or(SHORT);
        let length = memory::read(pointer, &mut self.copy[..own.min(COPIED)]);
        let copy = &self.copy[..length];
        let read = |address: usize| {
            let inside = address.checked_sub(pointer);
            let bytes = inside.and_then(|from| copy.get(from..from.checked_add(8)?));
            let word = bytes.and_then(|bytes| Some(usize::from_ne_bytes(bytes.try_into().ok()?)));
            word.or_else(|| memory::word(address))
        };
        let mut frames = [0; DEEPEST];
        let mut count = 0;
        // As a switch leaves it: the two words that it has pushed, which the function's table does
        // not know of, from the stack pointer on.
        let end = match (read(pointer), read(pointer + 8)) {
            (Some(first), Some(second)) => {
                let mut frame = Frame::new(code, pointer + PUSHED);
                frame.set(arch::PUSHED[0], Some(first));
                frame.set(arch::PUSHED[1], Some(second));
                self.walker.walk(frame, false, Some(root), &read, |code| {
                    // A walk has no more frames than there is room for.
                    frames[count] = code;
                    count += 1;
                    true
                })
            }
            _ => End::Unreadable(pointer),
        };
        if fibre.left() != left {
            return self.keep(&[], End::Missing("it has gone on meanwhile"));
        }
        self.keep(&frames[..count], end)
    }

    /// Keeps a stack; returns its number, which is that of an equal one.
    fn keep(&mut self, frames: &[usize], end: End) -> usize {
        let found = &mut self.found;
        let hash = hash(frames, end);
        let same =
            |stack: &Stack| stack.end == end && found.frames[stack.frames.clone()] == *frames;
        if let Some(known) = self.known.get(&hash)
            && same(&found.stacks[*known])
        {
            return *known;
        }
        let is_full = found.stacks.len() == found.stacks.capacity();
        if is_full || found.frames.len() + frames.len() > found.frames.capacity() {
            return usize::MAX;
        }
        let from = found.frames.len();
        found.frames.extend_from_slice(frames);
        let frames = from..found.frames.len();
        found.stacks.push(Stack { frames, end });
        if self.known.len() < self.known.capacity() {
            self.known.insert(hash, found.stacks.len() - 1);
        }
        found.stacks.len() - 1
    }

    /// Asks the threads that did not stand still; they may have gone on since.
    fn sample(&mut self) {
        for at in 0..self.found.fibres.len() {
            let fibre = self.found.fibres[at].clone();
            if let (Some(thread), Some(processor)) = (fibre.thread, fibre.processor) {
                let activity = threads::activity(thread);
                let processors = &mut self.found.clusters[fibre.cluster].processors;
                let its = processors
                    .iter_mut()
                    .find(|other| other.view.index == processor);
                if let Some(processor) = its {
                    processor.stuck = Some(activity);
                }
                let (frames, end) = stack_of(&mut self.walker, thread, fibre.root);
                self.found.frames.reserve(frames.len());
                self.found.stacks.reserve(1);
                self.found.fibres[at].stack = self.keep(&frames, end);
            } else if fibre.stack == usize::MAX {
                self.found.stacks.reserve(1);
                self.found.fibres[at].stack = self.keep(&[], End::NoRoom);
            }
        }
    }
}

/// The stack of a thread that runs a fibre, from where the fibre's stack begins (`root`), if that
/// is known.
pub(crate) fn stack_of(
    walker: &mut Walker<'_>,
    thread: i32,
    root: Option<usize>,
) -> (Vec<usize>, End) {
    let from_call = sample::of_call(thread).map(|sample| walk_up(walker, &sample, root));
    let from_call = match from_call {
        Some(found @ (_, End::Entry | End::Thread | End::NoTable(_))) => return found,
        other => other,
    };
    let asked = sample::by_signal(thread).map(|sample| walk_up(walker, &sample, root));
    match (asked, from_call) {
        (Ok(result), _) | (Err(_), Some(result)) => result,
        (Err(reason), None) => (Vec::new(), End::Missing(reason)),
    }
}

/// Walks up a stack that has been copied.
pub(crate) fn walk_up(
    walker: &mut Walker<'_>,
    sample: &Sample,
    root: Option<usize>,
) -> (Vec<usize>, End) {
    let read = |address: usize| sample.word(address).or_else(|| memory::word(address));
    let mut frames = Vec::new();
    let end = walker.walk(sample.frame, true, root, &read, |code| {
        frames.push(code);
        true
    });
    if end == End::Thread && root.is_some() {
        return (Vec::new(), End::Missing("it has gone on meanwhile"));
    }
    (frames, end)
}

/// A number for the frames of a stack.
fn hash(frames: &[usize], end: End) -> u64 {
    let mix = |hash: u64, word: usize| {
        (hash.rotate_left(5) ^ word as u64).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let end = match end {
        End::NoTable(at) | End::Unreadable(at) => at,
        End::Missing(words) => words.as_ptr().addr(),
        _ => 0,
    };
    frames.iter().copied().fold(mix(1, end), mix)
}

impl Gathered {
    /// The name of a fibre.
    pub(crate) fn name(&self, fibre: &Fibre) -> Option<&str> {
        let name = self.names.get(fibre.name.clone())?;
        (!name.is_empty()).then_some(name)
    }

    /// The labels of a fibre, as they are shown.
    pub(crate) fn labels(&self, fibre: &Fibre) -> Option<LabelLine<'_>> {
        let labels = self.names.get(fibre.labels.clone())?;
        (!labels.is_empty()).then_some(LabelLine(labels))
    }

    /// The kind of what a fibre waits for.
    pub(crate) fn kind(fibre: &Fibre) -> Option<WaitKind> {
        fibre.awaited.map(WaitObject::kind)
    }
}
