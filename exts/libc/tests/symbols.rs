//! What std asks of the C library: each name is one that this crate defines, or one that blocks as
//! before for a reason, or one that does not block. A toolchain that asks for another name makes
//! this fail until somebody has said which of these it is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use fibre_libc as _;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use support::names::{AS_THREADS, LOCKS, NUMBERS, PROGRAMS, THREADS, WAITING};

/// Names that may block and are the system's, and why.
const AS_BEFORE: [(&str, &str); 5] = [
    ("__res_init", "reads a file"),
    ("exit", "ends the process"),
    ("flock", "a lock of a file, as all of files"),
    (
        "getpwuid_r",
        "home directories only; reads a file, or asks a server",
    ),
    (
        "pause",
        "std ends a thread's wait for the process' end by it",
    ),
];

/// Calls on files, which end in a foreseeable time.
const FILES: [&str; 40] = [
    "chdir",
    "chmod",
    "chown",
    "chroot",
    "closedir",
    "copy_file_range",
    "fchmod",
    "fchown",
    "fdatasync",
    "fdopendir",
    "fstat64",
    "fstatat64",
    "fsync",
    "ftruncate64",
    "futimens",
    "getcwd",
    "lchown",
    "linkat",
    "lseek64",
    "lstat64",
    "mkdir",
    "mkfifo",
    "open64",
    "openat64",
    "opendir",
    "pread64",
    "preadv",
    "pwrite64",
    "pwritev",
    "readdir64",
    "readlink",
    "realpath",
    "rename",
    "rmdir",
    "stat64",
    "statx",
    "symlink",
    "unlink",
    "unlinkat",
    "utimensat",
];

/// Names that wait for nothing.
const HARMLESS: [&str; 90] = [
    "_Unwind_Backtrace",
    "_Unwind_FindEnclosingFunction",
    "_Unwind_GetCFA",
    "_Unwind_GetDataRelBase",
    "_Unwind_GetIP",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_Resume",
    "_Unwind_SetGR",
    "_Unwind_SetIP",
    "__cxa_thread_atexit_impl",
    "__dso_handle",
    "__errno_location",
    "__tls_get_addr",
    "__xpg_strerror_r",
    "_exit",
    "abort",
    "bcmp",
    "bind",
    "calloc",
    "clock_gettime",
    "dirfd",
    "dl_iterate_phdr",
    "dlsym",
    "environ",
    "fork",
    "free",
    "freeaddrinfo",
    "gai_strerror",
    "getauxval",
    "getenv",
    "gethostname",
    "getpeername",
    "getpid",
    "getppid",
    "getrandom",
    "getsockname",
    "getsockopt",
    "gettid",
    "getuid",
    "gnu_get_libc_version",
    "kill",
    "listen",
    "malloc",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "mmap64",
    "mprotect",
    "munmap",
    "pidfd_getpid",
    "posix_memalign",
    "posix_spawn_file_actions_addchdir",
    "posix_spawn_file_actions_addchdir_np",
    "posix_spawn_file_actions_adddup2",
    "posix_spawn_file_actions_destroy",
    "posix_spawn_file_actions_init",
    "posix_spawnattr_destroy",
    "posix_spawnattr_init",
    "posix_spawnattr_setflags",
    "posix_spawnattr_setpgroup",
    "posix_spawnattr_setsigdefault",
    "pthread_attr_destroy",
    "pthread_attr_getguardsize",
    "pthread_attr_getstack",
    "pthread_attr_init",
    "pthread_attr_setstacksize",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_setspecific",
    "realloc",
    "sched_getaffinity",
    "setenv",
    "setgid",
    "setgroups",
    "setpgid",
    "setsid",
    "setuid",
    "sigaction",
    "sigaddset",
    "sigaltstack",
    "sigemptyset",
    "signal",
    "strlen",
    "strnlen",
    "sysconf",
    "unsetenv",
];

/// The undefined names of std's library, without Rust's own.
fn asked_for() -> BTreeSet<String> {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let found = Command::new(compiler)
        .args(["--print", "target-libdir"])
        .output();
    let folder = PathBuf::from(String::from_utf8(found.unwrap().stdout).unwrap().trim());
    let mut entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_std = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    };
    let library = fs::read(entries.find(is_std).unwrap()).unwrap();
    let archive = ArchiveFile::parse(&*library).unwrap();
    let mut names = BTreeSet::new();
    for member in archive.members() {
        let data = member.unwrap().data(&*library).unwrap();
        let Ok(file) = object::File::parse(data) else {
            continue;
        };
        let undefined = file.symbols().filter(|symbol| symbol.is_undefined());
        names.extend(undefined.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())));
    }
    names.retain(|name| !name.is_empty() && !name.starts_with("_R") && !name.starts_with("_ZN"));
    assert!(names.contains("recv"), "std is not what it was");
    names
}

/// The names that this executable defines.
fn defined() -> BTreeSet<String> {
    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    let file = object::File::parse(&*program).unwrap();
    let defined = file.symbols().filter(|symbol| symbol.is_definition());
    defined
        .filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
        .collect()
}

#[test]
fn every_name_that_blocks_is_defined_or_has_a_reason() {
    let known: BTreeSet<&str> = WAITING
        .iter()
        .chain(&NUMBERS)
        .chain(&AS_THREADS)
        .chain(&THREADS)
        .chain(&PROGRAMS)
        .chain(&FILES)
        .chain(&HARMLESS)
        .copied()
        .chain(AS_BEFORE.iter().map(|(name, _)| *name))
        .collect();
    let asked = asked_for();
    let unknown: Vec<_> = asked
        .iter()
        .filter(|name| !known.contains(name.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "std asks for what nobody has thought about: {unknown:?}"
    );
    let stale: Vec<_> = AS_BEFORE
        .iter()
        .filter(|(name, _)| !asked.contains(*name))
        .collect();
    assert!(stale.is_empty(), "std asks no more for {stale:?}");
}

#[test]
fn all_of_our_names_are_in_the_executable() {
    let defined = defined();
    let lacking: Vec<_> = WAITING
        .iter()
        .chain(&NUMBERS)
        .chain(&AS_THREADS)
        .chain(&THREADS)
        .chain(&LOCKS)
        .chain(&PROGRAMS)
        .filter(|name| !defined.contains(**name))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}
