//! Moments at which calls stop waiting, also those that wait already.

use crate::support::sockets::{listener, pair, pair_with_std, shrink_buffers};
use crate::support::{Latch, Random, for_each_cluster, let_others_block};
use fibre::io::{PollFd, Readiness, poll};
use fibre::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A short time.
const SHORT: Duration = Duration::from_millis(5);

/// A time that no test takes.
const LONG: Duration = Duration::from_secs(3600);

/// The moment after `time`.
fn after(time: Duration) -> Option<Instant> {
    Some(Instant::now() + time)
}

/// A deadline ends all calls, however many there were, and the connection can be used after it.
#[test]
fn a_deadline_is_for_many_calls() {
    for_each_cluster(|_| {
        let (mut near, mut far) = pair();
        let over = Latch::new();
        let told = Arc::clone(&over);
        let slow = fibre::spawn(move || {
            // Less than is waited for, however late the deadline is noticed.
            for _ in 0..100 {
                fibre::sleep(SHORT / 5);
                if far.write_all(b"x").is_err() {
                    return;
                }
            }
            told.wait();
            let _ = far.write_all(b"x");
        });
        let end = Instant::now() + 4 * SHORT;
        near.set_read_timeout(Some(LONG)).unwrap();
        near.set_read_deadline(Some(end));
        assert_eq!(near.read_deadline(), Some(end));
        let mut request = [0; 101];
        let error = near.read_exact(&mut request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(Instant::now() >= end);
        near.set_read_deadline(None);
        over.open();
        assert!(near.read(&mut [0; 8]).unwrap() > 0);
        drop(near);
        slow.join().unwrap();
    });
}

/// After its deadline a call takes what is there, even if no event has told of it, and does not
/// wait.
#[test]
fn past_deadlines_try_once() {
    for_each_cluster(|_| {
        for registered in [false, true] {
            let (mut near, mut far) = pair_with_std();
            if registered {
                near.set_read_deadline(after(Duration::from_millis(1)));
                assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            }
            let long_past = Instant::now().checked_sub(LONG);
            for past in [Some(Instant::now()), long_past.or(after(Duration::ZERO))] {
                near.set_read_deadline(past);
                near.set_write_deadline(past);
                assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
                // The far end is a plain socket: no fibre runs, and nobody polls.
                far.write_all(b"there").unwrap();
                assert_eq!(near.read(&mut [0; 8]).unwrap(), 5);
                assert_eq!(near.write(b"room").unwrap(), 4);
                assert_eq!(near.peek(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            }
        }
    });
}

/// A deadline that is set while calls wait ends them, whoever sets it.
#[test]
fn deadlines_end_calls_that_wait() {
    for_each_cluster(|_| {
        for by_thread in [false, true] {
            let (near, _far) = pair();
            let near = Arc::new(near);
            let read = |near: &Arc<TcpStream>| {
                let near = Arc::clone(near);
                move || (&*near).read(&mut [0]).unwrap_err().kind()
            };
            let fibres = [(); 3].map(|()| fibre::spawn(read(&near)));
            let waiting = thread::spawn(read(&near));
            let writing = Arc::clone(&near);
            let writer = fibre::spawn(move || (&*writing).write_all(&vec![0; 32 << 20]));
            let_others_block();
            let setting = Arc::clone(&near);
            let set = move || {
                setting.set_read_deadline(Some(Instant::now()));
                setting.set_write_deadline(after(SHORT));
            };
            if by_thread {
                fibre::blocking(|| thread::spawn(set).join()).unwrap();
            } else {
                set();
            }
            for fibre in fibres {
                assert_eq!(fibre.join().unwrap(), ErrorKind::TimedOut);
            }
            let waiting = fibre::blocking(|| waiting.join()).unwrap();
            assert_eq!(waiting, ErrorKind::TimedOut);
            let error = writer.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        }
    });
}

/// A deadline that is put off while a call waits does not end it.
#[test]
fn deadlines_can_be_put_off() {
    for_each_cluster(|_| {
        let (near, mut far) = pair();
        let near = Arc::new(near);
        let first = Instant::now() + 4 * SHORT;
        near.set_read_deadline(Some(first));
        let reading = Arc::clone(&near);
        let reader = fibre::spawn(move || (&*reading).read(&mut [0; 4]));
        let_others_block();
        near.set_read_deadline(None);
        let put_off = Instant::now();
        fibre::sleep(6 * SHORT);
        near.set_read_deadline(after(LONG));
        let_others_block();
        far.write_all(b"late").unwrap();
        match reader.join().unwrap() {
            Ok(count) => assert_eq!(count, 4),
            // On an overloaded machine it was over before it was put off.
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TimedOut);
                assert!(put_off >= first, "it was put off, and came all the same");
            }
        }
    });
}

/// Those who are told of a new deadline keep their order.
#[test]
fn new_deadlines_keep_the_order() {
    for_each_cluster(|cluster| {
        let (near, mut far) = pair();
        let near = Arc::new(near);
        let readers: Vec<_> = (0..5)
            .map(|_| {
                let near = Arc::clone(&near);
                let reader = fibre::spawn(move || {
                    let mut byte = [0];
                    (&*near).read_exact(&mut byte).unwrap();
                    byte[0]
                });
                let_others_block();
                reader
            })
            .collect();
        near.set_read_deadline(after(LONG));
        let_others_block();
        for byte in 0..5 {
            far.write_all(&[byte]).unwrap();
            let_others_block();
        }
        let mut bytes: Vec<_> = readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect();
        if cluster.processors() > 1 {
            // Several processors may change the order while they wait again.
            bytes.sort_unstable();
        }
        assert_eq!(bytes, [0, 1, 2, 3, 4]);
    });
}

/// The earlier one of time-out and deadline counts; each direction and each clone has its own.
#[test]
fn the_earlier_end_counts() {
    for_each_cluster(|_| {
        let (mut near, far) = pair();
        let ends = |near: &mut TcpStream| {
            let before = Instant::now();
            assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            assert!(before.elapsed() >= SHORT);
        };
        near.set_read_timeout(Some(SHORT)).unwrap();
        near.set_read_deadline(after(LONG));
        ends(&mut near);
        near.set_read_timeout(Some(LONG)).unwrap();
        near.set_read_deadline(after(SHORT));
        ends(&mut near);
        assert_eq!(near.write_deadline(), None);
        assert_eq!(
            near.try_clone().unwrap().read_deadline(),
            near.read_deadline()
        );
        assert_eq!(far.read_deadline(), None);
    });
}

/// A write deadline cuts off in the middle; what was written before arrives.
#[test]
fn write_deadlines() {
    for_each_cluster(|_| {
        let (mut near, mut far) = pair();
        shrink_buffers(&near);
        near.set_write_deadline(after(SHORT));
        let mut written = 0;
        let error = loop {
            match near.write(&[1; 10_000]) {
                Ok(count) => written += count,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(near);
        let mut all = Vec::new();
        far.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), written);
    });
}

/// Accepting and connecting end in time, and take what is there.
#[test]
fn accepting_and_connecting() {
    for_each_cluster(|_| {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let kind = |result: std::io::Result<(TcpStream, _)>| result.unwrap_err().kind();
        let late = ErrorKind::TimedOut;
        for time in [Duration::ZERO, SHORT] {
            let before = Instant::now();
            assert_eq!(kind(listener.accept_timeout(time)), late);
            assert_eq!(kind(listener.accept_until(before + 2 * time)), late);
            assert!(before.elapsed() >= 2 * time);
        }
        let connected = TcpStream::connect_until(&address, Instant::now() + LONG).unwrap();
        // A connection may be in the queue a little after its client has connected.
        poll(&mut [PollFd::new(&listener, Readiness::READ)]).unwrap();
        let accepted = listener.accept_until(Instant::now()).unwrap();
        assert_eq!(accepted.1, connected.local_addr().unwrap());
        let second = TcpStream::connect(address).unwrap();
        assert!(listener.accept_timeout(Duration::MAX).is_ok());
        drop(second);
        // On loopback the answer is there at once, or it is too late.
        match TcpStream::connect_until(&address, Instant::now()) {
            Ok(stream) => assert_eq!(stream.peer_addr().unwrap(), address),
            Err(error) => assert_eq!(error.kind(), late),
        }
    });
}

/// Deadlines that change all the time while bytes come: every byte is read once.
#[test]
fn changing_deadlines_lose_nothing() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const LENGTH: u32 = 400;
        let mut random = Random::new(seed);
        let (near, mut far) = pair();
        let near = Arc::new(near);
        let (changing, mut moments) = (Arc::clone(&near), random.split());
        let changer = fibre::spawn(move || {
            while Arc::strong_count(&changing) > 1 {
                let soon = Duration::from_micros(moments.below(300) as u64);
                changing.set_read_deadline(if moments.one_in(4) { None } else { after(soon) });
                fibre::sleep(Duration::from_micros(moments.below(100) as u64));
            }
        });
        let writer = fibre::spawn(move || {
            for number in 0..LENGTH {
                fibre::sleep(Duration::from_micros(random.below(150) as u64));
                far.write_all(&number.to_be_bytes()).unwrap();
            }
        });
        let mut all = Vec::new();
        loop {
            let mut buffer = [0; 7];
            match (&*near).read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            }
            fibre::yield_now();
        }
        let expected: Vec<u8> = (0..LENGTH).flat_map(u32::to_be_bytes).collect();
        assert_eq!(all, expected);
        drop(near);
        writer.join().unwrap();
        changer.join().unwrap();
    });
}
