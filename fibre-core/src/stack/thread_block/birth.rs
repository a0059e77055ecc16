//! How the C library makes a block, and how it ends one.

use super::block::ThreadBlock;
use super::ending::note_values_at_birth;
use super::layout::{self, CHANGES_CREDENTIALS};
use super::thread_exit;
use crate::arch;
use crate::stack::error::StackError;
use crate::stack::slab::Stack;
use crate::sys::plain_thread::PlainThread;
use crate::sys::signal_mask::SignalMask;
use crate::sys::syscall::syscall;
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// No thread of the kernel's has a number as high as this (PID_MAX_LIMIT), or a higher one.
const FIRST_NUMBER: i32 = 1 << 22;

/// How many numbers there are from that on: a mutex's word has no more bits for its owner.
const NUMBERS: u64 = libc::FUTEX_TID_MASK as u64 - FIRST_NUMBER as u64;

/// How many numbers have been given. The C library tells owners of mutexes by them. After so many
/// that a day is too short for them, they begin anew.
static NUMBERED: AtomicU64 = AtomicU64::new(0);

/// The number of a new block.
fn next_number() -> i32 {
    let given = NUMBERED.fetch_add(1, Ordering::Relaxed);
    FIRST_NUMBER + (given % NUMBERS) as i32
}

/// How many blocks have been born, and how many have been ended.
static BORN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// The function that each thread calls when it has made or ended blocks.
static LISTENER: OnceLock<fn(BlockEvent)> = OnceLock::new();

/// What a listener is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BlockEvent {
    /// A block has been born.
    Born,
    /// So many have been ended.
    Ended(u64),
}

/// How many blocks have been born, and how many have been ended.
pub(in crate::stack) fn counts() -> [u64; 2] {
    // Ends first: a block that is born and ended in between is then counted as there.
    let ended = ENDED.load(Ordering::Acquire);
    [BORN.load(Ordering::Acquire), ended]
}

/// From now on each thread that has made or ended blocks calls this function, or the one that was
/// given first.
pub(crate) fn listen(listener: fn(BlockEvent)) {
    let _ = LISTENER.set(listener);
}

/// Tells the listener.
fn tell(change: BlockEvent) {
    if let Some(listener) = LISTENER.get() {
        listener(change);
    }
}

/// What a thread and its creator tell each other at birth.
struct Birth {
    /// The number that the thread gets, in place of the kernel's.
    number: i32,
    /// The thread pointer.
    pointer: AtomicUsize,
    /// The kernel clears it when the kernel thread has left.
    here: AtomicU32,
}

/// Makes a block on this stack, which has none, by way of the C library. Blocks the thread for some
/// 50 µs.
pub(super) fn give_birth(stack: &Stack) -> Result<ThreadBlock, StackError> {
    let birth = Birth {
        number: next_number(),
        pointer: AtomicUsize::new(0),
        here: AtomicU32::new(1),
    };
    let bottom = stack.guard().end;
    create(bottom..stack.base().get(), &birth).map_err(StackError::no_thread)?;
    wait_until_cleared(&birth.here);
    let block = ThreadBlock::of(birth.pointer.load(Ordering::Relaxed));
    if !(bottom..stack.base().get()).contains(&block.thread_pointer()) {
        // The C library has put it elsewhere, where it stays.
        return Err(StackError::no_thread(Errno::INVAL));
    }
    BORN.fetch_add(1, Ordering::Release);
    tell(BlockEvent::Born);
    let layout = layout::known();
    if let Some(sequences) = layout.sequences {
        // The number of the CPU where a sequence starts, and that of the CPU: there is none, so the
        // C library asks the kernel. The kernel writes to the area of the kernel thread.
        // SAFETY: the block is new, and nobody uses it.
        unsafe { block.at::<[i32; 2]>(sequences).write([0, -2]) };
    }
    Ok(block)
}

/// Starts a thread on a stack, which leaves at once.
fn create(stack: std::ops::Range<usize>, birth: &Birth) -> Result<(), Errno> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    let (_blocked, _plain) = (all_signals(), PlainThread::begin());
    let start = ptr::with_exposed_provenance_mut(stack.start);
    // SAFETY: the stack is the caller's; the function keeps to the contract of `birth`, which is
    // there until the thread has left.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let detached = libc::PTHREAD_CREATE_DETACHED;
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), detached);
        let set = libc::pthread_attr_setstack(attributes.as_mut_ptr(), start, stack.len());
        let error = match set {
            0 => libc::pthread_create(
                thread.as_mut_ptr(),
                attributes.as_ptr(),
                be_born,
                ptr::from_ref(birth).cast_mut().cast(),
            ),
            error => error,
        };
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        error
    };
    match error {
        0 => Ok(()),
        error => Err(Errno::from_raw_os_error(error)),
    }
}

/// Blocks all signals.
fn all_signals() -> SignalMask {
    // SAFETY: a set.
    let all = unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        all.assume_init()
    };
    SignalMask::set(&all)
}

/// What a new thread does: it leaves its block and its stack behind. On the kernel thread that
/// adopts them, it returns into the C library, which ends the thread.
extern "C" fn be_born(birth: *mut c_void) -> *mut c_void {
    // SAFETY: the creator waits until the kernel has cleared the word.
    unsafe {
        let birth = &*birth.cast::<Birth>();
        let block = ThreadBlock::of(arch::thread_pointer());
        birth
            .pointer
            .store(block.thread_pointer(), Ordering::Relaxed);
        let here = birth.here.as_ptr().expose_provenance();
        // Without it the kernel would clear the thread's number, which is in the block.
        let _ = syscall(libc::SYS_set_tid_address, [here, 0, 0, 0, 0, 0]);
        renumber(block, birth.number);
        note_values_at_birth();
        thread_exit::refuse_here(true);
        arch::depart(block.departed());
    }
    thread_exit::refuse_here(false);
    ptr::null_mut()
}

/// Gives the calling thread's block its number. Afterwards no call that changes the credentials of
/// all threads waits for this one: such a call marks a thread before it reads the number to send a
/// signal to. So either it reads the new one, which no thread has, or its mark is seen here.
///
/// # Safety
///
/// The block is that of the calling thread, which is new.
unsafe fn renumber(block: ThreadBlock, number: i32) {
    let layout = layout::known();
    // SAFETY: every block has these words, and the C library reads and writes them as atomics.
    unsafe {
        (*block.at::<AtomicI32>(layout.number)).store(number, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let requests = &*block.at::<AtomicU32>(layout.requests);
        while requests.load(Ordering::SeqCst) & CHANGES_CREDENTIALS != 0 {
            let _ = syscall(libc::SYS_sched_yield, [0; 6]);
        }
    }
}

/// Blocks the thread until the kernel has cleared a word, which it does when a thread has left.
fn wait_until_cleared(word: &AtomicU32) {
    let place = word.as_ptr().expose_provenance();
    loop {
        let value = word.load(Ordering::Acquire);
        if value == 0 {
            return;
        }
        // The kernel wakes those that wait by address in all processes.
        let wait = libc::FUTEX_WAIT as usize;
        // SAFETY: a word of this process; no limit.
        let _ = unsafe { syscall(libc::SYS_futex, [place, wait, value as usize, 0, 0, 0]) };
    }
}

/// Ends the blocks of these stacks, which nobody uses: the C library takes them off its lists, and
/// frees what they have. Blocks the thread for some 50 µs each. A stack with a block that could not
/// be ended, as the kernel has no thread, still has it.
pub(super) fn end(stacks: &[Stack]) {
    /// How many at a time, as each has a kernel thread meanwhile.
    const AT_ONCE: usize = 16;
    let mut ended = 0;
    for some in stacks.chunks(AT_ONCE) {
        // The kernel clears each when the block is gone.
        let here: [AtomicU32; AT_ONCE] = [const { AtomicU32::new(0) }; AT_ONCE];
        let each = || some.iter().zip(&here);
        each().for_each(|(stack, here)| begin_end(stack, here));
        for (stack, here) in each().filter(|(_, here)| here.load(Ordering::Relaxed) != NOBODY) {
            wait_until_cleared(here);
            let block = stack.thread_word().swap(0, Ordering::Relaxed);
            ended += u64::from(block != 0);
        }
    }
    ENDED.fetch_add(ended, Ordering::Release);
    if ended > 0 {
        tell(BlockEvent::Ended(ended));
    }
}

/// What stands in the word of a block that nobody ends: no kernel thread's answer.
const NOBODY: u32 = u32::MAX;

/// Starts the kernel thread that ends a stack's block, and clears the word then.
fn begin_end(stack: &Stack, here: &AtomicU32) {
    const FLAGS: c_int = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_SETTLS
        | libc::CLONE_CHILD_CLEARTID;
    let Some(block) = stack.block() else {
        return;
    };
    here.store(1, Ordering::Relaxed);
    let _blocked = all_signals();
    // SAFETY: the block's kernel thread has departed, and nobody uses the block. It is no processor
    // any more. The word is there until the kernel has cleared it.
    let started = unsafe {
        block.set_current(ptr::null(), ptr::null(), 0);
        let (departed, pointer) = (block.departed().read(), block.thread_pointer());
        arch::adopt(FLAGS as usize, departed, here.as_ptr(), pointer)
    };
    if started < 0 {
        here.store(NOBODY, Ordering::Relaxed);
    }
}
