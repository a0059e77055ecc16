//! The load generator says what servers do: the requests of those that behave,
//! and the errors of those that do not.

use crate::support;

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use fibre_bench::http::ANSWER;
use fibre_bench::load::{HOLDING, Summary};
use rustix::net::sockopt;
use support::Server;

/// The program under test.
const LOAD: &str = env!("CARGO_BIN_EXE_load");

/// Servers that behave.
const SERVERS: [&str; 2] = [
    env!("CARGO_BIN_EXE_server-epoll"),
    env!("CARGO_BIN_EXE_server-fibre"),
];

/// Runs the program and reads its summary.
fn load(address: &str, arguments: &str) -> io::Result<Summary> {
    let output = Command::new(LOAD)
        .arg(address)
        .args(arguments.split_whitespace())
        .stderr(Stdio::inherit())
        .output()?;
    assert!(output.status.success(), "{arguments}: {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs it against each server that behaves, which must show no error.
fn check(options: &[&str], arguments: &str, check: impl Fn(&Summary)) -> io::Result<()> {
    for path in SERVERS {
        let server = Server::start(path, options)?;
        let pid = server.child.id();
        let arguments = format!("{arguments} --measure-pid {pid}");
        let mut summary = load(&server.address, &arguments)?;
        println!("{path} {arguments}: {summary:?}");
        if summary.requests == 0 {
            // On a machine that is busy with other things so short a time may hold none.
            let longer = arguments.replace("--seconds 0", "--seconds 5");
            summary = load(&server.address, &longer)?;
            println!("{path} {longer}: {summary:?}");
        }
        assert!(summary.errors.is_empty());
        assert!(summary.requests > 0);
        assert!(0.0 < summary.p50_us && summary.p50_us <= summary.p99_us);
        assert!(summary.p99_us <= summary.p999_us && summary.p999_us <= summary.max_us);
        check(&summary);
    }
    Ok(())
}

#[test]
fn connections_are_closed_after_so_many_exchanges_and_others_opened() -> io::Result<()> {
    let load = "--connections 3 --exchanges 7 --reopen --path /file --seconds 0.2";
    check(&["--body", "1000"], load, |summary| {
        assert_eq!(summary.connections, 3)
    })
}

#[test]
fn a_file_is_known_by_its_first_answer() -> io::Result<()> {
    for arguments in [&[][..], &["--body", "0"], &["--body", "70000"]] {
        check(arguments, "--connections 2 --path /x --seconds 0.1", |_| ())?;
    }
    Ok(())
}

#[test]
fn http() -> io::Result<()> {
    check(
        &[],
        "--connections 20 --seconds 0.2 --warm-up 0.1",
        |seen| {
            assert_eq!(seen.connections, 20);
            assert!(seen.seconds >= 0.2);
            let rate = seen.requests as f64 / seen.seconds;
            assert!((rate / seen.requests_per_second - 1.0).abs() < 1e-9);
            assert!(seen.server_cpu_us_per_request.is_some_and(|cpu| cpu > 0.1));
        },
    )?;
    check(&[], "--connections 7 --threads 2 --seconds 0.2", |_| ())?;
    check(&[], "--connections 200 --seconds 0.2 --cores 0", |_| ())
}

/// Requests wait behind handlers that compute, which are not counted themselves.
#[test]
fn connections_stall() -> io::Result<()> {
    let stalls = "--connections 4 --seconds 0.5 --stall-us 5000 --stalls-per-second 20";
    check(&[], stalls, |seen| {
        assert!(seen.max_us >= 1000.0, "nothing waited behind a handler");
        let work = 4.0 * 20.0 * seen.seconds * 5000.0;
        let cpu = seen.server_cpu_us_per_request.unwrap() * seen.requests as f64;
        assert!(cpu >= work / 10.0, "the handlers computed for {cpu} µs");
    })
}

#[test]
fn so_many_exchanges_and_no_more() -> io::Result<()> {
    let arguments = "--mode echo --connections 30 --exchanges 50 --seconds 30";
    check(&["--echo"], arguments, |seen| {
        assert_eq!(seen.requests, 30 * 50);
        assert!(seen.seconds < 30.0, "it ends with the last answer");
    })?;
    let server = Server::start(SERVERS[1], &[])?;
    let endless = "--connections 3 --exchanges 1000000000 --seconds 0.05";
    let summary = load(&server.address, endless)?;
    assert_eq!(summary.errors.get("timed_out"), Some(&3));
    Ok(())
}

#[test]
fn pipelined() -> io::Result<()> {
    check(&[], "--connections 5 --pipeline 20 --seconds 0.2", |seen| {
        assert_eq!(seen.requests % 20, 0);
    })?;
    // More than the socket buffers hold.
    let many = "--connections 1 --pipeline 200000 --seconds 0.5";
    check(&[], many, |_| ())
}

#[test]
fn echo() -> io::Result<()> {
    let options = ["--echo", "--processors", "2"];
    check(
        &options,
        "--mode echo --connections 20 --seconds 0.2",
        |_| (),
    )?;
    let large = "--mode echo --size 3000000 --connections 3 --seconds 0.5";
    check(&options, large, |_| ())
}

#[test]
fn short() -> io::Result<()> {
    check(&[], "--mode short --connections 10 --seconds 0.3", |seen| {
        assert!(seen.requests > 20, "connections are opened again");
    })
}

#[test]
fn idle() -> io::Result<()> {
    check(&[], "--mode idle --connections 300 --seconds 0.1", |seen| {
        assert_eq!(seen.requests, 300);
    })
}

#[test]
fn held() -> io::Result<()> {
    for ended in [false, true] {
        let server = Server::start(SERVERS[0], &[])?;
        let mut child = Command::new(LOAD)
            .args([&server.address, "--mode", "idle", "--connections", "50"])
            .arg("--hold")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut lines = BufReader::new(output).lines();
        assert_eq!(lines.next().transpose()?.as_deref(), Some(HOLDING));
        if ended {
            drop(server);
        }
        drop(child.stdin.take());
        let summary = lines.next().transpose()?.unwrap_or_default();
        let summary: Summary = serde_json::from_str(&summary)?;
        assert_eq!(summary.requests, 50);
        let closed = summary.errors.get("closed").copied();
        assert_eq!(closed, ended.then_some(50), "{summary:?}");
        assert!(child.wait()?.success());
    }
    Ok(())
}

#[test]
fn probe() -> io::Result<()> {
    let arguments = "--mode probe --seconds 0.5 --disturb-connections 2 --disturb-ms 30";
    for kind in ["none", "spin", "block"] {
        check(&[], &format!("{arguments} --disturb {kind}"), |seen| {
            assert_eq!(seen.requests, 500);
            // Not all of the 30 ms: a spare processor of ours comes after some 20, a third at the
            // least.
            let delayed = seen.max_us > 10_000.0;
            assert!(delayed || kind == "none", "{kind} is seen: {seen:?}");
        })?;
    }
    Ok(())
}

/// A server that gets a connection wrong, in a thread that stays behind.
fn misbehave(serve: fn(TcpStream) -> io::Result<()>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    Ok(address)
}

/// Takes one request, which comes in one piece.
fn hear(stream: &mut TcpStream) -> io::Result<()> {
    match stream.read(&mut [0; 4096])? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Answers so many requests as it should.
fn answer(stream: &mut TcpStream, count: usize) -> io::Result<()> {
    for _ in 0..count {
        hear(stream)?;
        stream.write_all(ANSWER)?;
    }
    Ok(())
}

/// Runs every mode that sends HTTP requests; each must see `error`, and only
/// that.
fn expect_error(serve: fn(TcpStream) -> io::Result<()>, error: &str) -> io::Result<()> {
    for mode in ["http", "short"] {
        let address = misbehave(serve)?;
        let arguments = format!("--mode {mode} --connections 3 --seconds 0.3");
        let errors = load(&address, &arguments)?.errors;
        let kinds: Vec<_> = errors.keys().collect();
        assert_eq!(kinds, [error], "{mode}: {errors:?}");
    }
    Ok(())
}

#[test]
fn a_wrong_status_is_seen() -> io::Result<()> {
    let serve = |mut stream: TcpStream| {
        hear(&mut stream)?;
        let wrong = String::from_utf8_lossy(ANSWER).replace("200 OK", "500 NO");
        stream.write_all(wrong.as_bytes())?;
        answer(&mut stream, usize::MAX)
    };
    expect_error(serve, "wrong")
}

#[test]
fn an_answer_too_long_is_seen() -> io::Result<()> {
    let serve = |mut stream: TcpStream| {
        hear(&mut stream)?;
        stream.write_all(&[ANSWER.as_slice(), b"!"].concat())?;
        answer(&mut stream, usize::MAX)
    };
    expect_error(serve, "wrong")
}

#[test]
fn a_connection_closed_early_is_seen() -> io::Result<()> {
    let serve = |mut stream: TcpStream| {
        hear(&mut stream)?;
        stream.write_all(&ANSWER[..63])
    };
    expect_error(serve, "closed")
}

#[test]
fn a_reset_is_seen() -> io::Result<()> {
    let serve = |mut stream: TcpStream| {
        hear(&mut stream)?;
        Ok(sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?)
    };
    expect_error(serve, "reset")
}

#[test]
fn a_close_between_requests_is_seen() -> io::Result<()> {
    let address = misbehave(|mut stream| answer(&mut stream, 4))?;
    let errors = load(&address, "--connections 3 --seconds 0.3")?.errors;
    assert_eq!(errors.values().sum::<u64>(), 3, "{errors:?}");
    Ok(())
}

#[test]
fn a_server_without_answers_is_seen() -> io::Result<()> {
    let serve = |stream: TcpStream| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
        Ok(())
    };
    expect_error(serve, "timed_out")
}

#[test]
fn a_server_that_falls_silent_is_seen() -> io::Result<()> {
    let address = misbehave(|mut stream| {
        answer(&mut stream, 4)?;
        hear(&mut stream)?;
        thread::sleep(Duration::from_secs(60));
        Ok(())
    })?;
    let errors = load(&address, "--connections 2 --seconds 20")?.errors;
    assert_eq!(errors.get("timed_out"), Some(&2), "{errors:?}");
    Ok(())
}

#[test]
fn a_refused_connection_is_seen() -> io::Result<()> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    for mode in ["http", "short", "idle", "probe"] {
        let errors = load(&address, &format!("--mode {mode} --seconds 0.1"))?.errors;
        let kinds: Vec<_> = errors.keys().collect();
        assert_eq!(kinds, ["refused"], "{mode}: {errors:?}");
    }
    Ok(())
}

#[test]
fn the_probe_sees_wrong_answers() -> io::Result<()> {
    let address = misbehave(|mut stream| {
        answer(&mut stream, 3)?;
        stream.write_all(&[b'!'; 64])?;
        answer(&mut stream, usize::MAX)
    })?;
    let errors = load(&address, "--mode probe --seconds 0.2 --disturb none")?.errors;
    assert_eq!(errors.get("wrong"), Some(&1), "{errors:?}");
    Ok(())
}
