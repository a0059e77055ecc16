//! Sockets, pipes, files and all other descriptors.
//!
//! | file          | what it is about                                            |
//! |---------------|-------------------------------------------------------------|
//! | `accept`      | listeners, several acceptors, bursts                        |
//! | `connect`     | connections that are refused or never answered              |
//! | `stream`      | bytes: all of them, in order, in every kind of call         |
//! | `timeouts`    | reads and writes that give up                               |
//! | `deadlines`   | moments at which calls stop waiting, also for those that wait |
//! | `halves`      | the two directions of a stream as two values                |
//! | `udp`         | datagrams: bounds, senders, several receivers, errors       |
//! | `unix`        | Unix streams: bytes, addresses, descriptors, full queues    |
//! | `unix_datagram` | Unix datagrams: bounds, names, full receivers             |
//! | `ends`        | half-close, end of file, resets                             |
//! | `sharing`     | several fibres on one connection, clones                    |
//! | `shared`      | descriptors that others have, and make blocking              |
//! | `hints`       | when what is known about readiness misleads, or would: other kinds |
//! | `cancel`      | calls of fibres that are cancelled                          |
//! | `close`       | closing what others wait for; numbers that are used again   |
//! | `refusing`    | what becomes of clients when a listener is closed            |
//! | `pollers`     | what each poller promises                                   |
//! | `pipe`        | pipes: bytes, ends, closing, plain threads at the other end   |
//! | `pollable`    | timers, counters, terminals, children's ends, watches of files |
//! | `poll`        | waiting for several descriptors                              |
//! | `raw`         | descriptors by their numbers, as C programs have them       |
//! | `files`       | files, many at once, in place and elsewhere                  |
//! | `file_ring`   | reads that wait for the disk, many at once                   |
//! | `names`       | what connections are made to: addresses and names           |
//! | `copying`     | copying inside the kernel                                    |
//! | `groups`      | several listeners on one port                                |
//! | `server`      | a fibre for each connection, until a token is cancelled      |
//! | `signals`     | signals as values                                            |
//! | `stdio`       | standard input, output and error                            |
//! | `process`     | child processes                                              |
//! | `conversions` | from and to std, options, plain threads, several clusters   |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod accept;
mod cancel;
mod close;
mod connect;
mod conversions;
mod copying;
mod deadlines;
mod ends;
mod file_ring;
mod files;
mod groups;
mod halves;
mod hints;
mod names;
mod pipe;
mod poll;
mod pollable;
mod pollers;
mod process;
mod raw;
mod refusing;
mod server;
mod shared;
mod sharing;
mod signals;
mod stdio;
mod stream;
mod timeouts;
mod udp;
mod unix;
mod unix_datagram;
