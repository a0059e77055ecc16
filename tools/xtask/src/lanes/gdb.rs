//! `gdb`: what gdb says of programs that hang, Rust and C, live and as core files.
//!
//! The tests are those of `tests/gdb/`, which `cargo xtask test` leaves alone: they need gdb. C
//! programs get the library as it is installed, stripped.

use anyhow::Result;
use clap::Args;

use crate::lanes::{capi, test};
use crate::steps::Steps;
use crate::workspace::{OPTIONAL, Workspace, require_program};

/// How to test.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// The C library is there already: does not build it
    #[arg(long)]
    built: bool,
    /// Optimised programs
    #[arg(long)]
    release: bool,
    /// Passed to the test binary: a name filter, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// Options that take the C library that is there.
    pub(crate) fn built() -> Self {
        Self {
            built: true,
            ..Self::default()
        }
    }
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    steps.check("gdb: programs", || {
        for program in ["gdb", "strip", "cc"] {
            require_program(program, "Debian: apt-get install gdb binutils gcc")?;
        }
        Ok("they are installed".into())
    })?;
    if !options.built {
        capi::run(workspace, steps, &capi::Options::default())?;
    }
    // Of the whole workspace, as `test` has built it.
    let mut tests = test::everything();
    tests.args(OPTIONAL).args(["--test", "gdb"]);
    if options.release {
        tests.arg("--release");
    }
    let library = workspace.root().join(workspace.target_dir("capi"));
    tests.env("LIBRARY_UNDER_TEST", library);
    tests.arg("--").args(&options.arguments);
    steps.run_tests("gdb: tests", tests, options.arguments.is_empty())
}
