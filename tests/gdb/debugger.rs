//! gdb, and a process that it starts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a session of gdb has said.
pub struct Said(String);

/// A setting that keeps gdb from finding libthread_db.
pub const NO_THREAD_DB: &str = "set libthread-db-search-path /";

/// Has gdb start this program, and when the program stops itself by SIGTRAP, carry out these
/// commands.
pub fn run(program: &Command, commands: &[&str]) -> Said {
    run_with(&[], program, commands)
}

/// The same, with these settings of gdb.
pub fn run_with(settings: &[&str], program: &Command, commands: &[&str]) -> Said {
    let mut gdb = gdb(settings, &["run"], commands);
    gdb.arg("--args").arg(program.get_program());
    gdb.args(program.get_args());
    gdb.envs(variables(program));
    session(gdb)
}

/// Has gdb carry out these commands about a core file of the program.
pub fn look(program: &Path, core: &Path, commands: &[&str]) -> Said {
    look_with(&[], program, core, commands)
}

/// The same, with these settings of gdb.
pub fn look_with(settings: &[&str], program: &Path, core: &Path, commands: &[&str]) -> Said {
    let mut gdb = gdb(settings, &[], commands);
    gdb.arg(program).arg(core);
    session(gdb)
}

/// Has gdb attach itself to a process, with these settings, and carry out these commands.
pub fn attach_with(settings: &[&str], process: u32, commands: &[&str]) -> Said {
    let mut gdb = gdb(settings, &[], commands);
    gdb.args(["-p", &process.to_string()]);
    session(gdb)
}

/// A command of gdb that says it has been reached, as the others say nothing when they fail.
const REACHED: &str = "echo all commands were carried out\\n";

/// gdb with these settings and commands.
fn gdb(settings: &[&str], first: &[&str], commands: &[&str]) -> Command {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-iex", "add-auto-load-safe-path /"]);
    for setting in [
        "set debuginfod enabled off",
        "set startup-with-shell off",
        "set disable-randomization off",
        "set width 0",
        "set confirm off",
    ]
    .iter()
    .chain(settings)
    {
        gdb.args(["-iex", setting]);
    }
    for signal in ["SIGQUIT", "SIGPROF", "SIGUSR1"] {
        gdb.args(["-ex", &format!("handle {signal} nostop noprint pass")]);
    }
    for command in first.iter().chain(commands).chain(&[REACHED]) {
        gdb.args(["-ex", command]);
    }
    gdb
}

/// The variables that a command sets.
fn variables(command: &Command) -> impl Iterator<Item = (&std::ffi::OsStr, &std::ffi::OsStr)> {
    command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// Runs a session to its end.
fn session(mut gdb: Command) -> Said {
    let output = gdb.output().expect("gdb is installed");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("all commands were carried out"), "{said}");
    for trouble in ["Traceback", "Python Exception", "Error while executing"] {
        assert!(!said.contains(trouble), "{said}");
    }
    Said(said)
}

impl Said {
    /// What has been said, as it is.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether gdb asks libthread_db for threads.
    pub fn has_thread_db(&self) -> bool {
        self.0.contains("Using host libthread_db library")
    }

    /// Whether all of these words have been said.
    #[track_caller]
    pub fn has(&self, all: &[&str]) {
        for words in all {
            assert!(
                self.0.contains(words),
                "{words:?} was not said:\n{}",
                self.0
            );
        }
    }

    /// The stack below the first line that contains these words and has one below it.
    #[track_caller]
    pub fn stack_of(&self, words: &str) -> String {
        let lines: Vec<&str> = self.0.lines().collect();
        let is_frame = |line: &&str| line.starts_with("    #");
        let mut pairs = lines.windows(2).enumerate();
        let found = pairs.find(|(_, pair)| pair[0].contains(words) && is_frame(&pair[1]));
        let at = found.map(|(at, _)| at + 1);
        let at = at.unwrap_or_else(|| panic!("no stack of {words:?} was shown:\n{}", self.0));
        let count = lines[at..].iter().take_while(|line| is_frame(line)).count();
        lines[at..=at + count].join("\n")
    }
}

/// A file that goes away with this.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A name for a file that is not there.
    pub fn new(end: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fibre-gdb-{}-{number}{end}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
