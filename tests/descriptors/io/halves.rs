//! The two directions of a stream as two values.

use crate::support::sockets::pair;
use crate::support::{for_each_cluster, let_others_block};
use fibre::net::TcpStream;
use fibre::os::unix::net::UnixStream;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};

/// Borrowed halves serve two fibres of a scope, and end nothing.
#[test]
fn borrowed_halves() {
    for_each_cluster(|_| {
        let (near, far) = pair();
        let echo = fibre::spawn(move || {
            let (mut reader, mut writer) = far.split();
            let copied = std::io::copy(&mut reader, &mut writer).unwrap();
            assert_eq!(
                writer.as_ref().peer_addr().unwrap(),
                reader.as_ref().peer_addr().unwrap()
            );
            copied
        });
        let (mut reader, mut writer) = near.split();
        fibre::scope(|scope| {
            scope.spawn(move || {
                for number in 0..2000_u32 {
                    writer.write_all(&number.to_be_bytes()).unwrap();
                }
                writer.flush().unwrap();
            });
            for number in 0..2000_u32 {
                let mut bytes = [0; 4];
                reader.read_exact(&mut bytes).unwrap();
                assert_eq!(u32::from_be_bytes(bytes), number);
            }
        });
        (&near).write_all(b"on").unwrap();
        (&near).read_exact(&mut [0; 2]).unwrap();
        drop(near);
        assert_eq!(echo.join().unwrap(), 8002);
    });
}

/// Dropping the owned writing half ends its direction; the other one goes on.
#[test]
fn dropping_the_writing_half_ends_it() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        let (mut reader, mut writer) = near.into_split();
        let waiting = fibre::spawn(move || {
            let mut answer = String::new();
            reader.read_to_string(&mut answer).unwrap();
            answer
        });
        let pieces = [IoSlice::new(b"que"), IoSlice::new(b"stion")];
        assert_eq!(writer.write_vectored(&pieces).unwrap(), 8);
        let_others_block();
        drop(writer);
        let mut question = String::new();
        far.read_to_string(&mut question).unwrap();
        far.write_all(question.to_uppercase().as_bytes()).unwrap();
        drop(far);
        assert_eq!(waiting.join().unwrap(), "QUESTION");
    });
}

/// Dropping the reading half, or forgetting the writing one, ends nothing.
#[test]
fn forgetting_ends_nothing() {
    for_each_cluster(|_| {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (reader, mut writer) = near.into_split();
        drop(reader);
        far.write_all(b"taken").unwrap();
        writer.write_all(b"given").unwrap();
        let mut text = [0; 5];
        far.read_exact(&mut text).unwrap();
        drop(writer);
        assert!(matches!(far.read(&mut text), Ok(0) | Err(_)));

        let (near, mut far) = UnixStream::pair().unwrap();
        let (mut reader, writer) = near.into_split();
        writer.forget();
        far.set_read_timeout(Some(std::time::Duration::from_millis(2)))
            .unwrap();
        assert_eq!(far.read(&mut text).unwrap_err().kind(), ErrorKind::TimedOut);
        far.write_all(b"still").unwrap();
        let (mut first, mut second) = ([0; 2], [0; 3]);
        let mut room = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!(reader.read_vectored(&mut room).unwrap(), 5);
        drop(reader);
        assert_eq!(far.read(&mut text).unwrap(), 0);
    });
}

/// Halves of one stream make that stream again; those of two do not.
#[test]
fn halves_are_reunited() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        let address = near.local_addr().unwrap();
        let (reader, writer) = near.into_split();
        let (other_reader, other_writer) = pair().0.into_split();
        let error = reader.reunite(other_writer).unwrap_err();
        assert!(error.to_string().contains("different"));
        let fibre::net::ReuniteError(reader, other_writer) = error;
        let mut near: TcpStream = reader.reunite(writer).unwrap();
        assert_eq!(near.local_addr().unwrap(), address);
        near.write_all(b"whole").unwrap();
        far.read_exact(&mut [0; 5]).unwrap();
        other_reader.reunite(other_writer).unwrap();
    });
}
