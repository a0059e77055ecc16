//! A program that is watched, in a process of its own.

use super::die;
use super::process::{child, plays};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that anything of these tests may take.
const LIMIT: Duration = Duration::from_secs(120);

/// The last words of a report.
pub const END: &str = "end of the report of process";

/// The last words of a dump.
pub const END_OF_DUMP: &str = "end of the dump of process";

/// The process of a program; it ends with this value.
pub struct Program {
    child: Child,
    /// What it has written to standard error so far.
    errors: Arc<Mutex<String>>,
}

/// Runs `program` in a process with this environment, and so many processors. When it returns, the
/// process stays, and its main thread waits for ever.
pub fn program(processors: usize, environment: &[(&str, &str)], program: impl FnOnce()) -> Program {
    if plays("program") {
        program();
        loop {
            thread::park();
        }
    }
    let processors = processors.to_string();
    let mut command = child("program", &[("FIBRE_PROCESSORS", &processors)]);
    command.envs(environment.iter().copied());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    // No thread of the process may watch over its time: such a thread could end a wait. So the
    // process ends with the thread that has started it.
    // SAFETY: async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // Shells have what they run in the background ignore this signal, and so would we.
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
            Ok(())
        })
    };
    let mut child = command.spawn().unwrap();
    let errors = Arc::new(Mutex::new(String::new()));
    let (stderr, written) = (child.stderr.take().unwrap(), Arc::clone(&errors));
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            *written.lock().unwrap() += &(line + "\n");
        }
    });
    Program { child, errors }
}

/// [`program`], which is watched for all that there is.
pub fn watched(processors: usize, hangs: impl FnOnce()) -> Program {
    let environment = [("FIBRE_MONITOR", "10ms"), ("FIBRE_DEADLOCK", "report")];
    program(processors, &environment, hangs)
}

impl Program {
    /// What it has written to standard error so far.
    pub fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// Waits until the program has written what is wanted; returns all that it has written.
    pub fn wait_until(&self, is_there: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        while !is_there(&self.errors()) {
            if begun.elapsed() > LIMIT {
                die(format_args!("not written: {}", self.errors()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.errors()
    }

    /// Waits for a line with all of these words, and returns it.
    pub fn line_with(&self, words: &[&str]) -> String {
        let is_it = |line: &&str| words.iter().all(|word| line.contains(word));
        let all = self.wait_until(|errors| errors.lines().any(|line| is_it(&line)));
        all.lines().find(is_it).unwrap().to_owned()
    }

    /// Waits for the end of a report, and returns it, with what was written before.
    pub fn report(&self) -> String {
        self.wait_until(|errors| errors.contains(END))
    }

    /// Asks for dumps until one is as it is wanted, and returns that; fails with the last one. What
    /// the program does may just have begun; and on a busy machine a thread may have no CPU on
    /// which to tell its stack, which the dump says then.
    pub fn dump_with(&self, is_wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let before = self.errors().len();
            self.ask_for_a_dump();
            let all = self.wait_until(|errors| errors[before..].contains(END_OF_DUMP));
            let last = &all[before..];
            if is_wanted(last) {
                return last.to_owned();
            }
            if begun.elapsed() > LIMIT {
                die(format_args!("no dump is as it should be: {last}"));
            }
        }
    }

    /// Sends the signal.
    fn ask_for_a_dump(&self) {
        let id = i32::try_from(self.child.id()).unwrap();
        // SAFETY: a signal for a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(id, libc::SIGQUIT) }, 0);
    }

    /// Whether it has not ended.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The part of a dump that describes a fibre, by its name: one paragraph. `None`: there is none.
pub fn part_of<'a>(dump: &'a str, name: &str) -> Option<&'a str> {
    let named = format!(" {name:?} ");
    let mut parts = dump.split("\n\n").skip(1);
    parts.find(|part| part.lines().any(|line| line.contains(&named)))
}
