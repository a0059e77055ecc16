//! A read that waits for the disk, and where it is made.

use crate::ring::thread::{Request, bring, may_be_had};
use fibre_core::internal::{Outcome, Wait, Waiter, variable};
use fibre_core::{WaitKind, WaitObject, in_fibre, is_forked_child};
use io_uring::{opcode, types};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many reads have to wait at once, this one included, for one to go to the ring, unless
/// the environment says otherwise.
const MANY: usize = 8;

/// The same as the environment has it; zero stands for none.
static FROM: LazyLock<usize> = LazyLock::new(|| match variable("FIBRE_FILE_RING") {
    Some(0) => usize::MAX,
    Some(from) => from,
    None => MANY,
});

/// The reads that wait now.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A read that waits for the disk, wherever it is made.
#[derive(Debug)]
pub(crate) struct WaitingRead {
    /// How many waited with it when it began.
    waiting: usize,
}

impl WaitingRead {
    /// Counts one.
    pub(crate) fn begin() -> Self {
        let waiting = WAITING.fetch_add(1, Ordering::Relaxed) + 1;
        Self { waiting }
    }

    /// Whether so many wait that the ring is cheaper.
    pub(crate) fn is_one_of_many(&self) -> bool {
        self.waiting >= *FROM
    }

    /// Makes it on the ring. Returns how many bytes were read; `None`: it has to be made elsewhere,
    /// which succeeds or says why not. Blocks the fibre.
    ///
    /// # Safety
    ///
    /// There are `count` buffers at `start`, which may be written to until this returns.
    pub(crate) unsafe fn on_ring(
        &self,
        fd: BorrowedFd<'_>,
        start: *const libc::iovec,
        count: usize,
        offset: u64,
    ) -> Option<usize> {
        if !in_fibre() || is_forked_child() || !may_be_had() {
            return None;
        }
        let count = u32::try_from(count).ok()?;
        let read = opcode::Readv::new(types::Fd(fd.as_raw_fd()), start, count).offset(offset);
        let request = Request::new(read.build());
        // SAFETY: the request stays until it has been concluded, which resumes the waiter.
        let outcome = unsafe { wait(&request) };
        debug_assert!(
            matches!(outcome, Outcome::Woken(_)),
            "a wait that is closed"
        );
        usize::try_from(request.result()).ok()
    }
}

impl Drop for WaitingRead {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Brings a request, and waits for its conclusion.
///
/// # Safety
///
/// The caller keeps the request in place.
unsafe fn wait(request: &Request) -> Outcome {
    let publish = |waiter: &Waiter, _| {
        request.set_waiter(waiter);
        // SAFETY: the caller's promise.
        unsafe { bring(request) };
        true
    };
    let awaited = WaitObject::placeless(WaitKind::Blocking);
    // SAFETY: the waiter is claimed only by whoever concludes the request.
    unsafe { Wait::closed(awaited).park(publish, |_| {}) }
}
