//! ureq over a simulated network: a server that is out of reach for a while, for each seed at
//! another moment.

use fibre::net::TcpListener;
use fibre_test::{Schedule, Sim};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ureq::Error;
use ureq::config::Config;

/// So many milliseconds.
fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Counts requests to add, and answers with the number.
fn serve(count: &Arc<AtomicU64>) -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80")?;
    for (mut stream, _) in listener.connections() {
        let count = Arc::clone(count);
        fibre::spawn(move || -> io::Result<()> {
            loop {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte)?;
                    head.push(byte[0]);
                }
                let number = match head.starts_with(b"POST") {
                    true => count.fetch_add(1, Ordering::SeqCst) + 1,
                    false => count.load(Ordering::SeqCst),
                }
                .to_string();
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{number}",
                    number.len()
                )?;
            }
        });
    }
    Ok(())
}

/// What is added is added once, or not; and each call ends in its time.
fn adds_once(sim: &Sim) {
    let (server, client) = (sim.host("server"), sim.host("client"));
    let count = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&count);
    server.run(move || serve(&counts));
    sim.settle();
    sim.link("server", "client")
        .latency(ms(1)..ms(20))
        .drop_rate(0.02)
        .short_rate(0.2);
    sim.after(ms(sim.draw(0..3000)))
        .partition("server", "client")
        .heal_after(ms(sim.draw(1..60_000)));
    let reset = sim.draw(0..6000);
    if reset < 3000 {
        sim.after(ms(reset)).reset("server", "client");
    }
    let outcome = client.run(|| {
        let config = Config::builder().timeout_global(Some(ms(10_000))).build();
        let agent = fibre_ureq::agent(config);
        let (mut added, mut unknown) = (0, 0);
        for _ in 0..5 {
            let begun = std::time::Instant::now();
            let answer = agent.post("http://server/").send_empty();
            match answer.and_then(|mut answer| answer.body_mut().read_to_string()) {
                Ok(number) => {
                    added += 1;
                    assert!(
                        number.parse::<u64>().unwrap() >= added,
                        "an answer of before"
                    );
                }
                Err(Error::StatusCode(code)) => panic!("{code}"),
                Err(_) => unknown += 1,
            }
            assert!(
                begun.elapsed() <= ms(10_000),
                "it took {:?}",
                begun.elapsed()
            );
            fibre::sleep(ms(300));
        }
        (added, unknown)
    });
    let (added, unknown) = outcome.join().unwrap();
    sim.advance(ms(300_000));
    let number = client.run(|| {
        let agent = fibre_ureq::agent(Config::default());
        let answer = agent.get("http://server/").call();
        answer.and_then(|mut answer| answer.body_mut().read_to_string())
    });
    let number: u64 = number.join().unwrap().unwrap().parse().unwrap();
    assert_eq!(number, count.load(Ordering::SeqCst));
    assert!(
        (added..=added + unknown).contains(&number),
        "{number} of {added} and {unknown}"
    );
    sim.sometimes("an answer is lost", number > added);
    sim.sometimes("all is well", unknown == 0);
}

#[test]
fn what_is_sent_is_done_once_at_most() {
    for schedule in [Schedule::in_order(), Schedule::pos()] {
        let report = Sim::builder().seeds(100).schedule(schedule).run(adds_once);
        assert_eq!(report.runs(), 100);
    }
}
