//! Descriptors that are not what one expects: foreign registrations, odd numbers, ends without
//! readers, instances that fail.

use super::plan::{Fault, Plan, Rule, Scope, WAITS};
use super::seat::{self, Question, ask};
use super::support::process::{child, end_after, errors, no_core_file, plays, spawn_child};
use super::support::sockets::{pair, pair_with_std, registrations};
use super::support::{any_cluster, eventually, for_each_cluster, let_others_block, run_in};
use super::tracer;
use fibre::io::pipe;
use fibre::net::TcpStream;
use fibre::os::unix::net::UnixStream;
use fibre::{Cluster, IoChoices, Poller};
use rustix::io::{DupFlags, Errno, dup3, fcntl_dupfd_cloexec};
use rustix::process::{Resource, getrlimit};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// Both ends of a connection have waited for the other one.
fn converse(near: &TcpStream, far: &TcpStream) {
    std::thread::scope(|scope| {
        let (mut near, mut far) = (near, far);
        scope.spawn(move || {
            far.read_exact(&mut [0]).unwrap();
            far.write_all(b"!").unwrap();
        });
        near.write_all(b"?").unwrap();
        near.read_exact(&mut [0]).unwrap();
    });
}

/// The kernel keeps a registration whose number was closed behind our back while a duplicate lives.
/// The next owner of a number for the same thing hears of events all the same.
#[test]
fn registrations_left_behind() {
    for_each_cluster(|_| {
        let (near, far) = pair();
        let echo = fibre::spawn(move || {
            let mut byte = [0];
            while (&far).read(&mut byte).unwrap() == 1 {
                (&far).write_all(&byte).unwrap();
            }
        });
        let speak = |mut stream: &TcpStream| {
            stream.write_all(b"?").unwrap();
            stream.read_exact(&mut [0]).unwrap();
        };
        speak(&near);
        let copy = rustix::io::dup(&near).unwrap();
        let number = near.as_raw_fd();
        std::mem::forget(near);
        // SAFETY: its owner has been forgotten.
        let mut closed = unsafe { OwnedFd::from_raw_fd(number) };
        dup3(&copy, &mut closed, DupFlags::CLOEXEC).unwrap();
        drop(copy);
        let again = TcpStream::try_from(std::net::TcpStream::from(closed)).unwrap();
        (0..10).for_each(|_| speak(&again));
        drop(again);
        echo.join().unwrap();
    });
}

/// A connection that goes takes its registration along, though the kernel would keep it for a
/// duplicate.
#[test]
fn registrations_end_with_their_owners() {
    if !plays("sole") {
        let output = spawn_child("sole", &[]);
        return assert!(output.status.success(), "{}", errors(&output));
    }
    for poller in Poller::ALL {
        let cluster = Cluster::builder().poller(poller).build().unwrap();
        let body = || {
            let (near, mut far) = pair_with_std();
            let copy = rustix::io::dup(&near).unwrap();
            let number = near.as_raw_fd();
            let reader = fibre::spawn(move || {
                (&near).read_exact(&mut [0]).unwrap();
                near
            });
            eventually(|| registrations(number) == 1);
            far.write_all(b"x").unwrap();
            drop(reader.join().unwrap());
            assert_eq!(registrations(number), 0);
            drop(copy);
        };
        cluster.spawn(body).join().unwrap();
        cluster.stop();
    }
}

/// Number zero, and the highest one there may be, are as good as others.
#[test]
fn lowest_and_highest_numbers() {
    if plays("without input") {
        assert!(rustix::io::fcntl_getfd(std::io::stdin()).is_ok());
        let (near, far) = pair();
        // SAFETY: this process has no use for its input.
        let mut lowest = unsafe { OwnedFd::from_raw_fd(0) };
        dup3(&near, &mut lowest, DupFlags::CLOEXEC).unwrap();
        let lowest = TcpStream::try_from(std::net::TcpStream::from(lowest)).unwrap();
        assert_eq!(lowest.as_raw_fd(), 0);
        converse(&lowest, &far);
        let limit = getrlimit(Resource::Nofile).current.unwrap();
        let highest = fcntl_dupfd_cloexec(&near, limit as RawFd - 1).unwrap();
        let highest = TcpStream::try_from(std::net::TcpStream::from(highest)).unwrap();
        run_in(
            any_cluster().processors(2).build().unwrap(),
            Arc::new(move |_: &Cluster| {
                let (mut reads, mut far) = (&highest, far.try_clone().unwrap());
                let writer = fibre::spawn(move || {
                    let_others_block();
                    far.write_all(b"high").unwrap();
                });
                let mut got = [0; 4];
                reads.read_exact(&mut got).unwrap();
                assert_eq!(&got, b"high");
                writer.join().unwrap();
            }),
        );
        return;
    }
    let output = child("without input", &[])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

/// Writing to what nobody reads is an error, and no signal ends the process, though it would in a
/// program that is not Rust's.
#[test]
fn nobody_reads() {
    if !plays("ordinary") {
        let output = spawn_child("ordinary", &[]);
        return assert!(
            output.status.success(),
            "{}: {}",
            output.status,
            errors(&output)
        );
    }
    // SAFETY: as it is in programs that have not asked for anything else.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let sockets = || {
        let (mut near, far) = UnixStream::pair().unwrap();
        drop(far);
        assert_eq!(near.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(near.write_vectored(&[]).unwrap(), 0);
        let (mut near, far) = pair_with_std();
        drop(far);
        let error = near.write_all(&vec![0; 32 << 20]).unwrap_err().kind();
        assert!(matches!(
            error,
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
        ));
        assert_eq!(near.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    };
    sockets();
    for poller in Poller::ALL {
        let cluster = Cluster::builder().poller(poller).build().unwrap();
        let body = move || {
            sockets();
            let (reader, mut writer) = pipe().unwrap();
            drop(reader);
            assert_eq!(
                writer.write(b"x").unwrap_err().kind(),
                ErrorKind::BrokenPipe
            );
        };
        cluster.spawn(body).join().unwrap();
        cluster.stop();
    }
}

/// The kernel refuses to wait for events, as when somebody has closed the runtime's own
/// descriptors: the process ends with a word, since it would hear of nothing any more.
#[test]
fn instances_that_fail() {
    const BROKEN: Fault = Fault::Fails(&[Errno::BADF, Errno::INVAL]);
    const PLAN: Plan = Plan {
        rules: &[Rule {
            calls: WAITS,
            scope: Scope::All,
            one_in: 1,
            fault: BROKEN,
        }],
        passing: &[],
        lasting: &[],
    };
    if seat::is_child() {
        no_core_file();
        end_after(Duration::from_secs(20));
        seat::take();
        ask(Question::Begin);
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let _ = cluster.spawn(|| pair().0.read(&mut [0])).join();
        return;
    }
    for poller in Poller::ALL {
        let (code, said) = tracer::trace(&PLAN, &[("FIBRE_POLLER", &poller.to_string())]);
        assert_eq!(code, None, "{poller} goes on");
        assert!(
            said.contains("fibre: epoll_wait failed"),
            "{poller}: {said}"
        );
    }
}
