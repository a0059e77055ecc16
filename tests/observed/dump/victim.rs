//! A process that is asked for dumps.

use crate::support::process::{child, end_after, plays};
use crate::support::program::part_of;
use crate::support::{die, eventually};
use fibre::waits;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that a process of these tests may take.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What a victim prints when it is as the test wants it.
const READY: &str = "as wanted";

/// The last words of a dump.
pub const END: &str = "end of the dump of process";

/// A process that is asked for dumps; it ends with this value.
pub struct Victim {
    child: Child,
    /// What it has written to standard error so far.
    errors: Arc<Mutex<String>>,
}

/// Has the process, a victim, do what `program` does, until `fibres` of it are seen to wait;
/// then it tells its test, and stays.
pub fn be(fibres: usize, program: impl FnOnce()) -> ! {
    end_after(LIMIT);
    // In builds with debug assertions the first wait takes long.
    fibre::spawn(|| fibre::sleep(Duration::from_millis(1)))
        .join()
        .unwrap();
    program();
    // A processor that has just not been on a CPU looks as if a fibre kept it.
    eventually(|| {
        let all = waits();
        let running = all.iter().filter(|wait| wait.stuck.is_some()).count();
        all.len() >= fibres && running == 0
    });
    println!("{READY}");
    std::io::stdout().flush().unwrap();
    loop {
        thread::park();
    }
}

/// Has `program` run in a victim with so many processors, as [`be`] does, and returns that.
pub fn victim(processors: usize, fibres: usize, program: impl FnOnce()) -> Victim {
    let processors = processors.to_string();
    victim_with(&[("FIBRE_PROCESSORS", &processors)], fibres, program)
}

/// [`victim`] with this environment.
pub fn victim_with(environment: &[(&str, &str)], fibres: usize, program: impl FnOnce()) -> Victim {
    if plays("victim") {
        be(fibres, program);
    }
    let mut command = child("victim", environment);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Victim::begin(command)
}

impl Victim {
    /// Starts a victim, and waits until it is as the test wants it.
    pub fn begin(command: std::process::Command) -> Self {
        // Shells have what they run in the background ignore this signal, and so would we.
        Self::begin_with(command, libc::SIG_DFL)
    }

    /// [`begin`](Self::begin) for a victim that is started with SIGQUIT ignored, or not.
    pub fn begin_with(mut command: std::process::Command, quit: libc::sighandler_t) -> Self {
        // SAFETY: async-signal-safe.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGQUIT, quit);
                Ok(())
            })
        };
        let mut child = command.spawn().unwrap();
        let errors = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = child.stderr.take() {
            let errors = Arc::clone(&errors);
            thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    *errors.lock().unwrap() += &(line + "\n");
                }
            });
        }
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let ready = stdout
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains(READY));
        let victim = Self { child, errors };
        assert!(ready, "the victim has ended: {}", victim.errors());
        victim
    }

    /// Sends a signal.
    pub fn send(&self, signal: i32) {
        let id = i32::try_from(self.child.id()).unwrap();
        // SAFETY: a signal for a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    }

    /// What it has written to standard error so far.
    pub fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// Waits for this, with what the victim has written as the remark.
    pub fn wait_until(&mut self, what: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !what(&self.errors()) {
            if begun.elapsed() > LIMIT {
                die(format_args!("not written: {}", self.errors()));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks for a dump, and returns it. The victim goes on.
    pub fn dump(&mut self) -> String {
        self.send(libc::SIGQUIT);
        self.wait_until(|errors| errors.contains(END));
        assert!(self.lives());
        self.errors()
    }

    /// Closes its standard input.
    pub fn hang_up(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Whether it has not ended.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Closes the end of a pipe that reads what it writes to standard error.
    pub fn stop_reading(command: &mut std::process::Command) -> impl Read + use<> {
        let (reader, writer) = std::io::pipe().unwrap();
        command.stderr(writer);
        reader
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The part of a dump that describes a fibre, by its name.
pub fn part<'a>(dump: &'a str, name: &str) -> &'a str {
    part_of(dump, name).unwrap_or_else(|| panic!("no fibre {name:?} in: {dump}"))
}
