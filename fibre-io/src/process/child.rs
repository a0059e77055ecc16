//! A child process.

use crate::funnel::{Direction, Left};
use crate::pipe::{PipeReader, PipeWriter};
use crate::poll::{PollFd, Readiness, poll};
use crate::signal::{SIGKILL, Signal};
use crate::source::Source;
use crate::timeout::{Timeout, none_if_late, none_if_late_within};
use fibre_core::internal::warn;
use fibre_core::{Builder, Limit, ScopedBindings, sleep_within};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Output};
use std::time::{Duration, Instant};

/// The longest pause between two looks at a child that has no descriptor.
pub(super) const MAX_PAUSE: Duration = Duration::from_millis(50);

/// A child process. See [`std::process::Child`].
///
/// A dropped child runs on, unless [`kill_on_drop`](super::Command::kill_on_drop) says otherwise;
/// when it ends, it stays a zombie until this process ends.
///
/// ```
/// use fibre::process::{Command, Stdio};
/// use std::io::Write;
///
/// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
/// let mut stdin = child.stdin.take().unwrap();
/// stdin.write_all(b"there and back")?;
/// drop(stdin);
/// assert_eq!(child.wait_with_output()?.stdout, b"there and back");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Child {
    /// Its standard input, if that is a pipe.
    pub stdin: Option<PipeWriter>,
    /// Its standard output, if that is a pipe.
    pub stdout: Option<PipeReader>,
    /// Its standard error, if that is a pipe.
    pub stderr: Option<PipeReader>,
    /// The process.
    pub(super) process: Process,
    /// How it has ended, once that is known.
    pub(super) ended: Option<ExitStatus>,
    /// Whether it is killed if this is dropped.
    kill_on_drop: bool,
}

/// A process that is to be waited for, once.
#[derive(Debug)]
pub(super) struct Process {
    /// Its number, which is its own until it has been waited for.
    pid: Pid,
    /// A descriptor that can be read from when it has ended; `None` in sandboxes that forbid it, or
    /// if there was none left: then it is asked now and then.
    pub(super) pidfd: Option<Source>,
}

impl Child {
    /// Takes over what std has started.
    ///
    /// # Errors
    ///
    /// When its pipes cannot be taken over; then it is killed.
    pub(super) fn adopt(mut child: std::process::Child, kill_on_drop: bool) -> io::Result<Self> {
        let number = i32::try_from(child.id()).ok();
        let Some(pid) = number.and_then(Pid::from_raw) else {
            unreachable!("a process' number is positive");
        };
        let pidfd = pidfd_open(pid, PidfdFlags::NONBLOCK).map_err(io::Error::from);
        let pidfd = pidfd.and_then(Source::from_nonblocking).ok();
        let mut adopted = Self {
            stdin: None,
            stdout: None,
            stderr: None,
            process: Process { pid, pidfd },
            ended: None,
            kill_on_drop: true,
        };
        let reader = |end: OwnedFd| PipeReader::try_from(end);
        let stdin = child.stdin.take().map(OwnedFd::from);
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        adopted.stdin = stdin.map(PipeWriter::try_from).transpose()?;
        adopted.stdout = stdout.map(reader).transpose()?;
        adopted.stderr = stderr.map(reader).transpose()?;
        adopted.kill_on_drop = kill_on_drop;
        Ok(adopted)
    }

    /// Its process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Closes its standard input, and waits for its end. Blocks the fibre, or the thread if the
    /// caller is not a fibre.
    ///
    /// The call notices the end at once, or up to 50 ms late if there was no descriptor left for
    /// the process (`pidfd`), or a sandbox forbids it.
    ///
    /// # Errors
    ///
    /// `ECANCELED` if the fibre has been cancelled, or is while it waits; `ECHILD` if the process
    /// ignores SIGCHLD, so that nobody can tell.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.wait_with_timeout(Timeout::Endless)
    }

    /// [`wait`](Self::wait) for `timeout` at most: then `None`.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        none_if_late(self.wait_with_timeout(Timeout::within(timeout)))
    }

    /// [`wait`](Self::wait) until `deadline` at most: then `None`. A past one looks once.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait).
    pub fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        none_if_late(self.wait_with_timeout(Timeout::Until(deadline)))
    }

    /// [`wait`](Self::wait) until the [`Limit`] comes; if that is a time, `None` then.
    ///
    /// ```
    /// use fibre::process::Command;
    /// use std::time::Duration;
    ///
    /// let mut child = Command::new("sleep").arg("3600").kill_on_drop(true).spawn()?;
    /// assert_eq!(child.wait_within(Duration::from_millis(1))?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait); within [`Limit::None`] it does not notice cancellation.
    pub fn wait_within(&mut self, limit: impl Into<Limit>) -> io::Result<Option<ExitStatus>> {
        none_if_late_within(limit, |timeout| self.wait_with_timeout(timeout))
    }

    /// How it has ended, if it has. Blocks nothing.
    ///
    /// # Errors
    ///
    /// `ECHILD` as for [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.process.status()?;
        }
        Ok(self.ended)
    }

    /// Waits for its end and for all its output, from pipes that are still here. Blocks the fibre
    /// (or thread).
    ///
    /// # Errors
    ///
    /// Those of reading, and as for [`wait`](Self::wait).
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        self.stdin = None;
        let (stdout, stderr) = read_both(self.stdout.take(), self.stderr.take())?;
        let status = self.wait()?;
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    }

    /// Kills it (SIGKILL), unless it has been waited for. Blocks nothing; wait for it afterwards.
    ///
    /// # Errors
    ///
    /// Those of `kill`, if it runs as another user.
    pub fn kill(&self) -> io::Result<()> {
        self.signal(SIGKILL)
    }

    /// Sends it a signal, unless it has been waited for. Blocks nothing.
    ///
    /// # Errors
    ///
    /// As for [`kill`](Self::kill); `InvalidInput` for a signal without a name.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        self.process.signal(signal)
    }

    /// The part that all waits share.
    fn wait_with_timeout(&mut self, timeout: Timeout<'_>) -> io::Result<ExitStatus> {
        self.stdin = None;
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let ended = self.process.wait(timeout)?;
        self.ended = Some(ended);
        Ok(ended)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let is_over = match self.try_wait() {
            Ok(ended) => ended.is_some(),
            Err(error) => Errno::from_io_error(&error) == Some(Errno::CHILD),
        };
        if !self.kill_on_drop || is_over {
            return;
        }
        if let Err(error) = self.kill() {
            let process = self.id();
            return warn(format_args!(
                "process {process}, which was to be killed, runs on: {error}"
            ));
        }
        let pid = self.process.pid;
        let pidfd = self.process.pidfd.take();
        let reap = move || Process { pid, pidfd }.wait(Timeout::Endless);
        // It may live for long, and serves nobody. If there can be no such fibre, the process stays
        // a zombie.
        let reaper = || Builder::new().name("reaper").spawn(reap);
        let _ = ScopedBindings::none().with(reaper);
    }
}

impl Process {
    /// How it has ended, if it has; then it is no more.
    pub(super) fn status(&self) -> Result<Option<ExitStatus>, Errno> {
        let ended = waitpid(Some(self.pid), WaitOptions::NOHANG)?;
        Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
    }

    /// Waits for its end.
    fn wait(&self, timeout: Timeout<'_>) -> io::Result<ExitStatus> {
        let Some(pidfd) = &self.pidfd else {
            return self.ask_now_and_then(timeout);
        };
        let waited = pidfd.io(Direction::Read, timeout, |_| {
            let ended = self.status()?.ok_or(Errno::AGAIN)?;
            Ok((ended, Left::More))
        });
        match waited {
            // There is nothing to wait with.
            Err(error) if is_lack(&error) => self.ask_now_and_then(timeout),
            waited => waited,
        }
    }

    /// [`wait`](Self::wait) without a descriptor.
    fn ask_now_and_then(&self, timeout: Timeout<'_>) -> io::Result<ExitStatus> {
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(ended) = self.status()? {
                return Ok(ended);
            }
            let now = allowed_pause(pause, timeout).ok_or(io::ErrorKind::TimedOut)?;
            sleep_within(now)?;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Sends it a signal.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let named = rustix::process::Signal::from_named_raw(signal.as_raw());
        let signal = named.ok_or(io::ErrorKind::InvalidInput)?;
        let sent = match &self.pidfd {
            Some(pidfd) => match pidfd_send_signal(pidfd, signal) {
                // A sandbox refuses it, or it is another user's, which the other call says, too.
                Err(Errno::PERM | Errno::NOSYS) => kill_process(self.pid, signal),
                sent => sent,
            },
            None => kill_process(self.pid, signal),
        };
        match sent {
            // It has ended, and has only not been waited for.
            Err(Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

/// Whether the process has no poller: a sandbox refuses one, or there is no descriptor or memory.
fn is_lack(error: &io::Error) -> bool {
    let lacks = [
        Errno::NOSYS,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOSPC,
    ];
    Errno::from_io_error(error).is_some_and(|errno| lacks.contains(&errno))
}

/// As much of a pause as there is time for; `None` if there is none.
fn allowed_pause(pause: Duration, timeout: Timeout<'_>) -> Option<Duration> {
    let Timeout::Until(deadline) = timeout else {
        return Some(pause);
    };
    let left = deadline.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(pause.min(left))
}

/// Reads two pipes to their ends, whichever has something.
fn read_both(one: Option<PipeReader>, other: Option<PipeReader>) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut ends = [one, other];
    let mut read = [Vec::new(), Vec::new()];
    let mut buffer = [0; 8192];
    while ends.iter().any(Option::is_some) {
        let open = |end: &Option<PipeReader>| end.is_some();
        let mut fds: Vec<_> = ends
            .iter()
            .flatten()
            .map(|end| PollFd::new(end, Readiness::READ))
            .collect();
        poll(&mut fds)?;
        let mut ready = fds.iter().map(|fd| !fd.readiness().is_empty());
        let ready = [&ends[0], &ends[1]].map(|end| open(end) && ready.next() == Some(true));
        for ((end, read), _) in ends
            .iter_mut()
            .zip(&mut read)
            .zip(ready)
            .filter(|(_, ready)| *ready)
        {
            let count = end.as_mut().map_or(Ok(0), |end| end.read(&mut buffer))?;
            read.extend_from_slice(&buffer[..count]);
            if count == 0 {
                *end = None;
            }
        }
    }
    let [one, other] = read;
    Ok((one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Where there are no descriptors of processes, children are asked.
    #[test]
    #[allow(clippy::zombie_processes, reason = "the code under test waits for it")]
    fn without_a_descriptor() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "read line; exit 3"])
            .stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        let process = Process { pid, pidfd: None };
        let soon = Timeout::Until(Instant::now() + Duration::from_millis(2));
        let late = process.wait(soon).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        drop(child.stdin.take());
        assert_eq!(process.wait(Timeout::Endless).unwrap().code(), Some(3));
        let gone = process.signal(SIGKILL);
        assert!(gone.is_ok(), "{gone:?}");
    }

    /// The last pause before a deadline ends there.
    #[test]
    fn pauses_end_with_the_deadline() {
        let soon = Instant::now() + Duration::from_millis(1);
        let pause = allowed_pause(MAX_PAUSE, Timeout::Until(soon));
        assert!(pause.is_none_or(|pause| pause <= Duration::from_millis(1)));
        let over = Timeout::Until(Instant::now());
        assert_eq!(allowed_pause(MAX_PAUSE, over), None);
        let endless = allowed_pause(MAX_PAUSE, Timeout::Endless);
        assert_eq!(endless, Some(MAX_PAUSE));
    }
}
