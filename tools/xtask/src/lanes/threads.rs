//! `threads`: C programs that are linked with `fibre-threads`, which makes their threads fibres.
//! They are not recompiled.
//!
//! ```text
//! target/capi/lib/libfibre-threads.so -> libfibre-threads.so.0 -> libfibre-threads.so.0.1.0
//! target/capi/lib/libfibre-threads.a
//! target/capi/lib/pkgconfig/fibre-threads.pc
//! ```
//!
//! Each program is compiled once, to an object. The first one says what its calls block; it is
//! linked with the system's library only, with the shared library, and with the archive. The others
//! are clauses of POSIX that hold with the system's threads ([`super::c`]): those of [`FAMILIES`],
//! but for what is [`REFUSED`].
//!
//! With `--suites`, tests of crates that nobody here wrote are linked instead, by the script
//! [`SUITES`].
//!
//! With `--real`, programs that nobody here wrote are linked instead, by the script [`REAL`].

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::conformance::program::{Library, Program};
use crate::conformance::queue::each;
use crate::conformance::trial::{FLAGS, Outcome, Setting, run as run_program};
use crate::lanes::capi::replace;
use crate::steps::Steps;
use crate::workspace::{Workspace, cargo, read_manifest};

/// The package, and what its libraries are called.
const NAME: &str = "fibre-threads";

/// The script that fetches, builds and links programs of others, and says what it does.
const REAL: &str = "fibre-capi/real/linked";

/// The script that fetches crates with tests about threads, runs these on threads of both kinds,
/// and says what it does.
const SUITES: &str = "exts/threads/suites/run";

/// The program that says what its calls block.
const WAITS: &str = "exts/threads/tests/waits.c";

/// How many lines it prints.
const CALLS: usize = 26;

/// The program that says when the threads end that `main` leaves behind, and what it says.
const LAST_THREAD: &str = "exts/threads/tests/last_thread.c";
const LAST_WORDS: [&str; 2] = [
    "first: ends\nfirst: destroyed\nlast: ends\nlast: destroyed\n",
    "last: ends\nlast: destroyed\nfirst: ends\nfirst: destroyed\n",
];

/// What a program is linked with beside the archive.
const PRIVATE: [&str; 3] = ["-lgcc_s", "-lm", "-lc"];

/// How many processors run the clauses.
const PROCESSORS: usize = 2;

/// The families of clauses.
const FAMILIES: [&str; 10] = [
    "barrier", "cancel", "cond", "exit", "keys", "mutex", "once", "rwlock", "sem", "spin",
];

/// Clauses of other families: about the signals that threads and programs block, and wait for.
const OTHERS: [&str; 11] = [
    "io/started_programs_block_what_their_thread_does",
    "io/started_programs_hear_of_signals",
    "io/starting_programs_lets_nothing_in",
    "threads/each_signal_is_taken_once",
    "threads/fork_lets_nothing_in",
    "threads/masks_are_inherited",
    "threads/sigtimedwait_gives_up_in_the_end",
    "threads/sigwait_lets_others_run",
    "threads/sigwait_needs_no_descriptor",
    "threads/sigwait_takes_what_ends_programs",
    "threads/sigwaitinfo_tells_of_the_signal",
];

/// Words in programs, or titles of programs, with clauses that do not hold, and why.
const REFUSED: [(&str, &str); 9] = [
    (
        "keys/rounds_end",
        "the end of a fibre's block calls destructors for more rounds",
    ),
    (
        "cancel/in_a_call_on_no_socket",
        "a call on a number that no descriptor can have fails first",
    ),
    (
        "cancel/in_a_call_that_fails",
        "a call on a number that no descriptor can have fails first",
    ),
    ("cancel/in_a_wait_that_fails", "pselect is no name"),
    ("cancel/in_aio_suspend", "aio_suspend is no name"),
    (
        "cancel/in_locks_of_files",
        "a wait for a lock of a file is a thread's",
    ),
    ("cancel/in_message_queues", "msgrcv is no name"),
    (
        "cancel/of_one_that_joins_its_canceller",
        "a wait for the end of a kernel thread is a thread's",
    ),
    ("cancel/wins_over_a_later_end", "recvmmsg is no name"),
];

/// Which programs.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// The libraries are there already: does not build them
    #[arg(long)]
    built: bool,
    /// How many programs run at a time
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Links programs of others instead, those of `fibre-capi/real/programs`, and writes the table
    #[arg(long)]
    real: bool,
    /// Builds and runs the tests of the crates in `exts/threads/suites/crates.txt` instead
    #[arg(long, conflicts_with = "real")]
    suites: bool,
    /// With --real: runs each program once, and writes no table
    #[arg(long, requires = "real")]
    check: bool,
    /// Parts of the paths of the programs to run, or names of programs of others, or of crates;
    /// all, if none is named
    programs: Vec<String>,
}

/// How a program is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Linking {
    /// With the system's library only.
    Plain,
    /// With the shared library.
    Shared,
    /// With the archive.
    Archive,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let place = Place::new(workspace)?;
    if !options.built {
        let mut build = cargo(["rustc", "--release", "--package", NAME, "--lib"]);
        build.args(["--crate-type", "staticlib,cdylib", "--"]);
        build.arg(format!("-Clink-arg=-Wl,-soname,{}", place.soname()));
        // Processors run its code until the process ends.
        build.arg("-Clink-arg=-Wl,-z,nodelete");
        steps.run("threads: libraries", build)?;
        steps.check("threads: install", || place.fill(workspace))?;
    }
    if options.real {
        return steps.run(
            "threads: programs of others",
            place.real(workspace, options),
        );
    }
    if options.suites {
        return steps.run("threads: suites", place.suites(workspace, options));
    }
    steps.check("threads: what calls block", || {
        let source = workspace.root().join(WAITS);
        let object = place.compile(&source, "waits", &[])?;
        for linking in [Linking::Plain, Linking::Shared, Linking::Archive] {
            check_waits(&place.link(&object, linking)?, linking)?;
        }
        Ok(format!("{CALLS} calls, linked in 3 ways"))
    })?;
    steps.check("threads: the end of the process", || {
        let source = workspace.root().join(LAST_THREAD);
        let object = place.compile(&source, "last_thread", &[])?;
        for linking in [Linking::Plain, Linking::Shared, Linking::Archive] {
            check_last_thread(&place.link(&object, linking)?, linking)?;
        }
        Ok("linked in 3 ways".to_owned())
    })?;
    let programs = Program::find(workspace.root(), &options.programs)?;
    steps.check("threads: clauses", || {
        let mut chosen = Vec::new();
        for program in programs {
            if is_for_us(&program)? {
                chosen.push(program);
            }
        }
        let programs = chosen;
        let failed = each(&programs, options.workers, |program| {
            check_clause(&place, program)
        })?;
        let failed: Vec<String> = failed.into_iter().flatten().collect();
        ensure!(
            failed.is_empty(),
            "{} fail:\n{}",
            failed.len(),
            failed.join("\n")
        );
        Ok(format!("{} programs", programs.len()))
    })
}

/// Whether a program's clause holds here, too.
fn is_for_us(program: &Program) -> Result<bool> {
    let (text, title) = (fs::read_to_string(&program.path)?, program.title());
    let is_refused = |(word, _): &(&str, &str)| text.contains(word) || title == *word;
    let is_chosen = FAMILIES.contains(&program.family.as_str()) || OTHERS.contains(&title.as_str());
    let holds = program.is_for(Library::System) && program.own && !program.is_cpp();
    Ok(is_chosen && holds && !REFUSED.iter().any(is_refused))
}

/// Runs the program that says what its calls block.
fn check_waits(program: &Path, linking: Linking) -> Result<()> {
    let output = Command::new(program)
        .env("FIBRE_PROCESSORS", "1")
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{linking:?}: {}\n{said}{words}",
        output.status
    );
    let end = match linking {
        Linking::Plain => ": thread",
        Linking::Shared | Linking::Archive => ": fibre",
    };
    let right = said.lines().filter(|line| line.ends_with(end)).count();
    ensure!(
        right == CALLS && said.lines().count() == CALLS,
        "{linking:?}:\n{said}{words}"
    );
    Ok(())
}

/// Runs the program that says when its threads end: the one of the kernel's last, and the fibre.
fn check_last_thread(program: &Path, linking: Linking) -> Result<()> {
    for (last, words) in ["kernel", "fibre"].into_iter().zip(LAST_WORDS) {
        let output = Command::new(program)
            .arg(last)
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success() && said == words,
            "{linking:?}, {last}: {}\n{said}",
            output.status
        );
    }
    Ok(())
}

/// Compiles a clause once, links it with the shared library, and runs it. What was seen if it does
/// not hold.
fn check_clause(place: &Place, program: &Program) -> Result<Vec<String>> {
    let mut failed = Vec::new();
    let name = program.title().replace('/', "-");
    for (variant, flags) in program.variants.iter().enumerate() {
        let object = place.compile(&program.path, &format!("{name}-{variant}"), flags)?;
        let linked = place.link(&object, Linking::Shared)?;
        let setting = Setting::Ours(PROCESSORS);
        if let Outcome::Failed(seen) = run_program(program, &linked, setting)? {
            failed.push(format!("{}: {seen}", program.title()));
        }
    }
    Ok(failed)
}

/// Where things are put.
struct Place {
    /// `lib` is below it.
    prefix: PathBuf,
    /// Where compiled programs go.
    folder: PathBuf,
    /// The version of the library.
    version: String,
}

impl Place {
    /// Makes the folders.
    fn new(workspace: &Workspace) -> Result<Self> {
        let manifest = read_manifest(&workspace.root().join("Cargo.toml"))?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        let prefix = workspace.target_dir("capi");
        let folder = workspace.target_dir("threads");
        fs::create_dir_all(prefix.join("lib/pkgconfig"))?;
        fs::create_dir_all(&folder)?;
        Ok(Self {
            prefix: prefix.canonicalize()?,
            folder,
            version: version.context("the workspace has no version")?.to_owned(),
        })
    }

    /// A file among the libraries.
    fn lib(&self, name: &str) -> PathBuf {
        self.prefix.join("lib").join(name)
    }

    /// The name that programs find the shared library by.
    fn soname(&self) -> String {
        format!("lib{NAME}.so.0")
    }

    /// Puts the libraries where they belong.
    fn fill(&self, workspace: &Workspace) -> Result<String> {
        let made = workspace.target_dir("release").join("libfibre_threads");
        let full = format!("lib{NAME}.so.{}", self.version);
        for (end, name) in [("so", full.as_str()), ("a", "libfibre-threads.a")] {
            replace(&self.lib(name), |new| {
                fs::copy(made.with_extension(end), new)?;
                Ok(())
            })?;
        }
        for (link, target) in [
            (self.soname(), full),
            (format!("lib{NAME}.so"), self.soname()),
        ] {
            replace(&self.lib(&link), |new| Ok(symlink(target, new)?))?;
        }
        let package = format!(
            "prefix={}\nlibdir=${{prefix}}/lib\n\n\
             Name: {NAME}\nDescription: threads of unmodified C programs as fibres\n\
             Version: {}\nLibs: -L${{libdir}} -l{NAME}\n",
            self.prefix.display(),
            self.version
        );
        replace(&self.lib("pkgconfig/fibre-threads.pc"), |new| {
            Ok(fs::write(new, package)?)
        })?;
        Ok(self.prefix.display().to_string())
    }

    /// The command that links programs of others, and compares what they do.
    fn real(&self, workspace: &Workspace, options: &Options) -> Command {
        let mut real = Command::new(workspace.root().join(REAL));
        real.env("FIBRE_CAPI", &self.prefix);
        real.args(options.check.then_some("--check"));
        real.args(&options.programs);
        real
    }

    /// The command that runs the tests of crates, and compares them.
    fn suites(&self, workspace: &Workspace, options: &Options) -> Command {
        let mut suites = Command::new(workspace.root().join(SUITES));
        suites.env("FIBRE_CAPI", &self.prefix);
        suites.args(&options.programs);
        suites
    }

    /// Compiles a program to an object, as it is.
    fn compile(&self, source: &Path, name: &str, flags: &[String]) -> Result<PathBuf> {
        let object = self.folder.join(format!("{name}.o"));
        let mut compile = Command::new("cc");
        compile.args(FLAGS).arg("-pthread").args(flags);
        compile.arg("-c").arg(source).arg("-o").arg(&object);
        succeed(compile)?;
        Ok(object)
    }

    /// Links an object.
    fn link(&self, object: &Path, linking: Linking) -> Result<PathBuf> {
        let end = format!("{linking:?}").to_lowercase();
        let linked = object.with_extension(end);
        let mut link = Command::new("cc");
        link.arg(object).arg("-o").arg(&linked);
        match linking {
            Linking::Plain => &mut link,
            Linking::Shared => {
                let folder = self.lib("");
                link.arg("-L").arg(&folder).arg(format!("-l{NAME}"));
                link.arg(format!("-Wl,-rpath,{}", folder.display()))
            }
            Linking::Archive => {
                link.arg("-Wl,--whole-archive");
                link.arg(self.lib("libfibre-threads.a"));
                link.arg("-Wl,--no-whole-archive").args(PRIVATE)
            }
        };
        succeed(link)?;
        Ok(linked)
    }
}

/// Runs a compiler or a linker.
fn succeed(mut command: Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
