//! Words that a crate must not know, and hazards that may stand in named files only.
//!
//! * fibre-sync mentions no file descriptor, fibre-io no run queue: what a crate cannot name it
//!   cannot depend on.
//! * One file of fibre-core holds the only thread-local: a started fibre may wake up on another
//!   thread, and compilers keep addresses of thread-locals over calls.
//! * One file of fibre-core reads the environment: it knows whether that counts.
//! * `errno` is such a thread-local, and its accessor is declared so that compilers merge calls
//!   to it. It may be read only where no switch can lie between the call and the reading; those
//!   files are listed with their reason.
//! * Machine code, and questions about the CPU, stand in `arch` folders, or in the files that are
//!   listed: a port to another CPU finds there what it has to write.

use crate::tidy::source::{Source, Token, Violation};

/// The list of files that may read errno: `path: reason` on each line.
pub(crate) const ERRNO_ALLOWED: &str = "tools/xtask/errno-allowed.txt";

/// Which crate must not mention which words, not even in a comment.
const UNKNOWN: [(&str, &[&str]); 2] = [
    (
        "fibre-sync",
        &["RawFd", "OwnedFd", "AsFd", "AsRawFd", "BorrowedFd", "epoll"],
    ),
    ("fibre-io", &["ReadyQueue", "Nemesis"]),
];

/// The crate with the only thread-local.
const THREAD_LOCAL_HOME: &str = "fibre-core/src";

/// Programs as users write them, which may have thread-locals of their own: tests of what becomes
/// of these.
const THREAD_LOCAL_USERS: [&str; 9] = [
    "tests/bounds/soundness",
    "tests/running/switch_hooks.rs",
    "examples/fibre-examples/tests/mixups.rs",
    "tests/running/thread_locals",
    "exts/libc/tests/own",
    "exts/libc/tests/std",
    "exts/libc/tests/threads",
    "tests/gdb/thread_locals.rs",
    "tests/observed/stuck/near.rs",
];

/// The only file that reads the environment, and knows when that counts.
const ENVIRONMENT_HOME: &str = "fibre-core/src/sys/environment.rs";

/// The crates that are linked into programs. They read it nowhere else.
const LINKED: [&str; 15] = [
    "src",
    "fibre-core/src",
    "fibre-sync/src",
    "fibre-io/src",
    "fibre-inspect/src",
    "exts/actors/src",
    "exts/events/src",
    "exts/tasks/src",
    "exts/hyper/src",
    "exts/rustls/src",
    "exts/ureq/src",
    "exts/libc/src",
    "exts/test/src",
    "exts/test/macros/src",
    "fibre-capi/src",
];

/// The folder of a crate for what is written for one CPU.
const ARCH: &str = "arch";

/// The files outside of such folders that have machine code, or ask for the CPU. The list only gets
/// shorter.
const MACHINE_CODE: [&str; 1] = ["fibre-core/src/sys/platform.rs"];

/// The folders that must not read errno.
const ERRNO_FREE: [&str; 2] = ["fibre-core/src", "fibre-io/src"];

/// Checks the words of all files.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let mut violations = unknown_words(sources);
    violations.extend(thread_locals(sources));
    violations.extend(environment(sources));
    violations.extend(machine_code(sources));
    violations
}

/// Linked crates have machine code where one looks for it, and the list has no file without any.
fn machine_code(sources: &[Source]) -> Vec<Violation> {
    let linked = sources
        .iter()
        .filter(|source| LINKED.iter().any(|folder| source.is_below(folder)))
        .filter(|source| !source.path.ends_with("_tests.rs"));
    let mut violations = Vec::new();
    for source in linked {
        let listed = MACHINE_CODE.contains(&source.path.as_str());
        let in_arch = source.path.split('/').any(|folder| folder == ARCH);
        match machine_code_line(source) {
            Some(line) if !listed && !in_arch => violations.push(source.violation(
                line,
                format!("machine code, or a question about the CPU: put it into `{ARCH}/`"),
            )),
            None if listed => {
                violations.push(source.violation(0, "has no machine code: take it off the list"));
            }
            _ => {}
        }
    }
    violations
}

/// The first line outside of tests with machine code, or with a question about the CPU.
fn machine_code_line(source: &Source) -> Option<usize> {
    let tokens = &source.tokens;
    let found = tokens.iter().enumerate().find(|(at, token)| {
        let next = |text: &str| tokens.get(at + 1).is_some_and(|next| next.text == text);
        let is_code = match token.text.as_str() {
            "asm" | "global_asm" | "naked_asm" => next("!"),
            // What has the instructions of one CPU as functions.
            "x86_64" | "aarch64" => *at > 2 && tokens[at - 3].text == "arch",
            "target_arch" => true,
            _ => false,
        };
        is_code && !source.is_test_line(token.line)
    });
    found.map(|(_, token)| token.line)
}

/// One file reads the environment.
fn environment(sources: &[Source]) -> Vec<Violation> {
    let elsewhere = sources.iter().filter(|source| {
        source.path != ENVIRONMENT_HOME && LINKED.iter().any(|folder| source.is_below(folder))
    });
    let readers = elsewhere.filter_map(|source| Some((source, environment_line(source)?)));
    let text = format!("only {ENVIRONMENT_HOME} reads the environment; use its functions");
    readers
        .map(|(source, line)| source.violation(line, text.as_str()))
        .collect()
}

/// The line outside of tests where a file first reads the environment.
fn environment_line(source: &Source) -> Option<usize> {
    let is_read = |window: &[Token]| {
        let words = [0, 1, 2, 3].map(|place| window[place].text.as_str());
        let by_std = ["var", "var_os", "vars", "vars_os"].contains(&words[3]);
        let by_c = ["getenv", "secure_getenv", "environ"].contains(&words[3]);
        by_std && words[..3] == ["env", ":", ":"] || by_c && words[..3] == ["libc", ":", ":"]
    };
    let mut windows = source.tokens.windows(4);
    let found = windows.find(|window| is_read(window) && !source.is_test_line(window[3].line));
    found.map(|window| window[3].line)
}

/// No crate mentions what it must not know.
fn unknown_words(sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (folder, words) in UNKNOWN {
        for source in sources.iter().filter(|source| source.is_below(folder)) {
            for (index, line) in source.text.lines().enumerate() {
                let found = words.iter().filter(|word| line.contains(**word));
                violations.extend(found.map(|word| {
                    source.violation(index + 1, format!("{folder} must not mention `{word}`"))
                }));
            }
        }
    }
    violations
}

/// Exactly one file has a thread-local, and it belongs to fibre-core.
fn thread_locals(sources: &[Source]) -> Vec<Violation> {
    let places: Vec<(&Source, usize)> = sources
        .iter()
        .filter(|source| {
            !THREAD_LOCAL_USERS
                .iter()
                .any(|users| source.is_below(users))
        })
        .filter_map(|source| Some((source, thread_local_line(&source.tokens)?)))
        .collect();
    let mut violations: Vec<Violation> = places
        .iter()
        .filter(|(source, _)| places.len() > 1 || !source.is_below(THREAD_LOCAL_HOME))
        .map(|(source, line)| {
            let text = format!("thread-local: only one file, in {THREAD_LOCAL_HOME}, may have one");
            source.violation(*line, text)
        })
        .collect();
    if places.is_empty() {
        violations.push(Violation {
            place: THREAD_LOCAL_HOME.into(),
            line: 0,
            text: "one file must hold the thread-local".into(),
        });
    }
    violations
}

/// The line of the first `thread_local!` or `#[thread_local]`.
fn thread_local_line(tokens: &[Token]) -> Option<usize> {
    let macro_call = ["thread_local", "!"];
    let attribute = ["[", "thread_local"];
    let found = tokens.windows(2).find(|pair| {
        let pair = [pair[0].text.as_str(), pair[1].text.as_str()];
        pair == macro_call || pair == attribute
    });
    found.map(|pair| pair[1].line)
}

/// Only files on the list read errno, and every file on the list does.
pub(crate) fn errno(sources: &[Source], list: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut allowed = Vec::new();
    for (index, line) in list.lines().enumerate() {
        match line.split_once(": ") {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some((path, reason)) if !reason.trim().is_empty() => allowed.push((path, index + 1)),
            _ => violations.push(list_violation(index + 1, "write `path: reason`")),
        }
    }
    for source in sources {
        if !ERRNO_FREE.iter().any(|folder| source.is_below(folder)) {
            continue;
        }
        let listed = allowed.iter().position(|(path, _)| *path == source.path);
        match (errno_line(source), listed) {
            (Some(line), None) => violations.push(source.violation(
                line,
                format!("reads errno, which may be another thread's; not in {ERRNO_ALLOWED}"),
            )),
            (Some(_), Some(index)) => drop(allowed.remove(index)),
            (None, _) => {}
        }
    }
    let stale = allowed
        .iter()
        .map(|(_, line)| list_violation(*line, "no such file reads errno"));
    violations.extend(stale);
    violations
}

/// A violation in the list itself.
fn list_violation(line: usize, text: &str) -> Violation {
    Violation {
        place: ERRNO_ALLOWED.into(),
        line,
        text: text.into(),
    }
}

/// The first line outside tests that reads errno.
fn errno_line(source: &Source) -> Option<usize> {
    let reads = source.tokens.windows(2).find(|pair| {
        let call = pair[1].text == "(" && !source.is_test_line(pair[0].line);
        call && matches!(
            pair[0].text.as_str(),
            "last_os_error" | "errno" | "__errno_location"
        )
    });
    reads.map(|pair| pair[0].line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parsed file.
    fn source(path: &str, text: &str) -> Source {
        Source::parse(path, text).unwrap()
    }

    /// The one thread-local where it belongs, so that tests see only what they are about.
    fn home() -> Source {
        source(
            "fibre-core/src/sys/current.rs",
            "//! D.\nthread_local! {}\n",
        )
    }

    #[test]
    fn unknown_words_fail_also_in_comments() {
        let text = "//! No epoll here.\nuse std::os::fd::RawFd;\n";
        let found = check(&[home(), source("fibre-sync/src/mutex.rs", text)]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, found[1].line), (1, 2));
        assert!(check(&[home(), source("fibre-io/src/poller.rs", text)]).is_empty());
        let queue = source(
            "fibre-io/src/gate/single.rs",
            "//! D.\nfn f(_: &ReadyQueue) {}\n",
        );
        assert_eq!(check(&[home(), queue]).len(), 1);
    }

    #[test]
    fn a_second_thread_local_fails() {
        assert!(check(&[home()]).is_empty());
        let second = source("src/lib.rs", "//! D.\n#[thread_local]\nstatic A: u8 = 0;\n");
        let found = check(&[home(), second]);
        assert_eq!(found.len(), 2);
        let moved = source("fibre-io/src/lib.rs", "//! D.\nstd::thread_local! {}\n");
        assert_eq!(check(&[moved]).len(), 1);
        assert_eq!(check(&[]).len(), 1);
        let user = source(
            "tests/bounds/soundness/mod.rs",
            "//! D.\nthread_local! {}\n",
        );
        assert!(check(&[home(), user]).is_empty());
    }

    #[test]
    fn reading_the_environment_elsewhere_fails() {
        for call in [
            "std::env::var_os(\"A\")",
            "env::vars()",
            "libc::getenv(name)",
        ] {
            let text = format!("//! D.\nfn f() {{ let _ = {call}; }}\n");
            for path in ["src/lib.rs", "fibre-capi/src/init.rs"] {
                let found = check(&[home(), source(path, &text)]);
                assert_eq!((found.len(), found[0].line), (1, 2), "{call} in {path}");
            }
            for path in [ENVIRONMENT_HOME, "tools/top/src/main.rs"] {
                assert!(check(&[home(), source(path, &text)]).is_empty());
            }
        }
        let passing = "//! D.\nconst A: &str = env!(\"A\");\n\
            #[cfg(test)]\nmod tests { fn f() { env::var(\"A\"); } }\n";
        assert!(check(&[home(), source("src/lib.rs", passing)]).is_empty());
    }

    #[test]
    fn machine_code_elsewhere_fails() {
        for code in [
            "fn f() { unsafe { asm!(\"nop\") } }",
            "std::arch::global_asm!(\"nop\");",
            "#[cfg(target_arch = \"x86_64\")]\nfn f() {}",
            "use std::arch::x86_64::_rdtsc;",
        ] {
            let text = format!("//! D.\n{code}\n");
            let found = check(&[home(), source("fibre-sync/src/mutex.rs", &text)]);
            assert_eq!((found.len(), found[0].line), (1, 2), "{code}");
            for path in [
                "fibre-sync/src/arch/x86_64.rs",
                MACHINE_CODE[0],
                "tools/top/src/main.rs",
            ] {
                assert!(check(&[home(), source(path, &text)]).is_empty(), "{path}");
            }
        }
        let test = "//! D.\n#[cfg(test)]\nmod tests { fn f() { unsafe { asm!(\"nop\") } } }\n";
        assert!(check(&[home(), source("src/lib.rs", test)]).is_empty());
    }

    #[test]
    fn a_listed_file_without_machine_code_fails() {
        let path = MACHINE_CODE[0];
        let found = check(&[home(), source(path, "//! No `asm!`.\n")]);
        let places: Vec<&str> = found.iter().map(|found| found.place.as_str()).collect();
        assert_eq!(places, [path]);
    }

    #[test]
    fn words_about_thread_locals_pass() {
        let text = "//! No `thread_local!` here.\nconst A: &str = \"thread_local!\";\n";
        assert!(check(&[home(), source("src/lib.rs", text)]).is_empty());
    }

    #[test]
    fn reading_errno_fails_outside_the_list() {
        let reading = "//! D.\nfn f() { let _ = std::io::Error::last_os_error(); }\n";
        let path = "fibre-io/src/net.rs";
        assert_eq!(errno(&[source(path, reading)], "")[0].line, 2);
        assert!(errno(&[source(path, reading)], "fibre-io/src/net.rs: no switch\n").is_empty());
        assert!(errno(&[source("examples/echo.rs", reading)], "").is_empty());
        let test = "//! D.\n#[cfg(test)]\nmod tests { fn f() { errno(); } }\n";
        assert!(errno(&[source(path, test)], "").is_empty());
    }

    #[test]
    fn the_list_is_kept_current() {
        assert_eq!(
            errno(&[], "# files\n\nfibre-io/src/gone.rs: was here\n")[0].line,
            3
        );
        assert_eq!(
            errno(&[], "fibre-io/src/net.rs\n")[0].text,
            "write `path: reason`"
        );
    }
}
