//! The signals that a program blocks which a fibre starts, or becomes: those that the fibre's own
//! program blocked when its first cluster was started, and not those of a processor.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::io::{Read, pipe};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use support::{Locals, Rider, on_kind, on_kinds, on_one};

/// Set for a process of these tests that a fibre replaces.
const ROLE: &str = "FIBRE_TEST_ROLE";

/// What says which signals it blocks.
const SCRIPT: &CStr = c"exec grep SigBlk /proc/self/status";

/// All kinds of clusters.
const KINDS: [Locals; 3] = [Locals::Shared, Locals::Own, Locals::Moving];

/// The line of a program that blocks what the caller's kernel thread does.
fn line_of_caller() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("SigBlk:"));
    line.unwrap().to_owned()
}

/// The words of a command of a shell.
fn words(script: &CStr) -> [*const c_char; 4] {
    let words = [c"sh".as_ptr(), c"-c".as_ptr(), script.as_ptr()];
    [words[0], words[1], words[2], ptr::null()]
}

/// What the program writes that `start` starts, with the shell command that it gets; it returns a
/// child to be waited for.
fn said_by(start: impl FnOnce(&CStr) -> libc::pid_t) -> String {
    let (mut reader, writer) = pipe().unwrap();
    let script = format!(
        "exec >/proc/self/fd/{}; {}",
        writer.as_raw_fd(),
        SCRIPT.to_str().unwrap()
    );
    let writer = OwnedFd::from(writer);
    // Inherited by all programs that are started meanwhile. SAFETY: a descriptor of ours.
    unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFD, 0) };
    let child = start(&CString::new(script).unwrap());
    drop(writer);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    let mut status = 0;
    // SAFETY: a place of this frame.
    let ended = child == 0 || unsafe { libc::waitpid(child, &raw mut status, 0) } == child;
    assert!(ended && status == 0);
    said.trim().to_owned()
}

/// `posix_spawn` or `posix_spawnp`, with attributes that name these signals, if any.
fn spawned(by_path: bool, named: Option<c_int>) -> String {
    said_by(|script| {
        let mut child = 0;
        let mut attributes = MaybeUninit::uninit();
        let mut set = MaybeUninit::zeroed();
        let words = words(script).map(<*const c_char>::cast_mut);
        let environment: [*mut c_char; 1] = [ptr::null_mut()];
        // SAFETY: texts, and places of this frame.
        let error = unsafe {
            libc::posix_spawnattr_init(attributes.as_mut_ptr());
            if let Some(signal) = named {
                libc::sigaddset(set.as_mut_ptr(), signal);
                libc::posix_spawnattr_setsigmask(attributes.as_mut_ptr(), set.as_ptr());
                let flag = libc::POSIX_SPAWN_SETSIGMASK as i16;
                libc::posix_spawnattr_setflags(attributes.as_mut_ptr(), flag);
            }
            let attributes = match by_path {
                true => ptr::null(),
                false => attributes.as_ptr(),
            };
            let (words, environment) = (words.as_ptr(), environment.as_ptr());
            let (actions, path) = (ptr::null(), c"/bin/sh".as_ptr());
            let child = &raw mut child;
            match by_path {
                true => libc::posix_spawn(child, path, actions, attributes, words, environment),
                false => libc::posix_spawnp(child, path, actions, attributes, words, environment),
            }
        };
        assert_eq!(error, 0);
        child
    })
}

/// `popen`.
fn opened() -> String {
    let mut said = [0_u8; 200];
    // SAFETY: texts, and room for what is read.
    let length = unsafe {
        let stream = libc::popen(SCRIPT.as_ptr(), c"r".as_ptr());
        let length = libc::fread(said.as_mut_ptr().cast(), 1, said.len(), stream);
        assert_eq!(libc::pclose(stream), 0);
        length
    };
    String::from_utf8_lossy(&said[..length]).trim().to_owned()
}

#[test]
fn programs_hear_of_signals() {
    let expected = line_of_caller();
    on_kinds(&KINDS, move || {
        let command = |command: &mut Command| {
            let output = command.args(["-c", SCRIPT.to_str().unwrap()]).output();
            String::from_utf8(output.unwrap().stdout)
                .unwrap()
                .trim()
                .to_owned()
        };
        assert_ne!(line_of_caller(), expected, "processors hear of signals");
        assert_eq!(command(&mut Command::new("sh")), expected);
        let mut forks = Command::new("sh");
        // SAFETY: the closure does nothing.
        unsafe { forks.pre_exec(|| Ok(())) };
        assert_eq!(command(&mut forks), expected);
        assert_eq!(spawned(true, None), expected);
        assert_eq!(spawned(false, None), expected);
        assert_eq!(
            spawned(false, Some(libc::SIGHUP)),
            "SigBlk:\t0000000000000001"
        );
        assert_eq!(opened(), expected);
        let by_system = said_by(|script| {
            // SAFETY: a text.
            assert_eq!(unsafe { libc::system(script.as_ptr()) }, 0);
            0
        });
        assert_eq!(by_system, expected);
        assert_ne!(
            line_of_caller(),
            expected,
            "a processor has gone on to hear"
        );
    });
}

#[test]
fn system_blocks_the_fibre() {
    on_one(|| {
        let rider = Rider::begin();
        // SAFETY: a text, and none.
        unsafe {
            let status = rider.leaves(|| libc::system(c"sleep 0.05; exit 3".as_ptr()));
            assert_eq!(libc::WEXITSTATUS(status), 3);
            assert_ne!(
                rider.stays(|| fibre_libc::plainly(|| libc::system(ptr::null()))),
                0
            );
        }
    });
}

/// Becomes the program that says what it blocks, by the call of this name.
fn become_by(call: &str) {
    let (shell, name, words) = (c"/bin/sh".as_ptr(), c"sh".as_ptr(), words(SCRIPT));
    let nothing: [*const c_char; 1] = [ptr::null()];
    let (argv, envp) = (words.as_ptr(), nothing.as_ptr());
    let [sh, option, script, end] = words;
    // SAFETY: texts, and lists with their ends.
    unsafe {
        match call {
            "execve" => libc::execve(shell, argv, envp),
            "execv" => libc::execv(shell, argv),
            "execvp" => libc::execvp(name, argv),
            "execvpe" => libc::execvpe(name, argv, envp),
            "execl" => libc::execl(shell, sh, option, script, end),
            "execlp" => libc::execlp(name, sh, option, script, end),
            // More than there are registers for.
            "execle" => libc::execle(shell, sh, option, script, sh, sh, sh, sh, sh, end, envp),
            "fexecve" => libc::fexecve(libc::open(shell, libc::O_RDONLY), argv, envp),
            "execveat" => libc::execveat(libc::AT_FDCWD, shell, argv.cast(), envp.cast(), 0),
            _ => panic!(
                "{}",
                Command::new("sh")
                    .arg("-c")
                    .arg(SCRIPT.to_str().unwrap())
                    .exec()
            ),
        };
    }
}

#[test]
fn a_program_that_a_fibre_becomes_hears_of_signals() {
    if let Ok(call) = std::env::var(ROLE) {
        let (kind, call) = call.split_once(' ').unwrap();
        let call = call.to_owned();
        let kind = KINDS.into_iter().find(|one| format!("{one:?}") == kind);
        on_kind(kind.unwrap(), 2, move || {
            let before = line_of_caller();
            // One that fails leaves the processor as it was.
            // SAFETY: texts, and a list with its end.
            let failed = unsafe { libc::execv(c"/nowhere".as_ptr(), words(SCRIPT).as_ptr()) };
            let error = std::io::Error::last_os_error();
            assert_eq!((failed, error.raw_os_error()), (-1, Some(libc::ENOENT)));
            assert_eq!(line_of_caller(), before);
            become_by(&call);
        });
        panic!("the call has returned");
    }
    let expected = line_of_caller();
    let calls = [
        "execve",
        "execv",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
        "execle",
        "fexecve",
        "execveat",
        "Command::exec",
    ];
    for kind in KINDS {
        for call in calls {
            let mut again = Command::new(std::env::current_exe().unwrap());
            let name = "a_program_that_a_fibre_becomes_hears_of_signals";
            again.args(["--exact", "--nocapture", name]);
            let output = again
                .env(ROLE, format!("{kind:?} {call}"))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{call}: {output:?}");
            assert!(
                said.lines().any(|line| line == expected),
                "{kind:?}, {call}: {said}"
            );
        }
    }
}
