//! Ten programs that hang, each in a way of its own: what they do, and nothing of what is told.
//!
//! The function that is to blame is never inlined, and does something after the call that does not
//! return: else the compiler would leave its frame before the call.

use crate::support::eventually;
use fibre::channel::{Receiver, bounded, oneshot};
use fibre::net::TcpListener;
use fibre::sync::{Mutex, RwLock, Semaphore};
use fibre::{Builder, JoinHandle, sleep};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Spawns a fibre with a name.
fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name).spawn(f).unwrap()
}

/// Spawns a fibre that waits for connections, so that a descriptor could end some wait.
fn listen() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    drop(spawn("listener", move || drop(listener.accept())));
}

#[inline(never)]
fn asks_for_a_reply() {
    let (asked, reply) = oneshot::<u32>();
    std::mem::forget(asked);
    let _ = reply.recv();
    black_box(());
}

pub fn a_lost_reply() {
    drop(spawn("asker", asks_for_a_reply));
}

#[inline(never)]
fn takes_both(first: &Mutex<u32>, second: &Mutex<u32>) {
    let first = first.lock();
    sleep(Duration::from_millis(50));
    let second = second.lock();
    black_box(*first + *second);
}

/// Two mutexes, in two orders, while a listener is open.
pub fn two_mutexes_in_two_orders() {
    listen();
    let all = Arc::new((Mutex::new(1), Mutex::new(2)));
    let other = Arc::clone(&all);
    drop(spawn("ab", move || takes_both(&all.0, &all.1)));
    drop(spawn("ba", move || takes_both(&other.1, &other.0)));
}

#[inline(never)]
fn upgrades(lock: &RwLock<u32>) {
    let read = lock.read();
    *lock.write() = *read + 1;
}

pub fn a_reader_that_wants_to_write() {
    drop(spawn("upgrader", || upgrades(&RwLock::new(1))));
}

#[inline(never)]
fn joins(other: &Mutex<Option<JoinHandle<()>>>) {
    let other = std::iter::from_fn(|| {
        fibre::yield_now();
        Some(other.lock().take())
    });
    let _ = other.flatten().next().map(JoinHandle::join);
    black_box(());
}

/// Two fibres that join each other, while a listener is open.
pub fn fibres_that_join_each_other() {
    listen();
    let handles = Arc::new((Mutex::new(None), Mutex::new(None)));
    let (one, two) = (Arc::clone(&handles), Arc::clone(&handles));
    let one = spawn("one", move || joins(&one.0));
    let two = spawn("two", move || joins(&two.1));
    (*handles.0.lock(), *handles.1.lock()) = (Some(two), Some(one));
}

#[inline(never)]
fn receives(receiver: &Receiver<u32>) {
    let _ = receiver.recv();
    black_box(());
}

pub fn a_channel_that_nobody_sends_on() {
    let (sender, receiver) = bounded(1);
    std::mem::forget(sender);
    drop(spawn("receiver", move || receives(&receiver)));
}

/// What ends those that spin: nothing.
static SPINNING: AtomicBool = AtomicBool::new(true);

#[inline(never)]
fn spins() {
    while SPINNING.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Another one: the compiler makes one function of equal ones.
#[inline(never)]
fn spins_elsewhere() {
    while SPINNING.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
}

pub fn a_fibre_that_spins() {
    drop(spawn("hog", spins));
}

#[inline(never)]
fn reads(pipe: i32) {
    let mut byte = [0_u8];
    // SAFETY: a read of one byte.
    let count = unsafe { libc::read(pipe, byte.as_mut_ptr().cast(), 1) };
    black_box(count);
}

pub fn a_fibre_in_a_system_call() {
    let mut ends = [0; 2];
    // SAFETY: room for both ends.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    drop(spawn("reader", move || reads(ends[0])));
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    fn flockfile(file: *mut libc::FILE);
}

#[inline(never)]
fn locks_the_output() {
    // SAFETY: the C library's standard output.
    unsafe { flockfile(stdout) };
    black_box(());
}

pub fn a_fibre_in_a_lock_of_the_c_library() {
    locks_the_output();
    drop(spawn("locker", locks_the_output));
}

/// Both of two processors spin, and one more fibre waits.
pub fn all_processors_are_stuck() {
    let waiting = spawn("waiting", || sleep(Duration::from_secs(3600)));
    eventually(|| !fibre::waits().is_empty());
    drop((waiting, spawn("hog", spins)));
    drop(spawn("other hog", spins_elsewhere));
}

#[inline(never)]
fn acquires(permits: &Semaphore) {
    permits.acquire();
    black_box(());
}

/// Permits for two, whom nobody has told to give them back.
pub fn a_semaphore_without_permits() {
    let permits = Arc::new(Semaphore::new(2));
    let client = |name| {
        let permits = Arc::clone(&permits);
        spawn(name, move || acquires(&permits))
    };
    for name in ["first", "second"] {
        client(name).join().unwrap();
    }
    drop(client("client"));
}
