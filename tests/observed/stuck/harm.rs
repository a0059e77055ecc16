//! What a search does to the program: it keeps the program's signals, and leaves nothing behind.

use super::{LIMIT, alone, begin_on_a_fibre, forget_earlier_calls, found, leave, stuck};
use crate::support::process::{child, end_after, plays};
use fibre::sync::Event;
use fibre::{Cluster, Format};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Leaves a fibre that nobody can wake.
fn leak(cluster: &Cluster, prefix: &str) {
    let begin = |prefix: &str| leave(&format!("{prefix}leaked"), || Event::new().wait());
    begin_on_a_fibre(cluster, prefix, begin, 1);
    forget_earlier_calls();
}

/// Makes this function the handler of SIGPROF.
fn handle(handler: extern "C" fn(i32)) {
    // SAFETY: all zeros is an action; the handlers here are async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(
            libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut()),
            0
        );
    }
}

/// The kernel has threads of its own in a process with an io_uring instance. They take no signal,
/// and run nothing of the program's.
#[test]
fn workers_of_the_kernel_hinder_no_search() {
    alone("workers", |cluster, prefix| {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut byte = [0];
        let mut ring = io_uring::IoUring::new(2).unwrap();
        let read = io_uring::opcode::Read::new(
            io_uring::types::Fd(reader.as_raw_fd()),
            byte.as_mut_ptr(),
            1,
        );
        let read = read.build().flags(io_uring::squeue::Flags::ASYNC);
        // SAFETY: the pipe and the byte stay until the read has ended.
        unsafe { ring.submission().push(&read).unwrap() };
        ring.submit().unwrap();
        let is_worker = |task: fs::DirEntry| {
            let name = fs::read_to_string(task.path().join("comm")).ok()?;
            name.starts_with("iou-wrk").then_some(())
        };
        let is_there = || {
            let mut tasks = fs::read_dir("/proc/self/task").unwrap();
            tasks.any(|task| is_worker(task.unwrap()).is_some())
        };
        let begun = Instant::now();
        while !is_there() {
            assert!(begun.elapsed() < LIMIT, "no worker has come");
            thread::yield_now();
        }
        leak(cluster, prefix);
        let found = !found(prefix).is_empty();
        assert!(is_there(), "the worker still waits for the pipe");
        writer.write_all(b"!").unwrap();
        ring.submit_and_wait(1).unwrap();
        found
    });
}

/// The program's handler gets each of its signals, and none of the search's.
#[test]
fn a_profiler_keeps_its_signals() {
    const SIGNALS: usize = 100;
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn count(_: i32) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
    alone("profiler", |cluster, prefix| {
        handle(count);
        leak(cluster, prefix);
        let over = AtomicBool::new(false);
        let searches = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    assert!(stuck().len() <= 1);
                    searches.fetch_add(1, Ordering::Relaxed);
                }
            });
            let begun = Instant::now();
            for sent in 0..SIGNALS {
                // SAFETY: numbers.
                unsafe { libc::kill(libc::getpid(), libc::SIGPROF) };
                while COUNT.load(Ordering::Relaxed) == sent {
                    assert!(begun.elapsed() < LIMIT, "signal {sent} is lost");
                    thread::yield_now();
                }
            }
            while searches.load(Ordering::Relaxed) < 5 {
                assert!(begun.elapsed() < LIMIT, "no search ends");
                thread::yield_now();
            }
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(COUNT.load(Ordering::Relaxed), SIGNALS);
        true
    });
}

#[test]
fn a_handler_that_comes_later_ends_searches_with_an_error() {
    extern "C" fn ignore(_: i32) {}
    alone("later_handler", |cluster, prefix| {
        leak(cluster, prefix);
        let _ = stuck();
        handle(ignore);
        let error = fibre::stuck().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("another handler of SIGPROF"),
            "{error}"
        );
        true
    });
}

#[test]
fn a_thread_that_blocks_the_signal_ends_searches_with_an_error() {
    alone("blocked", |cluster, prefix| {
        leak(cluster, prefix);
        let (told, blocks) = std::sync::mpsc::channel();
        let (over, ends) = std::sync::mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            // SAFETY: the set is made by the first call.
            unsafe {
                let mut set = MaybeUninit::uninit();
                libc::sigfillset(set.as_mut_ptr());
                libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            }
            told.send(()).unwrap();
            let _ = ends.recv();
        });
        blocks.recv().unwrap();
        let error = fibre::stuck().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(
            error.to_string().contains("does not answer SIGPROF"),
            "{error}"
        );
        drop(over);
        thread.join().unwrap();
        let _ = stuck();
        true
    });
}

/// While threads make dumps, and others begin and end, searches lead to answers.
#[test]
fn dumps_and_threads_that_come_and_go_hinder_no_search() {
    alone("beside", |cluster, prefix| {
        leak(cluster, prefix);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let repeat = |f: fn()| {
                while !over.load(Ordering::Relaxed) {
                    f();
                }
            };
            scope.spawn(move || repeat(|| fibre::dump(&mut Vec::new(), Format::Text).unwrap()));
            scope.spawn(move || repeat(|| drop(fibre::waits())));
            scope.spawn(move || repeat(|| thread::spawn(|| ()).join().unwrap()));
            for _ in 0..5 {
                assert!(stuck().len() <= 1);
            }
            over.store(true, Ordering::Relaxed);
        });
        true
    });
}

/// Calls of std that wait go on after a search.
#[test]
fn waits_of_threads_go_on() {
    alone("waits", |cluster, prefix| {
        leak(cluster, prefix);
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let reads = thread::spawn(move || {
            let mut byte = [0];
            other.read(&mut byte).map(|length| (length, byte))
        });
        let time = Duration::from_millis(300);
        let sleeps = thread::spawn(move || {
            let begun = Instant::now();
            thread::sleep(time);
            begun.elapsed()
        });
        for _ in 0..5 {
            let _ = stuck();
        }
        one.write_all(&[7]).unwrap();
        assert_eq!(reads.join().unwrap().unwrap(), (1, [7]));
        assert!(sleeps.join().unwrap() >= time);
        true
    });
}

/// The state and the parent of a process; `None`: it is gone.
fn process(number: &str) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let rest = text.rsplit_once(')')?.1.trim_start();
    let mut fields = rest.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The child of a process.
fn child_of(parent: u32) -> Option<String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut numbers = all.filter_map(|entry| entry.file_name().into_string().ok());
    numbers.find(|number| {
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && process(number).is_some_and(|(state, its)| its == parent && state != 'Z')
    })
}

/// The copy has none of the program's files, and ends when the program is killed.
#[test]
fn a_copy_ends_with_its_maker() {
    if plays("maker") {
        end_after(LIMIT);
        // That much keeps the copy busy for a while.
        let memory: Vec<_> = (0..400_000_usize)
            .map(|number| Box::new([number; 8]))
            .collect();
        let cluster = Cluster::builder().build().unwrap();
        leak(&cluster, "maker/");
        loop {
            assert!(stuck().len() <= 1);
            assert_eq!(memory[7][7], 7);
        }
    }
    let mut maker = child("maker", &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut looks = 0;
    let copy = loop {
        assert!(begun.elapsed() < LIMIT, "no copy is seen");
        let Some(copy) = child_of(maker.id()) else {
            thread::yield_now();
            continue;
        };
        // Only its own files: two of the kernel's about itself at most. A search by a user who may
        // not look there is not looked at.
        let files = fs::read_dir(format!("/proc/{copy}/fd")).map(|files| files.flatten().count());
        let named = fs::read_to_string(format!("/proc/{copy}/comm")).unwrap_or_default();
        if named.trim_end() == "fibre-stuck" && process(&copy).is_some() {
            assert!(files.is_ok_and(|count| count <= 2) || looks < 3, "{copy}");
            looks += 1;
        }
        if looks == 3 {
            break copy;
        }
    };
    maker.kill().unwrap();
    maker.wait().unwrap();
    while process(&copy).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X')) {
        assert!(begun.elapsed() < LIMIT, "{copy} lives on");
        thread::yield_now();
    }
}

/// The numbers of the last search are told, and a dump says them.
#[test]
fn the_last_search_is_told() {
    alone("told", |cluster, prefix| {
        let before = fibre::metrics().stuck;
        assert_eq!((before.searches, before.fibres), (0, 0));
        leak(cluster, prefix);
        if found(prefix).is_empty() {
            return false;
        }
        let metrics = fibre::metrics();
        assert_eq!((metrics.stuck.searches, metrics.stuck.fibres), (1, 1));
        assert!(metrics.stuck.took >= metrics.stuck.paused);
        assert!(metrics.stuck.paused > Duration::ZERO);
        let text = metrics.to_string();
        assert!(
            text.contains("1 stuck fibre at the last search of 1"),
            "{text}"
        );
        let mut dump = Vec::new();
        fibre::dump(&mut dump, fibre::Format::Text).unwrap();
        let dump = String::from_utf8_lossy(&dump);
        assert!(dump.contains("1 stuck fibre at the last search"), "{dump}");
        true
    });
}
