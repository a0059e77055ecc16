//! The process under test.
//!
//! The example is built on first use with the profile of the test itself: `cargo test` does not
//! build examples of other packages, and a stale one would be worse than none. Where tasks of
//! `cargo xtask` have built it, it is there.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::{FDTarget, Process};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use super::client::{Client, PLAINTEXT, SOON};

/// A server, killed when dropped.
pub(crate) struct Server {
    /// The process.
    child: Child,
    /// Where it listens.
    pub(crate) addr: SocketAddr,
    /// The lines it writes to standard output.
    lines: Receiver<String>,
    /// The lines it writes to standard error.
    pub(crate) complaints: Receiver<String>,
}

impl Server {
    /// Starts a server with these arguments on a free port.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::launch(Command::new(binary()).args(arguments))
    }

    /// Starts a server whose memory is that of its connections: it starts no processors beside its
    /// own, and does not read its table of symbols, as debug builds do when a fibre first waits.
    pub(crate) fn start_lean() -> Self {
        let mut command = Command::new(binary());
        command.env("FIBRE_MAX_SPARE", "0");
        Self::launch(command.env("FIBRE_INITIALISERS", "0"))
    }

    /// Starts a server that may have `limit` file descriptors.
    pub(crate) fn start_limited(arguments: &[&str], limit: u64) -> Self {
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        let mut command = Command::new(binary());
        // SAFETY: between fork and exec the closure makes one system call and
        // neither allocates nor takes a lock.
        unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Nofile, limit)?)) };
        Self::launch(command.args(arguments))
    }

    fn launch(command: &mut Command) -> Self {
        command.args(["--addr", "127.0.0.1:0"]).stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let complaints = lines_of(child.stderr.take().unwrap());
        // The address is set below; from here on a panic kills the process.
        let mut server = Self {
            child,
            addr: ([127, 0, 0, 1], 0).into(),
            lines,
            complaints,
        };
        let line = server
            .lines
            .recv_timeout(SOON)
            .expect("the server says nothing");
        let addr = line
            .strip_prefix("listening on http://")
            .expect("the server says nonsense");
        server.addr = addr.parse().unwrap();
        server
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.addr).unwrap()
    }

    /// Checks that a new client is served.
    pub(crate) fn expect_service(&self) {
        assert_eq!(self.connect().ask(PLAINTEXT).status, 200);
    }

    /// How many sockets and files it has open while it has no clients. What it
    /// opens on first use only has been opened then.
    pub(crate) fn open_files_at_rest(&self) -> usize {
        assert_eq!(self.connect().get("/missing").status, 404);
        thread::sleep(Duration::from_millis(50));
        self.open_files()
    }

    /// How many sockets and files it has open. Those without a name, which are the
    /// runtime's and come with each processor's first wait, do not count.
    fn open_files(&self) -> usize {
        let files = self.seen().fd().unwrap().flatten();
        files
            .filter(|file| !matches!(file.target, FDTarget::AnonInode(_)))
            .count()
    }

    /// Waits until it has at most `count` sockets and files open.
    pub(crate) fn expect_open_files(&self, count: usize) {
        let closed = eventually(|| self.open_files() <= count);
        assert!(closed, "{} files open, not {count}", self.open_files());
    }

    /// The processor time it has used, in seconds.
    pub(crate) fn processor_time(&self) -> f64 {
        let stat = self.seen().stat().unwrap();
        (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64
    }

    /// The most memory it has had, in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.seen().status().unwrap().vmhwm.unwrap()
    }

    /// The process, as `/proc` shows it.
    fn seen(&self) -> Process {
        Process::new(self.child.id().cast_signed()).unwrap()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end and returns its status and its last line.
    pub(crate) fn outcome(mut self) -> (ExitStatus, String) {
        let mut status = None;
        let ended = eventually(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(ended, "the server does not end");
        (
            status.unwrap(),
            self.lines.iter().last().unwrap_or_default(),
        )
    }

    /// Asks it to stop and checks that it ends well, with nothing left.
    pub(crate) fn expect_clean_stop(self) {
        self.signal(Signal::INT);
        self.expect_clean_end();
    }

    /// Checks that it ends well, with nothing left.
    pub(crate) fn expect_clean_end(self) {
        let (status, line) = self.outcome();
        assert!(status.success(), "{status}, {line}");
        assert!(
            line.starts_with("served ") && line.ends_with("live fibres 0"),
            "{line}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines in a thread of its own, so that they can be awaited for a time.
fn lines_of(source: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
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

/// Raises this process' limit of file descriptors as far as it may.
pub(crate) fn raise_own_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// The example's binary, built if need be.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test
            .parent()
            .and_then(Path::parent)
            .expect("target/PROFILE/deps/test");
        if std::env::var_os("XTASK_EXAMPLES_ARE_BUILT").is_none() {
            build(profile);
        }
        profile.join("examples/webserver")
    })
}

/// Has cargo build the example where this test was built: in `target/PROFILE` or,
/// for an explicit target, in `target/TRIPLE/PROFILE`.
fn build(profile: &Path) {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--quiet",
        "--package",
        "fibre-rt",
        "--example",
        "webserver",
        "--profile",
    ]);
    cargo.arg(match name(profile).as_str() {
        "debug" => "dev",
        other => other,
    });
    let mut target = profile.parent().unwrap();
    if name(target).contains("-linux-") {
        cargo.arg("--target").arg(name(target));
        target = target.parent().unwrap();
    }
    cargo.arg("--target-dir").arg(target);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(
        cargo.status().unwrap().success(),
        "the example does not build"
    );
}

/// A directory that is removed when dropped.
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// An empty directory for the test of this name.
    pub(crate) fn new(test: &str) -> Self {
        let name = format!("webserver-{test}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of an entry.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A server for the directory below this one that is called `root`.
    pub(crate) fn serve(&self) -> Server {
        Server::start(&["--dir", self.join("root").to_str().unwrap()])
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
