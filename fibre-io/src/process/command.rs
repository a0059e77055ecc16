//! A program to be started.

use super::child::Child;
use fibre_core::blocking;
use fibre_core::internal::with_signals_of_program;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

/// A program to be started. It wraps [`std::process::Command`]: for settings without a method here,
/// set up that one and convert it.
///
/// ```
/// use fibre::process::Command;
///
/// let fibre = fibre::spawn(|| Command::new("echo").arg("hello").output());
/// let output = fibre.join().unwrap()?;
/// assert!(output.status.success());
/// assert_eq!(output.stdout, b"hello\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Command {
    /// What is started.
    inner: std::process::Command,
    /// Whether the caller has said where the child reads from, and writes to.
    set: [bool; 3],
    /// See [`kill_on_drop`](Self::kill_on_drop).
    kill_on_drop: bool,
}

impl Command {
    /// The program of this name or path, without arguments.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        std::process::Command::new(program).into()
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.inner.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args(&mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        self.inner.args(args);
        self
    }

    /// Sets a variable of its environment.
    pub fn env(&mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.inner.env(key, value);
        self
    }

    /// Sets variables of its environment.
    pub fn envs<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        &mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Self {
        self.inner.envs(variables);
        self
    }

    /// Removes a variable from its environment.
    pub fn env_remove(&mut self, key: impl AsRef<OsStr>) -> &mut Self {
        self.inner.env_remove(key);
        self
    }

    /// Removes all variables from its environment.
    pub fn env_clear(&mut self) -> &mut Self {
        self.inner.env_clear();
        self
    }

    /// The directory that it starts in.
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Self {
        self.inner.current_dir(directory);
        self
    }

    /// Its standard input. Default: this program's; nothing for [`output`](Self::output).
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Self {
        self.inner.stdin(stdin);
        self.set[0] = true;
        self
    }

    /// Its standard output. Default: this program's; a pipe for [`output`](Self::output).
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Self {
        self.inner.stdout(stdout);
        self.set[1] = true;
        self
    }

    /// Its standard error. Default: this program's; a pipe for [`output`](Self::output).
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Self {
        self.inner.stderr(stderr);
        self.set[2] = true;
        self
    }

    /// Whether a [`Child`] that is dropped without having been waited for is killed, and waited for
    /// by a fibre of its own. Default: no, it runs on. If the kernel refuses to kill it, as it does
    /// if the child runs as another user, standard error says so.
    pub fn kill_on_drop(&mut self, kill: bool) -> &mut Self {
        self.kill_on_drop = kill;
        self
    }

    /// The wrapped command, to look at.
    #[must_use]
    pub fn as_std(&self) -> &std::process::Command {
        &self.inner
    }

    /// The wrapped command, to change. Set its standard streams with this type's methods instead,
    /// so that [`output`](Self::output) knows of them.
    pub fn as_std_mut(&mut self) -> &mut std::process::Command {
        &mut self.inner
    }

    /// Starts the program. Blocks the fibre, or the thread if the caller is not a fibre, until it
    /// is being executed. (The thread that starts it may end before it does: a signal on
    /// the parent's death, `PR_SET_PDEATHSIG`, would come then.)
    ///
    /// # Errors
    ///
    /// As std's; when there is no descriptor left. Then there is no child.
    pub fn spawn(&mut self) -> io::Result<Child> {
        // The thread hears of signals meanwhile, and so will the program. To have the child unblock
        // them would make std call `fork`, which copies the page tables of all stacks.
        let child = blocking(|| with_signals_of_program(|| self.inner.spawn()))?;
        Child::adopt(child, self.kill_on_drop)
    }

    /// Starts the program and waits for its end. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As for [`spawn`](Self::spawn) and [`Child::wait`].
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.spawn()?.wait()
    }

    /// Starts the program, and waits for its end and for all its output. Blocks the fibre (or
    /// thread).
    ///
    /// # Errors
    ///
    /// As for [`spawn`](Self::spawn) and [`Child::wait_with_output`].
    pub fn output(&mut self) -> io::Result<Output> {
        let [stdin, stdout, stderr] = self.set.map(|set| !set);
        self.default_stdio([stdin, stdout, stderr], Stdio::null, Stdio::piped);
        let child = self.spawn();
        self.default_stdio([stdin, stdout, stderr], Stdio::inherit, Stdio::inherit);
        child?.wait_with_output()
    }

    /// [`output`](Self::output) for `timeout` at most: then `None`, and the program is killed, as
    /// far as [`kill_on_drop`](Self::kill_on_drop) can.
    /// Blocks the fibre (or thread).
    ///
    /// It reads both outputs at the same time, however much either has.
    ///
    /// ```
    /// use fibre::process::Command;
    /// use std::time::Duration;
    ///
    /// let short = Duration::from_millis(5);
    /// assert!(Command::new("sleep").arg("3600").output_timeout(short)?.is_none());
    /// let minute = Duration::from_secs(60);
    /// let said = Command::new("echo").arg("yes").output_timeout(minute)?;
    /// assert_eq!(said.unwrap().stdout, b"yes\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`output`](Self::output).
    pub fn output_timeout(&mut self, timeout: Duration) -> io::Result<Option<Output>> {
        let killed = std::mem::replace(&mut self.kill_on_drop, true);
        let output = fibre_core::timeout(timeout, || self.output());
        self.kill_on_drop = killed;
        match output {
            Ok(output) => output.map(Some),
            // It may have ended at the last moment.
            Err(late) => Ok(late.into_value().and_then(Result::ok)),
        }
    }

    /// Sets what the caller has not.
    fn default_stdio(&mut self, unset: [bool; 3], input: fn() -> Stdio, output: fn() -> Stdio) {
        if unset[0] {
            self.inner.stdin(input());
        }
        if unset[1] {
            self.inner.stdout(output());
        }
        if unset[2] {
            self.inner.stderr(output());
        }
    }
}

impl From<std::process::Command> for Command {
    /// Where it reads and writes counts as not set.
    fn from(inner: std::process::Command) -> Self {
        Self {
            inner,
            set: [false; 3],
            kill_on_drop: false,
        }
    }
}
