//! Debian's packages of the C library: `libfibre-rt0` and `libfibre-rt-dev`, with a third one of
//! symbols for debuggers, below `target/deb`.
//!
//! The library is installed as for any package, with its symbols, and `debhelper` does the rest by
//! the files in `fibre-capi/debian`. Then dpkg installs the packages below a root of their own,
//! beside the record of nothing else; a program is compiled and run with what lies there; and the
//! packages are removed again.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::cannot_start;
use crate::steps::Steps;
use crate::workspace::{Workspace, read_manifest, require_program};

/// Where packages have their files.
pub(super) const PREFIX: &str = "/usr";

/// The folder that the packages are made in.
const SOURCE: &str = "fibre-rt";

/// The packages that dpkg installs.
const PACKAGES: [&str; 2] = ["libfibre-rt0", "libfibre-rt-dev"];

/// Makes room for the packages. Returns where the library is to be installed below.
pub(super) fn prepare(place: &Path) -> Result<PathBuf> {
    for (program, package) in [
        ("dpkg-buildpackage", "dpkg-dev"),
        ("dh", "debhelper"),
        ("pkg-config", "pkg-config"),
    ] {
        require_program(program, &format!("Debian has it in {package}"))?;
    }
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    let root = place.join(SOURCE).join("root");
    fs::create_dir_all(&root)?;
    Ok(root)
}

/// Makes the packages of what has been installed, and shows that they are right. A program is
/// linked by `link`.
pub(super) fn run(
    workspace: &Workspace,
    steps: &mut Steps,
    place: &Path,
    (program, link): (&str, &str),
) -> Result<()> {
    let version = version(workspace)?;
    steps.check("deb: packages", || {
        build(workspace.root(), &place.join(SOURCE), &version)?;
        Ok(PACKAGES.join(", "))
    })?;
    let root = place.join("root");
    steps.check("deb: install", || install(place, &root, &version))?;
    let program = workspace.root().join(program);
    steps.check("deb: a program", || compile_and_run(&program, link, &root))?;
    steps.check("deb: remove", || remove(&root))
}

/// The version of the library.
fn version(workspace: &Workspace) -> Result<String> {
    let manifest = read_manifest(&workspace.root().join("Cargo.toml"))?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    Ok(debian(version.context("the workspace has no version")?))
}

/// A version as Debian writes it: what comes before a release sorts before it.
fn debian(version: &str) -> String {
    version.replace('-', "~")
}

/// Has debhelper make the packages of what has been installed below `source`.
fn build(root: &Path, source: &Path, version: &str) -> Result<()> {
    let (from, to) = (root.join("fibre-capi/debian"), source.join("debian"));
    run_quietly(Command::new("cp").arg("-r").arg(from).arg(&to))?;
    let date = run_quietly(Command::new("date").arg("-R"))?;
    let log = format!(
        "fibre-rt ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n \
         -- The fibre developers <fibre@localhost>  {date}\n"
    );
    fs::write(to.join("changelog"), log)?;
    // A program that needs this version's calls needs this package: the names have one version.
    let symbols = to.join("libfibre-rt0.symbols");
    let text = fs::read_to_string(&symbols)?;
    ensure!(
        text.contains("VERSION"),
        "the list of symbols names no version"
    );
    fs::write(&symbols, text.replace("VERSION", version))?;
    let mut build = Command::new("dpkg-buildpackage");
    build
        .args(["--build=binary", "--no-sign"])
        .current_dir(source);
    run_quietly(&mut build).map(drop)
}

/// Has dpkg install the packages below another root, whatever they depend on.
fn install(place: &Path, root: &Path, version: &str) -> Result<String> {
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::write(root.join("var/lib/dpkg/status"), "")?;
    let architecture = run_quietly(Command::new("dpkg").arg("--print-architecture"))?;
    let file = |name: &str| place.join(format!("{name}_{version}_{architecture}.deb"));
    let mut depends = Vec::new();
    for name in PACKAGES {
        let mut field = Command::new("dpkg-deb");
        let field = run_quietly(field.arg("--field").arg(file(name)).arg("Depends"))?;
        depends.push(field);
    }
    ensure!(
        depends[0].contains("libc6 (>= "),
        "it depends on {depends:?}"
    );
    let same = format!("libfibre-rt0 (= {version})");
    ensure!(depends[1].contains(&same), "it depends on {depends:?}");
    let mut install = dpkg(root);
    install.arg("--install").args(PACKAGES.map(file));
    run_quietly(&mut install)?;
    let files = owned(root)?;
    let foreign: Vec<_> = files.iter().filter(|name| !is_own(name)).collect();
    ensure!(
        foreign.is_empty(),
        "others may have files of these names: {foreign:?}"
    );
    Ok(format!("{} files", files.len()))
}

/// Whether no other package has a file of this name, libfibre's of C++ included.
fn is_own(name: &str) -> bool {
    name.contains("fibre-rt") || name.contains("/man3/fibre_")
}

/// dpkg, for packages below another root.
fn dpkg(root: &Path) -> Command {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display()));
    dpkg.args(["--force-depends", "--force-not-root"]);
    // It looks for programs of the system that it does not need here.
    dpkg.arg("--force-bad-path");
    // Its record of what it does is not the system's.
    dpkg.arg("--log=/dev/null");
    dpkg
}

/// The files of the packages that are installed below a root.
fn owned(root: &Path) -> Result<Vec<String>> {
    let listed = run_quietly(dpkg(root).arg("--listfiles").args(PACKAGES))?;
    let there = |name: &&str| root.join(name.trim_start_matches('/')).symlink_metadata();
    let is_file = |name: &&str| there(name).is_ok_and(|found| !found.is_dir());
    let names = listed.lines().filter(|name| name.starts_with('/'));
    Ok(names.filter(is_file).map(str::to_owned).collect())
}

/// Compiles a program as its user would, with both libraries, and runs it.
fn compile_and_run(source: &Path, link: &str, root: &Path) -> Result<String> {
    let (library, program) = (root.join("usr/lib"), root.join("program"));
    for linking in ["shared", "static"] {
        let mut asks = Command::new("pkg-config");
        asks.args(["--cflags", "--libs", "fibre-rt"]);
        asks.env("PKG_CONFIG_SYSROOT_DIR", root);
        asks.env("PKG_CONFIG_LIBDIR", library.join("pkgconfig"));
        if linking == "static" {
            asks.arg("--static");
        }
        let flags = run_quietly(&mut asks)?;
        let archive = library.join("libfibre-rt.a").display().to_string();
        let flags = flags.split_whitespace().map(|flag| match (linking, flag) {
            ("static", flag) if flag == link => archive.clone(),
            _ => flag.to_owned(),
        });
        let mut compile = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        compile.arg(source).arg("-o").arg(&program).args(flags);
        run_quietly(&mut compile)?;
        let mut runs = Command::new("timeout");
        runs.arg("60")
            .arg(&program)
            .env("LD_LIBRARY_PATH", &library);
        run_quietly(&mut runs)?;
    }
    fs::remove_file(program)?;
    Ok("shared and static".into())
}

/// Has dpkg remove the packages: nothing of them stays.
fn remove(root: &Path) -> Result<String> {
    let files = owned(root)?;
    let mut purge = dpkg(root);
    run_quietly(purge.arg("--purge").args(PACKAGES))?;
    let left = |name: &&String| {
        root.join(name.trim_start_matches('/'))
            .symlink_metadata()
            .is_ok()
    };
    let left: Vec<_> = files.iter().filter(left).collect();
    ensure!(left.is_empty(), "these stay: {left:?}");
    Ok("nothing stays".into())
}

/// Runs a command that must succeed; returns what it prints.
fn run_quietly(command: &mut Command) -> Result<String> {
    let ended = command.output();
    let ended = ended.with_context(|| cannot_start(command))?;
    let said = String::from_utf8_lossy(&[ended.stdout.clone(), ended.stderr].concat()).into_owned();
    ensure!(ended.status.success(), "{command:?} fails:\n{said}");
    Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_before_a_release_sorts_before_it() {
        assert_eq!(debian("0.1.0"), "0.1.0");
        assert_eq!(debian("0.2.0-rc.1"), "0.2.0~rc.1");
    }

    #[test]
    fn names_that_others_may_have_are_seen() {
        for own in [
            "/usr/lib/libfibre-rt.so.0",
            "/usr/include/fibre-rt/fibre.h",
            "/usr/share/man/man3/fibre_mutex.3.gz",
        ] {
            assert!(is_own(own), "{own}");
        }
        for foreign in ["/usr/lib/libfibre.so", "/usr/include/fibre.h"] {
            assert!(!is_own(foreign), "{foreign}");
        }
    }
}
