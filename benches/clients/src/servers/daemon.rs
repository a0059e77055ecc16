//! A server process, from its start to its end.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, geteuid, kill_process};

/// How long a server may take until it answers, and until it has ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a server is started anew: another program may have taken its port.
const TRIES: usize = 3;

/// A running server.
pub struct Server {
    child: Child,
    /// The folder with its files, which goes with it.
    _folder: Folder,
    /// The signal that ends it without waiting for its clients.
    end: Signal,
    place: String,
}

impl Server {
    /// Where it is, as its client takes it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Starts a server that `command` describes for a port, and waits until `answers` says so.
    pub(super) fn start(
        folder: Folder,
        end: Signal,
        command: impl Fn(&Folder, u16) -> Command,
        answers: impl Fn(u16) -> bool,
        place: impl Fn(u16) -> String,
    ) -> Result<Self> {
        for _ in 0..TRIES {
            let port = free_port()?;
            let mut command = command(&folder, port);
            let log = File::create(folder.path().join("log"))?;
            command.stdin(Stdio::null()).stdout(log.try_clone()?);
            let mut child = start(command.stderr(log))?;
            if is_ready(&mut child, || answers(port))? {
                return Ok(Self {
                    child,
                    _folder: folder,
                    end,
                    place: place(port),
                });
            }
        }
        let log = fs::read_to_string(folder.path().join("log"))?;
        bail!("a server does not stay: {log}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended; and whoever drops it has nothing to say of that.
        let _ = kill_process(Pid::from_child(&self.child), self.end);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a server answers; `false` if it has ended instead.
fn is_ready(child: &mut Child, answers: impl Fn() -> bool) -> Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        if answers() {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    bail!("a server does not answer")
}

/// A port that nothing listens on at the moment.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Starts a program, and names it where that fails.
fn start(command: &mut Command) -> Result<Child> {
    let started = command.spawn();
    started.with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// Runs a program that prepares a server, to its end.
pub(super) fn prepare(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let program = command.get_program().display();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} has failed: {text}");
    Ok(())
}

/// The path of a program of a Debian package: on the path, or where daemons are.
pub(super) fn program(name: &str, package: &str) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut found = folders
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file());
    let found = found.next();
    found.with_context(|| format!("{name} is not installed: Debian has it as {package}"))
}

/// A folder that is removed when it is dropped.
pub(super) struct Folder {
    path: PathBuf,
    /// The user that its server runs as, where this program is root and the server may not be.
    user: Option<User>,
}

/// A user by numbers.
#[derive(Clone, Copy)]
struct User {
    user: u32,
    group: u32,
}

impl Folder {
    /// A folder for a server, which root has run as the user of this name.
    pub(super) fn new(server: &str, user: &str) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fibre-clients-{server}-{}-{number}", process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path)?;
        let mut folder = Self { path, user: None };
        fs::set_permissions(&folder.path, Permissions::from_mode(0o700))?;
        if geteuid().is_root() {
            let User { user, group } = find(user)?;
            chown(&folder.path, Some(user), Some(group))?;
            folder.user = Some(User { user, group });
        }
        Ok(folder)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what runs here is another user than this program.
    pub(super) fn has_user(&self) -> bool {
        self.user.is_some_and(|user| user.user != 0)
    }

    /// A command that runs as the owner of this folder, and in it. So do its temporary files: a
    /// MariaDB that starts removes those of all others that are where it has its own.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.path).env("TMPDIR", &self.path);
        if let Some(User { user, group }) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A user of this system; root where there is none of the name.
fn find(name: &str) -> Result<User> {
    let users = fs::read_to_string("/etc/passwd")?;
    let mut users = users.lines().map(|line| line.split(':'));
    let root = User { user: 0, group: 0 };
    let Some(mut fields) = users.find(|fields| fields.clone().next() == Some(name)) else {
        return Ok(root);
    };
    let mut number = |skipped| -> Result<u32> {
        let field = fields.nth(skipped);
        Ok(field.context("a user without a number")?.parse()?)
    };
    Ok(User {
        user: number(2)?,
        group: number(0)?,
    })
}
