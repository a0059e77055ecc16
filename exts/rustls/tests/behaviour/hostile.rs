//! Peers that send what is no TLS, too much of it, or nothing.

use crate::peers::*;
use crate::support::{Random, eventually, for_each_cluster, sockets, watched};
use fibre::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What is no TLS is refused, with an alert for who understands it.
#[test]
fn what_is_no_tls_is_refused() {
    let no_tls: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\x17\x03\x03\x00\x01x",
        &[0; 1000],
    ];
    for_each_cluster(move |_| {
        for bytes in no_tls {
            let (ours, mut theirs) = sockets::pair_with_std();
            let accepting = fibre::spawn(move || acceptor().accept(ours).map(drop));
            fibre::blocking(|| {
                theirs.write_all(bytes).unwrap();
                theirs.shutdown(std::net::Shutdown::Write).unwrap();
            });
            let error = accepting.join().unwrap().unwrap_err();
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::InvalidData | ErrorKind::UnexpectedEof
                ),
                "{error} for {bytes:?}"
            );
        }
    });
}

/// Random bytes in the middle of a conversation are an error of the reader, and the stream is of
/// no use any more; the peer that sent them hears an alert or an end.
#[test]
fn a_record_that_was_changed_is_an_error() {
    for_each_cluster(|_| {
        let mut random = Random::new(Random::seed());
        for _ in 0..10 {
            let (mut client, server) = pair();
            let mut bytes = vec![0x17, 3, 3, 0, 200];
            bytes.extend((0..200).map(|_| random.next() as u8));
            let mut below = server.get_ref();
            below.write_all(&bytes).unwrap();
            let error = client.read(&mut [0; 100]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
            assert_eq!(
                client.read(&mut [0]).unwrap_err().kind(),
                ErrorKind::InvalidData
            );
            drop(client);
            assert!((&server).read(&mut [0]).is_err());
        }
    });
}

/// Peers that say nothing, or a byte now and then, cost a handshake's time each, and hold up
/// nobody.
#[test]
fn slow_peers_are_put_out() {
    watched(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        let served = Arc::new(AtomicUsize::new(0));
        let (count, good) = (Arc::clone(&ended), Arc::clone(&served));
        let patience = Duration::from_secs(2);
        let address = server(
            acceptor().handshake_timeout(patience),
            move |stream| match stream {
                Ok(mut stream) => {
                    stream.write_all(b"hello").unwrap();
                    stream.shutdown(std::net::Shutdown::Write).unwrap();
                    good.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    // On a busy machine a good client may be late, too.
                    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            },
        );
        let silent: Vec<_> = (0..50)
            .map(|_| std::net::TcpStream::connect(address).unwrap())
            .collect();
        let dripping = std::thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            // A head that announces much, and then a byte now and then, until it is cut.
            let mut bytes = b"\x16\x03\x01\x10\x00\x01\x00\x0f\xfc\x03\x03"
                .iter()
                .chain([&0; 4000]);
            while let Some(byte) = bytes.next()
                && stream.write_all(&[*byte]).is_ok()
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            bytes.count()
        });
        for _ in 0..20 {
            let stream = TcpStream::connect(address).unwrap();
            let heard = connector().connect(name(), stream).and_then(|mut stream| {
                let mut heard = String::new();
                stream.read_to_string(&mut heard).map(|_| heard)
            });
            assert!(heard.is_err() || heard.is_ok_and(|heard| heard == "hello"));
        }
        eventually(|| ended.load(Ordering::Relaxed) > silent.len());
        assert!(dripping.join().unwrap() > 0, "it was cut");
        assert!(served.load(Ordering::Relaxed) > 0);
    });
}

/// A peer that never reads does not keep its server's reader from reading.
#[test]
fn a_peer_that_does_not_read_is_read() {
    for_each_cluster(|_| {
        let (client, server) = pair();
        let filling = {
            let (mut reader, mut writer) = server.split();
            let writing = fibre::spawn(move || {
                let text = vec![0; 1 << 16];
                while writer.write_all(&text).is_ok() {}
            });
            let mut heard = vec![0; 3 << 20];
            let reading = fibre::spawn(move || reader.read_exact(&mut heard).map(|()| reader));
            (writing, reading)
        };
        // It writes, and reads nothing.
        (&client).write_all(&vec![1; 3 << 20]).unwrap();
        (&client).flush().unwrap();
        let reader = filling.1.join().unwrap().unwrap();
        drop(client);
        filling.0.join().unwrap();
        drop(reader);
    });
}
