//! Redirects, bodies, large texts both ways, TLS.

use crate::server::Server;
use crate::support::{for_each_cluster, watched};
use fibre_rustls::TlsAcceptor;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::io::Read;
use std::sync::Arc;
use ureq::config::Config;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error};

#[test]
fn redirects_are_followed() {
    for_each_cluster(|_| {
        let server = Server::start(None);
        let agent = fibre_ureq::agent(Config::default());
        let mut answer = agent.get(server.at("/to/5")).call().unwrap();
        let port: u16 = answer.body_mut().read_to_string().unwrap().parse().unwrap();
        assert_ne!(port, 0);
        let endless = agent.get(server.at("/to/50")).call();
        assert!(
            matches!(endless, Err(Error::TooManyRedirects)),
            "{endless:?}"
        );
    });
}

/// Megabytes go to the server and come back, whole.
#[test]
fn large_bodies_go_both_ways() {
    const SIZE: usize = 3 << 20;
    for_each_cluster(|_| {
        let server = Server::start(None);
        let agent = fibre_ureq::agent(Config::default());
        let body: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
        let mut answer = agent.post(server.at("/echo")).send(&body[..]).unwrap();
        let mut back = Vec::new();
        answer
            .body_mut()
            .as_reader()
            .read_to_end(&mut back)
            .unwrap();
        assert!(back == body);
        let mut answer = agent
            .get(server.at(&format!("/bytes/{SIZE}")))
            .call()
            .unwrap();
        let mut long = Vec::new();
        answer
            .body_mut()
            .as_reader()
            .read_to_end(&mut long)
            .unwrap();
        assert_eq!(
            (long.len(), long.iter().all(|byte| *byte == b'.')),
            (SIZE, true)
        );
        let mut answer = agent.get(server.at("/chunks/1000")).call().unwrap();
        assert_eq!(
            answer.body_mut().read_to_string().unwrap(),
            "chunk".repeat(1000)
        );
    });
}

/// The same over TLS, with a server by `fibre-rustls`; one that nobody vouches for is refused.
#[test]
fn tls_is_spoken() {
    watched(|| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        let server = Server::start(Some(TlsAcceptor::new(Arc::new(config))));
        let at = |path: &str| format!("https://localhost:{}{path}", server.address.port());
        let pem = Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
        let roots = RootCerts::from(vec![pem]);
        let trusting = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        let agent = fibre_ureq::agent(trusting);
        let fibres: Vec<_> = (0..20)
            .map(|number: usize| {
                let (agent, echo) = (agent.clone(), at("/echo"));
                fibre::spawn(move || {
                    let said = number.to_string().repeat(5000);
                    let mut answer = agent.post(&echo).send(&said).unwrap();
                    assert!(answer.body_mut().read_to_string().unwrap() == said);
                })
            })
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        let distrusting = fibre_ureq::agent(Config::default());
        assert!(distrusting.get(at("/port")).call().is_err());
    });
}
