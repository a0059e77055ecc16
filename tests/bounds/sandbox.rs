//! Sandboxes that refuse a system call: each one that the runtime makes, one at a time, with
//! `EPERM` as older container profiles do, and with `ENOSYS` as newer ones and old kernels.
//!
//! A child of the test puts itself into such a sandbox and goes through all parts of the runtime.
//! A part that does without the call works as ever. One that cannot returns an error. Nothing
//! hangs, panics or crashes.
//!
//! Some calls are left out, without which the C library and std run no program: `futex`, `write`,
//! `close`, `rt_sigreturn`, `rseq`; and `getpid`, since a program that sends itself a signal would
//! send it to all processes.

#![cfg(target_arch = "x86_64")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::io::pipe;
use fibre::net::{TcpListener, TcpStream, UdpSocket};
use fibre::os::unix::net::UnixStream;
use fibre::process::{Command, Stdio};
use fibre::signal::{SIGUSR1, Signals};
use fibre::sync::{Condvar, Mutex};
use libc::c_long;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::direct::DirectBlock;
use support::process::{child, end_after, no_core_file, plays};
use support::sandbox::refuse;

/// The longest that a child may take.
const LIMIT: Duration = Duration::from_secs(60);

/// An error with these words, unless what should be is.
fn ensure(is: bool, otherwise: &str) -> io::Result<()> {
    is.then_some(()).ok_or_else(|| io::Error::other(otherwise))
}

/// A part of the runtime that the child goes through.
type Part = (&'static str, fn() -> io::Result<()>);

/// All parts. The first one starts the default cluster.
const PARTS: &[Part] = &[
    ("fibres", fibres),
    ("time", time),
    ("locks", locks),
    ("calls that block", calls_that_block),
    ("stacks", stacks),
    ("clusters", clusters),
    ("tcp", tcp),
    ("udp", udp),
    ("unix", unix),
    ("pipes", pipes),
    ("files", files),
    ("direct reads", direct_reads),
    ("input", input),
    ("output", output),
    ("signals", signals),
    ("children", children),
    ("killed", killed),
    ("late", late),
    ("dropped", dropped),
    ("dump", dump),
];

fn fibres() -> io::Result<()> {
    let all: Vec<_> = (0..20)
        .map(|number| {
            fibre::spawn(move || {
                fibre::yield_now();
                number
            })
        })
        .collect();
    let sum: i32 = all.into_iter().map(|fibre| fibre.join().unwrap()).sum();
    assert_eq!(sum, 190);
    fibre::scope(|scope| {
        scope.spawn(|| ());
    });
    Ok(())
}

fn time() -> io::Result<()> {
    const SHORT: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    fibre::spawn(|| fibre::sleep(SHORT)).join().unwrap();
    fibre::sleep(SHORT);
    assert!(begun.elapsed() >= 2 * SHORT);
    let late = || fibre::timeout(SHORT, || fibre::sleep(LIMIT)).is_err();
    assert!(fibre::spawn(late).join().unwrap());
    let waits = fibre::spawn(|| fibre::sleep_within(LIMIT).is_err());
    waits.cancel();
    assert!(waits.join().unwrap());
    Ok(())
}

fn locks() -> io::Result<()> {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let add = |shared: Arc<(Mutex<i32>, Condvar)>| {
        for _ in 0..100 {
            let mut number = shared.0.lock();
            *number += 1;
            fibre::yield_now();
            shared.1.notify_all();
        }
    };
    let of_fibres: Vec<_> = (0..4)
        .map(|_| {
            let shared = Arc::clone(&shared);
            fibre::spawn(move || add(shared))
        })
        .collect();
    let of_thread = Arc::clone(&shared);
    let thread = std::thread::spawn(move || add(of_thread));
    let mut number = shared.0.lock();
    while *number < 500 {
        shared.1.wait(&mut number);
    }
    drop(number);
    thread.join().unwrap();
    of_fibres.into_iter().for_each(|f| f.join().unwrap());
    short_locks()
}

/// More threads than CPUs take a short lock again and again. The kernel stops one of them while it
/// has the lock, and the others ask the kernel to run somebody else.
fn short_locks() -> io::Result<()> {
    const EACH: usize = 20_000;
    let (sender, receiver) = fibre::channel::unbounded();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let sender = sender.clone();
            scope.spawn(move || (0..EACH).for_each(|number| sender.send(number).unwrap()));
        }
    });
    drop(sender);
    ensure(receiver.iter().count() == 8 * EACH, "numbers are lost")
}

fn calls_that_block() -> io::Result<()> {
    let fibre = fibre::spawn(|| fibre::blocking(|| 1) + fibre::compute(|| 2));
    assert_eq!(fibre.join().unwrap(), 3);
    Ok(())
}

fn stacks() -> io::Result<()> {
    for _ in 0..2 {
        let many: Vec<_> = (0..300)
            .map(|_| fibre::Builder::new().spawn(|| fibre::sleep(Duration::from_millis(1))))
            .collect();
        for one in many {
            one?.join().unwrap();
        }
    }
    let large = fibre::Builder::new().stack_size(8 << 20);
    large.spawn(|| ())?.join().unwrap();
    Ok(())
}

fn clusters() -> io::Result<()> {
    let cluster = fibre::Cluster::builder().processors(2).build()?;
    cluster.add_processors(1)?;
    cluster.spawn(|| ()).join().unwrap();
    drop(cluster.pause());
    cluster.stop();
    Ok(())
}

/// Sends some bytes there and back, with a wait in between.
fn echo(
    mut near: impl Read + Write,
    mut far: impl Read + Write + Send + 'static,
) -> io::Result<()> {
    let answering = fibre::spawn(move || {
        let mut bytes = [0; 5];
        far.read_exact(&mut bytes)?;
        fibre::sleep(Duration::from_millis(1));
        far.write_all(&bytes)
    });
    near.write_all(b"hello")?;
    let mut back = [0; 5];
    near.read_exact(&mut back)?;
    assert_eq!(&back, b"hello");
    answering.join().unwrap()
}

fn tcp() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    match listener.accept_timeout(Duration::from_millis(2)) {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
        Err(error) => return Err(error),
        Ok(_) => unreachable!("nobody knows the address"),
    }
    let accepting = fibre::spawn(move || listener.accept());
    let near = TcpStream::connect(address)?;
    near.set_nodelay(true)?;
    let (far, _) = accepting.join().unwrap()?;
    echo(near, far)
}

fn udp() -> io::Result<()> {
    let one = UdpSocket::bind("127.0.0.1:0")?;
    let other = UdpSocket::bind("127.0.0.1:0")?;
    let address = one.local_addr()?;
    let receiving = fibre::spawn(move || one.recv_from(&mut [0; 8]).map(|(count, _)| count));
    other.send_to(b"hello", address)?;
    assert_eq!(receiving.join().unwrap()?, 5);
    Ok(())
}

fn unix() -> io::Result<()> {
    let (near, far) = UnixStream::pair()?;
    echo(near, far)
}

fn pipes() -> io::Result<()> {
    let (mut reader, mut writer) = pipe()?;
    let writing = fibre::spawn(move || writer.write_all(&[7; 200_000]));
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    writing.join().unwrap()?;
    ensure(bytes.len() == 200_000, "bytes are lost")
}

fn files() -> io::Result<()> {
    let on_fibre = || {
        let name = format!("fibre-sandbox-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fibre::fs::write(&path, b"some bytes")?;
        let read = fibre::fs::read(&path);
        let copied = fibre::fs::File::open(&path).and_then(|file| {
            let (near, mut far) = UnixStream::pair()?;
            fibre::io::copy(&file, &near)?;
            drop(near);
            let mut bytes = Vec::new();
            far.read_to_end(&mut bytes).map(|_| bytes)
        });
        fibre::fs::remove_file(&path)?;
        assert_eq!(read?, b"some bytes");
        assert_eq!(copied?, b"some bytes");
        Ok(())
    };
    fibre::spawn(on_fibre).join().unwrap()
}

/// Reads that wait for the device, which go to the ring.
fn direct_reads() -> io::Result<()> {
    let on_fibre = || {
        let name = format!("fibre-sandbox-direct-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, [7; 3 * DirectBlock::SIZE])?;
        let mut options = fibre::fs::OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_DIRECT).open(&path);
        // It may be refused, which is another part's business.
        let _ = std::fs::remove_file(&path);
        let file = Arc::new(file?);
        let read = |place: u64| {
            let file = Arc::clone(&file);
            fibre::spawn(move || {
                let mut block = DirectBlock::default();
                let offset = place * DirectBlock::SIZE as u64;
                file.read_at(&mut block.0, offset)
                    .map(|count| (count, block.0[9]))
            })
        };
        for (place, fibre) in [0, 1, 2, 3].map(|place| (place, read(place))) {
            let end = (0, 0);
            let whole = (DirectBlock::SIZE, 7);
            assert_eq!(fibre.join().unwrap()?, if place < 3 { whole } else { end });
        }
        Ok(())
    };
    fibre::spawn(on_fibre).join().unwrap()
}

fn input() -> io::Result<()> {
    let read = || {
        let mut line = String::new();
        fibre::io::stdin().lock().read_line(&mut line).map(|_| line)
    };
    assert_eq!(fibre::spawn(read).join().unwrap()?, "a line\n");
    Ok(())
}

fn output() -> io::Result<()> {
    let write = || writeln!(fibre::io::stdout(), "\nout");
    fibre::spawn(write).join().unwrap()
}

fn signals() -> io::Result<()> {
    let signals = Signals::new([SIGUSR1])?;
    // SAFETY: a signal that is listened for, for this thread.
    let sent = unsafe { libc::raise(libc::SIGUSR1) } == 0;
    ensure(sent, "no signal is sent")?;
    let heard = signals.wait_timeout(Duration::from_secs(5))?;
    ensure(heard == Some(SIGUSR1), "the signal has not come")
}

fn children() -> io::Result<()> {
    let run = || {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child.stdin.take().unwrap().write_all(b"there and back")?;
        child.wait_with_output()
    };
    let output = fibre::spawn(run).join().unwrap()?;
    ensure(output.stdout == b"there and back", "it says nothing")
}

/// A command that takes longer than any test.
fn sleeper() -> Command {
    let mut command = Command::new("sleep");
    command.arg("1000");
    command
}

/// Whether a process has ended, and has been waited for, in time.
fn is_gone(process: u32) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        if !std::path::Path::new(&format!("/proc/{process}")).exists() {
            return true;
        }
        fibre::sleep(Duration::from_millis(2));
    }
    // SAFETY: a child of ours, which runs still.
    unsafe { libc::kill(process.cast_signed(), libc::SIGKILL) };
    false
}

fn killed() -> io::Result<()> {
    let mut child = sleeper().spawn()?;
    let process = child.id();
    let sent = child.signal(fibre::signal::SIGTERM);
    if sent.is_err() {
        drop(child);
        is_gone(process);
        return sent;
    }
    ensure(child.wait()?.code().is_none(), "it has ended by itself")?;
    child.kill()?;
    child.signal(fibre::signal::SIGTERM)
}

fn late() -> io::Result<()> {
    let output = sleeper().output_timeout(Duration::from_millis(5))?;
    ensure(output.is_none(), "it has ended by itself")
}

fn dropped() -> io::Result<()> {
    let child = sleeper().kill_on_drop(true).spawn()?;
    let process = child.id();
    drop(child);
    let gone = is_gone(process);
    gone.then_some(())
        .ok_or_else(|| io::Error::other("it runs still"))
}

fn dump() -> io::Result<()> {
    fibre::dump(&mut Vec::new(), fibre::Format::Text)?;
    let mut text = String::new();
    std::fmt::Write::write_fmt(&mut text, format_args!("{:?}", fibre::metrics())).unwrap();
    assert!(!text.is_empty());
    Ok(())
}

/// The child: all parts, in its sandbox. It prints what each has come to.
fn go_through_all() {
    no_core_file();
    end_after(LIMIT);
    let number = |name| std::env::var(name).unwrap().parse::<i32>().unwrap();
    let (call, errno) = (number("CALL"), number("ERRNO"));
    if errno != 0 {
        refuse(c_long::from(call), errno);
    }
    if let Err(error) = fibre::Cluster::builder().build() {
        println!("\nno cluster: {error}");
        return;
    }
    for (name, part) in PARTS {
        let outcome = match catch_unwind(AssertUnwindSafe(part)) {
            Ok(Ok(())) => "works".to_owned(),
            Ok(Err(error)) => format!("error: {error}"),
            Err(_) => "PANICS".to_owned(),
        };
        println!("\n{name}: {outcome}");
    }
}

/// The errors by which sandboxes refuse.
const REFUSALS: [i32; 2] = [libc::EPERM, libc::ENOSYS];

/// Runs the calling test's child where a call is refused. Returns what each part has come to.
#[track_caller]
fn outcomes(call: c_long, errno: i32) -> (Vec<(String, String)>, String) {
    let (call, errno) = (call.to_string(), errno.to_string());
    let mut command = child(
        "sandboxed",
        &[("CALL", &call), ("ERRNO", &errno), ("FIBRE_FILE_RING", "1")],
    );
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut process = command.spawn().unwrap();
    // A child that has no cluster does not read it.
    let _ = process.stdin.take().unwrap().write_all(b"a line\n");
    let output = process.wait_with_output().unwrap();
    let [text, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let status = output.status;
    assert!(status.success(), "call {call}, {errno}: {status}: {errors}");
    let names = PARTS.iter().map(|(name, _)| *name).chain(["no cluster"]);
    let found = names.flat_map(|name| {
        let outcome = move |line: &'_ str| {
            line.strip_prefix(name)?
                .strip_prefix(": ")
                .map(str::to_owned)
        };
        text.lines()
            .filter_map(outcome)
            .map(move |told| (name.to_owned(), told))
    });
    (found.collect(), errors)
}

/// Calls that are refused, one at a time, and the parts that may fail then.
type Refused<'a> = (&'a [c_long], &'a [&'a str]);

/// Checks that all parts work where a call is refused, but for those that may fail. The child of a
/// test goes through its parts here, once: nothing may follow in the test.
#[track_caller]
fn check(all_refused: &[Refused]) {
    if plays("sandboxed") {
        return go_through_all();
    }
    let each = all_refused
        .iter()
        .flat_map(|(calls, unless)| calls.iter().map(move |call| (*call, *unless)));
    for (call, unless) in each {
        for errno in REFUSALS {
            let (all, errors) = outcomes(call, errno);
            let here = format!("call {call} refused by {errno}: {all:?}: {errors}");
            assert_eq!(all.len(), PARTS.len(), "{here}");
            for (name, outcome) in &all {
                let may_fail = unless.contains(&name.as_str()) && outcome.starts_with("error: ");
                assert!(outcome == "works" || may_fail, "{name}: {outcome}: {here}");
            }
        }
    }
}

/// Nothing is missed.
#[cfg(not(feature = "sanitizer"))] // It needs such calls itself.
#[test]
fn calls_that_are_optional() {
    let calls = [
        libc::SYS_clock_gettime,
        libc::SYS_copy_file_range,
        libc::SYS_epoll_pwait2,
        libc::SYS_epoll_wait,
        libc::SYS_fadvise64,
        libc::SYS_getpriority,
        libc::SYS_getrandom,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_setup,
        libc::SYS_madvise,
        libc::SYS_membarrier,
        libc::SYS_memfd_create,
        libc::SYS_mincore,
        libc::SYS_munlock,
        libc::SYS_nanosleep,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_prctl,
        libc::SYS_preadv2,
        libc::SYS_prlimit64,
        libc::SYS_process_madvise,
        libc::SYS_process_vm_readv,
        libc::SYS_pwritev2,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_yield,
        libc::SYS_sendfile,
        libc::SYS_setpriority,
        libc::SYS_statx,
        libc::SYS_sysinfo,
        libc::SYS_uname,
    ];
    check(&[(&calls, &[])]);
}

/// Child processes are killed by whichever call is allowed.
#[test]
fn calls_about_children() {
    let parts = ["children", "killed", "late", "dropped"];
    let calls = [
        libc::SYS_wait4,
        libc::SYS_execve,
        libc::SYS_dup2,
        libc::SYS_clock_nanosleep, // Programs of others sleep by it.
    ];
    check(&[(&calls, &parts)]);
}

/// What takes a call that is refused fails, and nothing else.
#[cfg(not(feature = "sanitizer"))] // It needs such calls itself.
#[test]
fn calls_of_one_part() {
    check(&[
        (
            &[libc::SYS_rt_sigaction, libc::SYS_tgkill, libc::SYS_gettid],
            &["signals"],
        ),
        (&[libc::SYS_socket, libc::SYS_bind], &["tcp", "udp"]),
        (
            &[libc::SYS_connect, libc::SYS_listen, libc::SYS_accept4],
            &["tcp"],
        ),
        (&[libc::SYS_setsockopt, libc::SYS_getsockopt], &["tcp"]),
        (&[libc::SYS_getpeername], &["tcp"]),
        (&[libc::SYS_getsockname], &["tcp", "udp"]),
        (&[libc::SYS_socketpair], &["unix", "files"]),
        (&[libc::SYS_sendto], &["tcp", "udp", "unix"]),
        (&[libc::SYS_recvfrom], &["tcp", "udp"]),
        (&[libc::SYS_recvmsg], &["unix", "files"]),
        (&[libc::SYS_unlink, libc::SYS_lseek], &["files"]),
        (&[libc::SYS_pipe2], &["pipes", "children", "late"]),
    ]);
}

/// Without a poller all that waits for descriptors fails, and does not hang.
#[cfg(not(feature = "sanitizer"))] // It needs such calls itself.
#[test]
fn calls_of_pollers() {
    let calls = [
        libc::SYS_epoll_create1,
        libc::SYS_epoll_ctl,
        libc::SYS_eventfd2,
    ];
    let parts = [
        "tcp", "udp", "unix", "pipes", "files", "signals", "children", "late",
    ];
    check(&[(&calls, &parts)]);
}

/// Without threads and stacks there is no cluster, which is an error of the builder.
#[cfg(not(feature = "sanitizer"))] // It needs such calls itself.
#[test]
fn calls_that_clusters_take() {
    if plays("sandboxed") {
        return go_through_all();
    }
    for call in [
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mprotect,
        libc::SYS_sigaltstack,
    ] {
        for errno in REFUSALS {
            let (all, errors) = outcomes(call, errno);
            let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["no cluster"], "call {call}, {errno}: {errors}");
        }
    }
}
