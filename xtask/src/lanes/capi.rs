//! `capi`: the C library as programs link it, under `target/capi`.
//!
//! ```text
//! target/capi/lib/libfibre.so -> libfibre.so.0 -> libfibre.so.0.1.0
//! target/capi/lib/libfibre.a
//! target/capi/lib/pkgconfig/fibre.pc
//! target/capi/include/fibre.h, fibre_pthread.h
//! ```
//!
//! The libraries are built as cargo-c builds them (`fibre-capi/build.rs` says how they are linked). What is then checked in the shared
//! one: it exports our names only, each with a version; its name; it stays when it is closed; nothing in it is both writable and
//! executable; all relocations are done at the start and read-only from then on. And it has all that programs are mapped to.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::steps::Steps;
use crate::workspace::{Workspace, cargo, read_manifest};

/// The version of the interface: that of the shared library's name.
const INTERFACE: u32 = 0;

/// A program that makes the calls that POSIX does not have.
const PROGRAM: &str = "fibre-capi/tests/programs/clusters.c";

/// Where to put it.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Where the library is installed: lib and include below it. Default: target/capi
    #[arg(long)]
    prefix: Option<PathBuf>,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let default = || workspace.target_dir("capi");
    let place = Place::new(workspace, options.prefix.clone().unwrap_or_else(default))?;
    let mut build = cargo(["rustc", "--release", "--package", "fibre-capi", "--lib"]);
    build.args([
        "--features",
        "capi",
        "--crate-type",
        "staticlib,cdylib",
        "--",
    ]);
    build.arg(format!("-Clink-arg=-Wl,-soname,{}", place.soname()));
    steps.run("capi: libraries", build)?;
    steps.check("capi: install", || place.fill(workspace))?;
    steps.check("capi: what it exports", || place.check_symbols())?;
    steps.check("capi: how it is linked", || place.check_segments())?;
    steps.check("capi: what is beyond POSIX", || {
        place.run_program(&workspace.root().join(PROGRAM))
    })?;
    let mut mapped = cargo(["run", "--quiet", "--package", "fibre-check", "--"]);
    mapped.arg("--library").arg(place.shared());
    steps.run("capi: what programs are mapped to", mapped)
}

/// Where things are put.
struct Place {
    /// `lib` and `include` lie below it.
    prefix: PathBuf,
    /// The libraries, as cargo has made them, without what tells them apart.
    made: PathBuf,
    /// The version of the library.
    version: String,
}

impl Place {
    /// Makes the folders.
    fn new(workspace: &Workspace, prefix: PathBuf) -> Result<Self> {
        let manifest = read_manifest(&workspace.root().join("Cargo.toml"))?;
        let version = manifest["workspace"]["package"]["version"]
            .as_str()
            .context("the workspace has no version")?;
        let prefix = env::current_dir()?.join(prefix);
        fs::create_dir_all(prefix.join("lib/pkgconfig"))?;
        fs::create_dir_all(prefix.join("include"))?;
        Ok(Self {
            made: workspace.target_dir("release").join("libfibre_capi"),
            version: version.to_owned(),
            prefix,
        })
    }

    /// A file among the libraries.
    fn lib(&self, name: &str) -> PathBuf {
        self.prefix.join("lib").join(name)
    }

    /// The shared library's file.
    fn shared(&self) -> PathBuf {
        self.lib(&format!("libfibre.so.{}", self.version))
    }

    /// The name by which programs find the shared library.
    fn soname(&self) -> String {
        format!("libfibre.so.{INTERFACE}")
    }

    /// Puts everything where it belongs.
    fn fill(&self, workspace: &Workspace) -> Result<String> {
        let full = self.shared();
        let full = full.file_name().context("it has a name")?;
        for (link, target) in [
            (self.soname(), full.to_owned()),
            ("libfibre.so".to_owned(), self.soname().into()),
        ] {
            let link = self.lib(&link);
            if link.symlink_metadata().is_ok() {
                fs::remove_file(&link)?;
            }
            symlink(target, link)?;
        }
        fs::copy(self.made.with_extension("a"), self.lib("libfibre.a"))?;
        // Programs that run with the old one keep it.
        if self.shared().exists() {
            fs::remove_file(self.shared())?;
        }
        fs::copy(self.made.with_extension("so"), self.shared())?;
        let headers = workspace.root().join("fibre-capi/include");
        for header in fs::read_dir(&headers)? {
            let header = header?;
            fs::copy(
                header.path(),
                self.prefix.join("include").join(header.file_name()),
            )?;
        }
        fs::write(self.lib("pkgconfig/fibre.pc"), self.package())?;
        Ok(self.prefix.display().to_string())
    }

    /// What `pkg-config` is told.
    fn package(&self) -> String {
        format!(
            "prefix={}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
             Name: fibre\nDescription: M:N user-level threads with the calls of POSIX threads\n\
             Version: {}\nLibs: -L${{libdir}} -lfibre\nLibs.private: -lgcc_s -lpthread -ldl -lm -lc\n\
             Cflags: -I${{includedir}}\n",
            self.prefix.display(),
            self.version
        )
    }

    /// Compiles a C program and runs it.
    fn run_program(&self, source: &Path) -> Result<String> {
        let program = self.lib("program");
        let mut compile = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        compile
            .args(["-Wall", "-Werror", "-I"])
            .arg(self.prefix.join("include"));
        compile
            .arg(source)
            .arg("-L")
            .arg(self.lib(""))
            .arg("-lfibre");
        compile.arg(format!("-Wl,-rpath,{}", self.lib("").display()));
        ensure!(
            compile.arg("-o").arg(&program).status()?.success(),
            "it does not compile"
        );
        let ended = Command::new("timeout").arg("60").arg(&program).output()?;
        fs::remove_file(program)?;
        ensure!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned())
    }

    /// Each exported name is ours and has a version, and each declared one is exported.
    fn check_symbols(&self) -> Result<String> {
        let listed = output_of(
            Command::new("readelf")
                .args(["--dyn-syms", "--wide"])
                .arg(self.shared()),
        )?;
        let version = format!("@@{}", self.soname());
        let exported: Vec<&str> = listed.lines().filter_map(exported_name).collect();
        for name in &exported {
            ensure!(
                name.starts_with("fibre_") && name.ends_with(&version),
                "`{name}` is exported"
            );
        }
        let header = fs::read_to_string(self.prefix.join("include/fibre.h"))?;
        for name in declared_names(&header) {
            let found = exported
                .iter()
                .any(|exported| exported.split('@').next() == Some(name));
            ensure!(found, "`{name}` is declared and not exported");
        }
        ensure!(!exported.is_empty(), "nothing is exported");
        Ok(format!("{} functions", exported.len()))
    }

    /// The name of the library, and what may be written and executed.
    fn check_segments(&self) -> Result<String> {
        let segments = output_of(
            Command::new("readelf")
                .args(["--program-headers", "--dynamic", "--wide"])
                .arg(self.shared()),
        )?;
        if let Some(line) = segments.lines().find(|line| is_written_and_executed(line)) {
            bail!("a segment is writable and executable: {line}");
        }
        for wanted in ["GNU_STACK", "GNU_RELRO", "BIND_NOW", "NODELETE"] {
            ensure!(segments.contains(wanted), "no {wanted}");
        }
        let soname = format!("soname: [{}]", self.soname());
        ensure!(segments.contains(&soname), "its name is not {soname}");
        Ok(self.soname())
    }
}

/// The name in a line of `readelf --dyn-syms` of a symbol that others can link to.
fn exported_name(line: &str) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    match fields[..] {
        [_, _, _, kind, binding, "DEFAULT", section, name, ..]
            if section != "UND" && section != "ABS" && binding != "LOCAL" && kind != "SECTION" =>
        {
            Some(name)
        }
        _ => None,
    }
}

/// The functions that the header declares.
fn declared_names(header: &str) -> impl Iterator<Item = &str> {
    header
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#', '\t']) && !line.starts_with("typedef"))
        .filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("fibre_"))
}

/// Whether a line of `readelf --program-headers` is of a segment that is both.
fn is_written_and_executed(line: &str) -> bool {
    line.split_whitespace().any(|field| field == "RWE")
}

/// What a command prints; an error unless it succeeds.
fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start readelf")?;
    ensure!(output.status.success(), "readelf failed");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_names_are_found() {
        let ours =
            "    12: 0000000000012345    12 FUNC    GLOBAL DEFAULT   13 fibre_join@@libfibre.so.0";
        assert_eq!(exported_name(ours), Some("fibre_join@@libfibre.so.0"));
        let used =
            "     3: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND mmap@GLIBC_2.2.5 (2)";
        assert_eq!(exported_name(used), None);
        let version = "    40: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  ABS libfibre.so.0";
        assert_eq!(exported_name(version), None);
    }

    #[test]
    fn declared_names_are_found() {
        let header = "int fibre_join(fibre_t thread, void **result);\n  int fibre_x(void);\n\
            int *fibre_errno_location(void);\ntypedef void (*fibre_f)(void);\n// fibre_y()\n";
        let names: Vec<_> = declared_names(header).collect();
        assert_eq!(names, ["fibre_join", "fibre_errno_location"]);
    }

    #[test]
    fn a_segment_of_both_is_seen() {
        assert!(is_written_and_executed(
            "  GNU_STACK 0x0 0x0 0x0 0x0 0x0 RWE 0x10"
        ));
        assert!(!is_written_and_executed(
            "  GNU_STACK 0x0 0x0 0x0 0x0 0x0 RW  0x10"
        ));
    }
}
