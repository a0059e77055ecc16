//! How a server meets the harness: it prints the address it listens on, and it
//! ends when its standard input is closed.
//!
//! The harness holds the writing end of a pipe to each server it starts. When
//! the harness ends, however it ends, the kernel closes that pipe and the
//! server goes too, so no server is left behind.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::{env, process, thread};

/// What the line that announces a server starts with.
pub const ANNOUNCEMENT: &str = "listening on ";

/// How many connections may wait to be accepted. The default of 128 drops
/// connection attempts when a load generator opens a thousand at once.
const BACKLOG: i32 = 4096;

/// The address to listen on: the first argument, or any free port.
pub fn address() -> String {
    env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into())
}

/// Lets more connections wait on a listener than its library asked for.
///
/// # Errors
///
/// Whatever `listen` returns.
pub fn deepen_backlog(listener: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::listen(listener, BACKLOG)?)
}

/// Tells the harness where the server listens, and from then on ends the
/// process when standard input is closed.
///
/// # Errors
///
/// When standard output cannot be written or the watching thread not started.
pub fn announce(address: SocketAddr) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{ANNOUNCEMENT}{address}")?;
    out.flush()?;
    thread::Builder::new()
        .name("stdin".into())
        .stack_size(64 << 10)
        .spawn(exit_when_stdin_closes)?;
    Ok(())
}

/// Blocks on standard input for the life of the server.
fn exit_when_stdin_closes() {
    let mut ignored = [0; 64];
    let mut input = io::stdin().lock();
    while matches!(input.read(&mut ignored), Ok(1..)) {}
    process::exit(0);
}
