//! `pthread_create` and its kin, called as C does.

use libc::{pthread_attr_t, pthread_t};
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// What a thread runs.
type Routine = extern "C" fn(*mut c_void) -> *mut c_void;

/// Where a result goes.
type Place = *mut *mut c_void;

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
    fn pthread_tryjoin_np(thread: pthread_t, result: Place) -> c_int;
    fn pthread_timedjoin_np(thread: pthread_t, result: Place, time: *const libc::timespec)
    -> c_int;
    fn pthread_clockjoin_np(
        thread: pthread_t,
        result: Place,
        clock: libc::clockid_t,
        time: *const libc::timespec,
    ) -> c_int;
    fn pthread_getschedparam(
        thread: pthread_t,
        policy: *mut c_int,
        parameters: *mut libc::sched_param,
    ) -> c_int;
    fn pthread_sigqueue(thread: pthread_t, signal: c_int, value: *mut c_void) -> c_int;
    fn pthread_rwlock_timedwrlock(
        lock: *mut libc::pthread_rwlock_t,
        time: *const libc::timespec,
    ) -> c_int;
    fn pthread_rwlockattr_setkind_np(
        attributes: *mut libc::pthread_rwlockattr_t,
        kind: c_int,
    ) -> c_int;
}

unsafe extern "C-unwind" {
    fn pthread_cancel(thread: pthread_t) -> c_int;
}

/// A number as a pointer.
fn pointer(number: usize) -> *mut c_void {
    ptr::without_provenance_mut(number)
}

/// Creates a thread with these attributes.
fn create_with(attributes: *const pthread_attr_t, start: Routine, argument: usize) -> pthread_t {
    let mut thread = 0;
    // SAFETY: the routines here take any number.
    let error =
        unsafe { libc::pthread_create(&raw mut thread, attributes, start, pointer(argument)) };
    assert_eq!(error, 0);
    thread
}

/// Creates a thread with the defaults.
fn create(start: Routine, argument: usize) -> pthread_t {
    create_with(ptr::null(), start, argument)
}

/// Joins a thread.
fn join(thread: pthread_t) -> Result<usize, c_int> {
    let mut result = ptr::null_mut();
    // SAFETY: each thread here is joined once.
    match unsafe { libc::pthread_join(thread, &raw mut result) } {
        0 => Ok(result.addr()),
        error => Err(error),
    }
}

/// Its argument and one, if it is a fibre.
extern "C" fn adds_one(argument: *mut c_void) -> *mut c_void {
    thread::yield_now();
    pointer(argument.addr() + usize::from(fibre::in_fibre()))
}

/// Returns when it is told to, by the flag that its argument leads to.
extern "C" fn waits(flag: *mut c_void) -> *mut c_void {
    // SAFETY: its creator's, which waits for it.
    let flag = unsafe { &*flag.cast::<AtomicBool>() };
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
    pointer(7)
}

/// Creates a thread that waits for this.
fn create_waiting(flag: &AtomicBool) -> pthread_t {
    create(waits, ptr::from_ref(flag).expose_provenance())
}

pub(crate) fn results_are_joined() {
    let threads: Vec<_> = (0..50).map(|number| create(adds_one, number)).collect();
    for (number, thread) in threads.into_iter().enumerate() {
        assert_eq!(join(thread), Ok(number + 1));
    }
}

/// Where a thread finds its own handle, and another thread that it joins.
static HANDLES: Mutex<Vec<pthread_t>> = Mutex::new(Vec::new());

/// Notes its own handle twice, with moves between.
extern "C" fn notes_itself(_: *mut c_void) -> *mut c_void {
    for _ in 0..2 {
        // SAFETY: asks for a number.
        HANDLES
            .lock()
            .unwrap()
            .push(unsafe { libc::pthread_self() });
        thread::yield_now();
    }
    // SAFETY: asks for numbers.
    unsafe {
        assert_ne!(
            libc::pthread_equal(libc::pthread_self(), libc::pthread_self()),
            0
        );
        assert_eq!(
            libc::pthread_join(libc::pthread_self(), ptr::null_mut()),
            libc::EDEADLK
        );
    }
    ptr::null_mut()
}

pub(crate) fn handles_know_the_caller() {
    HANDLES.lock().unwrap().clear();
    let thread = create(notes_itself, 0);
    assert_eq!(join(thread), Ok(0));
    assert_eq!(*HANDLES.lock().unwrap(), [thread, thread]);
    // SAFETY: asks for numbers.
    unsafe { assert_eq!(libc::pthread_equal(libc::pthread_self(), thread), 0) };
}

pub(crate) fn joins_are_refused() {
    let flag = AtomicBool::new(false);
    let thread = create_waiting(&flag);
    // SAFETY: a thread that runs.
    unsafe {
        assert_eq!(pthread_tryjoin_np(thread, ptr::null_mut()), libc::EBUSY);
        // It can be joined after that, by one caller.
        let joiner = thread::spawn(move || join(thread));
        while pthread_tryjoin_np(thread, ptr::null_mut()) != libc::EINVAL {
            thread::yield_now();
        }
        assert_eq!(libc::pthread_detach(thread), libc::EINVAL);
        flag.store(true, Ordering::Release);
        assert_eq!(joiner.join().unwrap(), Ok(7));
    }
}

/// A caller that only tries does not keep another one from joining.
pub(crate) fn tries_do_not_refuse_a_join() {
    for _ in 0..50 {
        let (flag, joined) = (AtomicBool::new(false), AtomicBool::new(false));
        let thread = create_waiting(&flag);
        thread::scope(|scope| {
            let joiner = scope.spawn(|| {
                let result = join(thread);
                joined.store(true, Ordering::Release);
                result
            });
            // SAFETY: a thread that runs until the flag is set, which is after this.
            let tried = || unsafe { pthread_tryjoin_np(thread, ptr::null_mut()) };
            while (0..1000).all(|_| tried() != libc::EINVAL) {
                assert!(!joined.load(Ordering::Acquire), "the join has been refused");
                thread::yield_now();
            }
            flag.store(true, Ordering::Release);
            assert_eq!(joiner.join().unwrap(), Ok(7));
        });
    }
}

pub(crate) fn joins_have_limits() {
    let flag = AtomicBool::new(false);
    let thread = create_waiting(&flag);
    let past = libc::timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let nonsense = libc::timespec {
        tv_sec: 1,
        tv_nsec: -1,
    };
    let mut result = ptr::null_mut();
    // SAFETY: a thread that runs, and times and a place of this frame.
    unsafe {
        let none = ptr::null_mut();
        assert_eq!(
            pthread_timedjoin_np(thread, none, &raw const past),
            libc::ETIMEDOUT
        );
        assert_eq!(
            pthread_timedjoin_np(thread, none, &raw const nonsense),
            libc::EINVAL
        );
        let clock = libc::CLOCK_MONOTONIC;
        assert_eq!(
            pthread_clockjoin_np(thread, none, clock, &raw const past),
            libc::ETIMEDOUT
        );
        let clock = libc::CLOCK_THREAD_CPUTIME_ID;
        assert_eq!(
            pthread_clockjoin_np(thread, none, clock, &raw const past),
            libc::EINVAL
        );
        flag.store(true, Ordering::Release);
        assert_eq!(
            pthread_timedjoin_np(thread, &raw mut result, ptr::null()),
            0
        );
    }
    assert_eq!(result.addr(), 7);
}

/// How many detached threads have ended.
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// Detaches itself if its argument says so, and counts.
extern "C" fn counts(detaches: *mut c_void) -> *mut c_void {
    if !detaches.is_null() {
        // SAFETY: its own handle.
        assert_eq!(unsafe { libc::pthread_detach(libc::pthread_self()) }, 0);
    }
    thread::yield_now();
    ENDED.fetch_add(1, Ordering::Release);
    ptr::null_mut()
}

pub(crate) fn detached_threads_free_themselves() {
    ENDED.store(0, Ordering::Relaxed);
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: attributes that are initialised first; threads that nobody has joined.
    unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        create_with(attributes.as_ptr(), counts, 0);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        create(counts, 1);
        assert_eq!(libc::pthread_detach(create(counts, 0)), 0);
    }
    while ENDED.load(Ordering::Acquire) < 3 {
        thread::yield_now();
    }
    // One that has ended before it is detached.
    let thread = create(adds_one, 0);
    // SAFETY: a thread that nobody has joined.
    while unsafe { libc::pthread_kill(thread, 0) } == 0 && ENDED.load(Ordering::Relaxed) < 100 {
        ENDED.fetch_add(1, Ordering::Relaxed);
        thread::yield_now();
    }
    // SAFETY: as above.
    assert_eq!(unsafe { libc::pthread_detach(thread) }, 0);
}

/// A key with a destructor that counts.
fn key() -> libc::pthread_key_t {
    static KEY: std::sync::OnceLock<libc::pthread_key_t> = std::sync::OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: room for a key.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(count_value)) };
        assert_eq!(made, 0);
        key
    })
}

/// The sum of the values that have ended.
static VALUES: AtomicUsize = AtomicUsize::new(0);

/// Adds a value, after a wait.
extern "C" fn count_value(value: *mut c_void) {
    thread::yield_now();
    VALUES.fetch_add(value.addr(), Ordering::Relaxed);
}

/// Ends its thread from a frame that lies so deep.
#[inline(never)]
fn exit_from(depth: usize, result: usize) {
    match depth {
        // SAFETY: no frame of this thread has anything to drop.
        0 => unsafe { libc::pthread_exit(pointer(result)) },
        _ => exit_from(depth - 1, result),
    }
    std::hint::black_box(depth);
}

/// Ends from deep within.
extern "C" fn exits(argument: *mut c_void) -> *mut c_void {
    // SAFETY: a key of this program.
    unsafe { libc::pthread_setspecific(key(), argument) };
    thread::yield_now();
    exit_from(argument.addr() % 10, argument.addr());
    ptr::null_mut()
}

pub(crate) fn exits_from_deep_within() {
    VALUES.store(0, Ordering::Relaxed);
    let threads: Vec<_> = (1..=50).map(|number| create(exits, number)).collect();
    for (number, thread) in (1..).zip(threads) {
        assert_eq!(join(thread), Ok(number));
    }
    // Values end as in a thread that returns.
    assert_eq!(VALUES.load(Ordering::Relaxed), 50 * 51 / 2);
}

/// Sets a value of the key, and returns it.
extern "C" fn has_a_value(value: *mut c_void) -> *mut c_void {
    // SAFETY: a key of this program.
    unsafe {
        assert!(libc::pthread_getspecific(key()).is_null());
        libc::pthread_setspecific(key(), value);
    }
    thread::yield_now();
    // SAFETY: as above.
    unsafe { libc::pthread_getspecific(key()) }
}

pub(crate) fn values_of_keys_end() {
    VALUES.store(0, Ordering::Relaxed);
    for number in 1..=20 {
        assert_eq!(join(create(has_a_value, number)), Ok(number));
        assert_eq!(VALUES.load(Ordering::Relaxed), number * (number + 1) / 2);
    }
}

/// Names itself, and asks for its name, by `prctl`.
extern "C" fn names_itself(thread: *mut c_void) -> *mut c_void {
    let mut name = [1_u8; 16];
    // SAFETY: a text, and room for one.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"by prctl, cut off here".as_ptr());
        thread::yield_now();
        libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
    }
    assert_eq!(&name, b"by prctl, cut o\0");
    thread
}

pub(crate) fn names_by_prctl() {
    // The kernel thread has its own name.
    let own = |name: &mut [c_char; 16]| {
        // SAFETY: room for a name.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) }
    };
    let (mut before, mut after) = ([1; 16], [2; 16]);
    assert_eq!(own(&mut before), 0);
    assert_eq!(join(create(names_itself, 3)), Ok(3));
    assert_eq!(own(&mut after), 0);
    assert_eq!(before, after);
}

/// Checks that a dump has these words.
fn assert_is_shown(words: &str) {
    let mut dump = Vec::new();
    fibre::dump(&mut dump, fibre::Format::Text).unwrap();
    let dump = String::from_utf8_lossy(&dump);
    assert!(dump.contains(words), "{dump}");
}

pub(crate) fn calls_that_name_a_thread() {
    let flag = AtomicBool::new(false);
    let thread = create_waiting(&flag);
    let mut policy = -1;
    let mut parameters = libc::sched_param { sched_priority: -1 };
    let mut cpus = MaybeUninit::<libc::cpu_set_t>::zeroed();
    let mut clock = 0;
    let mut attributes = MaybeUninit::uninit();
    let mut name: [c_char; 16] = [1; 16];
    // SAFETY: a thread that runs, and places of this frame.
    unsafe {
        assert_eq!(libc::pthread_setname_np(thread, c"far".as_ptr()), 0);
        let long = c"more than sixteen bytes".as_ptr();
        assert_eq!(libc::pthread_setname_np(thread, long), libc::ERANGE);
        assert_eq!(
            libc::pthread_getname_np(thread, name.as_mut_ptr(), 15),
            libc::ERANGE
        );
        assert_eq!(libc::pthread_getname_np(thread, name.as_mut_ptr(), 16), 0);
        assert_eq!(name.map(|byte| byte as u8)[..4], *b"far\0");
        assert_is_shown(" \"far\"");
        let asked = pthread_getschedparam(thread, &raw mut policy, &raw mut parameters);
        assert_eq!(
            (asked, policy, parameters.sched_priority),
            (0, libc::SCHED_OTHER, 0)
        );
        assert_eq!(
            libc::pthread_setschedparam(thread, libc::SCHED_OTHER, &raw const parameters),
            0
        );
        parameters.sched_priority = 1;
        let refused = libc::pthread_setschedparam(thread, libc::SCHED_RR, &raw const parameters);
        assert_eq!(refused, libc::ENOTSUP);
        let size = size_of::<libc::cpu_set_t>();
        assert_eq!(
            libc::pthread_getaffinity_np(thread, size, cpus.as_mut_ptr()),
            0
        );
        assert!(libc::CPU_COUNT(cpus.assume_init_ref()) > 0);
        let refused = libc::pthread_setaffinity_np(thread, size, cpus.as_ptr());
        assert_eq!(refused, libc::ESRCH);
        assert_eq!(
            libc::pthread_getcpuclockid(thread, &raw mut clock),
            libc::ESRCH
        );
        assert_eq!(
            libc::pthread_getattr_np(thread, attributes.as_mut_ptr()),
            libc::ESRCH
        );
        assert_eq!(libc::pthread_kill(thread, 0), 0);
        assert_eq!(libc::pthread_kill(thread, libc::SIGTERM), libc::ESRCH);
        assert_eq!(
            pthread_sigqueue(thread, libc::SIGTERM, ptr::null_mut()),
            libc::ESRCH
        );
        // It comes to no cancellation point.
        assert_eq!(pthread_cancel(thread), 0);
    }
    flag.store(true, Ordering::Release);
    assert_eq!(join(thread), Ok(7));
}

/// Uses more than the smallest stacks have.
extern "C" fn needs_room(argument: *mut c_void) -> *mut c_void {
    let mut room = [0_u8; 1 << 20];
    std::hint::black_box(&mut room);
    pointer(argument.addr() + usize::from(room[9]))
}

/// A thread without attributes has the C library's usual stack.
pub(crate) fn default_attributes() {
    assert_eq!(join(create(needs_room, 5)), Ok(5));
}

/// Returns the size of its stack, if that is the one that it is on, and can be used down to its
/// lowest byte; else zero. Its argument is the state that its attributes are to have.
extern "C" fn knows_its_stack(state: *mut c_void) -> *mut c_void {
    let here = 0_u8;
    let mut attributes = MaybeUninit::uninit();
    let (mut low, mut size, mut guard, mut detached) = (ptr::null_mut(), 0, 0, -1_i32);
    // SAFETY: the calling thread, attributes that are made first, and places of this frame.
    unsafe {
        let asked = libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr());
        assert_eq!(asked, 0);
        let attributes = attributes.assume_init_mut();
        libc::pthread_attr_getstack(attributes, &raw mut low, &raw mut size);
        libc::pthread_attr_getguardsize(attributes, &raw mut guard);
        pthread_attr_getdetachstate(attributes, &raw mut detached);
        libc::pthread_attr_destroy(attributes);
    }
    assert_eq!(detached as usize, state.addr());
    assert!(guard > 0);
    let lowest = low.cast::<u8>();
    let stack = lowest.addr()..lowest.addr() + size;
    if !stack.contains(&(&raw const here).addr()) {
        return ptr::null_mut();
    }
    // SAFETY: of its own stack, far below what is in use.
    unsafe { lowest.write_volatile(1) };
    pointer(size)
}

/// A thread is told where its stack lies, as garbage collectors ask.
pub(crate) fn the_own_stack() {
    let joinable = libc::PTHREAD_CREATE_JOINABLE as usize;
    let usual = join(create(knows_its_stack, joinable)).unwrap();
    assert!(usual > 1 << 20, "{usual}");
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: attributes that are made first.
    let asked = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), 300 << 10);
        join(create_with(attributes.as_ptr(), knows_its_stack, joinable))
    };
    let asked = asked.unwrap();
    assert!((300 << 10..1 << 20).contains(&asked), "{asked}");
}

/// Takes the lock that its argument leads to, to read, and gives it back.
extern "C" fn reads(lock: *mut c_void) -> *mut c_void {
    // SAFETY: its creator's.
    unsafe {
        assert_eq!(libc::pthread_rwlock_rdlock(lock.cast()), 0);
        assert_eq!(libc::pthread_rwlock_unlock(lock.cast()), 0);
    }
    pointer(1)
}

/// The same if that is possible at once; what the attempt returned.
extern "C" fn tries_to_read(lock: *mut c_void) -> *mut c_void {
    // SAFETY: its creator's.
    unsafe {
        let error = libc::pthread_rwlock_tryrdlock(lock.cast());
        if error == 0 {
            libc::pthread_rwlock_unlock(lock.cast());
        }
        pointer(error as usize)
    }
}

/// Waits for the lock for a while, to write.
extern "C" fn gives_up(lock: *mut c_void) -> *mut c_void {
    // SAFETY: its creator's, and a time of this frame.
    unsafe {
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME, time.as_mut_ptr());
        let mut time = time.assume_init();
        time.tv_sec += 1;
        let error = pthread_rwlock_timedwrlock(lock.cast(), &raw const time);
        if error == 0 {
            libc::pthread_rwlock_unlock(lock.cast());
        }
        pointer(error as usize)
    }
}

/// A writer that waits keeps readers out, until it gives up.
pub(crate) fn writers_are_preferred() {
    // SAFETY: attributes and a lock that are initialised first; threads that end before it does.
    unsafe {
        let mut attributes = MaybeUninit::uninit();
        let lock = UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER);
        libc::pthread_rwlockattr_init(attributes.as_mut_ptr());
        assert_eq!(pthread_rwlockattr_setkind_np(attributes.as_mut_ptr(), 2), 0);
        assert_eq!(
            libc::pthread_rwlock_init(lock.get(), attributes.as_ptr()),
            0
        );
        let argument = lock.get().expose_provenance();
        assert_eq!(libc::pthread_rwlock_rdlock(lock.get()), 0);
        let writer = create(gives_up, argument);
        while join(create(tries_to_read, argument)) != Ok(libc::EBUSY as usize) {
            thread::yield_now();
        }
        let reader = create(reads, argument);
        assert_eq!(join(writer), Ok(libc::ETIMEDOUT as usize));
        assert_eq!(join(reader), Ok(1));
        assert_eq!(join(create(tries_to_read, argument)), Ok(0));
        assert_eq!(libc::pthread_rwlock_unlock(lock.get()), 0);
        // The writer itself hears that it must not read.
        assert_eq!(libc::pthread_rwlock_wrlock(lock.get()), 0);
        let another = create(gives_up, argument);
        thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(libc::pthread_rwlock_rdlock(lock.get()), libc::EDEADLK);
        assert_eq!(libc::pthread_rwlock_unlock(lock.get()), 0);
        assert_eq!(join(another), Ok(0));
        libc::pthread_rwlock_destroy(lock.get());
    }
}

/// What a shared library calls, it finds by name: among what the program and its libraries define.
pub(crate) fn names_reach_shared_libraries() {
    let found = |name: &std::ffi::CStr| {
        // SAFETY: a name.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
    };
    let ours = [
        (c"pthread_create", libc::pthread_create as *const ()),
        (c"pthread_join", libc::pthread_join as *const ()),
        (c"pthread_self", libc::pthread_self as *const ()),
        (c"pthread_exit", libc::pthread_exit as *const ()),
    ];
    for (name, function) in ours {
        assert_eq!(found(name).addr(), function.addr(), "{name:?}");
    }
    // Created as a library would.
    // SAFETY: what has this name is this function.
    let create = unsafe {
        std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(
                *mut pthread_t,
                *const pthread_attr_t,
                Routine,
                *mut c_void,
            ) -> c_int,
        >(found(c"pthread_create"))
    };
    let mut thread = 0;
    // SAFETY: a routine for any number.
    let error = unsafe { create(&raw mut thread, ptr::null(), adds_one, pointer(4)) };
    assert_eq!(error, 0);
    assert_eq!(join(thread), Ok(5));
}
