//! The end of a server.

use crate::client::{Client, file, patient, with_server};

#[test]
fn a_server_that_nobody_knows_stops() {
    with_server(patient(), |_| {});
}

#[test]
fn clients_between_requests_are_closed_and_requests_that_have_begun_are_answered() {
    with_server(patient(), |server| {
        let mut resting = Client::of(server);
        assert_eq!(resting.get("/file/1").body, file(1));
        let mut midway = Client::of(server);
        midway.send(b"GET /file/2 HTTP/1.1\r\nHo");
        while server.table.count_if(|client| client.is_midway()) == 0 {
            std::thread::yield_now();
        }
        server.stop();
        assert_eq!(resting.rest(), b"");
        midway.send(b"st: a\r\n\r\n");
        let answer = midway.answer(true);
        assert!(answer.closes);
        assert_eq!(answer.body, file(2));
        assert_eq!(midway.rest(), b"");
    });
}
