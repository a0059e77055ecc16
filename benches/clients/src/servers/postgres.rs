//! PostgreSQL.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::CONNECTIONS;
use super::daemon::{Folder, Server, prepare};

/// Where Debian has a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Starts a PostgreSQL server with a database `postgres`, which the user `fibre` may use without a
/// password. Blocks the thread until it answers.
///
/// # Errors
///
/// It is not installed, or does not start.
pub fn postgres() -> Result<Server> {
    let programs = programs()?;
    let folder = Folder::new("postgres", "postgres")?;
    let data = folder.path().join("data");
    let mut command = folder.command(programs.join("initdb"));
    command.args(["--auth=trust", "--username=fibre", "--no-sync"]);
    command.args(["--locale=C", "--encoding=UTF8", "--pgdata"]);
    prepare(command.arg(&data))?;
    let command = |folder: &Folder, port: u16| {
        let mut command = folder.command(programs.join("postgres"));
        command.arg("-D").arg(&data);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k", ""]);
        command.args(["-c", "fsync=off", "-c", "shared_buffers=64MB"]);
        command.args(["-c", "superuser_reserved_connections=0"]);
        command.args(["-c", &format!("max_connections={CONNECTIONS}")]);
        command
    };
    let answers = |port: u16| {
        let mut ask = Command::new(programs.join("pg_isready"));
        ask.args(["--quiet", "--host=127.0.0.1", "--port", &port.to_string()]);
        ask.status().is_ok_and(|status| status.success())
    };
    let place = |port| format!("host=127.0.0.1 port={port} user=fibre dbname=postgres");
    // The fast way: clients are cut off.
    Server::start(folder, Signal::INT, command, answers, place)
}

/// The folder of the programs of the newest version.
fn programs() -> Result<PathBuf> {
    let missing = "PostgreSQL is not installed: Debian has it as postgresql";
    let versions = fs::read_dir(VERSIONS).context(missing)?;
    let versions = versions.flatten().map(|entry| entry.path());
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let with_server = versions.filter(|path| path.join("bin/postgres").is_file());
    let newest = with_server.max_by_key(number);
    Ok(newest.context(missing)?.join("bin"))
}
