//! Connections that are used again, by many fibres at once.

use crate::server::Server;
use crate::support::{eventually, for_each_cluster, watched};
use std::sync::atomic::Ordering;
use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;

/// What a server answers.
fn get(agent: &Agent, address: &str) -> String {
    let mut answer = agent.get(address).call().unwrap();
    answer.body_mut().read_to_string().unwrap()
}

/// One request after the other goes over one connection, also from another fibre or thread.
#[test]
fn connections_are_used_again() {
    watched(|| {
        let server = Server::start(None);
        let agent = fibre_ureq::agent(Config::default());
        let first = get(&agent, &server.at("/port"));
        assert_eq!(get(&agent, &server.at("/port")), first);
        let (clone, address) = (agent.clone(), server.at("/port"));
        let in_fibre = fibre::spawn(move || get(&clone, &address)).join().unwrap();
        assert_eq!(in_fibre, first);
        assert_eq!(server.connections.load(Ordering::Relaxed), 1);
    });
}

/// A hundred fibres share a pool: each gets its own answers, and there are no more connections than
/// fibres.
#[test]
fn a_hundred_fibres_share_a_pool() {
    for_each_cluster(|_| {
        let server = Server::start(None);
        let config = Agent::config_builder()
            .max_idle_connections(100)
            .max_idle_connections_per_host(100)
            .build();
        let agent = fibre_ureq::agent(config);
        let fibres: Vec<_> = (0..100)
            .map(|number| {
                let (agent, address) = (agent.clone(), server.at("/echo"));
                fibre::spawn(move || {
                    for round in 0..10 {
                        let said = format!("{number}:{round}");
                        let mut answer = agent.post(&address).send(&said).unwrap();
                        assert_eq!(answer.body_mut().read_to_string().unwrap(), said);
                    }
                })
            })
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        let connections = server.connections.load(Ordering::Relaxed);
        assert!((1..=100).contains(&connections), "{connections}");
    });
}

/// A connection that the server has closed meanwhile is not used again.
#[test]
fn closed_connections_are_left_out() {
    for_each_cluster(|_| {
        let listener = fibre::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Each connection is good for one request, and says nothing of that.
        let server = fibre::spawn(move || {
            use std::io::{Read, Write};
            for _ in 0..20 {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 1024]).unwrap();
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    .unwrap();
            }
        });
        let agent = fibre_ureq::agent(Config::default());
        for _ in 0..20 {
            assert_eq!(get(&agent, &format!("http://{address}/")), "ok");
            // Until the end has come.
            fibre::sleep(Duration::from_millis(20));
        }
        eventually(|| server.is_finished());
    });
}
