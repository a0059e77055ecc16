//! A copy of the process: all stands still there, and it is asked who is stuck.
//!
//! All clusters stand still, and a signal holds the other threads of the program (`hold`), while
//! the kernel makes the copy. That copies no memory, but page tables. Then all goes on, and the
//! copy judges at its leisure. So the verdict is about one moment. It stays true: what cannot be
//! reached at one moment is not reached later.
//!
//! The copy is made with the process's descriptors shared, and at once takes an empty table of its
//! own. So no descriptor stays open longer because of it, and what it opens has no number that the
//! program could close. It ends without a signal to the process, and only this file waits for it.
//! If it crashes, which it should not, there is no verdict.

use super::counts;
use super::judge::{self, Candidate, Case, End, STUCK, Verdict};
use super::maps::Pages;
use super::noted::Notes;
use super::region::Region;
use super::unused::Caller;
use crate::descriptors::with_shared_descriptors;
use crate::sample;
use crate::sample::hold::Held;
use fibre_core::internal::{
    ClusterView, FibreView, FibreVisitor, ProcessorView, bookkeeping, freeze, have_moved, inspect,
    live_fibres, page_size, stack_bounds_at,
};
use fibre_core::sync::thread_mutex::Mutex;
use fibre_core::{StuckProcessor, WaitKind, Waiting};
use std::collections::HashMap;
use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::thread;
use std::time::{Duration, Instant};

/// How long clusters, and locks of the runtime, are waited for.
const TIMEOUT: Duration = Duration::from_millis(20);

/// How long a lock of the runtime is waited for.
const LOCKED: Duration = Duration::from_secs(2);

/// How long the copy may take.
const LONGEST: Duration = Duration::from_secs(120);

/// The longest sleep between two looks at the copy.
const BETWEEN: Duration = Duration::from_millis(5);

/// Fibres that may come between the count and the standstill.
const MORE: usize = 4096;

/// For how long all go on between two searches that have to agree.
const APART: Duration = Duration::from_millis(50);

/// How many copies are made before one that knows the memory of fibres.
const TRIES: usize = 3;

/// Held by the thread that makes a copy.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Why nothing can be read where a guard is: `SEGV_MAPERR` and `SEGV_ACCERR`.
const HOLES: [i32; 2] = [1, 2];

/// The kinds of things that only code of the program ends the wait for.
const KINDS: [WaitKind; 13] = [
    WaitKind::Mutex,
    WaitKind::RwLock,
    WaitKind::Condvar,
    WaitKind::Semaphore,
    WaitKind::Barrier,
    WaitKind::Event,
    WaitKind::WaitGroup,
    WaitKind::Notify,
    WaitKind::Once,
    WaitKind::Channel,
    WaitKind::Select,
    WaitKind::Join,
    WaitKind::Scope,
];

/// Whether a fibre that waits for this kind of thing may be stuck.
pub(crate) fn may_be_stuck(kind: WaitKind) -> bool {
    KINDS.contains(&kind)
}

/// Collects the candidates.
struct Collector {
    candidates: Region<Candidate>,
    /// What reports say of each.
    notes: Notes,
    words: Region<usize>,
    /// Where fibres have left their stacks.
    left: Region<usize>,
}

impl Collector {
    /// With room for so many fibres. `None`: there is no memory.
    fn new(fibres: usize) -> Option<Self> {
        Some(Self {
            candidates: Region::new(fibres)?,
            notes: Notes::new(fibres)?,
            words: Region::new(2 * fibres + MORE)?,
            left: Region::new(fibres)?,
        })
    }

    /// The addresses of all that it has.
    fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        let own = [
            self.candidates.addresses(),
            self.words.addresses(),
            self.left.addresses(),
        ];
        own.into_iter().chain(self.notes.addresses())
    }
}

impl FibreVisitor for Collector {
    fn cluster(&mut self, cluster: ClusterView<'_>) {
        self.notes.begin_cluster(cluster.name);
    }

    fn processor(&mut self, _: ProcessorView) {}

    fn fibre(&mut self, fibre: FibreView<'_>) {
        // Where there is no room, fibres are no candidates, and words count.
        for word in fibre.hook_words() {
            let _ = self.words.push(word);
        }
        let (true, Some([low, _])) = (fibre.is_still(), fibre.left()) else {
            return;
        };
        let bounds = stack_bounds_at(fibre.root().saturating_sub(1));
        let own = bounds.filter(|bounds| bounds.contains(&low));
        let (false, Some(own)) = (fibre.is_activity(), own) else {
            return;
        };
        let _ = self.left.push(low & !7);
        let awaited = fibre
            .awaited()
            .filter(|awaited| may_be_stuck(awaited.kind()));
        let Some(awaited) = awaited else { return };
        let channel = awaited
            .address()
            .filter(|_| awaited.kind() == WaitKind::Channel);
        if !self.notes.note(&fibre, awaited) {
            return;
        }
        let _ = self.candidates.push(Candidate {
            block: fibre.block(),
            rest: fibre.behind_queue_hook().next_multiple_of(8),
            low: low & !7,
            high: own.end & !7,
            channel: channel.unwrap_or(0),
        });
    }

    fn unseen(&mut self, _: StuckProcessor) {}

    fn missed(&mut self) {}

    fn unread(&mut self, _: &str) {}
}

/// There is no memory.
fn no_memory() -> io::Error {
    error(io::ErrorKind::OutOfMemory, "there is no memory for a copy")
}

/// An error of this kind.
fn error(kind: io::ErrorKind, words: impl Into<String>) -> io::Error {
    io::Error::new(kind, words.into())
}

/// Finds the stuck fibres, in sets, for a `caller` that waits for it. Blocks the thread, which is
/// one of the runtime's, with a name that the holder of threads knows.
///
/// # Errors
///
/// Why there is no verdict.
pub(crate) fn find(caller: Option<Caller>) -> io::Result<Vec<Vec<Waiting>>> {
    let unsupported = |words: &str| Err(error(io::ErrorKind::Unsupported, words));
    if cfg!(feature = "sanitizer") {
        return unsupported("builds for a sanitizer hide references");
    }
    if !cfg!(target_env = "gnu") {
        return unsupported("memory of glibc's malloc alone is known");
    }
    let _one = ONE_AT_A_TIME.lock();
    if !sample::prepare() || !Held::prepare() {
        return Err(no_memory());
    }
    if !sample::is_ours() {
        return unsupported("the program has another handler of SIGPROF");
    }
    let begun = Instant::now();
    let (mut sets, mut paused) = search(caller)?;
    if !sets.is_empty() {
        thread::sleep(APART);
        if !have_moved(LOCKED) {
            let words = "the processors of a cluster stand still, as others want it so";
            return Err(error(io::ErrorKind::TimedOut, words));
        }
        let (again, longer) = search(caller)?;
        (sets, paused) = (agreed(&sets, again), paused + longer);
    }
    let fibres = sets.iter().map(Vec::len).sum();
    counts::add(fibres, begun.elapsed(), paused);
    let described = |set: Vec<Found>| set.into_iter().map(|(_, fibre)| fibre).collect();
    Ok(sets.into_iter().map(described).collect())
}

/// The sets of the second search with waits only that the first one has found, too.
///
/// A processor that stands still may be about to wake a fibre, and have the only word that leads to
/// it in a register, which no copy shows. It has gone on between the two.
fn agreed(first: &[Vec<Found>], mut second: Vec<Vec<Found>>) -> Vec<Vec<Found>> {
    let wait = |(number, fibre): &Found| (fibre.id, (*number, fibre.awaited));
    let known: HashMap<_, _> = first.iter().flatten().map(wait).collect();
    let is_known = |found: &Found| known.get(&found.1.id) == Some(&wait(found).1);
    second.retain(|set| set.iter().all(is_known));
    second
}

/// One search, with as many copies as it takes.
fn search(caller: Option<Caller>) -> io::Result<Search> {
    for _ in 0..TRIES {
        if let Some(found) = attempt(caller)? {
            return Ok(found);
        }
    }
    Err(error(
        io::ErrorKind::Unsupported,
        "no fibre is in memory of glibc's malloc, which alone is known; or that was being changed \
         all the time",
    ))
}

/// A fibre that a search has found, and the number of its wait.
type Found = (u32, Waiting);

/// What a search has found, in sets, and for how long all have stood still.
type Search = (Vec<Vec<Found>>, Duration);

/// One copy. `None`: no candidate's memory is known.
fn attempt(caller: Option<Caller>) -> io::Result<Option<Search>> {
    let room = usize::try_from(live_fibres()).unwrap_or(usize::MAX / 2) + MORE;
    let room = room + room / 8;
    let mut collector = Collector::new(room).ok_or_else(no_memory)?;
    let own_stack = own_stack().ok_or_else(no_memory)?;
    let stood = Instant::now();
    let (child, verdicts) = {
        let _frozen = freeze(TIMEOUT);
        with_shared_descriptors(|| inspect(&mut collector, LOCKED));
        let known = bookkeeping(LOCKED).ok_or_else(locked)?;
        for word in known.words.iter().copied() {
            let _ = collector.words.push(word);
        }
        collector.words.sort_unstable();
        if collector.candidates.is_empty() {
            return Ok(Some((Vec::new(), stood.elapsed())));
        }
        let mut verdicts = Region::shared(collector.candidates.len()).ok_or_else(no_memory)?;
        // SAFETY: numbers.
        unsafe { verdicts.fill() };
        let mut own = known.unused;
        own.push(own_stack);
        own.extend(collector.addresses());
        own.push(verdicts.addresses());
        let free = free_block();
        let held = Held::all(&known.still).map_err(not_held)?;
        let case = Case {
            candidates: &collector.candidates,
            words: &collector.words,
            frames: &known.frames,
            left: &collector.left,
            caller,
            own: &own,
            free,
        };
        let child = copy(&case, &held, &mut verdicts);
        drop(held);
        (child.map_err(no_copy)?, verdicts)
    };
    let paused = stood.elapsed();
    if !wait_for(child)? {
        return Ok(None);
    }
    let found = sets(&verdicts).into_iter();
    let described = found.map(|set| set.into_iter().filter_map(|at| collector.notes.get(at)));
    Ok(Some((described.map(Iterator::collect).collect(), paused)))
}

/// The address of a block that the calling thread has just given back to the allocator, which keeps
/// it for the thread; of a size that nothing here takes.
fn free_block() -> usize {
    const SIZE: usize = 1000;
    // SAFETY: a block, which is given back; nothing is read of it here.
    unsafe {
        let block = libc::malloc(SIZE);
        let address = black_box(block).expose_provenance();
        libc::free(block);
        address
    }
}

/// Why threads are not held: this one has not answered; zero: another reason.
fn not_held(thread: i32) -> io::Error {
    match thread {
        0 => error(
            io::ErrorKind::Other,
            "the threads of the process cannot be listed, or cannot be sent SIGPROF",
        ),
        _ => error(
            io::ErrorKind::TimedOut,
            format!("thread {thread} does not answer SIGPROF"),
        ),
    }
}

/// The kernel makes no copy.
fn no_copy(failure: io::Error) -> io::Error {
    let words = format!("the kernel makes no copy of the process: {failure}");
    error(failure.kind(), words)
}

/// Somebody has had a lock for too long.
fn locked() -> io::Error {
    error(
        io::ErrorKind::TimedOut,
        "a cluster's fibre lists are locked",
    )
}

/// Makes the copy, which judges and ends. Returns its process number.
fn copy(case: &Case<'_>, held: &Held, verdicts: &mut Region<Verdict>) -> io::Result<i32> {
    // SAFETY: a number.
    let parent = unsafe { libc::getpid() };
    let flags = libc::c_long::from(libc::CLONE_FILES);
    let none: libc::c_long = 0;
    // SAFETY: the copy has memory of its own, and no signal tells of its end. It calls only what
    // needs no other thread.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    match child {
        // No words yet: whoever is held may have the allocator's lock.
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let judges = || {
                // SAFETY: in the copy.
                unsafe { prepare(parent) };
                let pages = Pages::open();
                // Only now: what the process may read of itself depends on it.
                // SAFETY: numbers.
                unsafe { libc::prctl(libc::PR_SET_DUMPABLE, none, none, none, none) };
                // SAFETY: a copy with this thread only.
                unsafe { judge::judge(case, held.places(), pages, verdicts) }
            };
            // A panic, which would be an error here, must not go on in the caller's frames.
            end(panic::catch_unwind(AssertUnwindSafe(judges)).unwrap_or(End::Fault))
        }
        child => Ok(i32::try_from(child).unwrap_or_default()),
    }
}

/// Makes the calling process one that harms nobody and ends with its parent.
///
/// # Safety
///
/// It is a copy.
unsafe fn prepare(parent: i32) {
    // SAFETY: numbers, handlers that do no more than they may, and a name that ends with a zero.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        if libc::getppid() != parent {
            end(End::Alone);
        }
        let own_table = libc::syscall(
            libc::SYS_close_range,
            0 as libc::c_long,
            libc::c_long::from(u32::MAX),
            libc::c_long::from(libc::CLOSE_RANGE_UNSHARE),
        );
        if own_table != 0 {
            end(End::Shares);
        }
        libc::prctl(libc::PR_SET_NAME, c"fibre-stuck".as_ptr());
        offer_to_the_killer();
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut());
        action.sa_sigaction = fill_page as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        for signal in [libc::SIGSEGV, libc::SIGBUS] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Ends the copy, and runs nothing of the program: no exit handler, and no buffer is flushed.
fn end(how: End) -> ! {
    loop {
        // SAFETY: a number.
        unsafe { libc::syscall(libc::SYS_exit_group, libc::c_long::from(how as i32)) };
    }
}

/// Where memory becomes short, the kernel is to end the copy first.
///
/// # Safety
///
/// The process is a copy.
unsafe fn offer_to_the_killer() {
    let (file, most) = (c"/proc/self/oom_score_adj", b"1000");
    // SAFETY: a path that ends with a zero, and bytes that are there.
    unsafe {
        let opened = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        libc::write(opened, most.as_ptr().cast(), most.len());
        libc::close(opened);
    }
}

/// In the copy, at a fault: puts zeros where nothing can be read. Mappings may have such pages:
/// guards, and what a file no longer has. Where something is that this thread may not read, as it
/// has no key to it, or the CPU cannot, nothing can be said.
extern "C" fn fill_page(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let size = page_size();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the kernel passes valid information. The page is one of the copy's, which nobody
    // could read; without a page there, the copy ends.
    unsafe {
        let is_hole = match signal {
            libc::SIGSEGV => HOLES.contains(&(*info).si_code),
            _ => (*info).si_code == libc::BUS_ADRERR,
        };
        if !is_hole {
            end(End::Fault);
        }
        let page = (*info).si_addr().map_addr(|address| address & !(size - 1));
        let filled = !page.is_null() && libc::mmap(page, size, access, flags, -1, 0) == page;
        if !filled {
            end(End::Fault);
        }
    }
}

/// Waits for the copy's end. `false`: no candidate's memory is known.
fn wait_for(child: i32) -> io::Result<bool> {
    let begun = Instant::now();
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes a number.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::__WALL | libc::WNOHANG) };
        if ended == child {
            break;
        }
        let failure = (ended < 0).then(io::Error::last_os_error);
        if let Some(failure) = failure.filter(|it| it.kind() != io::ErrorKind::Interrupted) {
            // Somebody else has waited for it: nobody knows how it has ended.
            return Err(failure);
        }
        let took = begun.elapsed();
        if took > LONGEST {
            // SAFETY: the copy, which nobody else waits for, so the number is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        std::thread::sleep(BETWEEN.min(took / 8 + Duration::from_micros(100)));
    }
    verdict_of(status)
}

/// What it means that the copy has ended with this status.
fn verdict_of(status: i32) -> io::Result<bool> {
    use io::ErrorKind::{Other, OutOfMemory, PermissionDenied};
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let is = |end: End| code == Some(end as i32);
    let (kind, words) = if is(End::Judged) {
        return Ok(true);
    } else if is(End::OddAllocator) {
        return Ok(false);
    } else if is(End::NoMemory) {
        (OutOfMemory, "the copy of the process had no memory")
    } else if is(End::OddStack) {
        let words = "a thread runs on a stack that was lent to it by another call";
        (Other, words)
    } else if is(End::Fault) {
        let words = "the program has memory that a thread cannot read without a key, or at all";
        (PermissionDenied, words)
    } else if is(End::Shares) {
        let words = "the kernel gives the copy of the process no descriptors of its own";
        (PermissionDenied, words)
    } else {
        let words = format!("the copy of the process ended with status {status:#x}");
        return Err(error(Other, words));
    };
    Err(error(kind, words))
}

/// The stuck fibres, in sets, by the places of their verdicts.
fn sets(verdicts: &[Verdict]) -> Vec<Vec<usize>> {
    let mut places = HashMap::new();
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for (number, verdict) in verdicts.iter().enumerate() {
        if verdict.found == STUCK {
            let place = *places.entry(verdict.set).or_insert_with(|| {
                sets.push(Vec::new());
                sets.len() - 1
            });
            sets[place].push(number);
        }
    }
    sets
}

/// The addresses of the calling thread's stack.
fn own_stack() -> Option<Range<usize>> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut length) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are initialised by the first call, and end with the last.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut length);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    let size = page_size();
    let start = start.addr().next_multiple_of(size);
    Some(start..start + length / size * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibre_core::WaitObject;

    #[test]
    fn two_searches_agree_on_sets_that_both_have_found() {
        let object = WaitObject::placeless(WaitKind::Join);
        let fibre = |id, wait| (wait, Waiting::new(id, "fibre".to_owned(), object));
        let first = [vec![fibre(1, 0), fibre(2, 0)], vec![fibre(3, 0)]];
        let second = vec![
            // The same, in another division.
            vec![fibre(1, 0)],
            vec![fibre(2, 0), fibre(3, 0)],
            // One that nobody had found, beside one that was there.
            vec![fibre(3, 0), fibre(4, 0)],
            // Another wait.
            vec![fibre(1, 7)],
        ];
        assert_eq!(agreed(&first, second.clone()), second[..2]);
        assert!(agreed(&[], second).is_empty());
    }
}
