//! `links`: whether calls reach `fibre-libc` however a program is linked.
//!
//! The program `exts/libc/tests/linked` says what its calls block: those of std, and those of a
//! small C library. It is linked in each way that is promised in docs/LIBC.md, by rustc itself with
//! the crates that cargo has built, and run. What it prints must be what is expected.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;

use crate::steps::Steps;
use crate::workspace::{Workspace, add_rustflags, cargo, require_program};

/// The program, and the C library.
const SOURCES: [&str; 2] = [
    "exts/libc/tests/linked/main.rs",
    "exts/libc/tests/linked/waits.c",
];

/// The target that must be named where compiler flags are not for build scripts.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// How the crates are built: quickly, as what matters is how they are linked.
struct Build {
    /// Its name.
    name: &'static str,
    /// Flags for all crates.
    flags: &'static str,
    /// A feature of another crate that some program may ask for.
    feature: Option<&'static str>,
    /// The programs.
    links: &'static [Link],
}

/// How a program is linked.
struct Link {
    linker: Linker,
    library: Library,
    /// What else is asked of compiler and linker, and a name for that.
    others: (&'static str, &'static [&'static str]),
    /// What the program is to print first.
    prints: &'static str,
}

/// What links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Linker {
    /// `rust-lld`, which rustc takes by itself.
    Lld,
    /// GNU ld.
    Gnu,
}

/// Where the C library is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    /// A shared one that is linked.
    Linked,
    /// A shared one that is loaded while the program runs.
    Loaded,
    /// An object file.
    Object,
}

impl Link {
    /// A program with calls that are all to block the fibre.
    const fn new(linker: Linker, library: Library) -> Self {
        Self {
            linker,
            library,
            others: ("", &[]),
            prints: match library {
                Library::Linked | Library::Loaded => {
                    "socket fibre, lock fibre, library fibre, reaches true, \
                     thread-locals fibre"
                }
                // There are no shared libraries.
                Library::Object => {
                    "socket fibre, lock fibre, library fibre, reaches false, \
                     thread-locals refused"
                }
            },
        }
    }

    /// A program that keeps the names to itself.
    const fn excluding(linker: Linker) -> Self {
        Self {
            others: ("-excludes", &["-Clink-arg=-Wl,--exclude-libs,ALL"]),
            prints: "socket fibre, lock fibre, library processor, reaches false, \
                     thread-locals fibre",
            ..Self::new(linker, Library::Linked)
        }
    }

    /// One that is optimised as a whole, which takes the longest. One linker is enough, as all get
    /// the same files.
    const fn optimised(linker: Linker, library: Library) -> Self {
        Self {
            others: ("-lto", &["-Clto=fat", "-Copt-level=1", "-Ccodegen-units=1"]),
            ..Self::new(linker, library)
        }
    }

    /// A static one.
    const fn of_all(linker: Linker) -> Self {
        Self {
            others: ("", &["-Ctarget-feature=+crt-static"]),
            ..Self::new(linker, Library::Object)
        }
    }

    /// A name for files and messages.
    fn name(&self, build: &Build) -> String {
        let (build, others) = (build.name, self.others.0);
        format!("{build}-{:?}-{:?}{others}", self.linker, self.library).to_lowercase()
    }
}

/// The ways that are promised.
const BUILDS: [Build; 2] = [
    Build {
        name: "shared",
        // What a program that is optimised as a whole needs of its crates; others pass it over.
        flags: "-Cembed-bitcode=yes",
        feature: None,
        links: &[
            Link::optimised(Linker::Lld, Library::Linked),
            Link::new(Linker::Lld, Library::Linked),
            Link::new(Linker::Gnu, Library::Linked),
            Link::new(Linker::Lld, Library::Loaded),
            Link::new(Linker::Gnu, Library::Loaded),
            Link::excluding(Linker::Lld),
            Link::excluding(Linker::Gnu),
        ],
    },
    Build {
        name: "static-pie",
        flags: "-Ctarget-feature=+crt-static",
        feature: None,
        links: &[Link::of_all(Linker::Lld), Link::of_all(Linker::Gnu)],
    },
];

/// Where the runtime's own calls come to the names, so that nothing may be installed.
const REFUSED: Build = Build {
    name: "use-libc",
    flags: "",
    feature: Some("rustix/use-libc"),
    links: &[],
};

/// How much to build.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Also a program that has to be refused, which takes a build of its own; the tests of
    /// `fibre-libc` have the same within a program
    #[arg(long)]
    all: bool,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let place = Place::new(workspace)?;
    steps.check("links: the C library", || place.build_library())?;
    for build in &BUILDS {
        let title = format!("links: {}, build", build.name);
        steps.run(&title, place.crates(build))?;
        steps.check(&format!("links: {}", build.name), || place.check_all(build))?;
    }
    if !options.all {
        steps.note("links: without --all, what is to be refused was not built");
        return Ok(());
    }
    steps.run("links: use-libc, build", place.crates(&REFUSED))?;
    steps.check("links: use-libc", || place.check_refused())
}

/// Where everything is.
struct Place {
    /// Where cargo builds.
    target: PathBuf,
    /// Where the programs and the C library go.
    folder: PathBuf,
}

impl Place {
    /// Makes the folder.
    fn new(workspace: &Workspace) -> Result<Self> {
        // The C library is found by its whole path while a program runs.
        let target = workspace.root().join(workspace.target_dir("links"));
        let folder = target.join("programs");
        fs::create_dir_all(&folder)?;
        Ok(Self { target, folder })
    }

    /// A file of the C library.
    fn library(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Builds the C library, as a shared one and as an object file.
    fn build_library(&self) -> Result<String> {
        require_program("cc", "Debian: apt-get install gcc")?;
        let shared = ["-shared", "-o"];
        for (kind, file) in [(shared, "libwaits.so"), (["-c", "-o"], "waits.o")] {
            let mut cc = Command::new("cc");
            cc.args(["-O1", "-fPIC"]).args(kind).arg(self.library(file));
            said(cc.arg(SOURCES[1]))?;
        }
        Ok("shared, and an object file".into())
    }

    /// Where the crates of a build go.
    fn crates_of(&self, build: &Build) -> PathBuf {
        self.target.join(build.name)
    }

    /// The command that builds the crates.
    fn crates(&self, build: &Build) -> Command {
        let mut cargo = cargo([
            "build",
            "--package",
            "fibre-libc",
            "--package",
            "fibre-core",
        ]);
        cargo
            .args(["--target", TARGET, "--target-dir"])
            .arg(self.crates_of(build));
        cargo.args(build.feature.map(|feature| format!("--features={feature}")));
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        add_rustflags(&mut cargo, build.flags);
        cargo
    }

    /// Checks all programs of a build, two at a time.
    fn check_all(&self, build: &Build) -> Result<String> {
        let links = Mutex::new(build.links.iter());
        let check = || {
            loop {
                let Some(link) = links.lock().ok().and_then(|mut links| links.next()) else {
                    return Ok(());
                };
                let checked = self.check(build, link);
                checked.with_context(|| link.name(build))?;
            }
        };
        thread::scope(|scope| {
            let beside = scope.spawn(check);
            let own: Result<()> = check();
            let beside = beside.join().map_err(|_| anyhow!("a check has panicked"))?;
            own.and(beside)
        })?;
        Ok(format!("{} programs", build.links.len()))
    }

    /// Links a program, runs it, and compares what it prints.
    fn check(&self, build: &Build, link: &Link) -> Result<()> {
        let program = self.folder.join(link.name(build));
        said(&mut self.rustc(build, link, &program))?;
        let contents = fs::read(&program)?;
        let by_lld = contents.windows(11).any(|bytes| bytes == b"Linker: LLD");
        ensure!(
            by_lld == (link.linker == Linker::Lld),
            "not linked as it was asked for"
        );
        let mut run = Command::new(&program);
        if link.library == Library::Loaded {
            run.env("LIBRARY_UNDER_TEST", self.library("libwaits.so"));
        }
        let printed = said(&mut run)?;
        let expected = format!("{}\nafter main too\n", link.prints);
        ensure!(
            printed == expected,
            "expected:\n{expected}printed:\n{printed}"
        );
        println!("{}: {}", link.name(build), link.prints);
        Ok(())
    }

    /// Runs a program that `install` has to refuse.
    fn check_refused(&self) -> Result<String> {
        let program = self.folder.join(REFUSED.name);
        let link = Link::new(Linker::Lld, Library::Loaded);
        said(&mut self.rustc(&REFUSED, &link, &program))?;
        let output = Command::new(&program).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let refused = !output.status.success() && said.contains("rustix is built with its feature");
        ensure!(refused, "it was not refused: {output:?}");
        Ok("it was refused".into())
    }

    /// The command that links a program.
    fn rustc(&self, build: &Build, link: &Link, program: &Path) -> Command {
        let crates = self.crates_of(build).join(TARGET).join("debug");
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition", "2024", SOURCES[0], "--target", TARGET]);
        rustc.args(link.others.1).arg("-o").arg(program);
        for name in ["fibre_core", "fibre_libc"] {
            let file = crates.join(format!("lib{name}.rlib"));
            rustc.args(["--extern", &format!("{name}={}", file.display())]);
        }
        let dependencies = crates.join("deps");
        rustc.args(["-L", &format!("dependency={}", dependencies.display())]);
        if link.linker == Linker::Gnu {
            rustc.arg("-Clinker-features=-lld");
        }
        let folder = self.folder.display();
        let library = match link.library {
            Library::Linked => vec![
                "-Wl,--no-as-needed".to_owned(),
                format!("{folder}/libwaits.so"),
                format!("-Wl,-rpath,{folder}"),
            ],
            Library::Loaded => Vec::new(),
            Library::Object => vec![format!("{folder}/waits.o")],
        };
        rustc.args(library.iter().map(|part| format!("-Clink-arg={part}")));
        rustc
    }
}

/// What a command prints, which must succeed.
fn said(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{said}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_link_has_a_name_of_its_own() {
        let links = BUILDS
            .iter()
            .flat_map(|build| build.links.iter().map(|link| link.name(build)));
        let mut names: Vec<String> = links.collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.contains(&"shared-gnu-linked-excludes".to_owned()));
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let mut command = Command::new("sh");
        let error = said(command.args(["-c", "echo no >&2; exit 3"])).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("exit status: 3") && text.contains("no"),
            "{text}"
        );
    }
}
