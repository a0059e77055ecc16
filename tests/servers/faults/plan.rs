//! What goes wrong, how often, and what may be told of it.

use rustix::io::Errno;
use std::time::Duration;

/// What happens to a call.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// It does nothing, and fails with one of these.
    Fails(&'static [Errno]),
    /// It does nothing, and says that it would block, although it might not. As the kernel would,
    /// the tracer sees to it that an event follows.
    Again,
    /// It is about fewer bytes than were asked for; an event follows.
    Short,
    /// It returns so much later.
    Late(Duration),
    /// Its events come in another order, some twice, some for owners that are gone, and some for
    /// nothing.
    Scrambled,
    /// It returns at once, for no reason.
    Spurious,
    /// If it has waited for so long, a signal ends it; a wait on a futex returns for no reason.
    Disturbed(Duration),
}

/// Which calls a fault concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All with these numbers.
    All,
    /// Those about sockets and pipes.
    Streams,
    /// Those about files.
    Files,
    /// Those that add a descriptor to an epoll instance.
    Additions,
    /// Those that wait on a futex.
    FutexWaits,
}

/// One kind of fault.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The calls' numbers.
    pub calls: &'static [i64],
    /// Which of them.
    pub scope: Scope,
    /// One in so many is concerned.
    pub one_in: usize,
    /// The fault that is made.
    pub fault: Fault,
}

/// What goes wrong in one test, and what its calls may say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// The first rule that concerns a call is followed.
    pub rules: &'static [Rule],
    /// A call that fails with one of these is simply made again.
    pub passing: &'static [Errno],
    /// These end a connection.
    pub lasting: &'static [Errno],
}

impl Plan {
    /// Whether all messages arrive, and are not cut.
    pub fn keeps_messages(&self) -> bool {
        let cuts = |rule: &Rule| matches!(rule.fault, Fault::Short);
        self.lasting.is_empty() && !self.rules.iter().any(cuts)
    }

    /// Whether nobody is told of anything.
    pub fn is_silent(&self) -> bool {
        self.lasting.is_empty() && self.passing.is_empty()
    }
}

/// Calls that read.
pub const READS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
];

/// Calls that write.
pub const WRITES: &[i64] = &[
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
];

/// Calls that read or write.
pub const TRANSFERS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
];

/// Calls that read and write files.
pub const FILES: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv2,
];

/// Calls that copy inside the kernel.
pub const COPIES: &[i64] = &[libc::SYS_splice, libc::SYS_sendfile];

/// Calls that accept.
pub const ACCEPTS: &[i64] = &[libc::SYS_accept4];

/// Calls that wait for events.
pub const WAITS: &[i64] = &[libc::SYS_epoll_pwait2, libc::SYS_epoll_wait];

/// All that any rule may concern, and what the tracer has to know.
pub const TRACED: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept4,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv2,
    libc::SYS_splice,
    libc::SYS_sendfile,
    libc::SYS_epoll_pwait2,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_create1,
    libc::SYS_eventfd2,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_pipe2,
    libc::SYS_futex,
    libc::SYS_mmap,
    libc::SYS_clone3,
    libc::SYS_prctl,
    libc::SYS_close,
];
