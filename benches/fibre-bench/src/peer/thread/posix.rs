//! The semaphore, the mutex, the condition variable and the bare threads of the C library.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::{io, mem, ptr};

use crossbeam_utils::CachePadded;

use crate::peer::blocking::{Lock, Semaphore, Turns};

/// `sem_t`, boxed because it must not move.
pub(in crate::peer) struct PosixSemaphore(Box<UnsafeCell<libc::sem_t>>);

// SAFETY: a `sem_t` is made to be used by several threads at once, and nothing
// else gives access to the cell.
unsafe impl Sync for PosixSemaphore {}

impl Semaphore for PosixSemaphore {
    fn empty() -> Self {
        // SAFETY: `sem_t` is plain data, and zeros are a value of it.
        let semaphore = Box::new(UnsafeCell::new(unsafe { mem::zeroed() }));
        // SAFETY: the pointer is valid, and the box keeps the semaphore where
        // it is from here on.
        unsafe { libc::sem_init(semaphore.get(), 0, 0) };
        Self(semaphore)
    }

    fn acquire(&self) {
        // SAFETY: the semaphore was initialised by `empty` and lives as long
        // as `self`. A signal may end the wait early, hence the loop.
        while unsafe { libc::sem_wait(self.0.get()) } != 0 {}
    }

    fn release(&self) {
        // SAFETY: as in `acquire`.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

/// `pthread_mutex_t` of the default kind, boxed because it must not move, on a cache
/// line of its own.
pub(in crate::peer) struct PosixMutex(Box<CachePadded<UnsafeCell<libc::pthread_mutex_t>>>);

// SAFETY: a `pthread_mutex_t` is made to be used by several threads at once, and
// nothing else gives access to the cell.
unsafe impl Send for PosixMutex {}
// SAFETY: as above.
unsafe impl Sync for PosixMutex {}

impl Lock for PosixMutex {
    fn free() -> Self {
        let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        Self(Box::new(CachePadded::new(mutex)))
    }

    fn locked(&self, section: impl FnOnce()) {
        // SAFETY: the mutex is initialised and stays where it is while `self` lives.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        section();
        // SAFETY: as above, and this thread has locked it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

/// Turns over the primitives of the C library.
pub(in crate::peer) struct PosixTurns {
    /// Guards the turn.
    mutex: PosixMutex,
    /// Told when the turn changes; boxed because it must not move.
    changed: Box<UnsafeCell<libc::pthread_cond_t>>,
    /// Whose turn it is.
    turn: UnsafeCell<bool>,
}

// SAFETY: the mutex guards the turn, and the condition variable is made to be used by
// several threads at once.
unsafe impl Send for PosixTurns {}
// SAFETY: as above.
unsafe impl Sync for PosixTurns {}

impl Turns for PosixTurns {
    fn first() -> Self {
        Self {
            mutex: PosixMutex::free(),
            changed: Box::new(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER)),
            turn: UnsafeCell::new(false),
        }
    }

    fn take(&self, player: bool) {
        let changed = self.changed.get();
        self.mutex.locked(|| {
            let turn = self.turn.get();
            // SAFETY: the mutex is locked, except while `pthread_cond_wait` waits, and that gets
            // the very mutex.
            unsafe {
                while turn.read() != player {
                    libc::pthread_cond_wait(changed, self.mutex.0.get());
                }
                turn.write(!player);
                libc::pthread_cond_signal(changed);
            }
        });
    }
}

/// A thread without what std adds to it.
pub(in crate::peer) struct PosixThread(libc::pthread_t);

impl PosixThread {
    /// Starts one with so many bytes of stack.
    pub(super) fn spawn<F: FnOnce() + Send + 'static>(stack: usize, body: F) -> io::Result<Self> {
        let body = Box::into_raw(Box::new(body));
        // SAFETY: `pthread_attr_t` is plain data, and zeros are a value of it.
        let mut attributes: libc::pthread_attr_t = unsafe { mem::zeroed() };
        let mut id = 0;
        // SAFETY: both places are valid for writing, the attributes are initialised
        // before and destroyed after their use, and `run` gets what it asks for.
        let error = unsafe {
            libc::pthread_attr_init(&raw mut attributes);
            let error = match libc::pthread_attr_setstacksize(&raw mut attributes, stack) {
                0 => {
                    libc::pthread_create(&raw mut id, &raw const attributes, run::<F>, body.cast())
                }
                error => error,
            };
            libc::pthread_attr_destroy(&raw mut attributes);
            error
        };
        if error == 0 {
            return Ok(Self(id));
        }
        // SAFETY: there is no thread that could have taken it.
        drop(unsafe { Box::from_raw(body) });
        Err(io::Error::from_raw_os_error(error))
    }

    /// Waits for its end.
    pub(super) fn join(self) {
        // SAFETY: it was created joinable, and is joined only here.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
    }
}

/// What a thread runs. A panic aborts the process.
extern "C" fn run<F: FnOnce()>(body: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made it from such a box and gave it to this thread alone.
    let body = unsafe { Box::from_raw(body.cast::<F>()) };
    body();
    ptr::null_mut()
}
