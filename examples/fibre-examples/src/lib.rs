//! Blocking crates of others that run unchanged on fibre's streams.
//!
//! A crate that takes whatever reads and writes takes [`fibre::net::TcpStream`], and then blocks a
//! fibre where it would block a thread. Nothing of it is adapted or patched:
//!
//! | program | crate | what it is |
//! |---|---|---|
//! | `https` | `rustls` | a web server with a fibre per connection; `--threads` runs the same code on threads |
//! | `chat` | `tungstenite`, `redis` | a WebSocket server: an echo, and rooms where everybody hears everybody, of one process or of several |
//! | `ticker` | `redis` | an actor topic that reaches over several processes |
//! | `balancer` | | passes connections on to several servers |
//! | `chat-failover` | `tungstenite` | what the chat loses when one of several processes is killed |
//! | `fetch` | `ureq` | an HTTP(S) client that gets many addresses at the same time over one pool of connections, by `fibre-ureq` |
//! | `tls-cost` | `rustls` | what handshakes and requests cost `https`, by fibres and by threads |
//!
//! ```sh
//! cargo run --release -p fibre-examples --bin https -- --write-cert cert.pem
//! curl --cacert cert.pem https://localhost:8443/
//! cargo run --release -p fibre-examples --bin fetch -- --ca cert.pem https://localhost:8443/
//! cargo run --release -p fibre-examples --bin chat
//! cargo run --release -p fibre-examples --bin tls-cost
//! target/release/chat-failover                 # needs `redis-server`
//! ```
//!
//! They are a package of their own, so that who builds fibre does not build cryptography.
//!
//! What to look after when a crate for threads runs on fibres: (1) a `std::sync` guard, or a borrow
//! of a thread-local, that it holds *while it reads or writes* would block the processor. Those
//! used here hold none; where one calls back under its lock, as ureq does, the callback must not
//! wait (see [`fibre_ureq`]). (2) The stack is a fibre's, 256 KiB by default: handshake and
//! requests take 15 KiB of it with rustls, 55 in debug builds. `https` says at its end what was
//! used; it also runs with `--stack-size 20480`. (3) A time-out is an error of the kind `TimedOut`,
//! which such crates take for a broken connection and not, as `WouldBlock`, for a reason to try
//! again.
//!
//! This library has what the programs share.

#![deny(unreachable_pub, unnameable_types)]

pub mod broker;
pub mod connections;
pub mod identity;
pub mod options;
pub mod server;
pub mod sibling;
pub mod thread_socket;

use std::io;
use std::process::ExitCode;

/// How a program ends: with success if all went well and nothing is left, as said by zero; an error
/// is printed after the program's name.
#[must_use]
pub fn exit_code(program: &str, left: io::Result<usize>) -> ExitCode {
    match left {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}
