//! Farewells, cuts, and calls that are ended in the middle.

use crate::peers::*;
use crate::support::for_each_cluster;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// A farewell is an end; a cut is not. After either, reading says the same again.
#[test]
fn a_cut_is_told_from_an_end() {
    for_each_cluster(|_| {
        let (mut client, mut server) = pair();
        server.write_all(b"all").unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        let mut heard = String::new();
        client.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "all");
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        // The other direction is open.
        client.write_all(b"more").unwrap();
        let mut more = [0; 4];
        server.read_exact(&mut more).unwrap();
        assert_eq!(&more, b"more");

        let (mut client, mut server) = pair();
        server.write_all(b"not all").unwrap();
        drop(server);
        let mut heard = Vec::new();
        let error = client.read_to_end(&mut heard).unwrap_err();
        assert_eq!(
            (heard.as_slice(), error.kind()),
            (&b"not all"[..], ErrorKind::UnexpectedEof)
        );
        let again = client.read(&mut [0]).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::UnexpectedEof);
    });
}

/// Nothing is written after a farewell.
#[test]
fn who_has_said_farewell_says_nothing_more() {
    for_each_cluster(|_| {
        let (mut client, mut server) = pair();
        client.shutdown(Shutdown::Write).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(
            client.write(b"x").unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
        assert_eq!(server.read(&mut [0]).unwrap(), 0);
        server.write_all(b"still").unwrap();
        let mut still = [0; 5];
        client.read_exact(&mut still).unwrap();
        assert_eq!(&still, b"still");
    });
}

/// A read that waits is ended from outside, and so is a writer that waits for its peer.
#[test]
fn both_directions_can_be_broken_off() {
    for_each_cluster(|_| {
        let (client, _server) = pair();
        let client = &client;
        fibre::scope(|scope| {
            let reading = scope.spawn(move || (&mut &*client).read(&mut [0]).unwrap_err().kind());
            let writing = scope.spawn(move || {
                let text = vec![1; 1 << 16];
                // More than the sockets take.
                loop {
                    if let Err(error) = (&mut &*client).write(&text) {
                        return error.kind();
                    }
                }
            });
            fibre::sleep(Duration::from_millis(5));
            let _ = client.shutdown(Shutdown::Both);
            assert_eq!(reading.join().unwrap(), ErrorKind::UnexpectedEof);
            let why = writing.join().unwrap();
            assert!(
                matches!(why, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset),
                "{why:?}"
            );
        });
    });
}

/// A read that is ended by time has lost nothing: the next one goes on where it was.
#[test]
fn a_late_read_loses_nothing() {
    for_each_cluster(|_| {
        let (mut client, server) = pair();
        let short = Duration::from_millis(2);
        let ended = fibre::timeout(short, || client.read(&mut [0]));
        let inner = ended.unwrap_err().into_value().unwrap().unwrap_err();
        assert!(fibre::is_cancelled_error(&inner), "{inner}");
        client.get_ref().set_read_timeout(Some(short)).unwrap();
        assert_eq!(
            client.read(&mut [0]).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        client.get_ref().set_read_timeout(None).unwrap();
        (&server).write_all(b"late").unwrap();
        let mut late = [0; 4];
        client.read_exact(&mut late).unwrap();
        assert_eq!(&late, b"late");
    });
}

/// A write that is ended by time has either taken its text, or not; the records that could not be
/// sent come with the next call. So the peer reads what was taken, whole.
#[test]
fn a_late_write_breaks_no_record() {
    for_each_cluster(|_| {
        let (mut client, mut server) = pair();
        let mut taken = Vec::new();
        client
            .get_ref()
            .set_write_timeout(Some(Duration::from_millis(2)))
            .unwrap();
        let mut late = 0;
        for number in 0_usize.. {
            let byte = number as u8;
            match client.write(&[byte; 30_000]) {
                Ok(count) => taken.extend(std::iter::repeat_n(byte, count)),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    late += 1;
                    if late == 3 {
                        break;
                    }
                }
            }
        }
        client.get_ref().set_write_timeout(None).unwrap();
        let reading = fibre::spawn(move || {
            let mut heard = Vec::new();
            server.read_to_end(&mut heard).unwrap();
            heard
        });
        client.flush().unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert!(reading.join().unwrap() == taken);
    });
}

/// A fibre that is cancelled while it reads lets go of the stream, which goes on for others.
#[test]
fn a_cancelled_reader_lets_go() {
    for_each_cluster(|_| {
        let (client, server) = pair();
        let client = std::sync::Arc::new(client);
        let reader = std::sync::Arc::clone(&client);
        let reading = fibre::spawn(move || (&mut &*reader).read(&mut [0]));
        fibre::sleep(Duration::from_millis(2));
        reading.cancel();
        let error = reading.join().unwrap().unwrap_err();
        assert!(fibre::is_cancelled_error(&error), "{error}");
        (&server).write_all(b"x").unwrap();
        assert_eq!((&mut &*client).read(&mut [0]).unwrap(), 1);
    });
}

/// The stream below comes back once nobody else has a half.
#[test]
fn the_stream_below_comes_back() {
    for_each_cluster(|_| {
        let (client, server) = pair();
        let address = server.get_ref().local_addr().unwrap();
        let (reader, writer) = client.split();
        let (other, _) = server.split();
        let halves = other.reunite(writer).unwrap_err();
        assert_eq!(halves.to_string(), "the halves are of two streams");
        let whole = reader.reunite(halves.1).unwrap();
        let below = whole.into_inner().unwrap();
        assert_eq!(below.peer_addr().unwrap(), address);
    });
}
