//! Two servers as programs of threads have them, on kernel threads and on fibres in one run: an
//! echo of std with a thread for each connection, and tiny_http with a thread for each request.
//! The code of a server is the same in both; one process calls `fibre_libc::threads()` first.
//!
//! `cargo run --release -p fibre-libc --example servers [connections] [rounds] [server]`
//!
//! Every answer is checked. It prints the CPU time of a request and the most memory, of the
//! server's process.

#![allow(clippy::unwrap_used, reason = "an example ends by panicking")]

use fibre_libc as _;
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use tiny_http::{Response, Server};

/// Connections, and requests of each, unless arguments say otherwise.
const CONNECTIONS: usize = 500;
const ROUNDS: usize = 50;

/// Names of the servers, and what their threads are.
const SERVERS: [&str; 2] = ["echo", "http"];
const THREADS: [&str; 2] = ["kernel", "fibres"];

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let number =
        |place: usize, usual: usize| words.get(place).map_or(usual, |word| word.parse().unwrap());
    if let [role, threads, ..] = &words[..]
        && SERVERS.contains(&role.as_str())
    {
        serve(role, threads, number(2, CONNECTIONS), number(3, ROUNDS));
        return;
    }
    let (connections, rounds) = (number(0, CONNECTIONS), number(1, ROUNDS));
    let is_chosen = |server: &&str| words.get(2).is_none_or(|word| word == server);
    for server in SERVERS.into_iter().filter(is_chosen) {
        let seen = THREADS.map(|threads| compare(server, threads, connections, rounds));
        assert_eq!(seen[0], seen[1], "the answers differ");
    }
}

/// Serves so many connections with so many requests each, and says what that took.
fn serve(role: &str, threads: &str, connections: usize, rounds: usize) {
    if threads == "fibres" {
        // SAFETY: nothing in this program ties memory to a kernel thread by a system call.
        unsafe { fibre_libc::threads() }.unwrap();
    }
    match role {
        "echo" => echo(connections),
        _ => answer(connections * rounds),
    }
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: room for it, which zeros are valid for.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    let cpu = micros(usage.ru_utime) + micros(usage.ru_stime);
    println!("{cpu} {}", usage.ru_maxrss);
}

/// A thread for each connection, which sends back what it gets.
fn echo(connections: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let serve = |mut stream: TcpStream| {
        let mut bytes = [0; 4096];
        loop {
            match stream.read(&mut bytes)? {
                0 => return Ok::<(), io::Error>(()),
                length => stream.write_all(&bytes[..length])?,
            }
        }
    };
    let threads: Vec<_> = listener
        .incoming()
        .take(connections)
        .map(|stream| {
            let stream = stream.unwrap();
            thread::spawn(move || serve(stream))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
}

/// A thread for each request, which answers with what was asked for.
fn answer(requests: usize) {
    let server = Server::http("127.0.0.1:0").unwrap();
    println!("{}", server.server_addr());
    let (tell, told) = mpsc::channel();
    for request in server.incoming_requests().take(requests) {
        let tell = tell.clone();
        thread::spawn(move || {
            let path = request.url().to_owned();
            let answered = request.respond(Response::from_string(path));
            tell.send(answered).unwrap();
        });
    }
    drop(tell);
    told.into_iter().for_each(Result::unwrap);
}

/// Runs a server and asks it, prints what it took, and returns the sum of all answers' bytes.
fn compare(server: &str, threads: &str, connections: usize, rounds: usize) -> u64 {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([
            server,
            threads,
            &connections.to_string(),
            &rounds.to_string(),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = told.next().unwrap().unwrap();
    // One after the other: a pool of tiny_http's threads may leave one of two that come at a time
    // waiting for the other's end, on threads of either kind.
    let mut sum = 0;
    let streams: Vec<_> = (0..connections)
        .map(|number| {
            let stream = TcpStream::connect(&address).unwrap();
            ask(server, &stream, number, 0);
            sum += check(server, &stream, number, 0);
            stream
        })
        .collect();
    for round in 1..rounds {
        for (number, stream) in streams.iter().enumerate() {
            ask(server, stream, number, round);
        }
        for (number, stream) in streams.iter().enumerate() {
            sum += check(server, stream, number, round);
        }
    }
    drop(streams);
    let took = told.next().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    let (cpu, memory) = took.split_once(' ').unwrap();
    let each = cpu.parse::<f64>().unwrap() / (connections * rounds) as f64;
    println!(
        "{server}, {threads}: {connections} connections, {rounds} requests each: {each:.1} us of \
         CPU time a request, {memory} KiB"
    );
    sum
}

/// What one connection asks in one round.
fn token(number: usize, round: usize) -> String {
    format!("/{number:06}/{round:06}")
}

/// Asks a server.
fn ask(server: &str, mut stream: &TcpStream, number: usize, round: usize) {
    let token = token(number, round);
    let question = match server {
        "echo" => token,
        _ => format!("GET {token} HTTP/1.1\r\nHost: here\r\n\r\n"),
    };
    stream.write_all(question.as_bytes()).unwrap();
}

/// Reads and checks the answer; the sum of its bytes.
fn check(server: &str, stream: &TcpStream, number: usize, round: usize) -> u64 {
    let token = token(number, round);
    let answer = read_until(stream, &token);
    let answer = match server {
        "echo" => answer,
        _ => body_of(&answer),
    };
    assert!(answer == token, "{answer:?} for {token}");
    answer.bytes().map(u64::from).sum()
}

/// Reads until this is there.
fn read_until(mut stream: &TcpStream, end: &str) -> String {
    let (mut text, mut bytes) = (String::new(), [0; 1024]);
    while !text.ends_with(end) {
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "the server has ended after {text:?}");
        text += std::str::from_utf8(&bytes[..length]).unwrap();
    }
    text
}

/// What comes after the head of an answer.
fn body_of(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}
