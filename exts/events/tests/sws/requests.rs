//! What clients get for what they ask.

use crate::client::{Answer, Client, LARGE, file, patient, serving, with_server};
use crate::serving::POLICIES;

#[test]
fn files_are_served_under_every_policy() {
    for policy in POLICIES {
        for processors in [1, 2] {
            serving(policy, processors, patient(), |server| {
                let mut clients: Vec<Client> = (0..8).map(|_| Client::of(server)).collect();
                for round in 0..20 {
                    for client in &mut clients {
                        client.ask("GET", &format!("/file/{}", round % 4));
                    }
                    for client in &mut clients {
                        let answer = client.answer(true);
                        assert_eq!((answer.status, answer.closes), (200, false));
                        assert_eq!(answer.body, file(round % 4));
                    }
                }
                assert_eq!(server.answered(), 8 * 20);
            });
        }
    }
}

#[test]
fn requests_are_answered_in_order_however_they_are_cut() {
    with_server(patient(), |server| {
        let stream: String = (0..4)
            .map(|number| format!("GET /file/{number} HTTP/1.1\r\nHost: a\r\n\r\n"))
            .collect();
        for cut in 1..stream.len() {
            let mut client = Client::of(server);
            let (head, tail) = stream.as_bytes().split_at(cut);
            client.send(head);
            client.send(tail);
            for number in 0..4 {
                assert_eq!(client.answer(true).body, file(number), "cut at {cut}");
            }
        }
    });
}

#[test]
fn a_long_pipeline_is_answered_to_its_end() {
    with_server(patient(), |server| {
        let mut client = Client::of(server);
        let request = b"GET /file/1 HTTP/1.1\r\nHost: a\r\n\r\n";
        // More than a read takes, and more than a write has.
        client.send(&request.repeat(1000));
        client.ends();
        for _ in 0..1000 {
            assert_eq!(client.answer(true).body, file(1));
        }
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn a_read_that_is_just_full_is_followed_by_another() {
    with_server(patient(), |server| {
        let mut client = Client::of(server);
        let begin = "GET /own HTTP/1.1\r\nHost: a\r\nX: ";
        let padding = "x".repeat(4096 - begin.len() - 4);
        let request = format!("{begin}{padding}\r\n\r\n");
        assert_eq!(request.len(), 4096);
        client.send(request.repeat(3).as_bytes());
        for _ in 0..3 {
            assert_eq!(client.answer(true).body, b"hi");
        }
    });
}

#[test]
fn a_client_may_close_after_an_answer() {
    with_server(patient(), |server| {
        let mut client = Client::of(server);
        client.send(b"GET /file/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let answer = client.answer(true);
        assert!(answer.closes);
        assert_eq!(answer.body, file(2));
        assert_eq!(client.rest(), b"");
        // HTTP/1.0 closes by itself.
        let mut client = Client::of(server);
        client.send(b"GET /own HTTP/1.0\r\n\r\n");
        assert_eq!(client.answer(true).body, b"hi");
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn head_has_no_body_and_other_methods_are_not_allowed() {
    with_server(patient(), |server| {
        let mut client = Client::of(server);
        client.ask("HEAD", "/file/1");
        assert_eq!(client.answer(false).status, 200);
        client.ask("DELETE", "/file/1");
        assert_eq!(client.answer(true).status, 405);
        let Answer { status, closes, .. } = client.get("/no/such/file?query");
        assert_eq!((status, closes), (404, false));
        assert_eq!(client.get("/file/3?query").body, file(3));
    });
}

#[test]
fn an_answer_larger_than_all_buffers_arrives_whole() {
    with_server(patient(), |server| {
        let mut client = Client::of(server);
        let answer = client.get("/large");
        assert_eq!(answer.body.len(), LARGE);
        assert!(answer.body.iter().all(|&byte| byte == b'x'));
        assert_eq!(client.get("/file/0").body, file(0));
    });
}
