//! Forked children of processes with fibres: they are told that the runtime is dead, they can
//! exec, and the parent does not notice. Each case forks in a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::io::{PollFd, Readiness, poll};
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::{Mutex, Semaphore};
use fibre::{Builder, Cluster};
use std::io::{ErrorKind, Read, Write};
use std::mem::ManuallyDrop;
use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::process::{end_after, errors, no_core_file, plays, spawn_child};
use support::sockets::{fresh_pair_with_std, pair_with_std};
use support::{eventually, text_of};

/// The longest that a process of these tests may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How a child has ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Code(i32),
    Signal(i32),
}

/// Forks; the child does `body` and exits with what it returns. Returns the child's number.
fn fork(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child does what these tests are about: what the runtime allows.
    match unsafe { libc::fork() } {
        0 => {
            die_with_parent();
            // SAFETY: the end of the child.
            unsafe { libc::_exit(body()) }
        }
        pid => pid,
    }
}

/// Sees to it that a child which hangs ends with the test.
fn die_with_parent() {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Waits for a child. Blocks the thread.
fn wait_for(pid: i32) -> End {
    let (mut status, started) = (0, Instant::now());
    // SAFETY: writes the status of a child of ours.
    while unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } == 0 {
        assert!(started.elapsed() < LIMIT / 2, "the child hangs");
        thread::sleep(Duration::from_millis(1));
    }
    if libc::WIFSIGNALED(status) {
        End::Signal(libc::WTERMSIG(status))
    } else {
        End::Code(libc::WEXITSTATUS(status))
    }
}

/// Plays `body` in a process of its own, which must end well; returns what it has said.
fn in_own_process(role: &str, body: impl FnOnce()) -> Option<String> {
    if plays(role) {
        no_core_file();
        end_after(LIMIT);
        body();
        return None;
    }
    let output = spawn_child(role, &[]);
    let said = errors(&output);
    assert!(output.status.success(), "{}: {said}", output.status);
    Some(said)
}

/// That the runtime still works.
fn check_alive() {
    assert_eq!(fibre::spawn(|| 6 * 7).join().unwrap(), 42);
}

#[test]
fn spawning_in_a_child_is_refused() {
    in_own_process("refused", || {
        check_alive();
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let before = cluster.spawn(|| 1);
        assert_eq!(before.join().unwrap(), 1);
        let pid = fork(|| {
            assert!(fibre::is_forked_child());
            let error = Cluster::builder().build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("only exec"), "{error}");
            let error = Builder::new().spawn(|| ()).unwrap_err();
            assert!(error.to_string().contains("only exec"), "{error}");
            let error = Builder::new().spawn_in(&cluster, || ()).unwrap_err();
            assert!(error.to_string().contains("only exec"), "{error}");
            let payload = catch_unwind(|| drop(fibre::spawn(|| ()))).unwrap_err();
            assert!(text_of(&*payload).contains("only exec"));
            // What needs nobody else works.
            let semaphore = Semaphore::new(1);
            assert!(semaphore.try_acquire());
            let soon = Instant::now() + Duration::from_millis(1);
            assert!(semaphore.acquire_within(soon).is_err());
            assert_eq!(*Mutex::new(3).lock(), 3);
            fibre::sleep(Duration::from_millis(1));
            fibre::yield_now();
            0
        });
        assert_eq!(wait_for(pid), End::Code(0));
        assert!(!fibre::is_forked_child());
        check_alive();
        cluster.stop();
    });
}

#[test]
fn waiting_for_ever_in_a_child_aborts() {
    let said = in_own_process("waits", || {
        check_alive();
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let sleeper = fibre::spawn(|| fibre::sleep(Duration::MAX));
        let pid = fork(|| {
            Semaphore::new(0).acquire();
            0
        });
        assert_eq!(wait_for(pid), End::Signal(libc::SIGABRT));
        let pid = fork(|| {
            let _ = sleeper.join();
            0
        });
        assert_eq!(wait_for(pid), End::Signal(libc::SIGABRT));
        let pid = fork(|| {
            cluster.stop();
            0
        });
        assert_eq!(wait_for(pid), End::Signal(libc::SIGABRT));
        check_alive();
    });
    let told = said.map(|said| said.matches("only exec is possible").count());
    assert!(told.is_none_or(|told| told == 3), "{told:?}");
}

/// Numbers of the processes in which fibres have run that stood in the queue.
static OTHERS: AtomicUsize = AtomicUsize::new(0);

/// A fibre forks while others are ready; in the child it does `last`, and nobody else runs.
fn fork_by_fibre(last: impl FnOnce() + Send + 'static) -> End {
    let cluster = Cluster::builder().processors(1).build().unwrap();
    let inside = cluster.clone();
    let forker = cluster.spawn(move || {
        let others: Vec<_> = (0..10).map(|_| inside.spawn(note_other)).collect();
        // SAFETY: the child ends in `last`, or by its return.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            die_with_parent();
            for _ in 0..3 {
                fibre::yield_now();
                fibre::sleep(Duration::from_millis(1));
            }
            last();
            return 0;
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        pid
    });
    let pid = forker.join().unwrap();
    let end = wait_for(pid);
    check_alive();
    cluster.stop();
    assert_eq!(OTHERS.load(Ordering::SeqCst), 10);
    end
}

/// What the other fibres do: complain if they run in the wrong process.
fn note_other() {
    if fibre::is_forked_child() {
        eprintln!("another fibre runs in the child");
    }
    OTHERS.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn the_fibre_that_forked_ends_its_process_when_it_returns() {
    let said = in_own_process("returns", || {
        assert_eq!(fork_by_fibre(|| ()), End::Signal(libc::SIGABRT));
    });
    if let Some(said) = said {
        assert!(said.contains("only exec is possible"), "{said}");
        assert!(!said.contains("another fibre"), "{said}");
    }
}

#[test]
fn the_fibre_that_forked_ends_its_process_when_it_blocks() {
    let said = in_own_process("blocks", || {
        let end = fork_by_fibre(|| Semaphore::new(0).acquire());
        assert_eq!(end, End::Signal(libc::SIGABRT));
    });
    if let Some(said) = said {
        assert!(said.contains("only exec is possible"), "{said}");
        assert!(!said.contains("another fibre"), "{said}");
    }
}

#[test]
fn the_fibre_that_forked_may_exit() {
    let said = in_own_process("exits", || {
        // SAFETY: the end of the child.
        let end = fork_by_fibre(|| unsafe { libc::_exit(7) });
        assert_eq!(end, End::Code(7));
    });
    assert!(said.is_none_or(|said| !said.contains("another fibre")));
}

/// The descriptors of a program that is executed, and the signals that are blocked in it.
fn look_around(command: &mut Command) -> (String, String) {
    let script = "cd /proc/$$/fd; echo *; exec grep SigBlk /proc/self/status";
    let output = command.args(["-c", script]).stdin(Stdio::null()).output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    let (descriptors, blocked) = said.split_once("SigBlk:").expect("the shell's answer");
    (descriptors.trim().to_owned(), blocked.trim().to_owned())
}

/// A connection that has waited, so that nothing is missing that could leak.
fn connected() -> TcpStream {
    let (mut ours, mut theirs) = pair_with_std();
    let writer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        theirs.write_all(b"x").unwrap();
    });
    ours.read_exact(&mut [0]).unwrap();
    writer.join().unwrap();
    ours
}

/// `std::process::Command`, by `posix_spawn` and by `fork`; nothing leaks into the program.
#[test]
fn programs_can_be_executed() {
    in_own_process("execs", || {
        // What the test itself has inherited.
        let before = look_around(&mut Command::new("/bin/sh"));
        let check = move || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let connection = connected();
            let by_spawn = look_around(&mut Command::new("/bin/sh"));
            assert_eq!(by_spawn.0, before.0);
            let mut command = Command::new("/bin/sh");
            let by_fork = look_around(fibre::unblock_signals(&mut command));
            assert_eq!(by_fork, before);
            drop((listener, connection));
        };
        check.clone()();
        fibre::spawn(check).join().unwrap();
        let pid = fibre::spawn(|| fork(exec_by_hand)).join().unwrap();
        assert_eq!(wait_for(pid), End::Code(0));
    });
}

/// Whether the calling thread blocks SIGTERM.
fn blocks_termination() -> bool {
    // SAFETY: room for a set, which the call fills.
    unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut blocked);
        libc::sigismember(&raw const blocked, libc::SIGTERM) == 1
    }
}

/// A fibre whose program replaces itself. If it cannot, its processor blocks signals as before.
#[test]
fn a_program_that_executes_another_one_can_be_terminated() {
    in_own_process("replaces itself", || {
        let fibre = fibre::spawn(|| {
            assert!(blocks_termination());
            let mut missing = Command::new("/nowhere");
            let error = fibre::unblock_signals(&mut missing).exec();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            eventually(blocks_termination);
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "exec grep -q 'SigBlk:\t0*$' /proc/self/status"]);
            fibre::unblock_signals(&mut command).exec()
        });
        panic!("{}", fibre.join().unwrap());
    });
}

/// `fork` would copy the page tables of all stacks.
#[test]
fn fibres_start_programs_without_a_fork() {
    static FORKS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    in_own_process("spawns", || {
        // SAFETY: the handler changes an atomic word.
        let installed = unsafe { libc::pthread_atfork(Some(count), None, None) };
        assert_eq!(installed, 0);
        let status = fibre::spawn(|| fibre::process::Command::new("true").status());
        assert!(status.join().unwrap().unwrap().success());
        assert_eq!(FORKS.load(Ordering::Relaxed), 0);
        // It would be counted.
        let mut command = Command::new("true");
        assert!(
            fibre::unblock_signals(&mut command)
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(FORKS.load(Ordering::Relaxed), 1);
    });
}

/// A program that succeeds if no signal is blocked.
fn exec_by_hand() -> i32 {
    let script = c"exec grep -q 'SigBlk:\t0*$' /proc/self/status";
    let arguments = [
        c"sh".as_ptr(),
        c"-c".as_ptr(),
        script.as_ptr(),
        std::ptr::null(),
    ];
    // SAFETY: texts with their ends, and the end of the list.
    unsafe { libc::execv(c"/bin/sh".as_ptr(), arguments.as_ptr()) };
    99
}

/// A child that drops what it has inherited takes nothing from the parent.
#[test]
fn descriptors_of_the_parent_stay_registered() {
    in_own_process("drops", || {
        check_alive();
        let (mut ours, mut theirs) = pair_with_std();
        let reader = Arc::new(Mutex::new(ours.try_clone().unwrap()));
        let shared = Arc::clone(&reader);
        for round in 0..20_u8 {
            let writer = thread::spawn(move || {
                thread::sleep(Duration::from_millis(2));
                theirs.write_all(&[round, round]).unwrap();
                theirs
            });
            // Both have waited, hence are registered.
            let mut byte = [0];
            ours.read_exact(&mut byte).unwrap();
            let shared = Arc::clone(&shared);
            let by_fibre = move || shared.lock().read_exact(&mut [0]).unwrap();
            fibre::spawn(by_fibre).join().unwrap();
            assert_eq!(byte, [round]);
            theirs = writer.join().unwrap();
            // SAFETY: in the child, of which nothing is used afterwards.
            let copy = unsafe { ManuallyDrop::new(std::ptr::read(&raw const ours)) };
            let pid = fork(move || {
                drop(ManuallyDrop::into_inner(copy));
                i32::from(!fibre::is_forked_child())
            });
            assert_eq!(wait_for(pid), End::Code(0));
        }
    });
}

/// A child that waits for a descriptor is told that nobody would wake it, and does not have the
/// parent told of its descriptors.
#[test]
fn descriptors_of_a_child_are_refused() {
    in_own_process("waits for input", || {
        check_alive();
        let (mut ours, mut theirs) = pair_with_std();
        theirs.write_all(b"x").unwrap();
        let (fresh, _peer) = fresh_pair_with_std();
        let pid = fork(move || {
            // What is there can be had.
            ours.read_exact(&mut [0]).unwrap();
            let error = (&fresh).read(&mut [0]).unwrap_err();
            let mut asked = [PollFd::new(&fresh, Readiness::READ)];
            let polled = poll(&mut asked).unwrap_err();
            let refused = |error: std::io::Error| {
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                assert!(error.to_string().contains("only exec"), "{error}");
            };
            refused(error);
            refused(polled);
            exec_by_hand()
        });
        assert_eq!(wait_for(pid), End::Code(0));
    });
}

/// Children at any time, while fibres work on several processors.
#[test]
fn the_parent_does_not_notice() {
    in_own_process("busy", || {
        let cluster = Cluster::builder().processors(4).build().unwrap();
        let (ping, pong) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (other_ping, other_pong) = (Arc::clone(&ping), Arc::clone(&pong));
        let echo = cluster.spawn(move || {
            for _ in 0..20_000 {
                other_ping.acquire();
                other_pong.release();
            }
        });
        let caller = cluster.spawn(move || {
            for _ in 0..20_000 {
                ping.release();
                pong.acquire();
            }
        });
        for _ in 0..50 {
            let pid = fork(|| i32::from(Builder::new().spawn(|| ()).is_ok()));
            assert_eq!(wait_for(pid), End::Code(0));
        }
        echo.join().unwrap();
        caller.join().unwrap();
        cluster.stop();
    });
}

/// A program that forks before the first cluster is started has done nothing that concerns us.
#[test]
fn a_child_of_a_process_without_clusters_may_have_its_own() {
    in_own_process("early", || {
        let pid = fork(|| {
            assert!(!fibre::is_forked_child());
            check_alive();
            let cluster = Cluster::builder().processors(2).build().unwrap();
            let handles: Vec<_> = (0..100).map(|i| cluster.spawn(move || i)).collect();
            let sum: i32 = handles
                .into_iter()
                .map(|handle| handle.join().unwrap())
                .sum();
            cluster.stop();
            i32::from(sum != 4950)
        });
        assert_eq!(wait_for(pid), End::Code(0));
        check_alive();
    });
}
