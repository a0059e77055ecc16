//! `pthread_cancel` of threads that are fibres. (The clauses of POSIX that `cargo xtask threads`
//! runs say more, in C.)

use libc::pthread_t;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

// Calls that may end their thread, and so unwind: the `libc` crate says that none does.
unsafe extern "C-unwind" {
    fn pthread_create(
        thread: *mut pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Routine,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_cancel(thread: pthread_t) -> c_int;
    fn pthread_testcancel();
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
    fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    fn pthread_cond_wait(
        changed: *mut libc::pthread_cond_t,
        mutex: *mut libc::pthread_mutex_t,
    ) -> c_int;
    fn sem_wait(semaphore: *mut libc::sem_t) -> c_int;
    fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int;
    fn read(fd: c_int, bytes: *mut c_void, count: usize) -> isize;
    fn sleep(seconds: u32) -> u32;
    fn usleep(microseconds: u32) -> c_int;
}

/// `PTHREAD_CANCELED`.
const CANCELED: usize = usize::MAX;

/// `PTHREAD_CANCEL_ENABLE` and `PTHREAD_CANCEL_DISABLE`; `PTHREAD_CANCEL_ASYNCHRONOUS`.
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;
const ASYNCHRONOUS: c_int = 1;

/// Longer than any test lasts, in seconds.
const LONG: u32 = 3600;

/// How far the thread of a case has come.
static STEP: AtomicUsize = AtomicUsize::new(0);

/// Goes to a step.
fn reach(step: usize) {
    STEP.store(step, Ordering::Release);
}

/// Waits until the thread has come so far.
fn await_step(step: usize) {
    while STEP.load(Ordering::Acquire) < step {
        thread::yield_now();
    }
}

/// What a thread runs here: no frame of it has anything to drop.
type Routine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Creates a thread.
fn create(start: Routine, argument: *mut c_void) -> pthread_t {
    let mut thread = 0;
    // SAFETY: each routine gets what it takes.
    let error = unsafe { pthread_create(&raw mut thread, ptr::null(), start, argument) };
    assert_eq!(error, 0);
    thread
}

/// Cancels it.
fn cancel(thread: pthread_t) {
    // SAFETY: it has not been joined.
    assert_eq!(unsafe { pthread_cancel(thread) }, 0);
}

/// Joins it, and returns what it has ended with.
fn join(thread: pthread_t) -> usize {
    let mut result = ptr::null_mut();
    // SAFETY: each thread here is joined once.
    assert_eq!(unsafe { pthread_join(thread, &raw mut result) }, 0);
    result.addr()
}

/// Cancels a thread that waits in a call, as soon as it is about to make it, and a moment later.
fn cancel_in(start: Routine, argument: *mut c_void) {
    for moments in 0..3 {
        reach(0);
        let thread = create(start, argument);
        await_step(1);
        thread::sleep(Duration::from_millis(moments));
        cancel(thread);
        assert_eq!(join(thread), CANCELED);
    }
}

/// Sleeps.
extern "C-unwind" fn sleeps(_: *mut c_void) -> *mut c_void {
    reach(1);
    // SAFETY: a number.
    unsafe { sleep(LONG) };
    ptr::null_mut()
}

pub(crate) fn sleeps_end() {
    cancel_in(sleeps, ptr::null_mut());
}

/// Reads from a descriptor, and polls it.
extern "C-unwind" fn reads(ends: *mut c_void) -> *mut c_void {
    let (mut byte, fd) = (0_u8, ends.addr() as c_int);
    reach(1);
    // SAFETY: room for a byte.
    unsafe { read(fd, (&raw mut byte).cast(), 1) };
    ptr::null_mut()
}

/// Polls a descriptor.
extern "C-unwind" fn polls(ends: *mut c_void) -> *mut c_void {
    let mut polled = libc::pollfd {
        fd: ends.addr() as c_int,
        events: libc::POLLIN,
        revents: 0,
    };
    reach(1);
    // SAFETY: one descriptor.
    unsafe { poll(&raw mut polled, 1, -1) };
    ptr::null_mut()
}

pub(crate) fn reads_end() {
    let mut ends = [0; 2];
    // SAFETY: room for two numbers, which are closed below.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let end = ptr::without_provenance_mut(ends[0] as usize);
    cancel_in(reads, end);
    cancel_in(polls, end);
    // Nothing was taken from the pipe.
    let mut byte = 0_u8;
    // SAFETY: room for a byte; the numbers are ours.
    unsafe {
        assert_eq!(libc::write(ends[1], c"x".as_ptr().cast(), 1), 1);
        assert_eq!(read(ends[0], (&raw mut byte).cast(), 1), 1);
        libc::close(ends[0]);
        libc::close(ends[1]);
    }
    assert_eq!(byte, b'x');
}

/// Joins the thread that its argument leads to.
extern "C-unwind" fn joins(thread: *mut c_void) -> *mut c_void {
    reach(1);
    // SAFETY: the creator's handle.
    unsafe { pthread_join(*thread.cast::<pthread_t>(), ptr::null_mut()) };
    ptr::null_mut()
}

pub(crate) fn joins_end() {
    reach(0);
    let mut awaited = create(sleeps, ptr::null_mut());
    await_step(1);
    cancel_in(joins, (&raw mut awaited).cast());
    // It can still be joined.
    cancel(awaited);
    assert_eq!(join(awaited), CANCELED);
}

/// A mutex, a condition variable, and a semaphore.
struct Objects {
    mutex: libc::pthread_mutex_t,
    changed: libc::pthread_cond_t,
    semaphore: libc::sem_t,
}

/// Waits for the condition variable.
extern "C-unwind" fn waits_for_change(objects: *mut c_void) -> *mut c_void {
    let objects = objects.cast::<Objects>();
    // SAFETY: the creator's objects.
    unsafe {
        assert_eq!(libc::pthread_mutex_lock(&raw mut (*objects).mutex), 0);
        reach(1);
        loop {
            let mutex = &raw mut (*objects).mutex;
            pthread_cond_wait(&raw mut (*objects).changed, mutex);
        }
    }
}

/// Waits for the semaphore.
extern "C-unwind" fn waits_for_permit(objects: *mut c_void) -> *mut c_void {
    reach(1);
    // SAFETY: the creator's objects.
    unsafe { sem_wait(&raw mut (*objects.cast::<Objects>()).semaphore) };
    ptr::null_mut()
}

pub(crate) fn waits_for_objects_end() {
    let mut semaphore = MaybeUninit::uninit();
    // SAFETY: room for it.
    let semaphore = unsafe {
        assert_eq!(libc::sem_init(semaphore.as_mut_ptr(), 0, 0), 0);
        semaphore.assume_init()
    };
    let mut objects = Objects {
        mutex: libc::PTHREAD_MUTEX_INITIALIZER,
        changed: libc::PTHREAD_COND_INITIALIZER,
        semaphore,
    };
    let all = &raw mut objects;
    cancel_in(waits_for_permit, all.cast());
    reach(0);
    let thread = create(waits_for_change, all.cast());
    await_step(1);
    thread::sleep(Duration::from_millis(1));
    cancel(thread);
    assert_eq!(join(thread), CANCELED);
    // The thread has taken the mutex again, and nobody has pushed a handler that gives it back.
    // SAFETY: the objects of this frame, which no thread has any more.
    unsafe {
        let mutex = &raw mut (*all).mutex;
        assert_eq!(libc::pthread_mutex_trylock(mutex), libc::EBUSY);
        assert_eq!(libc::sem_post(&raw mut (*all).semaphore), 0);
        assert_eq!(libc::sem_trywait(&raw mut (*all).semaphore), 0);
    }
}

/// Makes no call that is a cancellation point before it is told to.
extern "C-unwind" fn tests(_: *mut c_void) -> *mut c_void {
    reach(1);
    await_step(2);
    reach(3);
    // SAFETY: takes nothing.
    unsafe { pthread_testcancel() };
    reach(4);
    ptr::null_mut()
}

pub(crate) fn requests_wait_for_a_point() {
    reach(0);
    let thread = create(tests, ptr::null_mut());
    await_step(1);
    cancel(thread);
    reach(2);
    assert_eq!(join(thread), CANCELED);
    assert_eq!(STEP.load(Ordering::Acquire), 3);
}

/// Sleeps while requests are kept, and then lets them act.
extern "C-unwind" fn keeps_requests(_: *mut c_void) -> *mut c_void {
    let mut before = -1;
    // SAFETY: places of this frame.
    unsafe {
        assert_eq!(pthread_setcancelstate(DISABLE, &raw mut before), 0);
        assert_eq!(before, ENABLE);
        reach(1);
        await_step(2);
        usleep(1000);
        pthread_testcancel();
        reach(3);
        assert_eq!(pthread_setcancelstate(ENABLE, &raw mut before), 0);
        assert_eq!(before, DISABLE);
        reach(4);
        sleep(LONG);
    }
    reach(5);
    ptr::null_mut()
}

pub(crate) fn requests_are_kept() {
    reach(0);
    let thread = create(keeps_requests, ptr::null_mut());
    await_step(1);
    cancel(thread);
    reach(2);
    assert_eq!(join(thread), CANCELED);
    assert_eq!(STEP.load(Ordering::Acquire), 4);
}

/// Cancels itself, with this type.
extern "C-unwind" fn cancels_itself(kind: *mut c_void) -> *mut c_void {
    // SAFETY: the calling thread.
    unsafe {
        assert_eq!(pthread_setcanceltype(7, ptr::null_mut()), libc::EINVAL);
        pthread_setcanceltype(kind.addr() as c_int, ptr::null_mut());
        assert_eq!(pthread_cancel(libc::pthread_self()), 0);
        reach(1);
        pthread_testcancel();
    }
    reach(2);
    ptr::null_mut()
}

pub(crate) fn threads_cancel_themselves() {
    for kind in [0, ASYNCHRONOUS] {
        reach(0);
        let kind = ptr::without_provenance_mut(kind as usize);
        assert_eq!(join(create(cancels_itself, kind)), CANCELED);
        assert_eq!(STEP.load(Ordering::Acquire), usize::from(kind.is_null()));
    }
}

/// Returns at once.
extern "C-unwind" fn returns(result: *mut c_void) -> *mut c_void {
    reach(1);
    result
}

pub(crate) fn ended_threads_keep_their_result() {
    reach(0);
    let thread = create(returns, ptr::without_provenance_mut(5));
    await_step(1);
    thread::sleep(Duration::from_millis(1));
    cancel(thread);
    assert_eq!(join(thread), 5);
}

/// Waits at the end of a thread that has been cancelled.
extern "C" fn waits_at_the_end(value: *mut c_void) {
    // SAFETY: a number.
    assert_eq!(unsafe { usleep(500) }, 0);
    reach(value.addr());
}

/// The key with that destructor.
fn key() -> libc::pthread_key_t {
    static KEY: std::sync::OnceLock<libc::pthread_key_t> = std::sync::OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place of this frame.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(waits_at_the_end)) };
        assert_eq!(made, 0);
        key
    })
}

/// Gives itself a value, and sleeps.
extern "C-unwind" fn sleeps_with_a_value(value: *mut c_void) -> *mut c_void {
    // SAFETY: a key of this program.
    unsafe { libc::pthread_setspecific(key(), value) };
    sleeps(value)
}

pub(crate) fn destructors_may_wait() {
    reach(0);
    let thread = create(sleeps_with_a_value, ptr::without_provenance_mut(9));
    await_step(1);
    cancel(thread);
    assert_eq!(join(thread), CANCELED);
    assert_eq!(STEP.load(Ordering::Acquire), 9);
}

pub(crate) fn crowds_end() {
    // Each is cancelled wherever it is.
    for _ in 0..5 {
        let threads: Vec<_> = (0..50).map(|_| create(sleeps, ptr::null_mut())).collect();
        for thread in &threads {
            cancel(*thread);
        }
        for thread in threads {
            assert_eq!(join(thread), CANCELED);
        }
    }
}

/// Spins until it is to end.
extern "C-unwind" fn spins(_: *mut c_void) -> *mut c_void {
    reach(1);
    loop {
        // SAFETY: takes nothing.
        unsafe { pthread_testcancel() };
    }
}

/// Cancels the thread that its argument leads to.
extern "C-unwind" fn cancels(thread: *mut c_void) -> *mut c_void {
    // SAFETY: the creator's handle.
    cancel(unsafe { *thread.cast::<pthread_t>() });
    ptr::null_mut()
}

pub(crate) fn threads_end_while_they_are_cancelled() {
    for round in 0..500 {
        reach(0);
        let mut thread = create(spins, ptr::null_mut());
        await_step(1);
        if round % 2 == 0 {
            // SAFETY: it has not been joined.
            assert_eq!(unsafe { libc::pthread_detach(thread) }, 0);
            cancel(thread);
        } else {
            let canceller = create(cancels, (&raw mut thread).cast());
            assert_eq!(join(thread), CANCELED);
            assert_eq!(join(canceller), 0);
        }
    }
}

/// Makes calls of `futex` that do not wait, and is not ended by these.
extern "C-unwind" fn looks_at_a_word(_: *mut c_void) -> *mut c_void {
    let word = 1_u32;
    reach(1);
    await_step(2);
    let past = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1,
    };
    for (expected, error) in [(2, libc::EAGAIN), (1, libc::ETIMEDOUT)] {
        // SAFETY: a word and a time of this frame.
        let done = unsafe {
            libc::syscall(
                libc::SYS_futex,
                &raw const word,
                libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
                expected,
                &raw const past,
                ptr::null::<u32>(),
                u32::MAX,
            )
        };
        assert_eq!(done, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(error));
    }
    reach(3);
    // SAFETY: takes nothing.
    unsafe { pthread_testcancel() };
    ptr::null_mut()
}

pub(crate) fn futexes_are_no_points() {
    reach(0);
    let thread = create(looks_at_a_word, ptr::null_mut());
    await_step(1);
    cancel(thread);
    reach(2);
    assert_eq!(join(thread), CANCELED);
    assert_eq!(STEP.load(Ordering::Acquire), 3);
}

/// Joins a thread in a plain stretch, and then lets itself be ended.
extern "C-unwind" fn joins_plainly(_: *mut c_void) -> *mut c_void {
    let thread = create(returns_at_a_step, ptr::null_mut());
    reach(1);
    await_step(2);
    assert_eq!(fibre_libc::plainly(|| join(thread)), 0);
    reach(4);
    // SAFETY: takes nothing.
    unsafe { pthread_testcancel() };
    ptr::null_mut()
}

/// Returns a moment after a step.
extern "C-unwind" fn returns_at_a_step(_: *mut c_void) -> *mut c_void {
    await_step(2);
    // SAFETY: a number.
    unsafe { usleep(1000) };
    reach(3);
    ptr::null_mut()
}

pub(crate) fn plain_joins_are_no_points() {
    reach(0);
    let thread = create(joins_plainly, ptr::null_mut());
    await_step(1);
    cancel(thread);
    reach(2);
    assert_eq!(join(thread), CANCELED);
    assert_eq!(STEP.load(Ordering::Acquire), 4);
}
