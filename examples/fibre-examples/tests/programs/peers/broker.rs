//! Programs that several processes make up, with a Redis between them, behind a balancer.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Bytes, Message, WebSocket};

use super::chat::{Chat, expect_close, receive};
use super::program::{Program, eventually};
use super::redis::{Fault, Redis};

/// How messages travel.
const WAYS: [&str; 2] = ["streams", "channels"];

/// A chat server of several.
fn chat(redis: &Redis, by: &str) -> Chat {
    Chat::start(&[
        "--broker",
        &redis.url,
        "--by",
        by,
        "--broker-timeout",
        "0.5",
    ])
}

/// Says something.
fn say(client: &mut WebSocket<TcpStream>, text: &str) {
    client.send(Message::text(text)).unwrap();
}

/// The next thing that is said: its position, if it has one, and its words.
fn hear(client: &mut WebSocket<TcpStream>) -> (String, String) {
    let message = receive(client);
    let (head, words) = message.to_text().unwrap().split_once(": ").unwrap();
    let position = head.split_once(' ').map_or("", |(position, _)| position);
    (position.to_owned(), words.to_owned())
}

/// The words of what is said until `last`, which is among them.
fn words_until(client: &mut WebSocket<TcpStream>, last: &str) -> Vec<String> {
    let mut all = Vec::new();
    while all.last().is_none_or(|words| words != last) {
        all.push(hear(client).1);
    }
    all
}

/// Waits until a client is in its room, and has been told what it missed.
fn until_in_room(client: &mut WebSocket<TcpStream>) {
    client.send(Message::Ping(Bytes::new())).unwrap();
    assert!(matches!(receive(client), Message::Pong(_)));
}

#[test]
fn rooms_are_common_to_all_servers() {
    for by in WAYS {
        let redis = Redis::start();
        let chats = [chat(&redis, by), chat(&redis, by)];
        let mut clients: Vec<_> = (0..6).map(|number| chats[number % 2].join("/a")).collect();
        let mut other = chats[1].join("/b");
        clients
            .iter_mut()
            .chain([&mut other])
            .for_each(until_in_room);
        for (number, client) in clients.iter_mut().enumerate() {
            say(client, &number.to_string());
            say(client, "again");
        }
        let heard: Vec<Vec<_>> = clients
            .iter_mut()
            .map(|client| (0..12).map(|_| hear(client)).collect())
            .collect();
        assert!(heard.iter().all(|one| *one == heard[0]), "{by}: {heard:?}");
        say(&mut other, "alone");
        assert_eq!(hear(&mut other).1, "alone", "{by}");
        drop((clients, other));
        for chat in chats {
            chat.program.expect_clean_stop();
        }
    }
}

#[test]
fn who_comes_back_elsewhere_hears_what_it_missed_once() {
    let redis = Redis::start();
    let chats = [chat(&redis, "streams"), chat(&redis, "streams")];
    let mut stays = chats[0].join("/a");
    let mut leaves = chats[0].join("/a");
    [&mut stays, &mut leaves]
        .into_iter()
        .for_each(until_in_room);
    say(&mut stays, "before");
    let (position, _) = hear(&mut leaves);
    drop(leaves);
    // More than is read at a time, and some of another room.
    for number in 0..1200 {
        say(&mut stays, &number.to_string());
        if number % 100 == 0 {
            words_until(&mut stays, &number.to_string());
        }
    }
    let mut elsewhere = chats[1].join("/b");
    say(&mut elsewhere, "not for a");
    words_until(&mut stays, "1199");
    let mut back = chats[1].join(&format!("/a?after={position}"));
    say(&mut stays, "last");
    let words = words_until(&mut back, "last");
    let expected: Vec<_> = (0..1200).map(|number| number.to_string()).collect();
    assert_eq!(words[..1200], expected);
    assert_eq!(words.len(), 1201);
    // No position at all: what is said from now on.
    let mut odd = chats[1].join("/a?after=yesterday");
    until_in_room(&mut odd);
    say(&mut odd, "from now on");
    assert_eq!(hear(&mut odd).1, "from now on");
}

/// What Redis has taken without saying so comes twice by streams, and once by channels. What is
/// said while it is away comes later by streams, and never by channels.
#[test]
fn faults_of_the_broker_lose_what_the_way_says() {
    for by in WAYS {
        let redis = Redis::start();
        let chat = chat(&redis, by);
        let mut client = chat.join("/a");
        until_in_room(&mut client);
        say(&mut client, "first");
        assert_eq!(hear(&mut client).1, "first");
        redis.set(Fault::Takes);
        say(&mut client, "taken");
        assert!(eventually(|| redis.fault() == Fault::None));
        let mut heard = Vec::new();
        if by == "streams" {
            assert_eq!([hear(&mut client).1, hear(&mut client).1], ["taken"; 2]);
        }
        redis.set(Fault::Away);
        say(&mut client, "while it is away");
        // Nobody can tell from outside when the server has tried.
        thread::sleep(std::time::Duration::from_millis(300));
        redis.set(Fault::None);
        // By channels it comes once both of the server's connections are there again.
        let mut tries = 0;
        while heard.is_empty() {
            say(&mut client, "last");
            tries += 1;
            let timeout = Some(std::time::Duration::from_millis(200));
            client.get_mut().set_read_timeout(timeout).unwrap();
            if let Ok(message) = client.read() {
                heard.push(message.to_text().unwrap().to_owned());
            }
            assert!(tries < 100, "{by}: nothing comes");
        }
        let is_kept = heard[0].ends_with("while it is away");
        assert_eq!(is_kept, by == "streams", "{heard:?}");
        drop(client);
        chat.program.expect_clean_stop();
    }
}

#[test]
fn a_broker_that_is_not_there_is_told_at_once() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for by in WAYS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chat"));
        command.args(["--addr", "127.0.0.1:0", "--by", by, "--broker"]);
        let ended = command.arg(format!("redis://{nobody}/")).output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success());
        assert!(
            errors.starts_with("chat: ") && errors.contains("refused"),
            "{errors}"
        );
    }
}

/// A broker that says nothing fills what waits for it. Clients that speak are then put out, and
/// told why; and the server ends nevertheless.
#[test]
fn a_silent_broker_keeps_no_server() {
    for by in WAYS {
        let redis = Redis::start();
        let url = ["--broker", &redis.url, "--by", by];
        let more = ["--broker-timeout", "60", "--idle-timeout", "0.5"];
        let chat = Chat::start(&[&url[..], &more].concat());
        let mut client = chat.join("/a");
        until_in_room(&mut client);
        redis.set(Fault::Silent);
        // As many as may wait, and as many as are on their way.
        for _ in 0..2000 {
            say(&mut client, "hello");
        }
        expect_close(&mut client, CloseCode::Again);
        chat.program.expect_clean_stop();
    }
}

/// A ticker that runs.
struct Ticker {
    /// The process.
    child: Child,
    /// What it publishes.
    input: Option<ChildStdin>,
    /// What it prints.
    output: BufReader<ChildStdout>,
    /// Lines that it has printed before it said that it follows.
    early: VecDeque<String>,
}

impl Ticker {
    /// Starts one, and waits until it follows.
    fn start(redis: &Redis, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ticker"));
        command.args(["--broker", &redis.url]).args(more);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut ticker = Self {
            child,
            input,
            output: BufReader::new(output.unwrap()),
            early: VecDeque::new(),
        };
        loop {
            match ticker.read_line() {
                line if line == "following" => return ticker,
                line => ticker.early.push_back(line),
            }
        }
    }

    /// Publishes a line.
    fn publish(&mut self, line: &str) {
        let mut input = self.input.as_ref().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    /// The next message that it prints.
    fn line(&mut self) -> String {
        let early = self.early.pop_front();
        early.unwrap_or_else(|| self.read_line())
    }

    /// The next line that it prints.
    fn read_line(&mut self) -> String {
        let mut line = String::new();
        let count = self.output.read_line(&mut line).unwrap();
        assert!(count > 0, "it has ended");
        line.trim_end().to_owned()
    }

    /// Ends it by the end of its input.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_topic_reaches_actors_of_all_processes() {
    for by in WAYS {
        let redis = Redis::start();
        let mut tickers = [(), ()].map(|()| Ticker::start(&redis, &["--by", by]));
        for number in 0..10 {
            tickers[number % 2].publish(&format!("tick {number}"));
            let lines = tickers.each_mut().map(Ticker::line);
            assert_eq!(lines[0], lines[1]);
            assert!(lines[0].ends_with(&format!("tick {number}")), "{lines:?}");
        }
        tickers.into_iter().for_each(Ticker::end);
    }
}

#[test]
fn a_process_that_was_killed_goes_on_behind_what_it_has_printed() {
    let redis = Redis::start();
    let (mut one, mut two) = (Ticker::start(&redis, &[]), Ticker::start(&redis, &[]));
    one.publish("seen");
    let seen = two.line();
    drop(two);
    one.publish("missed");
    assert!(eventually(|| redis.taken() == 2));
    let mut two = Ticker::start(&redis, &["--after", seen.split(' ').next().unwrap()]);
    assert!(two.line().ends_with(" missed"));
    one.publish("new");
    assert!(two.line().ends_with(" new"));
    [one, two].into_iter().for_each(Ticker::end);
}

/// A server that says its name to each client.
fn named(name: &'static str) -> (SocketAddr, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let accepting = listener.try_clone().unwrap();
    thread::spawn(move || {
        for client in accepting.incoming() {
            let _ = client.unwrap().write_all(name.as_bytes());
        }
    });
    (listener.local_addr().unwrap(), listener)
}

#[test]
fn connections_go_to_the_servers_in_turn_that_are_there() {
    let (one, _one) = named("one");
    let (two, _two) = named("two");
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let backends = [one, nobody, two].map(|address| address.to_string());
    let arguments = backends.each_ref().map(|address| ["--backend", address]);
    let balancer = Program::start(env!("CARGO_BIN_EXE_balancer"), arguments.as_flattened());
    let names: Vec<String> = (0..6)
        .map(|_| {
            let mut name = String::new();
            balancer.connect().read_to_string(&mut name).unwrap();
            name
        })
        .collect();
    assert_eq!(names, ["one", "two", "two", "one", "two", "two"]);
    assert!(
        balancer
            .expect_clean_stop()
            .starts_with("passed 6 connections on")
    );
    let alone = ["--backend", &backends[1]];
    let balancer = Program::start(env!("CARGO_BIN_EXE_balancer"), &alone);
    assert_eq!(balancer.connect().read(&mut [0]).unwrap_or(0), 0);
    balancer.expect_clean_stop();
}
