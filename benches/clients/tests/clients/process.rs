//! `std::process`.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};

use crate::fibres::on_fibres;

/// Programs at once.
const PROGRAMS: usize = 20;

/// What a program has printed.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Each program waits for a line, and none gets it before all have started: the last fibre has to
/// run while the others wait for the ends of theirs.
#[test]
fn programs_run_at_once() {
    let inputs: Arc<Mutex<Vec<ChildStdin>>> = Arc::default();
    on_fibres(PROGRAMS, move |number| {
        let mut child = Command::new("sh")
            .args(["-c", "read line; echo \"$line $0\"; echo \"$0\" >&2"])
            .arg(number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut waiting = inputs.lock().unwrap();
        waiting.push(child.stdin.take().context("no input")?);
        if waiting.len() == PROGRAMS {
            for mut input in waiting.drain(..) {
                input.write_all(b"go\n")?;
            }
        }
        drop(waiting);
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}", output.status);
        ensure!(printed(&output) == format!("go {number}"), "{output:?}");
        ensure!(
            output.stderr == format!("{number}\n").into_bytes(),
            "{output:?}"
        );
        Ok(())
    });
}

#[test]
fn much_output_comes_whole() {
    on_fibres(8, |number| {
        // More than pipes hold, on both.
        let script = "i=0; while [ $i -lt 4000 ]; do echo \"$0 of one line after the other\"; \
            echo \"$0 of one error after the other\" >&2; i=$((i+1)); done";
        let output = Command::new("sh")
            .args(["-c", script, &number.to_string()])
            .output()?;
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        ensure!(output.status.success(), "{}", output.status);
        let counts = (lines(&output.stdout), lines(&output.stderr));
        ensure!(counts == (4000, 4000), "{counts:?} lines");
        Ok(())
    });
}

#[test]
fn ends_are_told_apart() {
    on_fibres(10, |number| {
        let code = Command::new("sh")
            .args(["-c", &format!("exit {number}")])
            .status()?;
        ensure!(code.code() == i32::try_from(number).ok(), "{code}");
        let killed = Command::new("sh").args(["-c", "kill -9 $$"]).status()?;
        ensure!(killed.signal() == Some(9), "{killed}");
        let missing = Command::new("/nowhere/at/all").status();
        let error = missing.err().context("it is there")?;
        ensure!(error.kind() == std::io::ErrorKind::NotFound, "{error}");
        Ok(())
    });
}

#[test]
fn a_program_that_does_not_end_can_be_killed() {
    on_fibres(10, |_| {
        let mut child = Command::new("sleep").arg("1000").spawn()?;
        ensure!(child.try_wait()?.is_none(), "it has ended");
        child.kill()?;
        let status = child.wait()?;
        ensure!(status.signal() == Some(9), "{status}");
        ensure!(child.try_wait()? == Some(status), "it ends twice");
        Ok(())
    });
}
