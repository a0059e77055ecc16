//! What the C library keeps for a thread.

use super::{crowd, for_crowds, for_each_kind, moving};
use crate::support;
use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::process::{errors, plays, spawn_child};

/// Calls that fail, and the error stays over a move.
#[test]
fn errno_is_the_fibres() {
    for_crowds(100, |number| {
        for step in 0..20 {
            // SAFETY: calls that fail.
            let wanted = unsafe {
                if (number + step) % 2 == 0 {
                    libc::close(-1);
                    libc::EBADF
                } else {
                    libc::open(c"/no/such/file".as_ptr(), libc::O_RDONLY);
                    libc::ENOENT
                }
            };
            fibre::yield_now();
            let error = std::io::Error::last_os_error();
            assert_eq!(error.raw_os_error(), Some(wanted));
        }
    });
}

/// A value of a key stays the fibre's, its destructor runs at the end, once, and the next fibre
/// begins without one.
#[test]
fn values_of_keys_are_the_fibres() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn end(value: *mut c_void) {
        fibre::yield_now();
        ENDED.fetch_add(value.addr(), Ordering::Relaxed);
    }
    let mut keys = [0; 40];
    for key in &mut keys {
        // SAFETY: room for a key. With as many, some values lie in a table of their own.
        assert_eq!(unsafe { libc::pthread_key_create(key, Some(end)) }, 0);
    }
    let used = [keys[0], keys[39]];
    for_each_kind(move |_| {
        ENDED.store(0, Ordering::Relaxed);
        for round in 0..3 {
            let body = Arc::new(move |number: usize| {
                let value = ptr::without_provenance_mut::<c_void>(number + 1);
                for key in used {
                    // SAFETY: keys of ours.
                    unsafe {
                        assert!(libc::pthread_getspecific(key).is_null(), "{round}");
                        assert_eq!(libc::pthread_setspecific(key, value), 0);
                    }
                }
                fibre::yield_now();
                for key in used {
                    // SAFETY: as above.
                    assert_eq!(unsafe { libc::pthread_getspecific(key) }, value);
                }
            });
            crowd(20, &body);
        }
        assert_eq!(ENDED.load(Ordering::Relaxed), 3 * 2 * 210);
    });
    // SAFETY: nobody uses them any more.
    keys.iter()
        .for_each(|key| unsafe { assert_eq!(libc::pthread_key_delete(*key), 0) });
}

/// A mutex of the C library of this kind.
struct Mutex(Box<Cell<MaybeUninit<libc::pthread_mutex_t>>>);

// SAFETY: made for threads.
unsafe impl Send for Mutex {}
// SAFETY: the same.
unsafe impl Sync for Mutex {}

impl Mutex {
    fn new(kind: i32) -> Self {
        Self::made(kind, libc::PTHREAD_MUTEX_STALLED)
    }

    /// A mutex that knows when its owner has ended.
    fn robust() -> Self {
        Self::made(libc::PTHREAD_MUTEX_ERRORCHECK, libc::PTHREAD_MUTEX_ROBUST)
    }

    fn made(kind: i32, robust: i32) -> Self {
        let mutex = Box::new(Cell::new(MaybeUninit::uninit()));
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: room for both.
        unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), kind);
            libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), robust);
            libc::pthread_mutex_init(mutex.as_ptr().cast(), attributes.as_ptr());
        }
        Self(mutex)
    }

    fn try_lock(&self) -> i32 {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_trylock(self.0.as_ptr().cast()) }
    }

    fn lock(&self) -> i32 {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_lock(self.0.as_ptr().cast()) }
    }

    fn unlock(&self) -> i32 {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_unlock(self.0.as_ptr().cast()) }
    }
}

/// Mutexes that know their owner know the fibre, wherever it is.
#[test]
fn mutexes_know_their_owner() {
    for_each_kind(|_| {
        let mutexes = [
            libc::PTHREAD_MUTEX_RECURSIVE,
            libc::PTHREAD_MUTEX_ERRORCHECK,
        ];
        let mutexes = Arc::new(mutexes.map(Mutex::new));
        let body = Arc::new(move |_| {
            let [recursive, checking] = &*mutexes;
            while recursive.try_lock() != 0 {
                fibre::yield_now();
            }
            fibre::yield_now();
            assert_eq!(recursive.lock(), 0);
            while checking.try_lock() != 0 {
                fibre::yield_now();
            }
            for _ in 0..3 {
                fibre::yield_now();
            }
            assert_eq!(checking.lock(), libc::EDEADLK);
            assert_eq!(checking.unlock(), 0);
            fibre::yield_now();
            assert_eq!(checking.unlock(), libc::EPERM);
            assert_eq!([recursive.unlock(), recursive.unlock()], [0, 0]);
            assert_eq!(recursive.unlock(), libc::EPERM);
        });
        crowd(20, &body);
    });
}

/// A robust mutex that a fibre holds at its end is given up as a thread's is: the next owner is
/// told, be it one that waits, a fibre or a thread.
#[test]
fn robust_mutexes_outlive_their_owners() {
    for_each_kind(|_| {
        for is_thread in [false, true] {
            let mutex = Arc::new(Mutex::robust());
            let (theirs, held) = (Arc::clone(&mutex), Arc::new(AtomicUsize::new(0)));
            let tell = Arc::clone(&held);
            let owner = fibre::spawn(move || {
                let other = Mutex::robust();
                assert_eq!([theirs.lock(), other.lock()], [0, 0]);
                fibre::yield_now();
                assert_eq!([other.lock(), other.unlock()], [libc::EDEADLK, 0]);
                tell.store(1, Ordering::Release);
                while tell.load(Ordering::Acquire) != 2 {
                    fibre::yield_now();
                }
            });
            support::eventually(|| held.load(Ordering::Acquire) == 1);
            let theirs = Arc::clone(&mutex);
            let take = move || {
                let told = theirs.lock();
                // SAFETY: the caller has locked it.
                let repaired = unsafe { libc::pthread_mutex_consistent(theirs.0.as_ptr().cast()) };
                [told, repaired, theirs.unlock()]
            };
            let waits = is_thread.then(|| std::thread::spawn(take.clone()));
            held.store(2, Ordering::Release);
            owner.join().unwrap();
            let taken = match waits {
                Some(thread) => thread.join().unwrap(),
                None => fibre::spawn(take).join().unwrap(),
            };
            assert_eq!(taken, [libc::EOWNERDEAD, 0, 0]);
            // The next fibre with the block holds none.
            let next = Arc::clone(&mutex);
            let again = fibre::spawn(move || [next.lock(), next.unlock()]);
            assert_eq!(again.join().unwrap(), [0, 0]);
        }
    });
}

/// Fibres that are there at the same time have different handles, which they keep.
#[test]
fn handles_are_the_fibres() {
    for_each_kind(|_| {
        let handles = Arc::new(std::sync::Mutex::new(HashSet::new()));
        let seen = Arc::clone(&handles);
        let body = Arc::new(move |_| {
            // SAFETY: asks for the caller's handle.
            let own = unsafe { libc::pthread_self() };
            seen.lock().unwrap().insert(own);
            while seen.lock().unwrap().len() < 20 {
                fibre::sleep(Duration::from_micros(100));
            }
            // SAFETY: as above.
            assert_eq!(unsafe { libc::pthread_self() }, own);
        });
        crowd(20, &body);
    });
}

/// The number of the CPU is that of the kernel thread.
#[test]
fn the_cpu_is_that_of_the_kernel() {
    for_crowds(50, |_| {
        for _ in 0..20 {
            fibre::yield_now();
            // The kernel may move the thread between two questions.
            let agree = (0..50).any(|_| {
                let mut cpu = 0_u32;
                // SAFETY: room for a number.
                unsafe {
                    let told = libc::sched_getcpu();
                    libc::syscall(libc::SYS_getcpu, &raw mut cpu, 0, 0);
                    told == cpu as i32
                }
            });
            assert!(agree);
        }
    });
}

thread_local!(static HANDLED: Cell<usize> = const { Cell::new(0) });

/// A handler on a fibre's stack finds the fibre's thread-locals.
#[test]
fn handlers_find_the_fibres_values() {
    static ALL: AtomicUsize = AtomicUsize::new(0);
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handle(_signal: i32) {
        HANDLED.set(HANDLED.get() + 1);
        ALL.fetch_add(1, Ordering::Relaxed);
    }
    if !plays("handles") {
        let output = spawn_child("handles", &[]);
        assert_eq!(errors(&output), "");
        return;
    }
    let cluster = moving().processors(2).build().unwrap();
    let body = |_| {
        // SAFETY: raises a signal for the calling kernel thread, which handles it at once.
        unsafe { libc::signal(libc::SIGFPE, handle as *const () as libc::sighandler_t) };
        for round in 1..=100 {
            // SAFETY: as above.
            unsafe { libc::raise(libc::SIGFPE) };
            assert_eq!(HANDLED.get(), round);
            fibre::yield_now();
        }
        SEEN.fetch_add(HANDLED.get(), Ordering::Relaxed);
    };
    let body = Arc::new(body);
    cluster.spawn(move || crowd(20, &body)).join().unwrap();
    cluster.stop();
    assert_eq!(SEEN.load(Ordering::Relaxed), ALL.load(Ordering::Relaxed));
    assert_eq!(ALL.load(Ordering::Relaxed), 2000);
}

/// In the child of a fibre, the caller still is a thread: it has its own handle, allocates, starts
/// threads, and locks.
#[test]
fn children_of_fibres_are_threads() {
    for_each_kind(|_| {
        for _ in 0..3 {
            fibre::yield_now();
            // SAFETY: asks for the caller's handle.
            let own = unsafe { libc::pthread_self() };
            // SAFETY: the child does what a child of a program with threads may do with glibc.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let mutex = Mutex::new(libc::PTHREAD_MUTEX_ERRORCHECK);
                let dead = mutex.lock() == 0 && mutex.lock() == libc::EDEADLK;
                // SAFETY: as above; then the end of the child.
                unsafe {
                    let same = libc::pthread_self() == own;
                    let threads = std::thread::spawn(|| vec![1_u8; 100_000].len());
                    let well = same && dead && threads.join().is_ok_and(|it| it == 100_000);
                    libc::_exit(if well { 7 } else { 8 });
                }
            }
            let mut status = 0;
            // SAFETY: a child of ours. It blocks this thread for a moment.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert!(libc::WIFEXITED(status), "{status:#x}");
            assert_eq!(libc::WEXITSTATUS(status), 7);
        }
    });
}

/// `exit` in a fibre runs what the end of a process runs.
#[test]
fn a_fibre_ends_the_process() {
    extern "C" fn at_exit() {
        eprintln!("at exit");
    }
    if !plays("exits") {
        let output = spawn_child("exits", &[]);
        assert_eq!(output.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&output.stderr).contains("at exit"));
        return;
    }
    let cluster = moving().processors(2).build().unwrap();
    // SAFETY: a function.
    unsafe { libc::atexit(at_exit) };
    cluster.spawn(|| {
        fibre::sleep(Duration::from_millis(1));
        std::process::exit(3);
    });
    loop {
        std::thread::park();
    }
}

/// A call that changes the credentials of all threads is made by each kernel thread, also by those
/// that run fibres.
#[test]
fn credentials_are_changed_while_fibres_run() {
    if !plays("changes") {
        let output = spawn_child("changes", &[]);
        assert_eq!(errors(&output), "");
        return;
    }
    support::process::end_after(Duration::from_secs(60));
    let cluster = moving().processors(2).build().unwrap();
    let stop = Arc::new(AtomicUsize::new(0));
    let busy: Vec<_> = (0..10)
        .map(|_| {
            let stop = Arc::clone(&stop);
            cluster.spawn(move || {
                while stop.load(Ordering::Relaxed) == 0 {
                    fibre::yield_now();
                }
            })
        })
        .collect();
    let change = |times: usize| {
        for _ in 0..times {
            // SAFETY: to what they are.
            unsafe {
                assert_eq!(libc::setgid(libc::getgid()), 0);
                assert_eq!(libc::setuid(libc::getuid()), 0);
            }
        }
    };
    change(100);
    // Also while blocks are made.
    let born: Vec<_> = (0..1000)
        .map(|_| cluster.spawn(|| fibre::sleep(Duration::from_millis(100))))
        .collect();
    change(300);
    born.into_iter().for_each(|fibre| fibre.join().unwrap());
    let inside = cluster.spawn(move || {
        for _ in 0..100 {
            change(1);
            fibre::yield_now();
        }
    });
    inside.join().unwrap();
    stop.store(1, Ordering::Relaxed);
    busy.into_iter().for_each(|fibre| fibre.join().unwrap());
    cluster.stop();
}

/// A processor blocks signals again after an `exec` of its fibre that has failed.
#[test]
fn signals_are_blocked_after_an_exec_that_fails() {
    use std::os::unix::process::CommandExt;
    fn blocked() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mut lines = status.lines().filter(|line| line.starts_with("SigBlk:"));
        lines.next().unwrap().to_owned()
    }
    let cluster = super::builder().processors(1).build().unwrap();
    let outcome = cluster.spawn(|| {
        let before = blocked();
        let mut command = std::process::Command::new("/no/such/program");
        let error = fibre::unblock_signals(&mut command).exec();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        assert_ne!(blocked(), before);
        support::eventually(|| blocked() == before);
    });
    outcome.join().unwrap();
    cluster.stop();
}

/// A request to cancel that a fibre has never acted on is not the next fibre's.
#[test]
fn cancellation_is_not_inherited() {
    for_each_kind(|_| {
        for _ in 0..20 {
            let asked = fibre::spawn(|| {
                // SAFETY: the caller's own handle; it is not cancelled, as it says so first.
                unsafe {
                    pthread_setcancelstate(1, ptr::null_mut());
                    pthread_cancel(libc::pthread_self())
                }
            });
            assert_eq!(asked.join().unwrap(), 0);
            // SAFETY: acts on a request.
            fibre::spawn(|| unsafe { pthread_testcancel() })
                .join()
                .unwrap();
        }
    });
}

/// A fibre that would end its thread, and with it a processor, ends the process with a word.
#[test]
fn ends_of_threads_from_within_are_refused() {
    use std::os::unix::process::ExitStatusExt;
    unsafe extern "C-unwind" {
        fn pthread_exit(value: *mut c_void) -> !;
    }
    if !plays("leaves") {
        let output = spawn_child("leaves", &[]);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT));
        let said = errors(&output);
        // glibc's word, or that of Rust, as unwinding ends at the fibre's root; or the runtime's.
        let words = [
            "exception not rethrown",
            "cannot catch foreign exceptions",
            "pthread_exit in a fibre",
        ];
        assert!(words.iter().any(|word| said.contains(word)), "{said}");
        return;
    }
    support::process::end_after(Duration::from_secs(60));
    let cluster = moving().processors(2).build().unwrap();
    // SAFETY: what it unwinds has nothing to drop.
    let fibre = cluster.spawn(|| unsafe { pthread_exit(ptr::null_mut()) });
    let _: Result<(), _> = fibre.join();
}

/// Calls that hand a fibre's number to the kernel fail, and change nothing of any thread: whether
/// they are about the caller or about another fibre. docs/THREAD_LOCALS.md has the table.
#[cfg(not(feature = "sanitizer"))] // It ends a process that joins a detached thread.
#[test]
fn calls_that_name_a_fibre_fail() {
    for_each_kind(|_| {
        // SAFETY: asks for the caller's handle, here and below.
        let own = unsafe { libc::pthread_self() };
        let over = Arc::new(AtomicUsize::new(0));
        let (told, end) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&over));
        let tell = Arc::clone(&told);
        let other = fibre::spawn(move || {
            // SAFETY: as above.
            tell.store(unsafe { libc::pthread_self() } as usize, Ordering::Release);
            while end.load(Ordering::Acquire) == 0 {
                fibre::yield_now();
            }
        });
        support::eventually(|| told.load(Ordering::Acquire) != 0);
        let others = told.load(Ordering::Acquire) as libc::pthread_t;
        assert_ne!(own, others);
        for thread in [own, others] {
            fail(thread);
        }
        // SAFETY: handles of fibres that are there; no signal is sent.
        unsafe {
            assert_eq!(libc::pthread_kill(own, 0), 0);
            assert_eq!(libc::pthread_kill(others, 0), libc::ESRCH);
            assert_ne!(libc::pthread_setname_np(others, c"name".as_ptr()), 0);
        }
        over.store(1, Ordering::Release);
        other.join().unwrap();
    });
}

/// Asserts that calls on this fibre fail.
fn fail(thread: libc::pthread_t) {
    let (mut attributes, mut clock, mut policy) = (MaybeUninit::uninit(), 0, 0);
    let mut time = MaybeUninit::uninit();
    let mut priority = libc::sched_param { sched_priority: 0 };
    let value = libc::sigval {
        sival_ptr: ptr::null_mut(),
    };
    let size = size_of::<libc::cpu_set_t>();
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: a fibre that is there, and places of this frame.
    unsafe {
        let failed = [
            libc::pthread_getattr_np(thread, attributes.as_mut_ptr()),
            libc::pthread_getaffinity_np(thread, size, set.as_mut_ptr()),
            libc::pthread_setaffinity_np(thread, size, set.as_ptr()),
            libc::pthread_setschedparam(thread, libc::SCHED_OTHER, &raw const priority),
            libc::pthread_setschedprio(thread, 0),
            libc::pthread_sigqueue(thread, libc::SIGURG, value),
            libc::pthread_getschedparam(thread, &raw mut policy, &raw mut priority),
        ];
        assert!(failed.iter().all(|error| *error != 0), "{failed:?}");
        // No thread with block and stack that somebody could wait for.
        assert_eq!(libc::pthread_join(thread, ptr::null_mut()), libc::EINVAL);
        assert_eq!(libc::pthread_detach(thread), libc::EINVAL);
        // glibc makes a clock of any number; there is none of this one.
        let clock_fails = libc::pthread_getcpuclockid(thread, &raw mut clock) != 0
            || libc::clock_gettime(clock, time.as_mut_ptr()) != 0;
        assert!(clock_fails);
    }
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: i32, before: *mut i32) -> i32;
    fn pthread_cancel(thread: libc::pthread_t) -> i32;
    fn pthread_testcancel();
}
