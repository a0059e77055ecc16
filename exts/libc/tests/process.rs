//! The life of a process with these names: before `main`, while several install them, in forked
//! children, and at its exit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::ffi::{c_int, c_void};
use std::io::{Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::thread;
use support::on;

/// Set for a process of these tests that ends at once.
const ENDS: &str = "FIBRE_TEST_ROLE";

/// How many bytes went through a pipe before `main`.
static BEFORE_MAIN: AtomicIsize = AtomicIsize::new(-1);

/// A thread before `main`.
extern "C" fn thread_before_main(value: *mut c_void) -> *mut c_void {
    value
}

/// Starts a thread before `main`, and waits for it; whether that was right.
fn joins_before_main() -> bool {
    let (mut thread, mut returned) = (0, std::ptr::null_mut());
    let mut value = 7;
    let passed: *mut c_void = (&raw mut value).cast();
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1,
    };
    // SAFETY: places of this frame, which waits for the thread.
    unsafe {
        let nothing = std::ptr::null();
        let started = libc::pthread_create(&raw mut thread, nothing, thread_before_main, passed);
        started == 0
            && libc::nanosleep(&raw const time, std::ptr::null_mut()) == 0
            && libc::pthread_join(thread, &raw mut returned) == 0
            && returned == passed
    }
}

/// Runs before `main`, and before std has begun.
extern "C" fn before_main() {
    let (mut ends, mut bytes) = ([0; 2], [0_u8; 8]);
    assert!(joins_before_main());
    // SAFETY: places of this frame.
    let count = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        assert_eq!(libc::write(ends[1], c"early".as_ptr().cast(), 5), 5);
        let mut asked = libc::pollfd {
            fd: ends[0],
            events: libc::POLLIN,
            revents: 0,
        };
        assert_eq!(libc::poll(&raw mut asked, 1, 1000), 1);
        let count = libc::read(ends[0], bytes.as_mut_ptr().cast(), bytes.len());
        for fd in ends {
            assert_eq!(libc::close(fd), 0);
        }
        count
    };
    BEFORE_MAIN.store(count, Ordering::Relaxed);
}

/// Where the loader finds what runs before `main`.
#[used]
// SAFETY: the section holds functions of this type.
#[unsafe(link_section = ".init_array")]
static BEFORE: extern "C" fn() = before_main;

#[test]
fn calls_before_main_are_the_systems() {
    assert_eq!(BEFORE_MAIN.load(Ordering::Relaxed), 5);
}

#[test]
fn several_install_at_once() {
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                // SAFETY: no fibre keeps what belongs to a thread.
                unsafe { fibre_libc::install() };
            });
        }
    });
}

/// In a child that a fibre has forked, calls are plain; the fibre waits for the child by fibre's
/// `waitpid`.
#[test]
fn a_forked_child_has_plain_calls() {
    on(1, || {
        let (mut reader, writer) = pipe().unwrap();
        // SAFETY: the child makes calls that a child of several threads may make, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                let time = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: 1_000_000,
                };
                libc::nanosleep(&raw const time, std::ptr::null_mut());
                libc::write(writer.as_raw_fd(), c"child".as_ptr().cast(), 5);
                libc::close(writer.as_raw_fd());
                libc::_exit(7);
            }
        }
        drop(writer);
        let mut said = Vec::new();
        reader.read_to_end(&mut said).unwrap();
        assert_eq!(said, b"child");
        let mut status: c_int = 0;
        // SAFETY: a place of this frame.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
    });
}

/// A program that is started by `fork`, as something has to be done in the child: there calls are
/// plain. It waits for another fibre of its parent, which can run only while the one that starts it
/// lets others run.
#[test]
fn a_child_that_does_something_first_has_plain_calls() {
    on(1, || {
        let (reader, mut writer) = pipe().unwrap();
        let mut command = Command::new("true");
        // SAFETY: the closure makes calls that a child of several threads may make.
        unsafe {
            command.pre_exec(move || {
                let mut byte = [0_u8];
                match libc::read(reader.as_raw_fd(), byte.as_mut_ptr().cast(), 1) {
                    1 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        fibre::spawn(move || writer.write_all(b"x").unwrap());
        let mut child = command.spawn().unwrap();
        assert!(child.wait().unwrap().success());
    });
}

/// Says so through a pipe.
extern "C" fn at_exit() {
    let (mut reader, mut writer) = pipe().unwrap();
    writer.write_all(b"x").unwrap();
    reader.read_exact(&mut [0]).unwrap();
    println!("at exit");
}

#[test]
fn calls_at_exit_are_the_systems() {
    if std::env::var_os(ENDS).is_some() {
        on(1, || ());
        fibre::spawn(|| thread::sleep(std::time::Duration::from_secs(3600)));
        // SAFETY: a function that lives as long as the program.
        unsafe { libc::atexit(at_exit) };
        std::process::exit(0);
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "--nocapture", "calls_at_exit_are_the_systems"]);
    let output = again.env(ENDS, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("at exit"),
        "{output:?}"
    );
}
