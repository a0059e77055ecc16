//! A program that says what its calls block: those of std, and those of a C library.
//!
//! It is a test as it is built by cargo, without a C library, and fails if a call of std's blocks
//! its processor. `cargo xtask links` links it in all the ways that there are, together with
//! `waits.c`, and compares the line that it prints with what LIBC.md promises.
//!
//! A *rider*, a fibre of the same processor that is always ready, counts how often it runs. What a
//! call waits for comes from a plain thread, once the rider has run meanwhile, or after a while.
//!
//! The C library is what `LIBRARY_UNDER_TEST` names, loaded while the program runs, or what has
//! been linked; and an object file in a static program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fibre_core::{Cluster, sleep, spawn, yield_now};
use fibre_libc as _;
use std::ffi::c_int;
use std::io::{ErrorKind, Read, Write, pipe};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long a call may block the rider before it gets what it waits for.
const PATIENCE: Duration = Duration::from_secs(2);

/// After how many seconds the program ends if it hangs.
const LONG: u32 = 60;

/// How many bytes went through a pipe before `main`.
static BEFORE_MAIN: AtomicIsize = AtomicIsize::new(-1);

/// How often the rider has run.
static RUNS: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    fn alarm(seconds: u32) -> u32;
    fn atexit(function: extern "C" fn()) -> c_int;
    fn pthread_self() -> usize;
    #[link_name = "pipe"]
    fn pipe_of_numbers(ends: *mut c_int) -> c_int;
    fn read(fd: c_int, bytes: *mut u8, count: usize) -> isize;
    fn write(fd: c_int, bytes: *const u8, count: usize) -> isize;
}

/// The function of the C library.
type Waits = unsafe extern "C" fn(c_int) -> isize;

/// Runs before `main`, and before std has begun.
extern "C" fn before_main() {
    let (mut ends, mut bytes) = ([0; 2], [0; 8]);
    // SAFETY: places of this frame.
    let count = unsafe {
        pipe_of_numbers(ends.as_mut_ptr());
        write(ends[1], c"early".as_ptr().cast(), 5);
        read(ends[0], bytes.as_mut_ptr(), bytes.len())
    };
    BEFORE_MAIN.store(count, Ordering::Relaxed);
}

/// Where the loader finds what runs before `main`.
#[used]
// SAFETY: the section holds functions of this type.
#[unsafe(link_section = ".init_array")]
static BEFORE: extern "C" fn() = before_main;

/// Runs after `main`, while a fibre of the default cluster sleeps.
extern "C" fn after_main() {
    let (mut reader, mut writer) = pipe().unwrap();
    let lock = Mutex::new([0]);
    writer.write_all(b"x").unwrap();
    reader.read_exact(&mut *lock.lock().unwrap()).unwrap();
    println!("after main too");
}

fn main() {
    // SAFETY: a number; a function that stays; no fibre here keeps what belongs to a thread.
    unsafe {
        alarm(LONG);
        atexit(after_main);
        fibre_libc::install();
    }
    assert_eq!(BEFORE_MAIN.load(Ordering::Relaxed), 5);
    // No spare processor runs others while a fibre blocks its own.
    let builder = Cluster::builder().processors(1).max_spare_processors(0);
    let cluster = builder.build().unwrap();
    let told = cluster.spawn(tell).join().unwrap();
    println!("{told}, thread-locals {}", of_thread_locals());
    cluster.stop();
    spawn(|| sleep(Duration::from_secs(3600)));
}

/// Says what calls of the calling fibre block.
fn tell() -> String {
    let over = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&over);
    let rider = spawn(move || {
        while !end.load(Ordering::Relaxed) {
            RUNS.fetch_add(1, Ordering::Relaxed);
            yield_now();
        }
    });
    let (socket, lock, library) = (of_a_socket(), of_a_lock(), of_a_library());
    over.store(true, Ordering::Relaxed);
    rider.join().unwrap();
    assert_eq!((socket, lock), ("fibre", "fibre"));
    let reaches = fibre_libc::reaches_shared_libraries();
    format!("socket {socket}, lock {lock}, library {library}, reaches {reaches}")
}

/// What has the thread-locals of a cluster that gives each fibre its own: the fibre. Where there
/// cannot be such a cluster, it says why.
fn of_thread_locals() -> &'static str {
    // SAFETY: the fibres below tie no memory to a kernel thread.
    let builder = unsafe { Cluster::builder().processors(1).own_thread_locals() };
    let cluster = match builder.build() {
        Ok(cluster) => cluster,
        Err(error) => {
            let why = "fibres cannot have thread-locals of their own here: the program is not \
                       linked with glibc as a shared library";
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert_eq!(error.to_string(), why);
            return "refused";
        }
    };
    // SAFETY: asks for the caller's handle, which says where its thread-locals are.
    let handle = || unsafe { pthread_self() };
    let own = cluster.spawn(move || {
        let own = handle();
        let other = spawn(handle).join().unwrap();
        own != other && own == handle()
    });
    let own = own.join().unwrap();
    cluster.stop();
    if own { "fibre" } else { "processor" }
}

/// What a read of std's from a socket blocks.
fn of_a_socket() -> &'static str {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let give = move || far.write_all(b"x").unwrap();
    blocks(give, || near.read_exact(&mut [0]).unwrap())
}

/// What a lock of std's blocks that a plain thread has.
fn of_a_lock() -> &'static str {
    let lock = Arc::new(Mutex::new(()));
    let (theirs, is_taken) = (Arc::clone(&lock), Arc::new(AtomicBool::new(false)));
    let taken = Arc::clone(&is_taken);
    let runs = RUNS.load(Ordering::Relaxed);
    let owner = thread::spawn(move || {
        let _guard = theirs.lock().unwrap();
        taken.store(true, Ordering::Relaxed);
        until_the_rider_runs(runs + 1);
    });
    while !is_taken.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    let blocked = blocks(|| (), || drop(lock.lock().unwrap()));
    owner.join().unwrap();
    blocked
}

/// What a call within the C library blocks; nothing if there is none.
fn of_a_library() -> &'static str {
    let Some(waits) = library() else {
        return "nothing";
    };
    let (reader, mut writer) = pipe().unwrap();
    let fd = reader.as_raw_fd();
    // SAFETY: a descriptor that stays open.
    let call = || assert_eq!(unsafe { waits(fd) }, 1);
    blocks(move || writer.write_all(b"x").unwrap(), call)
}

/// Makes a call that waits until `give` has been called, and says what it has blocked.
fn blocks(give: impl FnOnce() + Send + 'static, call: impl FnOnce()) -> &'static str {
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let runs = RUNS.load(Ordering::Relaxed);
    let giver = thread::spawn(move || {
        while !seen.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        until_the_rider_runs(runs + 1);
        give();
    });
    begun.store(true, Ordering::Relaxed);
    call();
    let has_run = RUNS.load(Ordering::Relaxed) != runs;
    giver.join().unwrap();
    if has_run { "fibre" } else { "processor" }
}

/// Blocks a plain thread until the rider has run so often, or for a while.
fn until_the_rider_runs(often: u64) {
    let begun = Instant::now();
    while RUNS.load(Ordering::Relaxed) < often && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_micros(100));
    }
}

/// The function of the C library, if there is one.
#[cfg(not(target_feature = "crt-static"))]
fn library() -> Option<Waits> {
    use std::ffi::{CString, c_char, c_void};
    use std::{env, mem, ptr};

    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    /// `RTLD_NOW`.
    const NOW: c_int = 2;
    let library = match env::var("LIBRARY_UNDER_TEST") {
        Ok(path) => {
            let path = CString::new(path).unwrap();
            // SAFETY: a path; the library runs nothing when it is loaded.
            let library = unsafe { dlopen(path.as_ptr(), NOW) };
            assert!(!library.is_null(), "there is no library");
            library
        }
        // `RTLD_DEFAULT`: all that have been linked.
        Err(_) => ptr::null_mut(),
    };
    // SAFETY: a library that stays, and a name.
    let found = unsafe { dlsym(library, c"waits_for_a_byte".as_ptr()) };
    // SAFETY: what has this name is this function.
    (!found.is_null()).then(|| unsafe { mem::transmute::<*mut c_void, Waits>(found) })
}

/// The function; a static program must be linked with its object file.
#[cfg(target_feature = "crt-static")]
fn library() -> Option<Waits> {
    unsafe extern "C" {
        fn waits_for_a_byte(fd: c_int) -> isize;
    }
    Some(waits_for_a_byte)
}
