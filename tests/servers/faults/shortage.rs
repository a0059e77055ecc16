//! What one is out of: descriptors, watches, memory, threads. Calls say so, nothing is half done,
//! and made again they succeed.

use super::plan::{ACCEPTS, Fault, Plan, Rule, Scope};
use super::traffic::under;
use rustix::io::Errno;

/// Descriptors, or the memory for them, are short where connections are accepted.
#[test]
fn accepting() {
    const SHORTAGE: &[Errno] = &[Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    under(Plan {
        rules: &[Rule {
            calls: ACCEPTS,
            scope: Scope::All,
            one_in: 3,
            fault: Fault::Fails(SHORTAGE),
        }],
        passing: SHORTAGE,
        ..Plan::default()
    });
}

/// Descriptors are short where sockets, pipes, and what pollers need are made.
#[test]
fn descriptors() {
    const MAKING: &[i64] = &[
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_pipe2,
        libc::SYS_eventfd2,
        libc::SYS_epoll_create1,
    ];
    const SHORTAGE: &[Errno] = &[Errno::MFILE, Errno::NFILE];
    under(Plan {
        rules: &[Rule {
            calls: MAKING,
            scope: Scope::All,
            one_in: 2,
            fault: Fault::Fails(SHORTAGE),
        }],
        passing: SHORTAGE,
        ..Plan::default()
    });
}

/// The kernel keeps no more watches, or has no memory for them, also where pollers are made.
#[test]
fn watches() {
    const SHORTAGE: &[Errno] = &[Errno::NOSPC, Errno::NOMEM];
    const CONTROL: &[i64] = &[libc::SYS_epoll_ctl];
    under(Plan {
        rules: &[Rule {
            calls: CONTROL,
            scope: Scope::Additions,
            one_in: 2,
            fault: Fault::Fails(SHORTAGE),
        }],
        passing: SHORTAGE,
        ..Plan::default()
    });
}

/// No thread can be started: not for a cluster, and not for its poller.
#[test]
fn threads() {
    const THREADS: &[i64] = &[libc::SYS_clone3];
    under(Plan {
        rules: &[Rule {
            calls: THREADS,
            scope: Scope::All,
            one_in: 2,
            fault: Fault::Fails(&[Errno::AGAIN]),
        }],
        passing: &[Errno::AGAIN],
        ..Plan::default()
    });
}
