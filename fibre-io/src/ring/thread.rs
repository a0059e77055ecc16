//! The thread of the ring.
//!
//! It starts with the first request, and ends when there has been none for a while. It waits in
//! the kernel for ends of reads and for its bell, a counter that a caller adds to who brings a
//! request while it sleeps. The bell is never closed: a caller may be about to ring when the
//! thread that it is for has woken by itself, served the request, and ended.
//!
//! The ring only tells that the bell rings (`poll`), and the thread takes the count: a read on the
//! ring of a thread that is about to end would take what wakes the next one.

use super::inbox::{Chain, Duty, Inbox, Link};
use fibre_core::internal::{Waiter, blocking_defaults, start_helper, variable};
use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::cell::Cell;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How many requests the kernel has at once at most. Others wait for their turn.
const MOST: usize = 1024;

/// How many it is given by one call.
const BATCH: u32 = 128;

/// How long the thread stays without a read: as long as those of the pools.
static IDLE: LazyLock<Duration> = LazyLock::new(|| {
    variable("FIBRE_BLOCKING_IDLE").map_or(blocking_defaults().1, Duration::from_millis)
});

/// How long no thread is started after the system had no room for a ring.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the thread waits for ends, or for the kernel's memory, where it cannot wait for events.
const NAP: Duration = Duration::from_millis(1);

/// The result of a request that was given back.
const GIVEN_BACK: i32 = -libc::ECANCELED;

/// The requests, and whether there is a thread.
static INBOX: LazyLock<Inbox> = LazyLock::new(Inbox::default);

/// When a ring may be tried again, in milliseconds since [`START`]; `u64::MAX` stands for never.
static NOT_BEFORE: AtomicU64 = AtomicU64::new(0);

/// A moment before all others.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// One read, in the frame of the fibre that waits for it.
#[repr(C)]
pub(super) struct Request {
    /// Comes first: a pointer to it is a pointer to the whole.
    link: Link,
    /// The read.
    entry: squeue::Entry,
    /// The fibre's wait; null for the listener.
    waiter: Cell<*const Waiter>,
    /// What the kernel says of it.
    result: Cell<i32>,
}

impl Request {
    /// A request that no thread knows of yet.
    pub(super) fn new(entry: squeue::Entry) -> Self {
        Self {
            link: Link::default(),
            entry,
            waiter: Cell::new(ptr::null()),
            result: Cell::new(GIVEN_BACK),
        }
    }

    /// Says who waits for it.
    pub(super) fn set_waiter(&self, waiter: &Waiter) {
        self.waiter.set(waiter);
    }

    /// How many bytes were read, or the negative number of an error.
    pub(super) fn result(&self) -> i32 {
        self.result.get()
    }

    /// Resumes the fibre.
    ///
    /// # Safety
    ///
    /// The request has been brought and taken out, and neither the caller nor the kernel uses it
    /// after this.
    unsafe fn conclude(this: NonNull<Self>, result: i32) {
        // SAFETY: its fibre waits until it is resumed below. The wait has no limit, and nobody else
        // has taken the request out.
        unsafe {
            this.as_ref().result.set(result);
            if let Some(waiter) = this.as_ref().waiter.get().as_ref() {
                waiter.claim_alone(0).resume();
            }
        }
    }
}

/// Whether a ring may be had, as far as is known.
pub(super) fn may_be_had() -> bool {
    match NOT_BEFORE.load(Ordering::Relaxed) {
        0 => true,
        u64::MAX => false,
        moment => START.elapsed().as_millis() as u64 >= moment,
    }
}

/// Brings a request to the thread, which is started if there is none.
///
/// # Safety
///
/// The request stays where it is until it has been concluded, and has its waiter.
pub(super) unsafe fn bring(request: &Request) {
    let link = NonNull::from(request).cast();
    // SAFETY: the caller's promise. The link is the request's first field.
    match unsafe { INBOX.push(link) } {
        Duty::Nothing => {}
        Duty::Wake => ring_bell(),
        Duty::Start => start(),
    }
}

/// Starts the thread, or gives all requests back.
#[cold]
fn start() {
    let started = bell().and_then(|bell| start_helper("fibre-ring".to_owned(), move || run(bell)));
    if started.is_err() {
        put_off(false);
        give_back(INBOX.give_up());
    }
}

/// Notes that there is no ring to be had, now or ever.
fn put_off(for_good: bool) {
    let moment = (START.elapsed() + PAUSE).as_millis() as u64;
    let moment = if for_good { u64::MAX } else { moment };
    NOT_BEFORE.store(moment, Ordering::Relaxed);
}

/// Gives requests back to their callers.
fn give_back(mut chain: Chain) {
    while let Some(link) = chain.pop() {
        // SAFETY: just taken out.
        unsafe { Request::conclude(link.cast(), GIVEN_BACK) };
    }
}

/// The bell.
fn bell() -> io::Result<&'static OwnedFd> {
    static BELL: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(bell) = BELL.get() {
        return Ok(bell);
    }
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    Ok(BELL.get_or_init(|| bell))
}

/// Wakes the thread. It has made the bell, or the one before it has.
fn ring_bell() {
    if let Ok(bell) = bell() {
        // It never overflows: each wake-up is for a request, and the thread sleeps between two.
        let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
    }
}

/// What the thread does.
fn run(bell: &'static OwnedFd) {
    let ring = IoUring::builder()
        .setup_clamp()
        .setup_cqsize(MOST as u32)
        .build(BATCH);
    let ring = match ring {
        Ok(ring) => ring,
        Err(error) => {
            let kind = Errno::from_io_error(&error);
            let refused = matches!(kind, Some(Errno::NOSYS | Errno::PERM | Errno::INVAL));
            put_off(refused);
            return give_back(INBOX.give_up());
        }
    };
    let mut turns = Turns::new(ring, bell);
    if turns.until_idle().is_err() {
        turns.until_ended();
    }
}

/// What the thread has. It stays in its place, as the kernel knows the listener by its address.
struct Turns {
    ring: IoUring,
    bell: &'static OwnedFd,
    /// Listens to the bell. Nobody waits for it.
    listener: Request,
    /// Whether that is in one of the places below.
    listens: bool,
    /// Requests that have come.
    backlog: Chain,
    /// Those in the ring that the kernel has not taken, in their order, and their number.
    queued: (Chain, usize),
    /// How many it has taken, and has not concluded.
    in_flight: usize,
}

impl Turns {
    /// The beginning.
    fn new(ring: IoUring, bell: &'static OwnedFd) -> Self {
        let listen = opcode::PollAdd::new(types::Fd(bell.as_raw_fd()), libc::POLLIN as u32);
        Self {
            ring,
            bell,
            listener: Request::new(listen.build()),
            listens: false,
            backlog: Chain::default(),
            queued: (Chain::default(), 0),
            in_flight: 0,
        }
    }

    /// Serves requests until there has been none for long. An error: the kernel takes no more.
    fn until_idle(&mut self) -> io::Result<()> {
        loop {
            self.backlog.append(INBOX.take());
            self.fill();
            let is_full = self.in_flight + self.queued.1 >= MOST;
            let sleeps = (self.backlog.is_empty() || is_full) && INBOX.sleep();
            // One of them is the listener.
            let is_idle = self.in_flight + self.queued.1 == 1;
            let entered = match (sleeps, is_idle) {
                (false, _) => self.ring.submit(),
                (true, false) => self.ring.submit_and_wait(1),
                (true, true) => self.wait_for_work(),
            };
            self.note_taken();
            self.conclude();
            let Err(error) = entered else {
                continue;
            };
            match Errno::from_io_error(&error) {
                Some(Errno::TIME) if is_idle && INBOX.end() => return Ok(()),
                Some(Errno::TIME | Errno::INTR) => {}
                // The kernel lacks memory, or had more ends than fit. Those have been concluded.
                Some(Errno::AGAIN | Errno::BUSY) => thread::sleep(NAP),
                _ => return Err(error),
            }
        }
    }

    /// Waits for a request, but not for ever.
    fn wait_for_work(&mut self) -> io::Result<usize> {
        let time = types::Timespec::from(*IDLE);
        let arguments = types::SubmitArgs::new().timespec(&time);
        self.ring.submitter().submit_with_args(1, &arguments)
    }

    /// Puts requests into the ring.
    fn fill(&mut self) {
        if !self.listens {
            self.backlog.push(NonNull::from(&self.listener).cast());
            self.listens = true;
        }
        let mut entries = self.ring.submission();
        while self.in_flight + self.queued.1 < MOST && !entries.is_full() {
            let Some(link) = self.backlog.pop() else {
                break;
            };
            let request = link.cast::<Request>();
            // SAFETY: the fibre waits, and its buffers stay, until the request is concluded. The
            // listener has no buffer.
            unsafe {
                let entry = request.as_ref().entry.clone();
                let entry = entry.user_data(request.as_ptr().expose_provenance() as u64);
                let pushed = entries.push(&entry);
                debug_assert!(pushed.is_ok(), "there is room");
            }
            self.queued.0.push(link);
            self.queued.1 += 1;
        }
    }

    /// Notes which requests the kernel has taken: it takes them in order.
    fn note_taken(&mut self) {
        let left = self.ring.submission().len();
        while self.queued.1 > left {
            let _ = self.queued.0.pop();
            self.queued.1 -= 1;
            self.in_flight += 1;
        }
    }

    /// Concludes the requests that the kernel is done with.
    fn conclude(&mut self) {
        for end in self.ring.completion() {
            let request = ptr::with_exposed_provenance_mut::<Request>(end.user_data() as usize);
            self.in_flight -= 1;
            if ptr::eq(request, &raw const self.listener) {
                self.listens = false;
                // What is rung from here on is for requests that are taken out after this.
                let _ = rustix::io::read(self.bell, &mut [0; 8]);
            } else if let Some(request) = NonNull::new(request) {
                // SAFETY: the kernel was given it once, and says once that it is done with it.
                unsafe { Request::conclude(request, end.result()) };
            }
        }
    }

    /// Gives back what the kernel has not taken, as a sandbox forbids it now, and concludes the
    /// rest. The ends of that come without a call.
    #[cold]
    fn until_ended(&mut self) {
        put_off(true);
        give_back(mem::take(&mut self.queued).0);
        give_back(mem::take(&mut self.backlog));
        ring_bell();
        while self.in_flight > 0 {
            thread::sleep(NAP);
            self.conclude();
        }
        give_back(INBOX.give_up());
    }
}
