//! Kernel threads that the runtime starts, and what they must not inherit.
//!
//! A new thread inherits the CPUs and the blocked signals of its creator. The runtime's threads run
//! on the CPUs that they are given, or else on all that the program may use. They get no
//! asynchronous signal: a handler must not run on a fibre's stack.

use crate::processor::in_fibre;
use crate::sys::plain_thread::PlainThread;
use crate::sys::signal_mask::SignalMask;
use crate::topology::CpuSet;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{getpriority_process, setpriority_process};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::hint::black_box;
use std::io;
use std::ptr;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// The addresses that a thread takes: for its stack, and for the one that it handles signals on.
const NEEDED: usize = 3 << 20;

/// Several times the addresses that a thread takes.
const AMPLE: usize = 16 << 20;

/// Starts a thread that runs on these CPUs, or else where the program may. Blocks the caller's
/// thread meanwhile.
///
/// # Errors
///
/// The kernel's; `InvalidInput` for a name that no thread can have, as it contains a zero byte.
pub(crate) fn start(
    name: String,
    cpus: Option<&CpuSet>,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    if name.contains('\0') {
        // std would panic, and the caller may not be able to bear that.
        let kind = io::ErrorKind::InvalidInput;
        return Err(io::Error::new(kind, "a thread's name contains a zero byte"));
    }
    if !has_memory() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    if !is_free(NEEDED) {
        // The C library's error when it finds no memory for the stack.
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    }
    let _here = Confined::new(cpus)?;
    let (_quiet, _plain) = (SignalMask::asynchronous(), PlainThread::begin());
    thread::Builder::new().name(name).spawn(body)
}

/// Makes the kernel prefer other threads to the calling one, by so much more than so far. Threads
/// that the caller starts inherit it. If the kernel refuses, all stays as it is.
pub(crate) fn be_nice(more: u8) {
    if more == 0 {
        return;
    }
    // On Linux a nice value is a thread's, and zero is the calling one.
    if let Ok(now) = getpriority_process(None) {
        let _ = setpriority_process(None, now + i32::from(more));
    }
}

/// The CPU time that a thread of this process has had.
#[must_use]
pub fn cpu_time(thread: i32) -> Option<Duration> {
    // What `pthread_getcpuclockid` makes of a thread's number: the clock of a thread, in the
    // scheduler's precision.
    let clock = (!thread << 3) | 6;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: room for a time.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    (result == 0).then(|| Duration::new(seconds, nanoseconds))
}

/// Whether the C library's allocator has what a thread takes. It is asked directly, whatever the
/// program's global allocator is: std takes a thread's record from it, and the C library the record
/// of a thread-local's destructor, and both end the process if they get none.
fn has_memory() -> bool {
    let layout = Layout::new::<[usize; 8192]>();
    // SAFETY: the layout is not empty, and the block is given back as it came.
    unsafe {
        // The compiler need not allocate a block that nobody looks at.
        let block = black_box(System.alloc(layout));
        System.dealloc(block, layout);
        !block.is_null()
    }
}

/// Whether there are ample addresses for a thread, for what it allocates first, and for what others
/// take meanwhile. For threads that the program can do without: the C library ends a process if a
/// new thread of it finds no memory.
#[must_use]
pub fn has_addresses() -> bool {
    is_free(AMPLE)
}

/// Whether the process may run out of addresses, or of memory to write to. Then threads should be
/// started one after the other: what is free for each of them is free for one only, and a thread
/// that gets none when it begins ends the process.
pub(crate) fn is_memory_limited() -> bool {
    limit(libc::RLIMIT_AS).is_some() || is_data_limited()
}

/// Whether the kernel counts memory that may be written, written or not: under a limit for data, or
/// where it promises no more than it has.
fn is_data_limited() -> bool {
    /// The kernel's choice, which is the machine's and seldom changes.
    static STRICT: OnceLock<bool> = OnceLock::new();
    let is_strict = || {
        let choice = fs::read("/proc/sys/vm/overcommit_memory");
        choice.is_ok_and(|choice| choice.starts_with(b"2"))
    };
    limit(libc::RLIMIT_DATA).is_some() || *STRICT.get_or_init(is_strict)
}

/// A limit of the process. `None`: there is none, or a sandbox keeps it secret.
#[must_use]
pub fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limits = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: room for the limits, which a call that is refused leaves as they are.
    unsafe { libc::getrlimit(resource, &raw mut limits) };
    (limits.rlim_cur != libc::RLIM_INFINITY).then_some(limits.rlim_cur)
}

/// Whether `size` bytes of addresses are free, and may be written where that is counted. Elsewhere
/// they are not asked for as memory: a process that locks all of its memory would get it.
fn is_free(size: usize) -> bool {
    let access = if is_data_limited() {
        ProtFlags::READ | ProtFlags::WRITE
    } else {
        ProtFlags::empty()
    };
    let kind = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping, at an address of the kernel's choice, which nobody uses.
    unsafe {
        let mapped = mmap_anonymous(ptr::null_mut(), size, access, kind);
        mapped.and_then(|start| munmap(start, size)).is_ok()
    }
}

/// Keeps the caller's thread to the CPUs of threads that it starts meanwhile, which inherit this:
/// so even what the C library writes for them lies in the right node.
struct Confined {
    /// The CPUs to set back.
    before: Option<CpuSet>,
}

impl Confined {
    /// Confines the thread to these CPUs. Without any, a thread goes where the program may, also if
    /// it is started by a pinned processor.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    fn new(cpus: Option<&CpuSet>) -> io::Result<Self> {
        let (before, program);
        let cpus = match cpus {
            Some(cpus) => cpus,
            None if in_fibre() => match (CpuSet::of_program(), CpuSet::of_thread()) {
                (Ok(wanted), Ok(here)) if wanted != here => {
                    program = wanted;
                    &program
                }
                // The thread is there already; or a sandbox keeps secret where it is, and no thread
                // can have been pinned in it.
                _ => return Ok(Self { before: None }),
            },
            None => return Ok(Self { before: None }),
        };
        before = CpuSet::of_thread()?;
        let pinned = cpus.confine_thread();
        pinned.map_err(|error| {
            let words = format!("processors cannot run on the CPUs {cpus}: {error}");
            io::Error::new(error.kind(), words)
        })?;
        Ok(Self {
            before: Some(before),
        })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It was possible before; if it no longer is, the kernel has moved us itself.
            let _ = before.confine_thread();
        }
    }
}
