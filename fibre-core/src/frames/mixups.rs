//! A warning about thread-locals that fibres mix up, in builds with debug assertions.
//!
//! The fibres of a processor share the thread-locals of its thread. A crate that takes "this
//! thread" for "this request" sets a thread-local, and expects to find the value again after a
//! wait. If another fibre has set it meanwhile, the first one goes on with the value of that fibre.
//!
//! So the program's block of thread-locals (its static TLS image, some hundred bytes) is compared
//! whenever a fibre leaves its stack and comes back. What has changed while a fibre ran is noted as
//! *set* by it. A fibre that has set a variable before it waited, and finds that another one has
//! set it since, is told of: the variable, and where both have waited. Each variable is told of
//! once.
//!
//! Not seen are: values behind a pointer that does not change; variables of libraries that are
//! loaded, or of a program without a table of symbols; and clusters that move started fibres, where
//! a fibre comes back to another thread. [`MAY_CHANGE`] lists variables that belong to the thread
//! rightly, and a program may name more. `FIBRE_MIXUPS=off` switches this off; with `abort` the
//! process aborts after a report.

use crate::config::observation::{MixupSetting, MonitorAction};
use crate::fibre::ControlBlock;
use crate::frames::symbols;
use crate::stack::bounds_at;
use crate::sys::modules;
use crate::sys::stderr;
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// Whether thread-locals are compared, what follows a report, and which may change.
static SETTING: LazyLock<MixupSetting> = LazyLock::new(MixupSetting::from_environment);

/// The variables that are compared, in the order of their places; see [`variables`].
static VARIABLES: OnceLock<Vec<Variable>> = OnceLock::new();

/// The beginnings of the names of variables that fibres may leave to each other: what belongs to
/// the thread and not to what it does. Caches, generators of random numbers, lists of destructors,
/// places in registries of threads; and std's and the runtime's own, which the runtime looks after.
const MAY_CHANGE: [&str; 28] = [
    "std::",
    "core::",
    "alloc::",
    "test::",
    "fibre_",
    "arc_swap::",
    "chrono::",
    "crossbeam_",
    "env_logger::",
    "fastrand::",
    "foldhash::",
    "futures_util::async_await::random::",
    "hyper::common::date::",
    "je_",
    "_rjem_",
    "tikv_jemalloc",
    "mi_",
    "_mi_",
    "once_cell::",
    "oorandom::",
    "parking_lot_core::",
    "rand::",
    "rand_core::",
    "rapidhash::",
    "regex_automata::",
    "sharded_slab::",
    "thread_local::",
    "tracing_subscriber::fmt::",
];

/// Blocks of thread-locals that are larger are not compared.
const MAX_SIZE: usize = 16 << 10;

/// How many bytes have to be left on a stack for a backtrace.
const ROOM: usize = 96 << 10;

/// The beginnings of names of functions that are the runtime's or std's.
const INSIDE: [&str; 7] = [
    "fibre_core::",
    "fibre_sync::",
    "fibre_io::",
    "fibre::",
    "std::",
    "core::",
    "alloc::",
];

/// The names of folders with the runtime's sources.
const PACKAGES: [&str; 4] = ["fibre-core", "fibre-sync", "fibre-io", "fibre-rt"];

/// A thread-local of the program.
#[derive(Debug)]
struct Variable {
    /// Where it lies, from the beginning of the block.
    place: Range<usize>,
    /// Its name as a programmer has it.
    name: String,
    /// Whether it has been told of.
    told: AtomicBool,
}

/// A fibre that has set a variable, and where it was when it left its stack after that.
#[derive(Debug, Clone)]
struct Setter {
    /// The variable, by its place in [`VARIABLES`].
    variable: usize,
    /// The fibre's number.
    fibre: u64,
    /// Where it waited; `None`: it has ended, or there was no room to find out.
    place: Option<Arc<Backtrace>>,
}

/// What a processor remembers of its thread's block. For its own thread only.
#[derive(Debug)]
pub(crate) struct ThreadLocals(RefCell<Image>);

/// What was seen of a block.
#[derive(Debug)]
struct Image {
    /// The block.
    block: *const u8,
    /// What it contained when a fibre last left its stack here, or came back; nothing where blocks
    /// are not compared.
    seen: Box<[u8]>,
    /// The fibres that have set variables, since the processor began.
    setters: Vec<Setter>,
}

/// What a fibre keeps while it waits: the variables that it has set.
#[derive(Debug)]
pub(crate) struct SetValues {
    /// The block that they lie in.
    block: *const u8,
    /// Each with its value.
    values: Vec<(Setter, Box<[u8]>)>,
}

impl ThreadLocals {
    /// What the calling thread's block contains, which is about to be a processor. If fibres that
    /// have started move, nothing is compared.
    pub(crate) fn of_thread(moves_started: bool) -> Self {
        let compares = cfg!(debug_assertions) && !moves_started && SETTING.action.is_some();
        let image = Image::of(compares.then(block).flatten());
        Self(RefCell::new(image))
    }

    /// Notes what the calling fibre has set, which is about to leave its stack. What is returned is
    /// for [`come_back`](Self::come_back).
    #[inline(never)]
    pub(crate) fn leave(&self, fibre: &ControlBlock) -> Option<SetValues> {
        let set = self.0.borrow().set_since()?;
        let is_untold = |variable: &usize| !is_told(*variable);
        // Nothing is borrowed meanwhile: this calls much of std.
        let place = set.iter().any(is_untold).then(place_of_wait).flatten();
        let mut image = self.0.borrow_mut();
        image.note(&set, fibre.id(), place.as_ref());
        image.look();
        image.keep(fibre.id())
    }

    /// Compares what the calling fibre has set before it left its stack with what it finds.
    #[inline(never)]
    pub(crate) fn come_back(&self, fibre: &ControlBlock, kept: Option<SetValues>) {
        let mixed_up = {
            let mut image = self.0.borrow_mut();
            image.look();
            kept.and_then(|kept| image.mixed_up(kept))
        };
        if let Some((own, other)) = mixed_up {
            tell(fibre, &own, &other);
        }
    }

    /// Notes what a fibre has set that has just ended here, or an activity that rests.
    #[inline(never)]
    pub(crate) fn end(&self, fibre: u64) {
        let mut image = self.0.borrow_mut();
        if let Some(set) = image.set_since() {
            image.note(&set, fibre, None);
            image.look();
        }
    }
}

impl Image {
    /// What a block of the calling thread contains. `None`: nothing is compared.
    fn of(block: Option<*const [u8]>) -> Self {
        let mut image = Self {
            block: block.map_or(ptr::null(), <*const [u8]>::cast),
            seen: vec![0; block.map_or(0, <*const [u8]>::len)].into(),
            setters: Vec::new(),
        };
        image.look();
        image
    }

    /// Notes what the block contains.
    fn look(&mut self) {
        // SAFETY: the calling thread's block, of this length; nobody else writes to it.
        unsafe { ptr::copy_nonoverlapping(self.block, self.seen.as_mut_ptr(), self.seen.len()) };
    }

    /// Whether a part of the block is as it was when it was last looked at. The C library compares,
    /// as it is quick in every build.
    fn is_as_seen(&self, place: Range<usize>) -> bool {
        let seen = &self.seen[place.clone()];
        // SAFETY: a part of the calling thread's block, which is as long as what was seen of it.
        unsafe {
            libc::memcmp(
                self.block.add(place.start).cast(),
                seen.as_ptr().cast(),
                seen.len(),
            ) == 0
        }
    }

    /// The variables that have been set since. `None`: blocks are not compared.
    fn set_since(&self) -> Option<Vec<usize>> {
        if self.seen.is_empty() {
            return None;
        }
        if self.is_as_seen(0..self.seen.len()) {
            return Some(Vec::new());
        }
        let inside = |place: &Range<usize>| place.end <= self.seen.len();
        let all = variables().iter().enumerate();
        let set = all.filter(|(_, it)| inside(&it.place) && !self.is_as_seen(it.place.clone()));
        Some(set.map(|(index, _)| index).collect())
    }

    /// Notes that a fibre has set these variables.
    fn note(&mut self, set: &[usize], fibre: u64, place: Option<&Arc<Backtrace>>) {
        self.setters.retain(|it| !set.contains(&it.variable));
        self.setters.extend(set.iter().map(|&variable| Setter {
            variable,
            fibre,
            place: place.cloned(),
        }));
    }

    /// What a fibre has set, with the values.
    fn keep(&self, fibre: u64) -> Option<SetValues> {
        let own = self.setters.iter().filter(|it| it.fibre == fibre);
        let values = own.map(|it| {
            (
                it.clone(),
                self.seen[variables()[it.variable].place.clone()].into(),
            )
        });
        let values: Vec<_> = values.collect();
        (!values.is_empty()).then_some(SetValues {
            block: self.block,
            values,
        })
    }

    /// The first variable that a fibre has set, and in which it finds, now that it is back, what
    /// another one has set; once for each variable.
    fn mixed_up(&self, kept: SetValues) -> Option<(Setter, Setter)> {
        if kept.block != self.block {
            return None;
        }
        kept.values.into_iter().find_map(|(own, value)| {
            let variable = &variables()[own.variable];
            let is_others = |it: &&Setter| it.variable == own.variable && it.fibre != own.fibre;
            let other = self.setters.iter().find(is_others)?.clone();
            let differs = self.seen[variable.place.clone()] != *value;
            (differs && !variable.told.swap(true, Ordering::Relaxed)).then_some((own, other))
        })
    }
}

/// Writes the warning.
#[cold]
fn tell(fibre: &ControlBlock, own: &Setter, other: &Setter) {
    let variable = &variables()[own.variable].name;
    let name = fibre.attributes.name().unwrap_or_default();
    let (number, second) = (own.fibre, other.fibre);
    // Names take much of a stack, and the fibre may have come back to a small one.
    let names = has_room();
    let place = |setter: &Setter| {
        let place = setter.place.as_deref().filter(|_| names);
        place.and_then(first_place)
    };
    let own = place(own).map_or_else(String::new, |place| format!(" at {place}"));
    let other = place(other).map_or_else(
        || "before it waited or ended".to_owned(),
        |place| format!("before it waited at {place}"),
    );
    stderr::warn(format_args!(
        "fibre {number} {name:?} set the thread-local `{variable}` before it waited{own}, and finds there what fibre {second} \
         has set {other}. The fibres of a thread share its thread-locals: use `fibre::fibre_local!`, or a switch hook \
         (docs/THREAD_LOCALS.md; FIBRE_MIXUPS=off switches this off)"
    ));
    if SETTING.action == Some(MonitorAction::Abort) {
        std::process::abort();
    }
}

/// The variables that are compared: none until there was a stack with room to read of them.
fn variables() -> &'static [Variable] {
    match VARIABLES.get() {
        Some(all) => all,
        None if has_room() => VARIABLES.get_or_init(read_variables),
        None => &[],
    }
}

/// Reads which variables there are.
fn read_variables() -> Vec<Variable> {
    let all = symbols::thread_locals().into_iter();
    let all = all.map(|(place, name)| (place, readable(&name)));
    let all = all.filter(|(place, name)| !place.is_empty() && !may_change(name));
    all.map(|(place, name)| Variable {
        place,
        name,
        told: AtomicBool::new(false),
    })
    .collect()
}

/// Whether a variable has been told of.
fn is_told(variable: usize) -> bool {
    variables()[variable].told.load(Ordering::Relaxed)
}

/// Whether the calling fibre's stack has room for what std does with names and backtraces.
fn has_room() -> bool {
    let here = 0_usize;
    let here = (&raw const here).addr();
    bounds_at(here).is_some_and(|stack| here - stack.start > ROOM)
}

/// Where the calling fibre is, if there is room on its stack to find out.
fn place_of_wait() -> Option<Arc<Backtrace>> {
    has_room().then(|| Arc::new(Backtrace::force_capture()))
}

/// The innermost place that is neither the runtime's nor std's; a function, if lines are not known.
fn first_place(trace: &Backtrace) -> Option<String> {
    first_foreign(&trace.to_string())
}

/// The same, of a backtrace as it is printed.
fn first_foreign(trace: &str) -> Option<String> {
    let mut lines = trace.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((_, function)) = line.split_once(": ") else {
            continue;
        };
        let at = lines.next_if(|next| next.starts_with("at "));
        let file = at.map_or("", |at| &at["at ".len()..]);
        if !is_inside(function, file) {
            let place = if file.is_empty() { function } else { file };
            return Some(place.to_owned());
        }
    }
    None
}

/// Whether a function is one of the runtime's, or of std's, by its name or its file. Those that are
/// inlined have names without their crates'.
fn is_inside(function: &str, file: &str) -> bool {
    let function = function.trim_start_matches(['<', '&']);
    let by_name = INSIDE.iter().any(|name| function.starts_with(name));
    let is_package = |part: &str| {
        let rest = PACKAGES.iter().find_map(|name| part.strip_prefix(name));
        // In a registry's folder, a version follows.
        let is_version = |rest: &str| rest.starts_with(|after: char| after.is_ascii_digit());
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_version))
    };
    by_name || file.starts_with("/rustc/") || file.split('/').any(is_package)
}

/// Whether fibres may leave a variable of this name to each other.
fn may_change(name: &str) -> bool {
    let asked = SETTING.may_change.iter().map(String::as_str);
    let mut all = MAY_CHANGE.into_iter().chain(asked);
    all.any(|begin| name.starts_with(begin))
}

/// A symbol's name as a programmer has it: without what `thread_local!` makes of it.
fn readable(symbol: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let name = name
        .strip_suffix("::__RUST_STD_INTERNAL_VAL")
        .unwrap_or(&name);
    let mut parts: Vec<&str> = name.trim_start_matches('<').split("::").collect();
    while parts.len() > 1 && parts.last().is_some_and(|part| part.starts_with('{')) {
        parts.pop();
    }
    parts.join("::")
}

/// The program's block of thread-locals in the calling thread.
fn block() -> Option<*const [u8]> {
    let (start, size) = modules::find(|program| {
        let header = program.thread_local_header();
        let size = header.map_or(0, |header| header.p_memsz as usize);
        Some((program.thread_locals(), size))
    })?;
    (!start.is_null() && size <= MAX_SIZE).then(|| ptr::slice_from_raw_parts(start, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_program() {
        let legacy = "_ZN6mixups13of_std_lazily5USERS29_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure\
                      $u7d$$u7d$23__RUST_STD_INTERNAL_VAL17h671526fe6fc8aaf2E";
        assert_eq!(readable(legacy), "mixups::of_std_lazily::USERS");
        let keys = "_RNvNCNKNvNvMNtNtCsjrHSEGnQ3l9_3std4hash6randomNtBa_11RandomState3new4KEYS0s_023___RUST_STD_INTERNAL_VAL";
        assert!(may_change(&readable(keys)), "{}", readable(keys));
        assert_eq!(readable("fibre_core_current"), "fibre_core_current");
        assert!(!may_change("tokio::runtime::context::CONTEXT"));
        assert!(!may_change("standard::REQUEST"));
    }

    #[test]
    fn the_first_place_is_that_of_the_program() {
        let trace = "   0: std::backtrace::Backtrace::force_capture\n             at /rustc/5/library/std/src/backtrace.rs:312:13\n\
                     \x20  1: leave\n             at /cargo/fibre-core-0.1.0/src/frames/mixups.rs:7:5\n\
                     \x20  2: <fibre_sync::mutex::Mutex<u32>>::lock\n\
                     \x20  3: server::handle\n             at ./src/main.rs:12:9\n   4: server::main\n";
        assert_eq!(first_foreign(trace).as_deref(), Some("./src/main.rs:12:9"));
        let stripped = "   0: fibre_core::park::wait\n   1: server::handle\n";
        assert_eq!(first_foreign(stripped).as_deref(), Some("server::handle"));
        assert_eq!(first_foreign("   0: core::ops::call\n"), None);
    }

    /// Nothing is set by looking. What std sets for its own sake is left out.
    #[test]
    fn what_std_sets_is_left_out() {
        let mut image = Image::of(block());
        assert_eq!(image.set_since(), Some(Vec::new()));
        // Takes another key for each, from the thread's own.
        drop(std::hash::RandomState::new());
        let all = symbols::thread_locals();
        let mut set = all
            .iter()
            .filter(|(place, _)| !image.is_as_seen(place.clone()));
        assert!(
            set.any(|(_, name)| readable(name) == "std::hash::random::RandomState>::new::KEYS")
        );
        assert_eq!(image.set_since(), Some(Vec::new()));
        image.look();
        assert!(image.is_as_seen(0..image.seen.len()));
    }

    #[test]
    fn the_last_setter_counts() {
        let mut image = Image::of(block());
        image.note(&[3, 5], 1, None);
        image.note(&[5], 2, None);
        let setters = image.setters.iter().map(|it| (it.variable, it.fibre));
        assert_eq!(setters.collect::<Vec<_>>(), [(3, 1), (5, 2)]);
    }
}
