//! hyper on fibres: connections, an executor and a timer, without another runtime.
//!
//! A connection is served by a fibre, which polls what hyper returns, by `fibre::block_on`. The
//! fibre waits while there is nothing to do; its processor runs others meanwhile.
//!
//! ```
//! use fibre::net::{TcpListener, TcpStream};
//! use fibre_hyper::{FibreIo, FibreTimer};
//! use hyper::service::service_fn;
//! use hyper::{Request, Response, body::Incoming, server::conn::http1};
//! use std::convert::Infallible;
//! use std::io::{Read, Write};
//!
//! async fn serve(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
//!     fibre::sleep(std::time::Duration::from_millis(1)); // handlers may block their fibre
//!     Ok(Response::new(format!("you asked for {}", request.uri())))
//! }
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! fibre::spawn(move || {
//!     for (connection, _) in listener.connections() {
//!         fibre::spawn(move || {
//!             let server = http1::Builder::new()
//!                 .timer(FibreTimer::new())
//!                 .serve_connection(FibreIo::new(connection), service_fn(serve));
//!             fibre::block_on(server)
//!         });
//!     }
//! });
//!
//! let mut client = TcpStream::connect(address)?;
//! client.write_all(b"GET /tea HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.ends_with("you asked for /tea"));
//! # Ok::<(), std::io::Error>(())
//! ```
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

#![deny(unreachable_pub, unnameable_types)]

mod executor;
mod io;
mod timer;

pub use executor::FibreExecutor;
pub use io::FibreIo;
pub use timer::FibreTimer;
