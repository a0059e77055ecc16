//! A server for a test of a program that is built on `front`.

use crate::front::limits::Limits;
use crate::front::server::{Server, Service};
use fibre_events::{Events, Policy, Report};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

#[path = "../../../../tests/support/watchdog.rs"]
#[allow(dead_code, reason = "a part is used")]
pub mod watchdog;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(600);

/// All policies.
pub const POLICIES: [Policy; 4] = [
    Policy::Off,
    Policy::Libasync,
    Policy::MelyBase,
    Policy::TimeLeft,
];

/// Limits that no test of well-behaved clients reaches.
pub fn patient() -> Limits {
    Limits {
        clients: 64,
        idle: LONG,
        request: LONG,
        ..Limits::default()
    }
}

/// Runs a test on a server under some policy, with so many processors, and stops that afterwards.
/// The test has closed all its connections.
pub fn serving<S: Service>(
    policy: Policy,
    processors: usize,
    limits: Limits,
    service: S,
    test: impl FnOnce(&Arc<Server<S>>),
) -> Report {
    let remark = format!(" with {policy:?} on {processors} processors");
    watchdog::watched_for(watchdog::LIMIT, &remark, || {
        let events = Events::builder().processors(processors).policy(policy);
        let events = events.build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server::start(&events, listener, service, limits).unwrap();
        events.start();
        test(&server);
        server.stop();
        let ended = events.run();
        // A look for new clients may be dropped; an event of a client would be missed by the test.
        assert_eq!(ended.panicked, 0);
        ended
    })
}
