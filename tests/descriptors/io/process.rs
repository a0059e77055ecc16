//! Child processes.

use crate::support::{eventually, for_each_cluster, let_others_block, watched};
use fibre::process::{Command, Stdio};
use fibre::signal::SIGTERM;
use fibre::{CancelToken, Limit, WallTime};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A shell that runs this.
fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A child that goes on until its input ends.
fn patient() -> Command {
    let mut command = shell("read line; exit 4");
    command.stdin(Stdio::piped());
    command
}

#[test]
fn how_they_end() {
    for_each_cluster(|_| {
        assert!(Command::new("true").status().unwrap().success());
        assert_eq!(shell("exit 7").status().unwrap().code(), Some(7));
        // It hears of signals, which processors block.
        let ended = shell("kill -TERM $$; sleep 60").status().unwrap();
        assert_eq!(ended.signal(), Some(SIGTERM.as_raw()));
        let error = Command::new("/no/such/program").spawn().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn plain_threads_have_children_too() {
    watched(|| {
        let mut child = patient().spawn().unwrap();
        let stdin = child.stdin.take();
        assert_eq!(child.wait_timeout(Duration::from_millis(1)).unwrap(), None);
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), Some(4));
        assert_eq!(shell("echo $0").output().unwrap().stdout, b"sh\n");
    });
}

/// Both outputs together are more than pipes hold.
#[test]
fn much_output() {
    for_each_cluster(|_| {
        let script = "head -c 150000 /dev/zero >&2; head -c 200000 /dev/zero; cat; exit 5";
        let output = shell(script).output().unwrap();
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(
            (output.stdout.len(), output.stderr.len()),
            (200_000, 150_000)
        );
        // What was set is used, and what was not is as before.
        let mut command = shell("echo out; echo err >&2");
        command.stderr(Stdio::null());
        let output = command.output().unwrap();
        assert_eq!(
            (&output.stdout[..], output.stderr.len()),
            (&b"out\n"[..], 0)
        );
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        assert!(child.stdout.is_none() && child.stderr.is_none());
        assert!(child.wait_with_output().unwrap().stdout.is_empty());
    });
}

/// Words go in and come out, while other fibres run.
#[test]
fn a_conversation() {
    for_each_cluster(|_| {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.env("LC_ALL", "C").current_dir("/").spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        for line in ["one\n", "two\n", "three\n"] {
            stdin.write_all(line.as_bytes()).unwrap();
            let mut answer = vec![0; line.len()];
            stdout.read_exact(&mut answer).unwrap();
            assert_eq!(answer, line.as_bytes());
        }
        drop(stdin);
        assert!(child.wait().unwrap().success());
        assert_eq!(stdout.read(&mut [0; 4]).unwrap(), 0);
    });
}

/// Waiting is the fibre's business only; time-outs and cancellation end it, the child goes on.
#[test]
fn waits_that_end_otherwise() {
    for_each_cluster(|_| {
        let mut child = patient().spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let ran = Arc::new(AtomicBool::new(false));
        let running = Arc::clone(&ran);
        let other = fibre::spawn(move || running.store(true, Ordering::SeqCst));
        let before = Instant::now();
        assert_eq!(child.wait_timeout(Duration::from_millis(3)).unwrap(), None);
        assert!(before.elapsed() >= Duration::from_millis(3));
        // Others run meanwhile, if not at once.
        let mut waits = 0..10_000;
        while !ran.load(Ordering::SeqCst) && waits.next().is_some() {
            assert_eq!(child.wait_timeout(Duration::from_millis(3)).unwrap(), None);
        }
        assert!(ran.load(Ordering::SeqCst), "the processor was blocked");
        other.join().unwrap();
        assert_eq!(child.wait_until(before).unwrap(), None);
        assert_eq!(child.wait_within(before).unwrap(), None);
        let soon = Limit::Wall(WallTime::now());
        assert_eq!(child.wait_within(soon).unwrap(), None);
        let short = Duration::from_millis(1);
        assert_eq!(child.wait_within(short).unwrap(), None);
        assert_eq!(child.try_wait().unwrap(), None);

        let token = CancelToken::new();
        let waiting = fibre::Builder::new().cancel_token(&token).spawn(move || {
            let error = child.wait().unwrap_err();
            (child, error.raw_os_error())
        });
        let_others_block();
        token.cancel();
        let (mut child, error) = waiting.unwrap().join().unwrap();
        assert_eq!(error, Some(rustix::io::Errno::CANCELED.raw_os_error()));
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), Some(4));
        assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(4));
        child.kill().unwrap();
    });
}

#[test]
fn killing() {
    for_each_cluster(|_| {
        let mut child = patient().spawn().unwrap();
        let _stdin = child.stdin.take();
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        let mut child = patient().spawn().unwrap();
        let _stdin = child.stdin.take();
        child.signal(SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    });
}

/// What is dropped runs on, or does not.
#[test]
fn dropping() {
    for_each_cluster(|_| {
        let exists = |id: u32| std::path::Path::new(&format!("/proc/{id}")).exists();
        let mut killed = patient().kill_on_drop(true).spawn().unwrap();
        let (id, _stdin) = (killed.id(), killed.stdin.take());
        assert!(exists(id));
        drop(killed);
        eventually(|| !exists(id));

        let mut left = patient().spawn().unwrap();
        let (id, stdin) = (left.id(), left.stdin.take());
        drop(left);
        fibre::sleep(Duration::from_millis(1));
        assert!(exists(id));
        drop(stdin);
        let pid = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
        let ended = fibre::blocking(|| {
            rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())
        });
        assert!(ended.unwrap().is_some());
    });
}

/// Many at once.
#[test]
fn crowds() {
    for_each_cluster(|_| {
        let fibres = (0..20).map(|i| {
            fibre::spawn(move || {
                shell(&format!("read x; exit {i}"))
                    .stdin(Stdio::null())
                    .status()
            })
        });
        let fibres: Vec<_> = fibres.collect();
        for (fibre, i) in fibres.into_iter().zip(0..) {
            // `read` from nothing fails, which does not matter to the shell.
            assert_eq!(fibre.join().unwrap().unwrap().code(), Some(i));
        }
    });
}

/// Also one that is started where threads block signals for the runtime.
#[test]
fn children_of_blocking_calls_hear_signals() {
    for_each_cluster(|_| {
        let child = fibre::blocking(|| Command::new("sleep").arg("60").spawn());
        let mut child = child.unwrap();
        fibre::blocking(|| {
            let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        });
        let status = child.wait_timeout(Duration::from_secs(20)).unwrap();
        let ended = status.and_then(|status| status.signal());
        let _ = child.kill();
        assert_eq!(ended, Some(15));
    });
}
