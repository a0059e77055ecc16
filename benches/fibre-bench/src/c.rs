//! Programs in C with the calls of pthreads, each compiled twice from the same source: for the
//! threads of the system, and by `-include fibre_pthread.h` for fibres.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use anyhow::{Context as _, bail};

use crate::process::{self, programs};

/// What the threads of a C program are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// Those of the system.
    System,
    /// Fibres.
    Fibres,
}

/// Both kinds, ours first.
pub(crate) const BOTH: [Threads; 2] = [Threads::Fibres, Threads::System];

/// What is needed beside a compiler.
pub(crate) const NEEDS: &str = "a C compiler and `cargo xtask capi`";

/// What sends a program's calls to the C library, where that is installed.
const HEADER: &str = "include/fibre-rt/fibre_pthread.h";

impl Threads {
    /// What tables call a program with them.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::System => "c-pthread",
            Self::Fibres => "c-fibre",
        }
    }

    /// Whether such programs can be compiled and run here.
    pub(crate) fn installed(self) -> bool {
        let parts = [HEADER, "lib/libfibre-rt.so"];
        let library = |place: PathBuf| parts.iter().all(|part| place.join(part).exists());
        process::installed("cc") && (self == Self::System || place().is_ok_and(library))
    }

    /// The command that compiles all C files of a directory, or a single one, to a program.
    pub(crate) fn compile(self, source: &Path, program: &Path) -> io::Result<Command> {
        let mut command = Command::new("cc");
        command.arg("-O2");
        let place = place()?;
        if self == Self::Fibres {
            let header = place.join(HEADER);
            command.arg("-include").arg(header);
        }
        command.arg("-o").arg(program);
        if source.is_dir() {
            for entry in fs::read_dir(source)? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "c") {
                    command.arg(path);
                }
            }
        } else {
            command.arg(source);
        }
        if self == Self::Fibres {
            let library = place.join("lib");
            command.arg("-L").arg(&library).arg("-lfibre-rt");
            command.arg(format!("-Wl,-rpath,{}", library.display()));
        }
        command.args(["-pthread", "-lm"]);
        Ok(command)
    }

    /// A program of the C library's examples, compiled anew; `None` where that cannot be.
    pub(crate) fn example(self, name: &str) -> anyhow::Result<Option<PathBuf>> {
        if !self.installed() {
            return Ok(None);
        }
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fibre-capi/examples");
        let source = examples.join(format!("{name}.c"));
        let program = programs::ours(&format!("{name}-{}", self.name()))?;
        let mut command = self.compile(&source, &program)?;
        let status = command
            .stdin(Stdio::null())
            .status()
            .context("starting the C compiler")?;
        if !status.success() {
            bail!("{} does not compile: {command:?}", source.display());
        }
        Ok(Some(program))
    }
}

/// Where the C library lies: `FIBRE_CAPI`, or where `cargo xtask capi` puts it.
fn place() -> io::Result<PathBuf> {
    if let Some(place) = env::var_os("FIBRE_CAPI") {
        return Ok(place.into());
    }
    let mut program = env::current_exe()?;
    program.pop(); // the profile
    program.pop();
    Ok(program.join("capi"))
}
