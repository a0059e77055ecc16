//! hyper on fibres: a server in one call, or connections, an executor and a timer for what hyper
//! builds, without another runtime.
//!
//! A connection is served by a fibre, which polls what hyper returns, by `fibre::block_on`. The
//! fibre waits while there is nothing to do; its processor runs others meanwhile.
//!
//! ```
//! use fibre::CancelToken;
//! use fibre::net::{TcpListener, TcpStream};
//! use fibre_hyper::{handler, serve};
//! use hyper::{Request, Response, body::Bytes};
//! use std::io::{Read, Write};
//!
//! let stop = CancelToken::new();
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let token = stop.clone();
//! let server = fibre::spawn(move || {
//!     let answer = |request: Request<Bytes>| {
//!         fibre::sleep(std::time::Duration::from_millis(1)); // handlers may block their fibre
//!         Response::new(format!("you asked for {}", request.uri()))
//!     };
//!     serve(listener, handler(answer), &token)
//! });
//!
//! let mut client = TcpStream::connect(address)?;
//! client.write_all(b"GET /tea HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.ends_with("you asked for /tea"));
//! stop.cancel();
//! server.join().unwrap()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Other servers, and clients, are built by hyper's builders with [`FibreIo`], [`FibreExecutor`]
//! and [`FibreTimer`].
//!
//! # What blocks what
//!
//! A handler that blocks its fibre blocks what that fibre serves: with HTTP/1 its connection, which
//! has nothing else to do; with HTTP/2 its stream, if the builder has a [`FibreExecutor`], which
//! runs each stream in a fibre. It never blocks the processor. What would block a thread belongs in
//! `fibre::blocking`.
//!
//! Futures of tokio's need a runtime of tokio's: see `examples/with_tokio.rs`.
//!
//! | module | what it is |
//! |---|---|
//! | `executor` | running what hyper spawns |
//! | `io` | a connection, as hyper reads and writes it |
//! | `timer` | time that passes for hyper |
//! | `server` | a server in one call, with limits and an end with grace |

#![deny(unreachable_pub, unnameable_types)]

mod executor;
mod io;
#[cfg(feature = "server")]
mod server;
mod timer;

pub use executor::FibreExecutor;
pub use io::FibreIo;
#[cfg(feature = "server")]
pub use server::{BodyError, RequestBody, Server, handler, serve};
pub use timer::FibreTimer;
