//! A process under test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longer than anything takes that works.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A server, killed when dropped.
pub(crate) struct Program {
    /// The process.
    child: Child,
    /// What it prints.
    lines: BufReader<ChildStdout>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Program {
    /// Starts a program with these arguments on a free port.
    pub(crate) fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(["--addr", "127.0.0.1:0"]).args(arguments);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let address = ([127, 0, 0, 1], 0).into();
        // From here on a panic kills the process.
        let mut program = Self {
            child,
            lines,
            address,
        };
        let line = program.line();
        let (_, address) = line.trim().split_once("://").expect("where it listens");
        program.address = address.parse().unwrap();
        program
    }

    /// The next line it prints; empty at the end.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// A new connection, with calls that end some time.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_write_timeout(Some(SOON)).unwrap();
        stream
    }

    /// How many sockets it has open.
    pub(crate) fn sockets(&self) -> usize {
        let folder = PathBuf::from(format!("/proc/{}/fd", self.child.id()));
        let entries = fs::read_dir(folder).unwrap();
        let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        targets
            .filter(|target| target.to_string_lossy().starts_with("socket:"))
            .count()
    }

    /// Waits until none but the listening socket is open.
    pub(crate) fn expect_no_connections(&self) {
        let closed = eventually(|| self.sockets() == 1);
        assert!(closed, "{} sockets are open", self.sockets());
    }

    /// Tells it to stop.
    pub(crate) fn signal(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits for its end, checks that it left nothing, and returns its last line.
    pub(crate) fn expect_clean_end(mut self) -> String {
        let ended = eventually(|| self.child.try_wait().unwrap().is_some());
        assert!(ended, "the server does not end");
        let line = self.line();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}, {line}");
        assert!(line.trim().ends_with("live fibres 0"), "{line}");
        line
    }

    /// Stops it and checks that nothing is left.
    pub(crate) fn expect_clean_stop(self) -> String {
        self.signal();
        self.expect_clean_end()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `condition` holds; false if it does not hold soon.
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + SOON;
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

/// A file that is removed when dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// A place for the test of this name.
    pub(crate) fn new(test: &str) -> Self {
        let name = format!("{test}-{}.pem", std::process::id());
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
