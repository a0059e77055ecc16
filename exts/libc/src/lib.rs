//! Unmodified blocking crates and C libraries on fibres: names of the C library, defined in the
//! executable.
//!
//! std's calls, and those of C libraries, bind to the names that an executable defines. So a call
//! of `recv` comes here. Where the system's `recv` would block its kernel thread, the one here
//! blocks the fibre. For executables only: a library that defined such names would do so for all
//! of its users.
//!
//! ```no_run
//! use fibre_libc as _;
//! use std::io::{Read, Write};
//!
//! // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits.
//! unsafe { fibre_libc::install() };
//! let echo = fibre::spawn(|| {
//!     // std's own stream: it blocks this fibre only.
//!     let mut stream = std::net::TcpStream::connect("127.0.0.1:7")?;
//!     stream.write_all(b"hello")?;
//!     stream.read(&mut [0; 5])
//! });
//! assert_eq!(echo.join().unwrap()?, 5);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # The rule
//!
//! **Nothing switches unless the call would block.** A call is tried first, in a form that does not
//! wait, and its fibre waits only if the kernel says `EAGAIN`. So a call that does not block never
//! switches, and code that relies on that stays right.
//!
//! A call is the system's own on a plain thread, before [`install`], within [`plainly`], in a
//! forked child, in a cluster that moves started fibres between threads, and on the descriptors 0
//! to 2.
//!
//! In a cluster with thread-locals of each fibre's own
//! ([`own_thread_locals`](fibre_core::ClusterBuilder::own_thread_locals)) fibres move, and more
//! blocks the fibre: `std::thread::park` and `mpsc`, locks of parking_lot, `epoll_wait`, the
//! standard output. [`threads()`] makes such a cluster, and has `std::thread::spawn` make fibres.
//!
//! A fibre that is cancelled, and waits, gets `ECANCELED`. Sleeps, futexes, look-ups of names and
//! `pthread_join` do not notice cancellation, as their callers do not expect that error.
//!
//! `docs/LIBC.md` says what is refused, and what a library may not count on.
//!
//! Modules, lowest first:
//!
//! | module | what it is |
//! |---|---|
//! | `arch` | what is asked of the CPU by instruction |
//! | `errno` | the error number of the calling thread |
//! | `next` | the C library's own function of a name |
//! | `entry` | how calls come in and go out; whether a call is to block its fibre |
//! | `bytes` | reading, writing, receiving, sending |
//! | `socket` | making, connecting and accepting sockets |
//! | `descriptors` | what becomes of numbers; from one descriptor to another |
//! | `waiting` | `poll` and `select` |
//! | `events` | `epoll_wait` |
//! | `parker`, `thread_locals` | the word that std parks a thread by; the memory of its thread-locals |
//! | `start` | `install` |
//! | `threads` | threads of a program as fibres; programs that these start |
//! | `library` | waiting for child processes, threads and names of hosts |
//! | `time` | sleeping, yielding |
//! | `futex` | `syscall`, and in it `futex` |
//! | `locks` | locks of `pthread`, and semaphores |

#![cfg_attr(not(any(loom, test)), deny(unreachable_pub, unnameable_types))]

mod arch;
mod bytes;
mod descriptors;
mod entry;
mod errno;
mod events;
mod futex;
mod library;
#[cfg(not(target_feature = "crt-static"))]
mod locks;
#[cfg(not(target_feature = "crt-static"))]
mod next;
mod parker;
mod socket;
mod start;
mod thread_locals;
mod threads;
mod time;
mod waiting;

pub use entry::plainly;
pub use start::{install, reaches_shared_libraries};
pub use threads::{threads, threads_when_created};
