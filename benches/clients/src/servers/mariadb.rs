//! MariaDB.

use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};

use anyhow::Result;
use rustix::process::Signal;

use super::CONNECTIONS;
use super::daemon::{Folder, Server, prepare, program};

/// Starts a MariaDB server with a database `test`, which root may use without a password. Blocks
/// the thread until it answers.
///
/// # Errors
///
/// It is not installed, or does not start.
pub fn mariadb() -> Result<Server> {
    let path = program("mariadbd", "mariadb-server-core")?;
    let install = program("mariadb-install-db", "mariadb-server-core")?;
    let folder = Folder::new("mariadb", "mysql")?;
    let data = format!("--datadir={}", folder.path().join("data").display());
    let mut command = folder.command(install);
    command.args(["--no-defaults", &data]);
    command.args([
        "--auth-root-authentication-method=normal",
        "--skip-name-resolve",
    ]);
    prepare(command.args(LITTLE))?;
    let command = |folder: &Folder, port: u16| {
        let mut command = folder.command(&path);
        // `--no-defaults` is heeded as the first argument only.
        command.args(["--no-defaults", &data]).args(LITTLE);
        // Root is told to say that it means it.
        if rustix::process::geteuid().is_root() && !folder.has_user() {
            command.arg("--user=root");
        }
        command.args(["--bind-address=127.0.0.1", "--skip-name-resolve"]);
        command.arg(format!("--port={port}"));
        command.arg(format!("--max-connections={CONNECTIONS}"));
        command.arg(format!(
            "--socket={}",
            folder.path().join("socket").display()
        ));
        command
    };
    let place = |port| format!("mysql://root@127.0.0.1:{port}/test?prefer_socket=false");
    Server::start(folder, Signal::TERM, command, answers, place)
}

/// Small files and little memory: nothing is stored here.
const LITTLE: [&str; 3] = [
    "--innodb-log-file-size=8M",
    "--innodb-buffer-pool-size=16M",
    "--innodb-flush-log-at-trx-commit=0",
];

/// Whether a server greets: a header of four bytes, and then the version of the protocol.
fn answers(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    let mut greeting = [0; 5];
    stream.read_exact(&mut greeting).is_ok() && greeting[4] == 10
}
