//! The HTTP client: in this process against a server of ours, and as a program against `https`.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use fibre::net::{TcpListener, TcpStream};
use fibre_ureq::agent;
use ureq::{Agent, Error, Timeout};

use super::program::SOON;
use super::tls::Https;

/// What the server does with a request.
type Answer = fn(&mut TcpStream, &str) -> std::io::Result<()>;

/// A server in a fibre, which ends with the process. It has one connection for each that is open.
fn serve(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    fibre::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            fibre::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while stream.read(&mut byte).is_ok_and(|count| count == 1) {
                    head.push(byte[0]);
                    if head.ends_with(b"\r\n\r\n") {
                        let peer = stream.peer_addr().unwrap().port();
                        let text = format!("{} {peer}", String::from_utf8_lossy(&head));
                        if answer(&mut stream, &text).is_err() {
                            return;
                        }
                        head.clear();
                    }
                }
            });
        }
    });
    address
}

/// Answers with the request's path and the client's port.
fn tell(stream: &mut TcpStream, request: &str) -> std::io::Result<()> {
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let port = request.split_whitespace().last().unwrap_or_default();
    let body = format!("{path} {port}");
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// The agent that all fibres ask.
fn patient() -> Agent {
    agent(Agent::config_builder().timeout_global(Some(SOON)).build())
}

#[test]
fn connections_are_used_again() {
    let address = serve(tell);
    let agent = patient();
    let get = |path: &str| {
        let mut answer = agent.get(format!("http://{address}{path}")).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    };
    let first = get("/a");
    let second = get("/b");
    assert_eq!(first.strip_prefix("/a"), second.strip_prefix("/b"));
    // From a plain thread, and from a fibre.
    let agent = agent.clone();
    let third = fibre::spawn(move || {
        let mut answer = agent.get(format!("http://{address}/c")).call().unwrap();
        answer.body_mut().read_to_string().unwrap()
    });
    assert_eq!(
        first.strip_prefix("/a"),
        third.join().unwrap().strip_prefix("/c")
    );
}

#[test]
fn one_agent_serves_many_fibres() {
    let address = serve(tell);
    let agent = patient();
    fibre::scope(|scope| {
        for number in 0..200 {
            let agent = &agent;
            scope.spawn(move || {
                for round in 0..5 {
                    let path = format!("/{number}/{round}");
                    let mut answer = agent.get(format!("http://{address}{path}")).call().unwrap();
                    let body = answer.body_mut().read_to_string().unwrap();
                    assert!(body.starts_with(&path), "{body}");
                }
            });
        }
    });
}

#[test]
fn time_outs_are_time_outs() {
    let silent = serve(|_, _| {
        fibre::sleep(SOON);
        Ok(())
    });
    let config = Agent::config_builder().timeout_recv_response(Some(Duration::from_millis(50)));
    let got = agent(config.build())
        .get(format!("http://{silent}/"))
        .call();
    assert!(
        matches!(got, Err(Error::Timeout(Timeout::RecvResponse))),
        "{got:?}"
    );
    let cut = serve(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")?;
        Err(std::io::ErrorKind::Other.into())
    });
    let mut answer = patient().get(format!("http://{cut}/")).call().unwrap();
    assert!(answer.body_mut().read_to_string().is_err());
}

#[test]
fn names_are_looked_up_and_refusals_told() {
    let address = serve(tell);
    let port = address.port();
    let got = patient().get(format!("http://localhost:{port}/n")).call();
    assert_eq!(got.unwrap().status(), 200);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let got = patient().get(format!("http://127.0.0.1:{port}/")).call();
    assert!(matches!(got, Err(Error::Io(_))), "{got:?}");
}

#[test]
fn the_program_gets_from_a_server_over_tls() {
    let server = Https::start("fetch", &[]);
    let address = format!(
        "https://localhost:{}/bytes/1000",
        server.program.address.port()
    );
    let fetch = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fetch"));
        command.args(arguments).arg(&address).output().unwrap()
    };
    let got = fetch(&["--ca", server.certificate.name(), "--repeat", "100"]);
    assert!(got.status.success(), "{got:?}");
    assert!(
        got.stdout.starts_with(b"100 answers, 100000 bytes"),
        "{got:?}"
    );
    // No client trusts this server.
    assert!(!fetch(&[]).status.success());
    server.program.expect_no_connections();
    server.program.expect_clean_stop();
}
