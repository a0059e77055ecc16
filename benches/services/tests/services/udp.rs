//! The UDP service.

use std::env::temp_dir;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::program::{LONG, Program, both};

/// The programs.
const BOTH: [&str; 2] = both!("udp");

/// A file that is removed with its test.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &str) -> Self {
        let file = Self(temp_dir().join(format!("fibre-services-{}-{name}", process::id())));
        fs::write(&file.0, content).unwrap();
        file
    }

    /// A program for the shell.
    fn script(name: &str, content: &str) -> Self {
        let file = Self::new(name, &format!("#!/bin/sh\n{content}\n"));
        fs::set_permissions(&file.0, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Starts the service.
fn start(path: &str, greeting: &File, more: &[&str]) -> (Program, SocketAddr) {
    let mut program = Program::start(path, &[&["--greeting", greeting.path()], more].concat());
    let address = program.address();
    (program, address)
}

/// A client of it.
fn client(address: SocketAddr) -> UdpSocket {
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client.connect(address).unwrap();
    client
}

/// Waits for an answer.
fn answer(client: &UdpSocket) -> String {
    let mut buffer = [0; 2000];
    let length = client.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

/// Asks and waits.
fn ask(client: &UdpSocket, question: &[u8]) -> String {
    client.send(question).unwrap();
    answer(client)
}

/// Stops it, and expects success.
fn stop(program: Program) {
    program.signal(Signal::TERM);
    let (status, _) = program.end();
    assert!(status.success(), "{status}");
}

#[test]
fn questions_of_many_clients_are_answered() {
    let greeting = File::new("many", "hello");
    for path in BOTH {
        let (program, address) = start(path, &greeting, &[]);
        thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || {
                    let client = client(address);
                    for turn in 0..5 {
                        let question = format!("{number}.{turn}");
                        let expected = format!("hello {question}\n");
                        assert_eq!(ask(&client, question.as_bytes()), expected);
                    }
                });
            }
        });
        stop(program);
    }
}

#[test]
fn whatever_comes_is_a_question() {
    let greeting = File::new("whatever", "hello");
    for path in BOTH {
        let (program, address) = start(path, &greeting, &[]);
        let client = client(address);
        assert_eq!(ask(&client, b""), "hello \n");
        assert_eq!(ask(&client, &[0xff, b'!']), "hello \u{fffd}!\n");
        assert_eq!(ask(&client, &[b'x'; 1400]).len(), 1407);
        // An argument cannot have this in it.
        assert!(ask(&client, b"a\0b").starts_with("error: "));
        assert_eq!(ask(&client, b"again"), "hello again\n");
        stop(program);
    }
}

#[test]
fn a_signal_has_it_read_the_greeting_again() {
    for path in BOTH {
        let greeting = File::new("again", "hello");
        let (program, address) = start(path, &greeting, &[]);
        let client = client(address);
        assert_eq!(ask(&client, b"Ada"), "hello Ada\n");
        fs::write(&greeting.0, "good day").unwrap();
        program.signal(Signal::HUP);
        let started = Instant::now();
        while ask(&client, b"Ada") != "good day Ada\n" {
            assert!(started.elapsed() < LONG, "it does not read the greeting");
        }
        fs::remove_file(&greeting.0).unwrap();
        program.signal(Signal::HUP);
        assert_eq!(ask(&client, b"Bob"), "good day Bob\n");
        stop(program);
    }
}

#[test]
fn programs_that_fail_or_hang_are_told_of() {
    let greeting = File::new("fail", "hello");
    let script = File::script("failing", "[ \"$2\" = hang ] && exec sleep 60; exit 3");
    for path in BOTH {
        let (program, address) = start(
            path,
            &greeting,
            &["--program", script.path(), "--each", "0.5", "--most", "1"],
        );
        let client = client(address);
        assert_eq!(ask(&client, b"fail"), "error: exit status: 3");
        assert!(ask(&client, b"hang").starts_with("error: "));
        assert_eq!(ask(&client, b"fail"), "error: exit status: 3");
        stop(program);
    }
}

#[test]
fn a_signal_under_load_loses_no_answer_that_was_begun() {
    let greeting = File::new("slow", "hello");
    let begun = File::new("begun", "");
    let script = format!("echo x >> {}; sleep 0.5; echo \"$2\"", begun.path());
    let script = File::script("sleeping", &script);
    for path in BOTH {
        fs::write(&begun.0, "").unwrap();
        let (program, address) = start(path, &greeting, &["--program", script.path()]);
        let clients: Vec<_> = (0..4).map(|_| client(address)).collect();
        for (number, client) in clients.iter().enumerate() {
            client.send(number.to_string().as_bytes()).unwrap();
        }
        let started = Instant::now();
        while fs::read(&begun.0).unwrap().len() < 2 * clients.len() {
            assert!(started.elapsed() < LONG, "not all programs have begun");
            thread::sleep(Duration::from_millis(5));
        }
        stop(program);
        for (number, client) in clients.iter().enumerate() {
            assert_eq!(answer(client), format!("{number}\n"));
        }
    }
}
