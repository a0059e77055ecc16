//! System calls that fail, stop short, come late or lie, beneath the program as it is shipped.
//!
//! A test runs itself again in a child process under `ptrace`. The child talks over sockets and
//! pipes, with each poller, and checks every byte; the parent changes what the kernel answers, as
//! a plan says and by chances that follow from a printed seed. Nothing in the runtime knows of it.
//!
//! | file       | what it is about                                                        |
//! |------------|-------------------------------------------------------------------------|
//! | `plan`     | what goes wrong, how often, and what may be told of it                  |
//! | `tracer`   | which makes it go wrong                                                 |
//! | `seat`     | the child's side: it asks the tracer for faults, and how many there were |
//! | `traffic`  | what the child does, and how it notices what got lost                   |
//! | `conversation` | how it sends, receives, and makes calls again                       |
//! | `messages` | its part that is about datagrams, and copies inside the kernel           |
//! | `calls`    | reads, writes, waits and their like that go wrong                       |
//! | `shortage` | what one is out of: descriptors, watches, memory, threads               |
//! | `economy`  | how many calls a short connection makes, which the tracer counts         |
//! | `oddities` | foreign registrations, odd numbers, ends without readers                |
//! | `storm`    | descriptor numbers that are used again at once                          |
//! | `frames`   | what is said in it                                                      |

#![cfg(target_arch = "x86_64")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

mod calls;
mod conversation;
mod economy;
mod frames;
mod messages;
mod oddities;
mod plan;
mod seat;
mod shortage;
mod storm;
mod tracer;
mod traffic;
