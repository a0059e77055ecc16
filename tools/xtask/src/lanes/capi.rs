//! `capi`: the C library as programs link it, under `target/capi`.
//!
//! ```text
//! target/capi/lib/libfibre-rt.so -> libfibre-rt.so.0 -> libfibre-rt.so.0.1.0
//! target/capi/lib/.debug/libfibre-rt.so.0.1.0.debug
//! target/capi/lib/libfibre-rt.a
//! target/capi/lib/pkgconfig/fibre-rt.pc
//! target/capi/lib/cmake/fibre-rt/fibre-rt-config.cmake, fibre-rt-config-version.cmake
//! target/capi/share/man/man3/fibre_mutex.3, …
//! target/capi/include/fibre-rt/fibre.h, fibre_pthread.h
//! ```
//!
//! None of these names is that of the C++ library libfibre, so both can be installed beside each
//! other.
//!
//! The libraries are built as cargo-c builds them (`fibre-capi/build.rs` says how they are linked).
//! What is then checked in the shared one: it exports our names only, each with a version; its
//! name; it stays when it is closed; nothing in it is both writable and executable; all relocations
//! are done at the start and read-only from then on. And it has all that programs are mapped to.
//! Neither library has symbols for debuggers ([`symbols`] puts them beside), and the static one can
//! be linked without them, also by a compiler that optimises at link time.

mod cmake;
mod deb;
mod loaded;
mod man;
mod sanitizer;

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::steps::Steps;
use crate::symbols;
use crate::workspace::{Workspace, cargo, read_manifest};
use sanitizer::Installed;

/// The version of the interface: that of the shared library's name.
const INTERFACE: u32 = 0;

/// What the library, its headers' folder and its entry for `pkg-config` are called.
const NAME: &str = "fibre-rt";

/// What links a program to the library.
pub(crate) const LINK: &str = "-lfibre-rt";

/// The folder of the headers, below where it is installed.
pub(crate) const INCLUDE: &str = "include/fibre-rt";

/// What the static library needs to be linked.
const PRIVATE: &str = "-lgcc_s -lpthread -ldl -lm -lc";

/// The folder of the pages for `man`, below where it is installed.
const MAN: &str = "share/man/man3";

/// How programs name the headers.
const INCLUDED: [&str; 4] = [
    "fibre-rt/fibre.h",
    "fibre-rt/fibre_pthread.h",
    "fibre.h",
    "fibre_pthread.h",
];

/// A program that makes the calls that POSIX does not have.
const PROGRAM: &str = "fibre-capi/tests/programs/clusters.c";

/// A program that says whether fibres have thread-locals of their own.
const LOCALS: &str = "fibre-capi/tests/programs/locals_in_a_static_one.c";

/// Where to put it.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Where the library is installed: lib and include below it. Default: target/capi
    #[arg(long)]
    prefix: Option<PathBuf>,
    /// A folder that stands for the root of the system: files go to the prefix below it, and say
    /// of themselves that they are at the prefix. For who makes packages
    #[arg(long, requires = "prefix")]
    destdir: Option<PathBuf>,
    /// Leaves in both libraries what debuggers need
    #[arg(long)]
    unstripped: bool,
    /// Makes libraries that tell AddressSanitizer of each stack switch, for programs that are
    /// compiled with -fsanitize=address. Default prefix: target/capi-sanitizer
    #[arg(long)]
    sanitizer: bool,
    /// Makes packages for Debian below target/deb, and installs them below a root of their own
    #[arg(long, conflicts_with_all = ["prefix", "destdir", "sanitizer", "unstripped"])]
    deb: bool,
    /// Also shows that valgrind finds no errors in a right program
    #[arg(long, conflicts_with = "sanitizer")]
    valgrind: bool,
}

impl Options {
    /// The libraries for programs under AddressSanitizer, where they go by default.
    pub(crate) fn sanitizer() -> Self {
        Self {
            sanitizer: true,
            ..Self::default()
        }
    }

    /// The plain ones, shown under valgrind.
    pub(crate) fn valgrind() -> Self {
        Self {
            valgrind: true,
            ..Self::default()
        }
    }

    /// The folder that they go to by default, under cargo's.
    fn folder(&self) -> &'static str {
        if self.sanitizer {
            "capi-sanitizer"
        } else {
            "capi"
        }
    }

    /// With what the libraries are built.
    fn features(&self) -> &'static str {
        if self.sanitizer {
            "capi,sanitizer"
        } else {
            "capi"
        }
    }
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    if !options.deb {
        return run_with(workspace, steps, options);
    }
    let place = workspace.root().join(workspace.target_dir("deb"));
    let package = Options {
        prefix: Some(deb::PREFIX.into()),
        destdir: Some(deb::prepare(&place)?),
        unstripped: true,
        ..Options::default()
    };
    run_with(workspace, steps, &package)?;
    deb::run(workspace, steps, &place, (PROGRAM, LINK))
}

/// Installs the library, and shows that it is right.
fn run_with(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let default = || workspace.target_dir(options.folder());
    let prefix = options.prefix.clone().unwrap_or_else(default);
    let place = Place::new(workspace, prefix, options)?;
    let mut build = cargo(["rustc", "--release", "--package", "fibre-capi", "--lib"]);
    build.args([
        "--features",
        options.features(),
        "--crate-type",
        "staticlib,cdylib",
        "--",
    ]);
    build.arg(format!("-Clink-arg=-Wl,-soname,{}", place.soname()));
    steps.run("capi: libraries", build)?;
    steps.check("capi: install", || place.fill(workspace))?;
    steps.check("capi: what it exports", || place.check_symbols())?;
    steps.check("capi: how it is linked", || place.check_segments())?;
    if !options.unstripped {
        steps.check("capi: symbols", || symbols::check_split(&place.shared()))?;
        steps.check("capi: the static library's symbols", || {
            symbols::check_archive(&place.archive())
        })?;
    }
    if options.valgrind {
        steps.check("capi: under valgrind", || {
            sanitizer::check_with_valgrind(&place.installed())
        })?;
    }
    let program = workspace.root().join(PROGRAM);
    steps.check("capi: what pkg-config says", || place.check_includes())?;
    if cmake::is_there() {
        steps.check("capi: what CMake finds", || place.check_cmake(&program))?;
    } else {
        steps.note("capi: no `cmake` is installed, so nobody has read what CMake is told");
    }
    if options.sanitizer {
        return steps.check("capi: under AddressSanitizer", || {
            sanitizer::check(&place.installed())
        });
    }
    for linking in [Linking::Shared, Linking::Static, Linking::Optimised] {
        let title = format!("capi: what is beyond POSIX, {}", linking.name());
        steps.check(&title, || place.run_program(&program, linking))?;
    }
    steps.check("capi: loaded while a program runs", || {
        loaded::check(&place.shared())
    })?;
    let locals = workspace.root().join(LOCALS);
    for (linking, expected) in [(Linking::Shared, "own"), (Linking::Whole, "refused")] {
        let title = format!("capi: thread-locals of their own, {}", linking.name());
        steps.check(&title, || {
            let said = place.run_program(&locals, linking)?;
            ensure!(said == expected, "{said}");
            Ok(said)
        })?;
    }
    let mut mapped = cargo(["run", "--quiet", "--package", "fibre-check", "--"]);
    mapped.arg("--library").arg(place.shared());
    steps.run("capi: what programs are mapped to", mapped)
}

/// How a program gets the library.
#[derive(Clone, Copy)]
enum Linking {
    /// The shared one.
    Shared,
    /// The static one.
    Static,
    /// The static one, by a compiler that optimises the program when it links it.
    Optimised,
    /// The static one, in a program that has the C library so, too.
    Whole,
}

impl Linking {
    /// How steps call it.
    const fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Static => "static",
            Self::Optimised => "static, link-time optimised",
            Self::Whole => "all of it static",
        }
    }
}

/// Where things are put.
struct Place {
    /// The workspace.
    root: PathBuf,
    /// `lib`, `include` and `share` lie below it.
    prefix: PathBuf,
    /// What they say of themselves: where they will be.
    said: PathBuf,
    /// The libraries, as cargo has made them, without what tells them apart.
    made: PathBuf,
    /// The version of the library.
    version: String,
    /// Whether symbols stay in the libraries.
    unstripped: bool,
}

impl Place {
    /// Makes the folders.
    fn new(workspace: &Workspace, prefix: PathBuf, options: &Options) -> Result<Self> {
        let manifest = read_manifest(&workspace.root().join("Cargo.toml"))?;
        let version = manifest["workspace"]["package"]["version"]
            .as_str()
            .context("the workspace has no version")?;
        let said = env::current_dir()?.join(prefix);
        let prefix = match &options.destdir {
            Some(root) => env::current_dir()?.join(below(root, &said)),
            None => said.clone(),
        };
        fs::create_dir_all(prefix.join("lib/pkgconfig"))?;
        fs::create_dir_all(prefix.join("lib/cmake").join(NAME))?;
        fs::create_dir_all(prefix.join(INCLUDE))?;
        Ok(Self {
            root: workspace.root().to_owned(),
            unstripped: options.unstripped,
            said,
            made: workspace.target_dir("release").join("libfibre_capi"),
            version: version.to_owned(),
            prefix,
        })
    }

    /// What programs under AddressSanitizer and valgrind are linked with.
    fn installed(&self) -> Installed {
        let folder = self.lib("");
        let (folder, archive) = (folder.display(), self.archive());
        let search = [format!("-L{folder}"), LINK.into()];
        let beside = PRIVATE.split(' ').map(str::to_owned);
        Installed {
            root: self.root.clone(),
            mapping: self.prefix.join(INCLUDE).join("fibre_pthread.h"),
            shared: [&search[..], &[format!("-Wl,-rpath,{folder}")]].concat(),
            archive: [archive.display().to_string()]
                .into_iter()
                .chain(beside)
                .collect(),
            program: self.lib("program"),
        }
    }

    /// A file among the libraries.
    fn lib(&self, name: &str) -> PathBuf {
        self.prefix.join("lib").join(name)
    }

    /// The shared library's file.
    fn shared(&self) -> PathBuf {
        self.lib(&format!("lib{NAME}.so.{}", self.version))
    }

    /// The static library's file.
    fn archive(&self) -> PathBuf {
        self.lib(&format!("lib{NAME}.a"))
    }

    /// The name that programs find the shared library by.
    fn soname(&self) -> String {
        format!("lib{NAME}.so.{INTERFACE}")
    }

    /// Puts everything where it belongs. Each name has a whole file at every moment, so programs
    /// may be linked and started meanwhile; those that run keep the files they began with.
    fn fill(&self, workspace: &Workspace) -> Result<String> {
        self.put_libraries()?;
        let full = self.shared();
        let full = full.file_name().context("it has no name")?;
        for (link, target) in [
            (self.soname(), full.to_owned()),
            (format!("lib{NAME}.so"), self.soname().into()),
        ] {
            replace(&self.lib(&link), |new| Ok(symlink(target, new)?))?;
        }
        let headers = workspace.root().join("fibre-capi/include");
        for header in fs::read_dir(&headers)? {
            let header = header?.path();
            let name = header.file_name().context("it has no name")?;
            replace(&self.prefix.join(INCLUDE).join(name), |new| {
                fs::copy(&header, new)?;
                Ok(())
            })?;
        }
        let package = self.lib(&format!("pkgconfig/{NAME}.pc"));
        replace(&package, |new| Ok(fs::write(new, self.package())?))?;
        for (file, text) in cmake::files(&self.version, PRIVATE) {
            let place = self.lib("cmake").join(NAME).join(file);
            replace(&place, |new| Ok(fs::write(new, text)?))?;
        }
        let library = workspace.root().join("fibre-capi");
        let pages = man::files(&library, &self.version)?;
        fs::create_dir_all(self.prefix.join(MAN))?;
        for (name, text) in &pages {
            let place = self.prefix.join(MAN).join(name);
            replace(&place, |new| Ok(fs::write(new, text)?))?;
        }
        Ok(self.prefix.display().to_string())
    }

    /// Puts both libraries where they belong, stripped if so asked.
    fn put_libraries(&self) -> Result<()> {
        let [made, archive] = ["so", "a"].map(|kind| self.made.with_extension(kind));
        if self.unstripped {
            let copy = |from: PathBuf| move |new: &Path| Ok(fs::copy(from, new).map(|_| ())?);
            replace(&self.shared(), copy(made))?;
            return replace(&self.archive(), copy(archive));
        }
        // A debugger refuses symbols of another build, so the short time with the new ones beside
        // the old library does no harm.
        let beside = symbols::beside(&self.shared())?;
        fs::create_dir_all(beside.parent().context("it lies nowhere")?)?;
        replace(&beside, |new| symbols::keep(&made, new))?;
        replace(&self.shared(), |new| symbols::strip(&made, &beside, new))?;
        replace(&self.archive(), |new| symbols::strip_archive(&archive, new))
    }

    /// What `pkg-config` is told.
    fn package(&self) -> String {
        format!(
            "prefix={}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
             Name: {NAME}\nDescription: M:N user-level threads with the calls of POSIX threads\n\
             Version: {}\nLibs: -L${{libdir}} {LINK}\nLibs.private: {PRIVATE}\n\
             Cflags: -I${{includedir}} -I${{includedir}}/{NAME}\n",
            self.said.display(),
            self.version
        )
    }

    /// A program that asks CMake for the library is built and runs.
    fn check_cmake(&self, program: &Path) -> Result<String> {
        cmake::check(&self.prefix, &self.lib("cmake-check"), program)
    }

    /// Programs that are compiled as `pkg-config` says find the headers, also under their folder's
    /// name, which is what the pages tell them.
    fn check_includes(&self) -> Result<String> {
        let package = fs::read_to_string(self.lib(&format!("pkgconfig/{NAME}.pc")))?;
        let flags = compiler_flags(&package, &self.prefix)?;
        let written = INCLUDED.map(|name| format!("#include <{name}>\n"));
        for text in &written {
            let source = self.lib("includes.c");
            fs::write(&source, text)?;
            let mut compile = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
            compile.arg("-fsyntax-only").args(&flags).arg(&source);
            let compiled = compile.status()?;
            fs::remove_file(source)?;
            ensure!(compiled.success(), "{} fails with {flags:?}", text.trim());
        }
        Ok(flags.join(" "))
    }

    /// Compiles a C program and runs it.
    fn run_program(&self, source: &Path, linking: Linking) -> Result<String> {
        let program = self.lib("program");
        let mut compile = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        compile.args(["-O2", "-Wall", "-Werror", "-I"]);
        compile.arg(self.prefix.join(INCLUDE)).arg(source);
        if let Linking::Optimised = linking {
            compile.arg("-flto");
        }
        match linking {
            Linking::Shared => {
                compile.arg("-L").arg(self.lib("")).arg(LINK);
                compile.arg(format!("-Wl,-rpath,{}", self.lib("").display()));
            }
            Linking::Static | Linking::Optimised => {
                compile.arg(self.archive()).args(PRIVATE.split(' '));
            }
            Linking::Whole => {
                // The linker warns of calls that would load shared libraries.
                compile
                    .args(["-static", "-Wl,--no-warnings"])
                    .arg(self.archive());
                compile.args(PRIVATE.replace("-lgcc_s", "-lgcc_eh").split(' '));
            }
        }
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
        let header = fs::read_to_string(self.prefix.join(INCLUDE).join("fibre.h"))?;
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

/// Gives `name` to a new file that `make` makes under another name beside it.
pub(crate) fn replace(name: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let file = name.file_name().context("it has no name")?;
    let new = format!(".{}.{}.new", file.to_string_lossy(), std::process::id());
    let new = name.with_file_name(new);
    // What an earlier run with this number left when it was killed.
    if new.symlink_metadata().is_ok() {
        fs::remove_file(&new)?;
    }
    let made = make(&new).and_then(|()| Ok(fs::rename(&new, name)?));
    if made.is_err() {
        let _ = fs::remove_file(&new);
    }
    made.with_context(|| format!("cannot install {}", name.display()))
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

/// A path as it is below another root.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// What a file for `pkg-config` tells compilers, with this prefix in the place of the one it says,
/// as `pkg-config --define-prefix` has it.
fn compiler_flags(package: &str, prefix: &Path) -> Result<Vec<String>> {
    let value = |name: &str| package.lines().find_map(|line| line.strip_prefix(name));
    value("prefix=").context("no prefix")?;
    let include = value("includedir=").context("no includedir")?;
    let include = include.replace("${prefix}", &prefix.display().to_string());
    let flags = value("Cflags: ").context("no Cflags")?.split(' ');
    Ok(flags
        .map(|flag| flag.replace("${includedir}", &include))
        .collect())
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
        let ours = "    12: 0000000000012345    12 FUNC    GLOBAL DEFAULT   13 fibre_join@@libfibre-rt.so.0";
        assert_eq!(exported_name(ours), Some("fibre_join@@libfibre-rt.so.0"));
        let used =
            "     3: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND mmap@GLIBC_2.2.5 (2)";
        assert_eq!(exported_name(used), None);
        let version = "    40: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  ABS libfibre-rt.so.0";
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
    fn flags_are_found() {
        let package =
            "prefix=/p\nincludedir=${prefix}/include\nCflags: -I${includedir} -I${includedir}/x\n";
        let flags = compiler_flags(package, Path::new("/r/p")).unwrap();
        assert_eq!(flags, ["-I/r/p/include", "-I/r/p/include/x"]);
        assert!(compiler_flags("prefix=/p\n", Path::new("/")).is_err());
        assert!(compiler_flags("includedir=/p\n", Path::new("/")).is_err());
    }

    #[test]
    fn a_package_lies_below_its_root() {
        let place = below(Path::new("/tmp/root"), Path::new("/usr/local"));
        assert_eq!(place, Path::new("/tmp/root/usr/local"));
    }

    #[test]
    fn a_name_always_has_a_whole_file() {
        let folder = env::temp_dir().join(format!("xtask-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let name = folder.join("library");
        fs::write(&name, "old").unwrap();
        replace(&name, |new| {
            fs::write(new, "half")?;
            assert_eq!(fs::read_to_string(&name)?, "old");
            fs::write(new, "new")?;
            assert_eq!(fs::read_to_string(&name)?, "old");
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&name).unwrap(), "new");
        // One that fails leaves what was there, and nothing beside.
        let failed = replace(&name, |new| {
            fs::write(new, "half")?;
            bail!("no room")
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&name).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
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
