//! References at odd places: in memory that the program has sealed, in blocks that look like the
//! allocator's own, on stacks where a signal handler runs. Each of them makes its fibre one that
//! can be woken.

use super::near::{Release, flag, near, waiter};
use super::{LIMIT, alone, found, stuck, until_none, until_waiting};
use fibre::Cluster;
use fibre::channel::Sender;
use std::hint::{self, black_box};
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, ptr, thread};

const PAGE: usize = 4096;

/// The address of a block with a sender.
fn kept(sender: Sender<u32>) -> usize {
    Box::into_raw(Box::new(sender)).expose_provenance()
}

/// Sends by the sender in a block.
fn send_by(block: usize) {
    // SAFETY: made by `kept`, and given here once.
    let sender = unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<Sender<u32>>(block)) };
    sender.send(7).unwrap();
}

/// New memory of a page, of this kind, with the start of this file.
fn page(kind: i32, file: i32) -> *mut AtomicUsize {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(ptr::null_mut(), PAGE, access, kind, file, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page.cast()
}

/// Lets a page be used so from now on.
fn seal(page: *const AtomicUsize, access: i32) {
    // SAFETY: a page of the test's, which needs no more.
    let sealed = unsafe { libc::mprotect(page.cast_mut().cast(), PAGE, access) };
    assert_eq!(sealed, 0);
}

/// A waiter with a reference in a page, which may be used so from now on.
fn sealed(prefix: &str, page: *mut AtomicUsize, access: i32) -> Release {
    // SAFETY: a page that nobody else uses.
    let word: &'static AtomicUsize = unsafe { &*page };
    word.store(kept(waiter(prefix)), Ordering::Relaxed);
    seal(word, access);
    Box::new(|| {
        seal(word, libc::PROT_READ);
        send_by(word.load(Ordering::Relaxed));
    })
}

/// A page of the program's file, which the process may write to for itself.
fn page_of_a_file() -> *mut AtomicUsize {
    // SAFETY: a path that ends with a zero.
    let file = unsafe { libc::open(c"/proc/self/exe".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    assert!(file >= 0);
    page(libc::MAP_PRIVATE, file)
}

#[test]
fn a_reference_in_a_static_that_is_sealed() {
    #[repr(align(4096))]
    struct Sealed([AtomicUsize; PAGE / 8]);
    // Not all zeros: it comes from the program's file.
    static SEALED: Sealed = Sealed([const { AtomicUsize::new(1) }; PAGE / 8]);
    near("sealed_static", 1, |prefix| {
        sealed(prefix, SEALED.0.as_ptr().cast_mut(), libc::PROT_READ)
    });
}

#[test]
fn a_reference_in_a_view_of_a_file_that_is_sealed() {
    near("sealed_file", 1, |prefix| {
        sealed(prefix, page_of_a_file(), libc::PROT_READ)
    });
}

#[test]
fn a_reference_beside_code_that_the_program_has_made() {
    near("code", 1, |prefix| {
        sealed(prefix, page_of_a_file(), libc::PROT_READ | libc::PROT_EXEC)
    });
}

#[test]
fn a_reference_in_memory_that_may_only_be_written() {
    near("written", 1, |prefix| {
        let page = page(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
        sealed(prefix, page, libc::PROT_WRITE)
    });
}

#[test]
fn a_reference_in_memory_that_processes_share() {
    near("shared", 1, |prefix| {
        let page = page(libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1);
        sealed(prefix, page, libc::PROT_READ)
    });
}

/// The C library's lists of a thread's free blocks are as long, and as empty.
#[test]
fn a_reference_at_the_end_of_an_empty_table() {
    near("table", 1, |prefix| {
        let mut table = Vec::with_capacity(81);
        table.resize_with(80, || None);
        table.push(Some(waiter(prefix)));
        Box::new(move || table[80].as_ref().unwrap().send(7).unwrap())
    });
}

/// Memory that a thread needs a key for: nothing is said of any fibre.
#[test]
fn memory_with_a_key_ends_searches_with_an_error() {
    alone("key", |cluster, prefix| {
        let begins = prefix.to_owned();
        let sender = cluster.spawn(move || waiter(&begins)).join().unwrap();
        until_waiting(prefix, 1);
        let page = page(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
        // SAFETY: a page that nobody else uses.
        unsafe { &*page }.store(kept(sender), Ordering::Relaxed);
        let change = |key: libc::c_long| {
            let access = libc::c_long::from(libc::PROT_READ | libc::PROT_WRITE);
            // SAFETY: a page of the test's.
            unsafe { libc::syscall(libc::SYS_pkey_mprotect, page, PAGE, access, key) }
        };
        // The thread that takes a key may use it, and those that it starts later.
        let none: libc::c_long = 0;
        // SAFETY: numbers.
        let takes = move || unsafe { libc::syscall(libc::SYS_pkey_alloc, none, none) };
        let key = thread::spawn(takes).join().unwrap();
        if key >= 0 {
            assert_eq!(change(key), 0);
            let error = fibre::stuck().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            assert_eq!(change(0), 0);
        }
        assert_eq!(found(prefix), [[""; 0]; 0], "{prefix}");
        // SAFETY: as above.
        send_by(unsafe { &*page }.load(Ordering::Relaxed));
        until_none(prefix);
        true
    });
}

/// What a signal handler has taken, and whether it may go on.
static TAKEN: AtomicPtr<Sender<u32>> = AtomicPtr::new(ptr::null_mut());
static HANDLES: AtomicBool = AtomicBool::new(false);
static GO: AtomicBool = AtomicBool::new(false);

/// A handler that has the only reference for a while.
extern "C" fn take(_: i32) {
    let sender = TAKEN.swap(ptr::null_mut(), Ordering::AcqRel);
    HANDLES.store(true, Ordering::Release);
    while !GO.load(Ordering::Acquire) {
        hint::spin_loop();
    }
    TAKEN.store(sender, Ordering::Release);
}

/// Makes a function the handler of SIGUSR1.
fn handle(handler: extern "C" fn(i32), flags: i32) {
    // SAFETY: all zeros is an action; the handlers here are async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = flags;
        let set = libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut());
        assert_eq!(set, 0);
    }
}

/// Waits until this is true.
fn until(flag: &AtomicBool) {
    let begun = Instant::now();
    while !flag.load(Ordering::Acquire) {
        assert!(begun.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(1));
    }
}

/// The thread that waits for the search runs a handler of the program, which refers to the fibre.
#[test]
fn a_reference_of_a_handler_on_the_stack_of_who_searches() {
    alone("handler", |cluster, prefix| {
        let begins = prefix.to_owned();
        let keep = move || TAKEN.store(Box::into_raw(Box::new(waiter(&begins))), Ordering::Release);
        cluster.spawn(keep).join().unwrap();
        until_waiting(prefix, 1);
        handle(take, 0);
        let searches = thread::spawn(|| {
            // SAFETY: numbers.
            let (here, number) = unsafe { (libc::pthread_self(), libc::gettid()) };
            let signals = thread::spawn(move || {
                // It sleeps where it waits for a search: there it has no locks.
                let file = format!("/proc/self/task/{number}/stat");
                let sleeps = || fs::read_to_string(&file).unwrap().contains(") S ");
                let begun = Instant::now();
                while !sleeps() {
                    assert!(begun.elapsed() < LIMIT);
                    thread::sleep(Duration::from_millis(1));
                }
                // SAFETY: the thread is there, as it joins this one.
                unsafe { libc::pthread_kill(here, libc::SIGUSR1) };
            });
            // One at least begins after the signal.
            let found: Vec<_> = (0..3).map(|_| stuck()).collect();
            signals.join().unwrap();
            found.concat().len()
        });
        until(&HANDLES);
        let searches_too = thread::spawn(|| (0..3).map(|_| stuck().len()).sum::<usize>());
        let found = searches_too.join().unwrap();
        GO.store(true, Ordering::Release);
        assert_eq!((found, searches.join().unwrap()), (0, 0), "{prefix}");
        send_by(TAKEN.load(Ordering::Acquire).expose_provenance());
        until_none(prefix);
        true
    });
}

/// A thread has lent its handlers a part of its own stack, and the handler runs there, above the
/// frames that it has interrupted.
#[test]
fn a_reference_below_a_stack_that_handlers_were_lent() {
    /// What the thread does below its array.
    #[inline(never)]
    fn raise_with(block: usize) {
        let block = black_box(block);
        // SAFETY: a number.
        unsafe { libc::raise(libc::SIGUSR1) };
        send_by(block);
    }
    /// Waits for the address of the block, in frames that are gone then.
    #[inline(never)]
    fn taken() -> usize {
        TAKEN
            .swap(ptr::null_mut(), Ordering::AcqRel)
            .expose_provenance()
    }
    alone("lent", |cluster: &Cluster, prefix| {
        let begins = prefix.to_owned();
        let keep = move || TAKEN.store(Box::into_raw(Box::new(waiter(&begins))), Ordering::Release);
        cluster.spawn(keep).join().unwrap();
        until_waiting(prefix, 1);
        handle(take, libc::SA_ONSTACK);
        let thread = thread::spawn(|| {
            let mut lent = [0_u8; 1 << 16];
            let stack = libc::stack_t {
                ss_sp: lent.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: lent.len(),
            };
            // SAFETY: the array is there as long as the thread runs.
            let set = unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
            assert_eq!(set, 0);
            raise_with(taken());
            black_box(&mut lent);
        });
        until(&HANDLES);
        let found = found(prefix);
        GO.store(true, Ordering::Release);
        thread.join().unwrap();
        assert_eq!(found, [[""; 0]; 0], "{prefix}");
        until_none(prefix);
        true
    });
}

/// A thread of the program with the name of one of the runtime's; in a build with optimisation it
/// has the reference in a register only.
#[test]
fn a_reference_of_a_thread_with_a_name_of_the_runtimes() {
    near("named", 1, |prefix| {
        let (sender, (flag, release)) = (waiter(prefix), flag());
        let named = thread::Builder::new().name("fibre-metrics".to_owned());
        let computes = move || {
            while !flag.load(Ordering::Acquire) {
                hint::spin_loop();
            }
            sender.send(7).unwrap();
        };
        let thread = named.spawn(computes).unwrap();
        Box::new(move || {
            release();
            thread.join().unwrap();
        })
    });
}
