//! Blocking crates of others that run unchanged on fibre's streams.
//!
//! A crate that takes whatever reads and writes takes [`fibre::net::TcpStream`], and then blocks a
//! fibre where it would block a thread. Nothing of it is adapted or patched:
//!
//! | program | crate | what it is |
//! |---|---|---|
//! | `https` | `rustls` | a web server with a fibre per connection; `--threads` runs the same code on threads |
//! | `chat` | `tungstenite` | a WebSocket server: an echo, and a room where everybody hears everybody |
//! | `fetch` | `ureq` | an HTTP(S) client that gets many addresses at the same time over one pool of connections |
//!
//! ```sh
//! cargo run --release -p fibre-examples --bin https -- --write-cert cert.pem
//! curl --cacert cert.pem https://localhost:8443/
//! cargo run --release -p fibre-examples --bin fetch -- --ca cert.pem https://localhost:8443/
//! cargo run --release -p fibre-examples --bin chat
//! ```
//!
//! They are a package of their own, so that who builds fibre does not build cryptography.
//!
//! What to look after when a crate for threads runs on fibres: (1) a `std::sync` guard, or a borrow
//! of a thread-local, that it holds *while it reads or writes* would block the processor. Those
//! used here hold none; where one calls back under its lock, the callback must not wait
//! ([`http_client`]). (2) The stack is a fibre's, 256 KiB by default: a handshake of
//! rustls takes 20 KiB of it, 44 without optimisation. `https` and `chat` say at their
//! end what was used. (3) A time-out is an error of the kind `TimedOut`, which such crates
//! take for a broken connection and not, as `WouldBlock`, for a reason to try again.
//!
//! This library has what the programs share.

pub mod connections;
pub mod http_client;
pub mod identity;
pub mod options;
pub mod server;
