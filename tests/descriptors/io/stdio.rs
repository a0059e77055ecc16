//! Standard input, output and error, in processes of their own.

use crate::support::process::{child, plays};
use crate::support::terminal::terminal;
use crate::support::{any_cluster, let_others_block, watched};
use fibre::io::{stderr, stdin, stdout};
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::time::Duration;

/// More than a pipe holds.
const MUCH: usize = 300_000;

/// What the child says when its processor is not blocked.
const FREE: &str = "others run";

/// Runs `body` on the only processor, with another fibre that says so when the first one has had to
/// wait.
fn beside_another(body: fn()) {
    watched(|| {
        let cluster = any_cluster().processors(1).build().unwrap();
        let first = cluster.spawn(body);
        let other = cluster.spawn(|| {
            let_others_block();
            writeln!(stderr(), "\n{FREE}").unwrap();
        });
        other.join().unwrap();
        first.join().unwrap();
        cluster.stop();
    });
}

/// Waits for a child to say that its processor is not blocked.
fn wait_until_free(child: &mut Child) {
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line == FREE), "the processor is blocked");
    // The rest must be read, too.
    std::thread::spawn(move || lines.for_each(|line| eprintln!("{line}")));
}

/// All that a child writes until it ends, well.
fn output_of(mut child: Child) -> String {
    let mut text = String::new();
    let mut output = child.stdout.take().unwrap();
    output.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

/// The child of the next three tests: reads lines, and answers each.
fn answer() {
    beside_another(|| {
        for line in stdin().lines() {
            writeln!(stdout(), "<{}>", line.unwrap()).unwrap();
        }
    });
}

/// Starts a child that answers.
fn start(role: &str, input: impl Into<Stdio>) -> Child {
    let mut command = child(role, &[]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(input).spawn().unwrap()
}

/// Lines come and are answered; meanwhile nobody is kept from running, and whoever else has the
/// descriptor finds it as it was.
fn check_answers(role: &str, input: OwnedFd, mut writer: File, end: &[u8]) {
    let same = input.try_clone().unwrap();
    let mut child = start(role, input);
    wait_until_free(&mut child);
    assert!(!fcntl_getfl(&same).unwrap().contains(OFlags::NONBLOCK));
    writer.write_all(b"one\ntwo\n").unwrap();
    writer.write_all(end).unwrap();
    // A terminal that is closed forgets what has not been read.
    let writer = (!end.is_empty()).then_some(writer);
    let text = output_of(child);
    assert!(text.contains("<one>\n<two>\n"), "{text}");
    drop((writer, same));
}

#[test]
fn a_pipe_is_read() {
    if plays("pipe reader") {
        return answer();
    }
    let (reader, writer) = std::io::pipe().unwrap();
    check_answers(
        "pipe reader",
        reader.into(),
        File::from(OwnedFd::from(writer)),
        b"",
    );
}

#[test]
fn a_terminal_is_read() {
    if plays("terminal reader") {
        return answer();
    }
    let (user, program) = terminal();
    check_answers("terminal reader", program.into(), user, b"\x04");
}

#[test]
fn a_file_is_read() {
    if plays("file reader") {
        return answer();
    }
    let path = std::env::temp_dir().join(format!("fibre-stdio-{}", std::process::id()));
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    std::fs::remove_file(&path).unwrap();
    let mut file = file.unwrap();
    file.write_all(b"one\ntwo").unwrap();
    file.rewind().unwrap();
    let text = output_of(start("file reader", file));
    assert!(text.contains("<one>\n<two>\n"), "{text}");
}

/// A fibre that writes more than there is room for waits alone; pieces that are written under one
/// lock stay together.
#[test]
fn a_pipe_is_written() {
    if plays("writer") {
        return beside_another(|| {
            let line = vec![b'x'; MUCH / 2];
            let writers = [0, 1].map(|_| {
                let line = line.clone();
                fibre::spawn(move || {
                    let mut out = stdout().lock();
                    out.write_all(&line).unwrap();
                    out.write_all(&line).unwrap();
                    writeln!(out).unwrap();
                })
            });
            writers.into_iter().for_each(|it| it.join().unwrap());
        });
    }
    let mut child = start("writer", Stdio::null());
    wait_until_free(&mut child);
    let text = output_of(child);
    let whole = text
        .lines()
        .filter(|line| line.matches('x').count() >= MUCH);
    assert_eq!(whole.count(), 2);
}

/// On a plain thread the thread waits; what has no end of line is out when the lock ends.
#[test]
fn plain_threads_ask_and_hear() {
    if plays("plain") {
        watched(|| {
            write!(stdout().lock(), "a question: ").unwrap();
            let mut line = String::new();
            stdin().read_line(&mut line).unwrap();
            writeln!(stdout(), "<{line}>").unwrap();
        });
        return;
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut child = start("plain", reader);
    let mut output = child.stdout.take().unwrap();
    let mut text = Vec::new();
    while !text.ends_with(b"a question: ") {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    writer.write_all(b"an answer").unwrap();
    drop(writer);
    child.stdout = Some(output);
    assert!(output_of(child).contains("<an answer>\n"));
}

/// While a fibre reads, another one that wants to can be cancelled, or has had enough after a time.
#[test]
fn who_waits_for_a_reader_can_be_cancelled() {
    if plays("second reader") {
        return beside_another(|| {
            let first = fibre::spawn(|| stdin().read_line(&mut String::new()).unwrap());
            let second = fibre::spawn(|| {
                let_others_block();
                assert!(stdin().try_lock().is_none());
                assert!(stdin().lock_timeout(Duration::from_millis(1)).is_none());
                stdin()
                    .read_line(&mut String::new())
                    .unwrap_err()
                    .to_string()
            });
            fibre::sleep(Duration::from_millis(10));
            let_others_block();
            second.cancel();
            let said = second.join().unwrap();
            writeln!(stdout(), "<{said}>").unwrap();
            assert_eq!(first.join().unwrap(), 4);
        });
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut child = start("second reader", reader);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = lines.by_ref().map_while(Result::ok);
    assert!(said.any(|line| line.contains("cancel")));
    writer.write_all(b"now\n").unwrap();
    said.for_each(drop);
    assert!(child.wait().unwrap().success());
}
