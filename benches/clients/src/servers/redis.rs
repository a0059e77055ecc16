//! Redis.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use anyhow::Result;
use rustix::process::Signal;

use super::CONNECTIONS;
use super::daemon::{Folder, Server, program};

/// Starts a Redis server that keeps nothing on disk. Blocks the thread until it answers.
///
/// # Errors
///
/// It is not installed, or does not start.
pub fn redis() -> Result<Server> {
    let path = program("redis-server", "redis-server")?;
    let folder = Folder::new("redis", "redis")?;
    let command = |folder: &Folder, port: u16| {
        let mut command = folder.command(&path);
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
        // It looks for clients that have run out of time as often each second.
        command.args(["--hz", "100"]);
        command.args(["--maxclients", &CONNECTIONS.to_string()]);
        command
    };
    let place = |port| format!("redis://127.0.0.1:{port}/");
    Server::start(folder, Signal::TERM, command, answers, place)
}

/// Whether a server answers a ping.
fn answers(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    let mut answer = [0; 5];
    stream.write_all(b"PING\r\n").is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer == *b"+PONG"
}
