//! The programs that a user would copy, with the servers that they are for.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;

use fibre_clients::servers::{mariadb, postgres, redis};
use fibre_clients::waiting;

use crate::http_server;
use crate::program::Program;

#[test]
fn the_counter_counts_in_redis() {
    let server = redis().unwrap();
    let mut service = Program::start(env!("CARGO_BIN_EXE_counter"), &["--redis", server.place()]);
    let site = format!("http://{}/visits", service.address());
    let get = || {
        let mut answer = ureq::get(&site).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    };
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| (0..10).for_each(|_| drop(get())));
        }
    });
    assert_eq!(get(), "101");
}

/// More clients than the service has connections, so they wait for each other's.
#[test]
fn words_are_kept_in_mariadb() {
    let server = mariadb().unwrap();
    let arguments = ["--mysql", server.place(), "--connections", "3"];
    let mut service = Program::start(env!("CARGO_BIN_EXE_query"), &arguments);
    let address = service.address();
    let ask = move |stream: &mut BufReader<TcpStream>, line: String| {
        stream.get_mut().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_line(&mut answer).unwrap();
        answer
    };
    thread::scope(|scope| {
        for number in 0..20 {
            scope.spawn(move || {
                let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
                assert_eq!(ask(&mut stream, format!("get {number}\n")), "none\n");
                for turn in 0..5 {
                    let word = format!("word-{number}-{turn}");
                    assert_eq!(
                        ask(&mut stream, format!("set {number} {word}\n")),
                        "stored\n"
                    );
                    assert_eq!(
                        ask(&mut stream, format!("get {number}\n")),
                        format!("{word}\n")
                    );
                }
                assert_eq!(ask(&mut stream, "put it there\n".into()), "what?\n");
            });
        }
    });
}

#[test]
fn sums_come_from_postgresql() {
    let server = postgres().unwrap();
    let arguments = ["--postgres", server.place(), "10", "100", "1000"];
    let printed = Program::start(env!("CARGO_BIN_EXE_sums"), &arguments).printed();
    assert_eq!(printed, "10 55\n100 5050\n1000 500500\n");
}

#[test]
fn pages_are_fetched_through_libcurl() {
    let site = format!("http://{}", waiting::start().unwrap());
    let urls = ["20/first", "0/second-one"].map(|path| format!("{site}/{path}"));
    let [first, second] = &urls;
    let printed = Program::start(env!("CARGO_BIN_EXE_fetch"), &[first, second]).printed();
    assert_eq!(printed, format!("5 {first}\n10 {second}\n"));
}

/// Eight pages that all wait until each has been asked for, on one processor.
#[test]
fn fetches_through_libcurl_wait_at_once() {
    let site = http_server::start();
    let urls: Vec<String> = (0..8)
        .map(|number| format!("{site}/meet/all/8/{number}"))
        .collect();
    let arguments: Vec<&str> = urls.iter().map(String::as_str).collect();
    let printed = Program::start(env!("CARGO_BIN_EXE_fetch"), &arguments).printed();
    let expected: String = urls.iter().map(|url| format!("1 {url}\n")).collect();
    assert_eq!(printed, expected);
}
