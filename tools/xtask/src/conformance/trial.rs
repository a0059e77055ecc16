//! Compiles a program and runs it, and tells how that ended.
//!
//! A run that takes too long is killed; if `gdb` is there, it says first where the threads are.
//! What a program prints goes to a file, so that nobody has to empty a pipe meanwhile.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::conformance::program::{Ending, Library, Program};
use crate::lanes::capi;

/// What all programs are compiled with.
pub(crate) const FLAGS: [&str; 5] = ["-O2", "-g1", "-Wall", "-Wextra", "-Werror"];

/// How long a program may run. Its own watchdog is slower: it says less.
const PATIENCE: Duration = Duration::from_secs(25);

/// How often a running program is looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// What is kept of a program's output, in characters.
const OUTPUT: usize = 2000;

/// Where libraries and results lie.
pub(crate) struct Bench {
    /// The installed tree of ours: `include` and `lib`.
    pub(crate) installed: PathBuf,
    /// Where compiled programs go.
    pub(crate) folder: PathBuf,
}

/// Where a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// With the system's threads.
    System,
    /// With ours, on so many processors.
    Ours(usize),
    /// The same, and each fibre has thread-locals of its own.
    Own(usize),
}

/// All of them, in the order of the table's columns.
pub(crate) const SETTINGS: [Setting; 5] = [
    Setting::System,
    Setting::Ours(1),
    Setting::Ours(2),
    Setting::Ours(4),
    Setting::Own(2),
];

/// How a compilation or a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As the program says it should.
    Passed,
    /// In another way: what was seen.
    Failed(String),
}

impl Setting {
    /// The library it needs.
    pub(crate) fn library(self) -> Library {
        match self {
            Self::System => Library::System,
            Self::Ours(_) | Self::Own(_) => Library::Ours,
        }
    }

    /// The setting as the head of a column says it.
    pub(crate) fn title(self) -> String {
        match self {
            Self::System => "system".into(),
            Self::Ours(processors) => format!("ours, {processors}"),
            Self::Own(processors) => format!("own, {processors}"),
        }
    }
}

impl Bench {
    /// Compiles a variant of a program; where it is, or what the compiler says.
    pub(crate) fn compile(
        &self,
        program: &Program,
        variant: usize,
        library: Library,
    ) -> Result<Result<PathBuf, String>> {
        let end = match library {
            Library::System => "system",
            Library::Ours => "ours",
        };
        let name = program.title().replace('/', "-");
        let compiled = self.folder.join(format!("{name}-{variant}.{end}"));
        let compiler = if program.is_cpp() { "c++" } else { "cc" };
        let mut command = Command::new(compiler);
        command.args(FLAGS);
        match library {
            Library::System => command.arg("-pthread"),
            Library::Ours => self.add_ours(&mut command, program.mapped),
        };
        command.args(&program.variants[variant]);
        command.arg(&program.path).arg("-o").arg(&compiled);
        if library == Library::Ours {
            let lib = self.installed.join("lib");
            command.arg("-L").arg(&lib).arg(capi::LINK);
            command.arg(format!("-Wl,-rpath,{}", lib.display()));
        }
        let output = command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot start {compiler}"))?;
        if output.status.success() {
            return Ok(Ok(compiled));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Ok(Err(format!("does not compile:\n{}", shortened(&said))))
    }

    /// Lets the program find our headers, and has its calls go to ours.
    fn add_ours<'c>(&self, command: &'c mut Command, mapped: bool) -> &'c mut Command {
        let include = self.installed.join(capi::INCLUDE);
        command.arg("-I").arg(&include);
        if mapped {
            command.arg("-include").arg(include.join("fibre_pthread.h"));
        }
        command
    }
}

/// Runs what was compiled of a program.
pub(crate) fn run(program: &Program, compiled: &Path, setting: Setting) -> Result<Outcome> {
    let patience = program.patience.unwrap_or(PATIENCE);
    run_for(program, compiled, setting, patience)
}

/// Runs it for so long at most.
pub(crate) fn run_for(
    program: &Program,
    compiled: &Path,
    setting: Setting,
    patience: Duration,
) -> Result<Outcome> {
    let mut command = Command::new(compiled);
    if let Setting::Ours(processors) | Setting::Own(processors) = setting {
        command.env("FIBRE_PROCESSORS", processors.to_string());
    }
    if matches!(setting, Setting::Own(_)) {
        command.env("FIBRE_THREAD_LOCALS", "own");
    }
    command.envs(program.variables.iter().map(|(name, value)| (name, value)));
    let written = compiled.with_added_extension(setting.title().replace(", ", "-"));
    let seen = watch(command, &written, patience)?;
    Ok(match seen {
        Seen::Ended(status) if is(status, program.ending) => Outcome::Passed,
        Seen::Ended(status) => failure(&status.to_string(), &written),
        Seen::Stuck(traces) => {
            let word = format!("did not end in {} seconds", patience.as_secs());
            failure(&format!("{word}\n{traces}"), &written)
        }
    })
}

/// What became of a process.
enum Seen {
    /// It ended.
    Ended(ExitStatus),
    /// It was killed: where its threads were.
    Stuck(String),
}

/// Runs a command, with its output to a file, for so long at most.
fn watch(mut command: Command, written: &Path, patience: Duration) -> Result<Seen> {
    let file = File::create(written);
    let file = file.with_context(|| format!("cannot write {}", written.display()))?;
    command.stdin(Stdio::null()).stderr(file.try_clone()?);
    let mut child = command.stdout(file).spawn();
    let child = child
        .as_mut()
        .map_err(|error| anyhow::anyhow!("cannot start {:?}: {error}", command.get_program()))?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Seen::Ended(status));
        }
        if started.elapsed() > patience {
            let traces = backtrace(child);
            child.kill()?;
            child.wait()?;
            return Ok(Seen::Stuck(traces));
        }
        std::thread::sleep(GLANCE);
    }
}

/// Where the threads of a process are, if there is a debugger to ask.
fn backtrace(child: &Child) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-p", &child.id().to_string()]);
    gdb.args(["-ex", "thread apply all backtrace 8"]);
    let output = gdb.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map_or_else(
        |_| "(no gdb to ask where)".into(),
        |output| {
            let text = String::from_utf8_lossy(&output.stdout);
            let frames = text.lines().filter(|line| line.starts_with(['#', 'T']));
            let frames = frames.map(|line| line.chars().take(160).collect::<String>());
            frames.take(50).collect::<Vec<_>>().join("\n")
        },
    )
}

/// Whether a process has ended in this way.
fn is(status: ExitStatus, ending: Ending) -> bool {
    match ending {
        Ending::Exit(code) => status.code() == Some(code),
        Ending::Signal(signal) => status.signal() == Some(signal),
    }
}

/// A failure, with what the program has printed.
fn failure(what: &str, written: &Path) -> Outcome {
    let printed = fs::read(written).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed);
    Outcome::Failed(format!("{what}\n{}", shortened(&printed)))
}

/// The beginning of a text.
fn shortened(text: &str) -> String {
    text.trim_end().chars().take(OUTPUT).collect()
}

/// Makes the folder for compiled programs; an error unless our library is there.
pub(crate) fn prepare(installed: PathBuf, folder: PathBuf) -> Result<Bench> {
    if !installed.join(capi::INCLUDE).is_dir() {
        bail!("{} holds no library: cargo xtask capi", installed.display());
    }
    fs::create_dir_all(&folder)?;
    // Programs are told where the library is, wherever they are run.
    let installed = installed.canonicalize()?;
    Ok(Bench { installed, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(test: &str, script: &str, patience: Duration) -> (Seen, String) {
        let name = format!("fibre-trial-{test}-{}", std::process::id());
        let written = std::env::temp_dir().join(name);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let seen = watch(command, &written, patience).unwrap();
        let text = fs::read_to_string(&written).unwrap();
        fs::remove_file(&written).unwrap();
        (seen, text)
    }

    #[test]
    fn endings_are_told_apart() {
        let (seen, text) = shell("endings", "echo said; exit 3", PATIENCE);
        let Seen::Ended(status) = seen else {
            panic!("it ended");
        };
        assert_eq!(text, "said\n");
        assert!(is(status, Ending::Exit(3)) && !is(status, Ending::Exit(0)));
        assert!(!is(status, Ending::Signal(3)));
        let killed = ExitStatus::from_raw(13);
        assert!(is(killed, Ending::Signal(13)) && !is(killed, Ending::Exit(13)));
    }

    #[test]
    fn what_does_not_end_is_killed() {
        let (seen, _) = shell("stuck", "exec sleep 60", Duration::from_millis(100));
        assert!(matches!(seen, Seen::Stuck(_)));
    }
}
