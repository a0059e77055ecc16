//! Half-close, end of file, resets.

use crate::support::sockets::{listener, pair, pair_with_std, reset_on_close, shrink_buffers};
use crate::support::{Random, eventually, for_each_cluster, let_others_block};
use fibre::net::{Shutdown, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

/// After one end has said that it is done, the other one still answers.
#[test]
fn half_close() {
    for_each_cluster(|_| {
        let (mut left, mut right) = pair();
        let server = fibre::spawn(move || {
            let mut request = String::new();
            right.read_to_string(&mut request).unwrap();
            assert_eq!(right.read(&mut [0]).unwrap(), 0, "the end stays the end");
            right.write_all(request.to_uppercase().as_bytes()).unwrap();
        });
        left.write_all(b"request").unwrap();
        let_others_block();
        left.shutdown(Shutdown::Write).unwrap();
        assert_eq!(
            left.write(b"more").unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
        let mut answer = String::new();
        left.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "REQUEST");
        server.join().unwrap();
    });
}

/// Data and the end that arrive together are two reads, however short the first one is.
#[test]
fn data_and_end_arrive_together() {
    for_each_cluster(|_| {
        for round in 0..60_usize {
            let (mut near, mut far) = pair_with_std();
            let reader = fibre::spawn(move || {
                let mut buffer = vec![0; 4 + round % 3];
                let mut total = 0;
                loop {
                    match near.read(&mut buffer).unwrap() {
                        0 => return total,
                        count => total += count,
                    }
                    if round % 5 == 0 {
                        fibre::yield_now();
                    }
                }
            });
            if round % 2 == 0 {
                let_others_block();
            }
            // The far end is a plain socket: no fibre runs here between the two calls.
            far.write_all(b"12345").unwrap();
            far.shutdown(Shutdown::Write).unwrap();
            assert_eq!(reader.join().unwrap(), 5);
        }
    });
}

/// Ending the reading direction wakes one's own reader.
#[test]
fn shutting_down_wakes_readers() {
    for_each_cluster(|_| {
        for how in [Shutdown::Read, Shutdown::Both] {
            let (near, _far) = pair();
            let near = Arc::new(near);
            let reading = Arc::clone(&near);
            let reader = fibre::spawn(move || (&*reading).read(&mut [0; 4]).unwrap());
            let_others_block();
            near.shutdown(how).unwrap();
            assert_eq!(reader.join().unwrap(), 0);
        }
    });
}

/// Ending the writing direction wakes one's own writer with an error.
#[test]
fn shutting_down_wakes_writers() {
    for_each_cluster(|_| {
        let (near, _far) = pair();
        let near = Arc::new(near);
        let writing = Arc::clone(&near);
        let writer = fibre::spawn(move || (&*writing).write_all(&vec![0; 32 << 20]));
        let_others_block();
        near.shutdown(Shutdown::Write).unwrap();
        let error = writer.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

/// A fibre that waits to read is woken by a reset.
#[test]
fn resets_wake_readers() {
    for_each_cluster(|_| {
        for round in 0..20 {
            let (mut near, far) = pair_with_std();
            let reader = fibre::spawn(move || near.read(&mut [0; 4]).unwrap_err().kind());
            if round % 4 != 0 {
                let_others_block();
            }
            reset_on_close(&far);
            drop(far);
            assert_eq!(reader.join().unwrap(), ErrorKind::ConnectionReset);
        }
    });
}

/// A fibre that waits to write is woken by a reset.
#[test]
fn resets_wake_writers() {
    for_each_cluster(|_| {
        for round in 0..20 {
            let (mut near, far) = pair_with_std();
            shrink_buffers(&near);
            let writer = fibre::spawn(move || {
                let error = near.write_all(&vec![0; 32 << 20]).unwrap_err();
                (error.kind(), near.write(b"x").unwrap_err().kind())
            });
            if round % 4 != 0 {
                let_others_block();
            }
            reset_on_close(&far);
            drop(far);
            let (first, second) = writer.join().unwrap();
            assert!(matches!(
                first,
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
            ));
            assert_eq!(second, ErrorKind::BrokenPipe, "and the process is alive");
        }
    });
}

/// A peer that closes with unread data resets: readers and writers both get to know.
#[test]
fn closing_with_unread_data_resets() {
    for_each_cluster(|_| {
        let (mut near, far) = pair_with_std();
        near.write_all(b"never read").unwrap();
        eventually(|| rustix::io::ioctl_fionread(&far).unwrap() == 10);
        drop(far);
        let mut end = near.read(&mut [0; 4]);
        if matches!(end, Ok(0)) {
            end = near.write_all(b"more").and(Ok(0));
        }
        assert!(matches!(end, Err(error) if error.kind() == ErrorKind::ConnectionReset));
    });
}

/// A peer that resets at any moment, in the middle of what it sends or receives, ends each call
/// with what had come, the end, or an error; nobody hangs, and the next one is served.
#[test]
fn resets_at_odd_moments() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accepting = Arc::clone(&listener);
        let server = fibre::spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                let stream = Arc::new(stream);
                let writing = Arc::clone(&stream);
                fibre::spawn(move || while (&*writing).write_all(&[1; 5000]).is_ok() {});
                fibre::spawn(move || while let Ok(1..) = (&*stream).read(&mut [0; 700]) {});
            }
        });
        let mut random = Random::new(seed);
        for _ in 0..60 {
            let mut far = TcpStream::connect(address).unwrap();
            let mut buffer = vec![0; random.below(20_000)];
            for _ in 0..random.below(4) {
                if random.one_in(2) {
                    far.read_exact(&mut buffer).unwrap();
                } else {
                    far.write_all(&buffer).unwrap();
                }
                (0..random.below(4)).for_each(|_| fibre::yield_now());
            }
            if random.one_in(4) {
                far.shutdown(Shutdown::Write).unwrap();
            }
            reset_on_close(&far);
        }
        listener.close();
        server.join().unwrap();
    });
}
