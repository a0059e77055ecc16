//! Calls that wait for child processes, threads, and names of hosts.

use crate::places::{Call, later};
use crate::support::Rider;
use libc::{c_long, pid_t, rusage};
use std::ffi::{CStr, c_int};
use std::io::Write;
use std::os::unix::thread::JoinHandleExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

/// Calls of all names that wait for what ends elsewhere.
pub(crate) const CALLS: [Call; 7] = [
    ("wait", |rider| {
        // SAFETY: a place.
        await_children(rider, |_, status| unsafe { libc::wait(status) });
    }),
    ("wait3", |rider| {
        await_children(rider, |_, status| {
            used(|usage| {
                // SAFETY: places.
                unsafe { wait3(status, 0, usage) }
            })
        });
    }),
    ("wait4", |rider| {
        await_children(rider, |child, status| {
            used(|usage| {
                // SAFETY: places.
                unsafe { libc::wait4(child, status, 0, usage) }
            })
        });
    }),
    ("waitpid", |rider| {
        await_children(rider, |child, status| {
            // SAFETY: a place.
            unsafe { libc::waitpid(child, status, 0) }
        });
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let running = pid_t::try_from(child.id()).unwrap();
        let mut status = 0;
        // SAFETY: a place.
        let ask = || unsafe { libc::waitpid(running, &raw mut status, libc::WNOHANG) };
        assert_eq!(rider.stays(ask), 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }),
    ("waitid", |rider| {
        await_children(rider, |child, status| {
            let id = child.cast_unsigned();
            // SAFETY: all zeros is a value; a place.
            unsafe {
                let mut ended: libc::siginfo_t = std::mem::zeroed();
                let found = libc::waitid(libc::P_PID, id, &raw mut ended, libc::WEXITED);
                assert_eq!(found, 0);
                *status = ended.si_status() << 8;
                ended.si_pid()
            }
        });
    }),
    ("pthread_join", join),
    ("getaddrinfo", look_up),
];

unsafe extern "C" {
    fn wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
}

/// Makes a call that tells what a child has used, which is something.
fn used(call: impl FnOnce(*mut rusage) -> pid_t) -> pid_t {
    // SAFETY: all zeros is a value.
    let mut usage: rusage = unsafe { std::mem::zeroed() };
    let child = call(&raw mut usage);
    assert!(usage.ru_maxrss > 0 as c_long);
    child
}

/// Calls what waits for a child that has ended, and for one that has not.
#[track_caller]
#[allow(
    clippy::zombie_processes,
    reason = "what is called here waits for them"
)]
fn await_children(rider: &Rider, call: impl Fn(pid_t, *mut c_int) -> pid_t) {
    let start = |script| {
        let mut sh = Command::new("sh");
        sh.args(["-c", script]).stdin(Stdio::piped());
        let child = sh.spawn().unwrap();
        (pid_t::try_from(child.id()).unwrap(), child.stdin)
    };
    let mut status: c_int = 0;
    let (ended, _) = start("exit 3");
    // It stays a child until it is waited for. SAFETY: all zeros is a value; a place.
    fibre_libc::plainly(|| unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        let kept = libc::WEXITED | libc::WNOWAIT;
        libc::waitid(libc::P_PID, ended.cast_unsigned(), &raw mut found, kept);
    });
    assert_eq!(rider.stays(|| call(ended, &raw mut status)), ended);
    assert_eq!(libc::WEXITSTATUS(status), 3);
    let (running, input) = start("read line; exit 4");
    later(move || input.unwrap().write_all(b"go\n").unwrap());
    assert_eq!(rider.leaves(|| call(running, &raw mut status)), running);
    assert_eq!(libc::WEXITSTATUS(status), 4);
}

/// `pthread_join` of a thread that has ended, and of one that has not.
fn join(rider: &Rider) {
    static NUMBER: AtomicI64 = AtomicI64::new(0);
    // SAFETY: a thread that nobody else joins.
    let call = |thread| unsafe { libc::pthread_join(thread, ptr::null_mut()) };
    // SAFETY: it takes nothing.
    let ended = thread::spawn(|| NUMBER.store(unsafe { libc::gettid() }.into(), Ordering::Relaxed));
    fibre_libc::plainly(|| {
        while NUMBER.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let folder = format!("/proc/self/task/{}", NUMBER.load(Ordering::Relaxed));
        while Path::new(&folder).exists() {
            thread::yield_now();
        }
    });
    let ended = ended.into_pthread_t();
    assert_eq!(rider.stays(|| call(ended)), 0);
    let runs = thread::spawn(|| {
        while NUMBER.load(Ordering::Relaxed) != 0 {
            thread::yield_now();
        }
    });
    later(|| NUMBER.store(0, Ordering::Relaxed));
    let runs = runs.into_pthread_t();
    assert_eq!(rider.leaves(|| call(runs)), 0);
}

/// `getaddrinfo` with a number, and with a name.
fn look_up(rider: &Rider) {
    let call = |host: &CStr, flags| {
        // SAFETY: all zeros is a value; names, and places of this frame.
        unsafe {
            let mut hints: libc::addrinfo = std::mem::zeroed();
            hints.ai_flags = flags;
            let mut found = ptr::null_mut();
            let failed =
                libc::getaddrinfo(host.as_ptr(), ptr::null(), &raw const hints, &raw mut found);
            assert_eq!(failed, 0);
            libc::freeaddrinfo(found);
        }
    };
    rider.stays(|| call(c"127.0.0.1", libc::AI_NUMERICHOST));
    rider.leaves(|| call(c"localhost", 0));
}
