//! Waits for connections and for bytes, on hosts in memory.

use super::crowd::{ms, pause};
use fibre::channel::unbounded;
use fibre::net::{TcpListener, TcpStream};
use fibre::{Builder, CancelToken};
use fibre_test::Sim;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

/// Each connection is accepted by one of several; each has its answer.
pub fn acceptors(sim: &Sim) {
    let (server, client) = (sim.host("server"), sim.host("client"));
    sim.link("server", "client").latency(ms(0)..ms(2));
    let listener = Arc::new(
        server
            .run(|| TcpListener::bind("0.0.0.0:1"))
            .join()
            .expect("it panicked")
            .expect("no listener"),
    );
    let token = CancelToken::new();
    for number in 0..3 {
        let (time, listener) = (sim.draw(0..4), Arc::clone(&listener));
        let own = match number {
            0 => token.clone(),
            _ => CancelToken::new(),
        };
        server.run(move || {
            let accepts = move || loop {
                let accepted = match time {
                    0 => listener.accept(),
                    time => listener.accept_timeout(ms(time)),
                };
                match accepted {
                    Ok((mut stream, _)) => stream.write_all(b"!").expect("it is gone"),
                    Err(_) if fibre::is_cancelled() => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
                }
            };
            let started = Builder::new().cancel_token(&own).spawn(accepts);
            drop(started.expect("no fibre"));
        });
    }
    let asks: Vec<_> = (0..4)
        .map(|_| {
            let stay = pause(sim);
            client.run(move || {
                fibre::sleep(stay);
                let mut answer = String::new();
                let mut stream = TcpStream::connect("server:1")?;
                stream.set_read_timeout(Some(ms(500)))?;
                stream.read_to_string(&mut answer)?;
                io::Result::Ok(answer)
            })
        })
        .collect();
    fibre::sleep(ms(sim.draw(0..4)));
    token.cancel();
    for ask in asks {
        let answer = ask.join().expect("it panicked");
        assert_eq!(answer.ok().as_deref(), Some("!"), "nobody has answered");
    }
}

/// Several read from one connection, some of them for a while: all bytes come, each to one.
pub fn readers(sim: &Sim) {
    let (server, client) = (sim.host("server"), sim.host("client"));
    sim.link("server", "client").latency(ms(0)..ms(2));
    let (count, step) = (4, pause(sim));
    server.run(move || {
        let (mut stream, _) = TcpListener::bind("0.0.0.0:1")?.accept()?;
        for byte in 0..count {
            stream.write_all(&[1 << byte])?;
            fibre::sleep(step);
        }
        io::Result::Ok(())
    });
    sim.settle();
    let (first_time, second_time) = (sim.draw(1..4), sim.draw(1..9));
    let draws = [0; 2].map(|_| pause(sim));
    let sum = client.run(move || {
        let stream = Arc::new(TcpStream::connect("server:1").expect("no connection"));
        let _ = stream.set_read_timeout(Some(ms(first_time)));
        let (sender, sums) = unbounded();
        for stay in draws {
            let (stream, sender) = (Arc::clone(&stream), sender.clone());
            fibre::spawn(move || {
                let mut sum = 0_u64;
                loop {
                    let mut byte = [0];
                    match (&*stream).read(&mut byte) {
                        Ok(0) => break,
                        Ok(_) => sum += u64::from(byte[0]),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(error) if error.kind() == ErrorKind::TimedOut => {}
                        Err(error) => panic!("{error}"),
                    }
                    fibre::sleep(stay);
                }
                let _ = sender.send(sum);
            });
        }
        drop(sender);
        fibre::sleep(ms(1));
        // Those that wait now have another limit.
        let _ = stream.set_read_timeout(Some(ms(second_time)));
        sums.iter().sum::<u64>()
    });
    assert_eq!(
        sum.join().expect("it panicked"),
        15,
        "a byte is lost, or came twice"
    );
}

/// A fibre that waits for room, or for bytes, hears of the connection's end.
pub fn resets(sim: &Sim) {
    let (server, client) = (sim.host("server"), sim.host("client"));
    let link = sim.link("server", "client").window(16);
    server.run(|| {
        let (stream, _) = TcpListener::bind("0.0.0.0:1")?.accept()?;
        fibre::sleep(ms(1000));
        drop(stream);
        io::Result::Ok(())
    });
    sim.settle();
    let ends = client.run(|| {
        let stream = Arc::new(TcpStream::connect("server:1").expect("no connection"));
        let reads = Arc::clone(&stream);
        // The first call of both has the error; then a reader finds the end.
        let reads = fibre::spawn(move || (&*reads).read(&mut [0]).unwrap_or(0) == 0);
        (&*stream).write_all(&[0; 100]).is_err() & reads.join().expect("it panicked")
    });
    sim.advance(ms(1) + pause(sim));
    let _ = link.reset();
    assert!(
        ends.join().expect("it panicked"),
        "it went on after the end"
    );
    assert!(sim.now() < ms(1000), "somebody has not heard of the end");
}
