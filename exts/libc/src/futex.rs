//! `syscall`, which std and others use to call `futex`.
//!
//! | call of a fibre | what becomes of it | with thread-locals of its own |
//! |---|---|---|
//! | `FUTEX_WAIT_BITSET` on any bit, private: std's, and glibc's in shared libraries | the fibre waits | the fibre waits |
//! | the same on the word that std parks this thread by, or on one in a `thread_local!` | the system's | the fibre waits |
//! | `FUTEX_WAIT`, private: parking_lot's | the system's | the fibre waits |
//! | a wait on some bits, or on a word that processes share | the system's | the system's |
//!
//! parking_lot's waiter lies in a thread-local. So its waits are told by their operation, and stay
//! the thread's where fibres share that. The runtime itself locks by parking_lot where a fibre must
//! not switch, and marks its thread meanwhile.
//!
//! A wake, by whomever, reaches fibres and threads. While a processor waits, a fibre that is woken
//! may not run before that goes on, and the processor may wait for what the fibre was woken for; so
//! threads are woken, too. The operations that move waiters from word to word wake all fibres that
//! wait for the first one, and `FUTEX_WAKE_OP` all that wait for either: futexes may wake too many.
//! The calls that have numbers of their own since Linux 6.7 (as `futex_wake`) are the system's.

use crate::entry::{failed, is_open, may_switch, may_switch_as_thread, plain, stand_in_to_end};
use crate::{parker, start, thread_locals};
use fibre_core::in_fibre;
use fibre_core::internal::{has_own_thread_locals, has_plain_calls};
use fibre_io::posix::boundary::Returned;
use fibre_io::posix::memory::{Memory, Trusted, duration};
use fibre_io::posix::syscall::Syscall;
use fibre_io::raw::Failure;
use fibre_sync::raw::{Clock, Error, FutexTable, Wait};
use libc::timespec;
use rustix::io::Errno;
use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Instant;

/// Where fibres wait.
static TABLE: FutexTable = FutexTable::new();

/// How many processors wait for words themselves.
static WAITING_PROCESSORS: AtomicU32 = AtomicU32::new(0);

/// All bits of a wait.
const ANY: u32 = u32::MAX;

/// A call of `futex`.
#[derive(Clone, Copy)]
struct Futex {
    /// The call as it was made.
    call: Syscall,
    /// The address of the word.
    word: usize,
    /// The operation, without its flags.
    operation: c_int,
    /// The flags.
    flags: c_int,
    /// What the word is expected to be, or how many are to be woken.
    value: u32,
    /// A time, or another number.
    time: usize,
    /// The address of another word.
    other: usize,
    /// The bits of a wait.
    bits: u32,
}

/// `syscall`. Its arguments come in the same places as if they were declared: five in registers,
/// and the last on the stack. What a caller has not passed is not looked at, as in the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let call = Syscall::new(number, &[first, second, third, fourth, fifth, sixth]);
    if number != libc::SYS_futex {
        return plain(call);
    }
    let flags = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
    let operation = second as c_int;
    Futex {
        call,
        word: first,
        operation: operation & !flags,
        flags: operation & flags,
        value: third as u32,
        time: fourth,
        other: fifth,
        bits: sixth as u32,
    }
    .make()
}

impl Futex {
    /// Makes the call, or what stands for it.
    fn make(self) -> c_long {
        let is_private = self.flags & libc::FUTEX_PRIVATE_FLAG != 0;
        match self.operation {
            libc::FUTEX_WAIT_BITSET if is_private && self.bits == ANY => {
                start::note_wait(self.word);
                let may_leave = may_switch() && !has_plain_calls();
                if self.is_aligned() && may_leave && !self.is_of_this_thread() {
                    return stand_in_to_end(|| self.wait(self.moment()?));
                }
                if is_open() && in_fibre() {
                    return self.wait_here();
                }
            }
            libc::FUTEX_WAIT if is_private && is_open() && in_fibre() && !has_plain_calls() => {
                if self.is_aligned() && may_switch_as_thread() {
                    return stand_in_to_end(|| self.wait(self.time_from_now()?));
                }
                return self.wait_here();
            }
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET if is_private && is_open() => {
                return self.wake();
            }
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE if is_private && is_open() => {
                TABLE.wake(self.word, ANY, |_| 0);
            }
            libc::FUTEX_WAKE_OP if is_private && is_open() => {
                let done = plain(self.call);
                TABLE.wake(self.word, ANY, |_| 0);
                TABLE.wake(self.other, ANY, |_| 0);
                return done;
            }
            _ => {}
        }
        plain(self.call)
    }

    /// Whether the word may be one that atomic operations are made on.
    fn is_aligned(self) -> bool {
        self.word.is_multiple_of(align_of::<u32>())
    }

    /// Whether the word belongs to the kernel thread: its fibres would share it.
    fn is_of_this_thread(self) -> bool {
        let shares = !has_own_thread_locals();
        shares && (parker::is_of_this_thread(self.word) || thread_locals::have(self.word))
    }

    /// Waits in a fibre, and keeps its processor.
    fn wait_here(self) -> c_long {
        // Sequentially consistent, as the fence of a wake: either that finds this, or the kernel
        // finds that the word has changed.
        WAITING_PROCESSORS.fetch_add(1, Ordering::SeqCst);
        let done = plain(self.call);
        WAITING_PROCESSORS.fetch_sub(1, Ordering::Relaxed);
        done
    }

    /// The time of a wait, as the caller has given it.
    fn time(self) -> Result<Option<timespec>, Errno> {
        let time = ptr::with_exposed_provenance::<timespec>(self.time);
        // SAFETY: null, or the caller's time.
        match unsafe { Trusted::fetch_any(time) }? {
            Some(time) if time.tv_sec < 0 => Err(Errno::INVAL),
            time => Ok(time),
        }
    }

    /// A wait for a time from now on.
    fn time_from_now(self) -> Result<Wait, Errno> {
        let Some(time) = self.time()? else {
            return Ok(Wait::FOREVER);
        };
        let end = Instant::now().checked_add(duration(&time)?);
        Ok(end.map_or(Wait::FOREVER, Wait::until))
    }

    /// A wait until a moment.
    fn moment(self) -> Result<Wait, Errno> {
        let clock = match self.flags & libc::FUTEX_CLOCK_REALTIME {
            0 => Clock::Monotonic,
            _ => Clock::Realtime,
        };
        match self.time()? {
            None => Ok(Wait::FOREVER),
            Some(time) => Wait::at(clock, time.tv_sec, time.tv_nsec).map_err(|_| Errno::INVAL),
        }
    }

    /// Waits in a fibre.
    fn wait(self, wait: Wait) -> Result<usize, Failure> {
        let word = ptr::with_exposed_provenance_mut::<u32>(self.word);
        // SAFETY: the caller's word, which is aligned, and used by atomic operations.
        let word = unsafe { AtomicU32::from_ptr(word) };
        let is_expected = || word.load(Ordering::Relaxed) == self.value;
        match TABLE.wait(self.word, wait, is_expected) {
            Ok(()) => Ok(0),
            Err(Error::Again) => Err(Errno::AGAIN.into()),
            Err(_) => Err(Errno::TIMEDOUT.into()),
        }
    }

    /// Wakes fibres and threads. An error of the kernel's counts if nobody was woken.
    fn wake(self) -> c_long {
        let (error, asked) = (Cell::new(None), Cell::new(0));
        let threads = |most: u32| match self.call.with(2, most).here() {
            // No more than were asked for.
            Ok(woken) => woken as u32,
            Err(refused) => {
                error.set(Some(refused));
                0
            }
        };
        let asks = |most: u32| {
            asked.set(most);
            threads(most)
        };
        // The kernel wakes one if it is asked for none, or for fewer.
        let most = (self.value.cast_signed().max(1)).cast_unsigned();
        let woken = TABLE.wake(self.word, most, asks);
        if asked.get() < most {
            fence(Ordering::SeqCst);
            if WAITING_PROCESSORS.load(Ordering::Relaxed) > 0 {
                threads(most);
            }
        }
        match (woken, error.get()) {
            (0, Some(error)) => failed(error),
            (woken, _) => c_long::of(woken as usize),
        }
    }
}
