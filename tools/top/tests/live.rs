//! `fibre-top` and processes of all kinds: a busy server, one that hangs, others without fibres,
//! and files that are no pages.
//!
//! A process under test is this program once more, in a role.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use fibre::net::{TcpListener, TcpStream};
use fibre_inspect::page::{MAGIC, NAME, SIZE, VERSION, place};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Set in the environment of a process under test.
const ROLE: &str = "TOP_TEST_ROLE";

/// What such a process prints when it is as it should be.
const READY: &str = "ready";

/// How many clients the server has.
const CLIENTS: usize = 50;

/// Whether this process plays a role.
fn plays(role: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|value| value == role)
}

/// A process under test, which ends with this value.
struct Subject {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Subject {
    /// Starts the calling test once more, in a role.
    fn start(role: &str) -> Self {
        let test = thread::current().name().unwrap().to_owned();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", &test, "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env("FIBRE_PROCESSORS", "2")
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // SAFETY: async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            })
        };
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut subject = Self { child, output };
        subject.line_with(READY);
        subject
    }

    /// Reads up to a line with a word; returns what follows that.
    fn line_with(&mut self, word: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it has ended");
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Its number.
    fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    fn send(&self, signal: i32) {
        // SAFETY: a child that has not been waited for.
        unsafe { libc::kill(self.id().cast_signed(), signal) };
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says that all is as it should be, and stays for ever.
fn stay() -> ! {
    say(READY);
    loop {
        thread::park();
    }
}

/// Prints a line. It begins one, whatever the test harness has printed.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{line}").unwrap();
    output.flush().unwrap();
}

/// The program.
fn top(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fibre-top"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What the program prints of a process, as JSON.
fn json(process: u32) -> Value {
    let output = top(&["--once", "--json", &process.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a program has written to its error output.
fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that the program fails for a process, and says these words.
#[track_caller]
fn fails(process: u32, words: &str) {
    let process = process.to_string();
    let output = top(&["--once", "--patience", "300ms", &process])
        .output()
        .unwrap();
    let errors = errors(&output);
    assert!(!output.status.success(), "{process}: {errors}");
    assert!(errors.starts_with("fibre-top: process "), "{errors}");
    assert!(errors.contains(words), "{words:?} is not in: {errors}");
}

/// Sends back what comes.
fn serves(mut stream: TcpStream) {
    let mut buffer = [0; 64];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        stream.write_all(&buffer[..count]).unwrap();
    }
}

/// A server with clients that rest, and one that does not.
fn be_server() -> ! {
    let (bound, address) = std::sync::mpsc::channel();
    let accepts = move || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        bound.send(listener.local_addr().unwrap()).unwrap();
        loop {
            let (stream, _) = listener.accept().unwrap();
            drop(fibre::spawn(move || serves(stream)));
        }
    };
    drop(
        fibre::Builder::new()
            .name("acceptor")
            .spawn(accepts)
            .unwrap(),
    );
    let address = address.recv().unwrap();
    let talks = |stream: &mut std::net::TcpStream| {
        stream.write_all(b"hello").unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
    };
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| std::net::TcpStream::connect(address).unwrap())
        .collect();
    clients.iter_mut().for_each(talks);
    say(READY);
    loop {
        talks(&mut clients[0]);
    }
}

#[test]
fn a_busy_server() {
    if plays("server") {
        be_server();
    }
    let server = Subject::start("server");
    let view = json(server.id());
    let snapshot = &view["snapshot"];
    assert_eq!(snapshot["process"], server.id());
    let cluster = &snapshot["clusters"][0];
    assert_eq!(cluster["fibres"], CLIENTS + 1);
    assert_eq!(cluster["spawned"], CLIENTS + 1);
    let regular = cluster["processors"].as_array().unwrap().iter();
    assert_eq!(regular.filter(|one| one["spare"] == false).count(), 2);
    let switches = view["rates"][0].as_array().unwrap().iter();
    let switches: f64 = switches.map(|one| one["switches"].as_f64().unwrap()).sum();
    assert!(switches > 0.0, "{view}");
    assert!(view["interval_ms"].as_u64().unwrap() >= 500, "{view}");
    let groups = snapshot["look"]["groups"].as_array().unwrap();
    let serving = |group: &&Value| group["at"].as_str().is_some_and(|at| at.contains("serves"));
    let resting = groups
        .iter()
        .filter(serving)
        .find(|group| group["state"] == "waits");
    let resting = resting.unwrap_or_else(|| panic!("nobody rests: {view}"));
    assert!(resting["count"].as_u64().unwrap() >= CLIENTS as u64 - 1);
    assert!(
        resting["at"].as_str().unwrap().contains("live.rs:"),
        "{resting}"
    );
    assert!(
        resting["spawned"].as_str().unwrap().contains("be_server"),
        "{resting}"
    );
    let places = view["places"].as_array().unwrap();
    assert!(
        places[0]["count"].as_u64().unwrap() >= CLIENTS as u64 - 1,
        "{view}"
    );

    let text = top(&["--once", &server.id().to_string()]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for words in [
        &format!("({}), up ", server.id()),
        &format!("{} fibres: ", CLIENTS + 1),
        "switch/s",
        "\"acceptor\"",
        "serves",
        "fibres by what was spawned",
    ] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
    let all = String::from_utf8(top(&[]).output().unwrap().stdout).unwrap();
    let its = format!("{} ", server.id());
    assert!(all.lines().any(|line| line.starts_with(&its)), "{all}");
}

static SPINNING: AtomicBool = AtomicBool::new(true);

#[inline(never)]
fn spins() {
    while SPINNING.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[test]
fn a_process_all_of_whose_processors_hang() {
    if plays("hung") {
        for _ in 0..2 {
            drop(fibre::Builder::new().name("hog").spawn(spins).unwrap());
        }
        let waiting = fibre::Builder::new().name("victim");
        drop(waiting.spawn(|| ()).unwrap());
        stay();
    }
    let hung = Subject::start("hung");
    // On a busy machine a thread may have no CPU to tell its stack on; and the processors may just
    // be about to run the fibres.
    let is_seen = |view: &Value| {
        let groups = view["snapshot"]["look"]["groups"].as_array().unwrap();
        let hogs = groups.iter().filter(|group| {
            let at = group["at"].as_str().unwrap_or_default();
            group["state"] == "runs" && group["name"] == "hog" && at.contains("spins")
        });
        // They are one group if their stacks are equal.
        hogs.filter_map(|group| group["count"].as_u64())
            .sum::<u64>()
            == 2
    };
    let view = std::iter::repeat_with(|| json(hung.id()))
        .find(is_seen)
        .unwrap();
    let cluster = &view["snapshot"]["clusters"][0];
    // A processor that does not switch cannot count what is queued there.
    assert_eq!(cluster["runnable"], Value::Null, "{view}");
    let text = top(&["--once", &hung.id().to_string()]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    let keeps = ["keeps processor ", "keep their processors"];
    assert!(keeps.iter().any(|words| text.contains(words)), "{text}");
}

#[test]
fn processes_without_fibres() {
    if plays("plain") {
        stay();
    }
    let plain = Subject::start("plain");
    let process = plain.id();
    fails(process, "it has no page: it does not use fibre");
    drop(plain);
    fails(process, "there is no such process");
    fails(0, "there is no such process");
}

#[test]
fn a_process_that_ends_meanwhile() {
    if plays("server") {
        be_server();
    }
    let server = Subject::start("server");
    let mut follower = top(&["--json", &server.id().to_string()]);
    let mut follower = follower
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let view: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(view["snapshot"]["process"], server.id());
    }
    drop(server);
    let rest = lines.map_while(Result::ok);
    rest.for_each(|line| assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}"));
    let output = follower.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(
        errors(&output).contains("it has ended"),
        "{}",
        errors(&output)
    );
}

#[test]
fn a_stopped_process() {
    if plays("server") {
        be_server();
    }
    let server = Subject::start("server");
    server.send(libc::SIGSTOP);
    fails(server.id(), "it is stopped");
    server.send(libc::SIGCONT);
    assert_eq!(json(server.id())["snapshot"]["process"], server.id());
}

#[test]
fn a_forked_child() {
    if plays("parent") {
        fibre::spawn(|| ()).join().unwrap();
        // SAFETY: the child only waits for its end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                // SAFETY: async-signal-safe.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::pause();
                }
            }
        }
        say(READY);
        say(&format!("child {child}"));
        stay();
    }
    let mut parent = Subject::start("parent");
    let child: u32 = parent.line_with("child ").parse().unwrap();
    fails(
        child,
        &format!("it is a forked child of process {}", parent.id()),
    );
    assert_eq!(json(parent.id())["snapshot"]["process"], parent.id());
}

/// Bytes of a page, and where they are.
type Word<'a> = (usize, &'a [u8]);

/// A file of this process that has the name of a page.
fn file(size: u64, seals: SealFlags, words: &[Word<'_>]) -> File {
    let file = memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, size).unwrap();
    let file = File::from(file);
    for (at, bytes) in words {
        file.write_all_at(bytes, *at as u64).unwrap();
    }
    fcntl_add_seals(&file, seals).unwrap();
    file
}

/// This process has no fibres, but files that look like pages, one after the other.
#[test]
fn files_that_are_no_pages() {
    let own = std::process::id();
    let (magic, version) = (MAGIC.to_le_bytes(), VERSION.to_le_bytes());
    let process = u64::from(own).to_le_bytes();
    let number = |number: u64| number.to_le_bytes();
    let head: [Word<'_>; 3] = [
        (place::MAGIC, &magic),
        (place::VERSION, &version),
        (place::PROCESS, &process),
    ];
    let other_version = (VERSION + 1).to_le_bytes();
    let cases: [(u64, SealFlags, &[Word<'_>], &str); 5] = [
        (7, SealFlags::SHRINK, &[], "it has another size"),
        (0, SealFlags::SHRINK, &[], "it has another size"),
        (
            SIZE as u64,
            SealFlags::empty(),
            &head,
            "it could be made shorter",
        ),
        (
            SIZE as u64,
            SealFlags::SHRINK,
            &head[1..],
            "it begins with something else",
        ),
        (
            SIZE as u64,
            SealFlags::SHRINK,
            &[head[0], (place::VERSION, &other_version)],
            "its page has version 2, and this program reads version 1",
        ),
    ];
    for (size, seals, words, error) in cases {
        let file = file(size, seals, words);
        fails(own, error);
        drop(file);
    }
    // Pages that nobody writes, or half of a text, or more than there is room for.
    for (sequence, length) in [(0, 0), (3, 5), (4, u64::MAX), (4, SIZE as u64)] {
        let (sequence, length) = (number(sequence), number(length));
        let words = [
            (place::SEQUENCE, &sequence[..]),
            (place::LENGTH, &length[..]),
        ];
        let file = file(
            SIZE as u64,
            SealFlags::SHRINK,
            &[&head[..], &words].concat(),
        );
        fails(own, "no answer for ");
        drop(file);
    }
}

/// An invalid text: the page's writer is no friend.
#[test]
fn a_text_that_is_not_json() {
    if plays("liar") {
        let (magic, version) = (MAGIC.to_le_bytes(), VERSION.to_le_bytes());
        let process = u64::from(std::process::id()).to_le_bytes();
        let file = file(
            SIZE as u64,
            SealFlags::SHRINK,
            &[
                (place::MAGIC, &magic[..]),
                (place::VERSION, &version),
                (place::PROCESS, &process),
                (place::LENGTH, &7_u64.to_le_bytes()),
                (place::TEXT, b"{\"a\":\xff}"),
            ],
        );
        say(READY);
        for sequence in 1_u64.. {
            let sequence = (2 * sequence).to_le_bytes();
            file.write_all_at(&sequence, place::SEQUENCE as u64)
                .unwrap();
            thread::sleep(Duration::from_millis(20));
        }
    }
    let liar = Subject::start("liar");
    fails(liar.id(), "what it says cannot be read");
}
