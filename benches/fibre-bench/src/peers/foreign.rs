//! Peers that are programs of their own, below `peers/`: in other languages, or over libraries that
//! this crate does not depend on.
//!
//! They are compiled when their compiler and what else they need is installed; where it is not, the
//! report says that their rows are missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{env, fs, io};

use anyhow::{Context as _, bail};

use crate::c::{self, Threads};
use crate::process::{self, programs};
use crate::report::Report;

/// A peer that is a program of its own.
pub(crate) struct Foreign {
    pub(crate) name: &'static str,
    /// What its build needs: Debian's packages, unless it says otherwise.
    pub(crate) package: &'static str,
    /// Whether it is a web server too.
    pub(crate) serves: bool,
    /// Whether it has the servers of the paper on Eve.
    pub(crate) counts: bool,
    /// What it is a peer in.
    part: Part,
    /// Where its source lies, below this crate.
    source: &'static str,
    /// Whether all that its build needs is installed.
    installed: fn() -> bool,
    /// The command that compiles the source directory to a program.
    compile: fn(&Path, &Path) -> io::Result<Command>,
}

/// The groups of benchmarks that have peers of their own.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Programs over actors.
    pub(crate) actors: bool,
    /// Programs over tasks.
    pub(crate) tasks: bool,
    /// Programs over coloured events.
    pub(crate) events: bool,
}

/// The benchmarks that a peer is built for.
#[derive(Clone, Copy)]
enum Part {
    /// All.
    All,
    /// Those over actors.
    Actors,
    /// Those over tasks.
    Tasks,
    /// Those over actors, and those over tasks.
    ActorsAndTasks,
    /// Those over coloured events.
    Events,
}

impl Part {
    /// Whether benchmarks that are wanted are among its own.
    fn is_wanted(self, wanted: Wanted) -> bool {
        match self {
            Self::All => true,
            Self::Actors => wanted.actors,
            Self::Tasks => wanted.tasks,
            Self::ActorsAndTasks => wanted.actors || wanted.tasks,
            Self::Events => wanted.events,
        }
    }
}

/// The peers in other languages.
pub(crate) const FOREIGN: &[Foreign] = &[GO, BOOST, C_FIBRE, C_PTHREAD];

/// Goroutines.
const GO: Foreign = Foreign {
    name: "go",
    package: "golang",
    serves: true,
    counts: true,
    part: Part::All,
    source: "peers/go",
    installed: || process::installed("go"),
    compile: |source, program| {
        let mut command = Command::new("go");
        command
            .arg("build")
            .arg("-o")
            .arg(program)
            .current_dir(source);
        Ok(command)
    },
};

/// Boost.Fiber.
const BOOST: Foreign = Foreign {
    name: "boost",
    package: "g++ libboost-fiber-dev libboost-dev",
    serves: true,
    counts: false,
    part: Part::All,
    source: "peers/boost",
    installed: || {
        let header = |name: &str| Path::new("/usr/include/boost").join(name).is_file();
        process::installed("g++") && header("fiber/all.hpp") && header("asio.hpp")
    },
    compile: |source, program| {
        let mut command = Command::new("g++");
        command
            .args(["-O2", "-DNDEBUG", "-std=c++17", "-o"])
            .arg(program);
        sources(source, &mut command)?;
        command.args(["-lboost_fiber", "-lboost_context", "-pthread"]);
        Ok(command)
    },
};

/// C over our library.
const C_FIBRE: Foreign = in_c(
    Threads::Fibres,
    || Threads::Fibres.installed(),
    |source, program| Threads::Fibres.compile(source, program),
);

/// C over the system's threads.
const C_PTHREAD: Foreign = in_c(
    Threads::System,
    || Threads::System.installed(),
    |source, program| Threads::System.compile(source, program),
);

/// The peer in C over these threads.
const fn in_c(
    threads: Threads,
    installed: fn() -> bool,
    compile: fn(&Path, &Path) -> io::Result<Command>,
) -> Foreign {
    Foreign {
        name: threads.name(),
        package: c::NEEDS,
        serves: false,
        counts: false,
        part: Part::All,
        source: "peers/c",
        installed,
        compile,
    }
}

/// The peers that are built only for programs over actors, tasks or coloured events.
pub(crate) const OTHERS: &[Foreign] = &[
    in_rust("actix"),
    in_rust("ractor"),
    in_rust("kameo"),
    CAF,
    ERLANG,
    NODE,
    ASIO,
    LIBEVENT,
    LIBEV,
];

/// Lists the peers of [`OTHERS`] that the wanted benchmarks have.
pub(crate) fn among(wanted: Wanted) -> impl Iterator<Item = &'static Foreign> {
    let is_wanted = move |foreign: &&Foreign| foreign.part.is_wanted(wanted);
    OTHERS.iter().filter(is_wanted)
}

/// What libraries of Rust need.
const CRATES: &str = "cargo, and the crates of benches/fibre-bench/peers/actors/Cargo.lock";

/// A library of Rust, a binary of the workspace in `peers/actors`.
const fn in_rust(name: &'static str) -> Foreign {
    Foreign {
        name,
        package: CRATES,
        serves: false,
        counts: false,
        part: Part::Actors,
        source: "peers/actors",
        installed: fetched,
        compile: |source, program| {
            let mut command = Command::new("sh");
            command.arg("build.sh").arg(program).current_dir(source);
            Ok(command)
        },
    }
}

/// Whether the crates of the workspace in `peers/actors` are here or can be had.
fn fetched() -> bool {
    static FETCHED: OnceLock<bool> = OnceLock::new();
    *FETCHED.get_or_init(|| {
        let mut fetch = Command::new("cargo");
        fetch
            .args(["fetch", "--quiet", "--locked", "--manifest-path"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/actors/Cargo.toml"));
        fetch
            .stdin(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

/// The C++ Actor Framework of Debian 12. Later versions want types of messages to be declared.
const CAF: Foreign = Foreign {
    name: "caf",
    package: "g++ libcaf-dev (0.17)",
    serves: false,
    counts: false,
    part: Part::Actors,
    source: "peers/caf",
    installed: || {
        let version = fs::read_to_string("/usr/include/caf/config.hpp");
        process::installed("g++") && version.is_ok_and(|text| text.contains("CAF_VERSION 17"))
    },
    compile: |source, program| {
        let mut command = Command::new("g++");
        command
            .args(["-O2", "-DNDEBUG", "-std=c++17", "-o"])
            .arg(program);
        sources(source, &mut command)?;
        for shared in ["measure.cpp", "settings.cpp"] {
            command.arg(source.join("../boost").join(shared));
        }
        command.args(["-lcaf_core", "-pthread"]);
        Ok(command)
    },
};

/// Erlang's processes.
const ERLANG: Foreign = Foreign {
    name: "erlang",
    package: "erlang-base",
    serves: false,
    counts: true,
    part: Part::ActorsAndTasks,
    source: "peers/erlang",
    installed: || process::installed("erl") && process::installed("erlc"),
    compile: |source, program| {
        let mut command = Command::new("sh");
        command.arg(source.join("build.sh")).arg(program);
        Ok(command)
    },
};

/// Node.js, with one thread.
const NODE: Foreign = Foreign {
    name: "node",
    package: "nodejs",
    serves: false,
    counts: true,
    part: Part::Tasks,
    source: "peers/node",
    installed: || process::installed("node"),
    compile: |source, program| {
        let mut command = Command::new("sh");
        command.arg(source.join("build.sh")).arg(program);
        Ok(command)
    },
};

/// asio's strands, and a server with one for each connection.
const ASIO: Foreign = Foreign {
    name: "asio",
    package: "g++ libasio-dev",
    serves: true,
    counts: false,
    part: Part::Events,
    source: "peers/asio",
    installed: || process::installed("g++") && Path::new("/usr/include/asio.hpp").is_file(),
    compile: |source, program| {
        let mut command = Command::new("g++");
        command
            .args(["-O2", "-DNDEBUG", "-std=c++17", "-o"])
            .arg(program);
        sources(source, &mut command)?;
        for shared in ["measure.cpp", "settings.cpp", "http.cpp"] {
            command.arg(source.join("../boost").join(shared));
        }
        command.arg("-pthread");
        Ok(command)
    },
};

/// A server over one loop of libevent.
const LIBEVENT: Foreign = one_loop(
    "libevent",
    "gcc libevent-dev",
    "peers/libevent",
    || process::installed("cc") && Path::new("/usr/include/event2/event.h").is_file(),
    |source, program| Ok(one_file(source, program, "-levent")),
);

/// A server over one loop of libev.
const LIBEV: Foreign = one_loop(
    "libev",
    "gcc libev-dev",
    "peers/libev",
    || process::installed("cc") && Path::new("/usr/include/ev.h").is_file(),
    |source, program| Ok(one_file(source, program, "-lev")),
);

/// A server over a library's loop, in C.
const fn one_loop(
    name: &'static str,
    package: &'static str,
    source: &'static str,
    installed: fn() -> bool,
    compile: fn(&Path, &Path) -> io::Result<Command>,
) -> Foreign {
    Foreign {
        name,
        package,
        serves: true,
        counts: false,
        part: Part::Events,
        source,
        installed,
        compile,
    }
}

/// The command that compiles the only file of a program in C, and links a library.
fn one_file(source: &Path, program: &Path, library: &str) -> Command {
    let mut command = Command::new("cc");
    command
        .args(["-O2", "-o"])
        .arg(program)
        .arg(source.join("main.c"))
        .arg(library);
    command
}

/// Adds the files of C++ in a directory to a command.
fn sources(directory: &Path, command: &mut Command) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            command.arg(path);
        }
    }
    Ok(())
}

impl Foreign {
    /// Installs what the build needs and is not there, if that is packages of Debian. What then
    /// still cannot be installed is noted.
    pub(crate) fn install(&self, report: &mut Report) -> anyhow::Result<()> {
        if self.package == CRATES || self.package == c::NEEDS || (self.installed)() {
            return Ok(());
        }
        let packages = self.package.split_whitespace();
        let status = Command::new("apt-get")
            .args(["install", "--yes", "--quiet", "--no-install-recommends"])
            .args(packages.filter(|word| !word.starts_with('(')))
            .stdin(Stdio::null())
            .status()
            .context("starting apt-get")?;
        if !status.success() {
            report.note(format!("{}: apt-get does not install it", self.name));
        }
        Ok(())
    }

    /// Compiles the program where it is older than its source; `None` where
    /// the compiler is not installed.
    pub(crate) fn build(&self) -> anyhow::Result<Option<PathBuf>> {
        if !(self.installed)() {
            return Ok(None);
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.source);
        let program = programs::ours(&format!("peer-{}", self.name))?;
        // The flags are this program's.
        let newest = newest(&source)?.max(modified(&env::current_exe()?));
        if newest > modified(&program) {
            let mut command = (self.compile)(&source, &program)?;
            let status = command
                .stdin(Stdio::null())
                .status()
                .with_context(|| format!("compiling {}", self.name))?;
            if !status.success() {
                bail!("{} does not compile: {command:?}", source.display());
            }
        }
        Ok(Some(program))
    }
}

/// When a file changed last; long ago where there is none.
fn modified(path: &Path) -> SystemTime {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// When the newest file of a directory changed last.
fn newest(directory: &Path) -> anyhow::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        newest = newest.max(modified(&entry?.path()));
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_built_only_for_what_they_have() {
        let names = |actors, tasks, events| {
            let among = among(Wanted {
                actors,
                tasks,
                events,
            });
            among.map(|foreign| foreign.name).collect::<Vec<_>>()
        };
        assert!(names(false, false, false).is_empty());
        assert_eq!(names(false, true, false), ["erlang", "node"]);
        assert_eq!(
            names(true, false, false),
            ["actix", "ractor", "kameo", "caf", "erlang"]
        );
        assert_eq!(names(false, false, true), ["asio", "libevent", "libev"]);
        assert_eq!(names(true, true, true).len(), OTHERS.len());
    }
}
