//! Reads and writes that give up.

use crate::support::sockets::{pair, pair_with_std, shrink_buffers};
use crate::support::{for_each_cluster, let_others_block, until_waiting};
use fibre::WaitKind;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A short time.
const SHORT: Duration = Duration::from_millis(5);

/// A read gives up after its time-out, not before, and the connection can be used after it.
#[test]
fn reads_time_out() {
    for_each_cluster(|_| {
        let (mut left, mut right) = pair();
        right.set_read_timeout(Some(SHORT)).unwrap();
        assert_eq!(right.read_timeout().unwrap(), Some(SHORT));
        let mut byte = [0];
        for round in 0..5_u8 {
            let before = Instant::now();
            let error = right.read(&mut byte).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(before.elapsed() >= SHORT);
            assert_eq!(
                right.peek(&mut byte).unwrap_err().kind(),
                ErrorKind::TimedOut
            );
            left.write_all(&[round]).unwrap();
            right
                .set_read_timeout(Some(Duration::from_secs(30)))
                .unwrap();
            assert_eq!(right.read(&mut byte).unwrap(), 1);
            assert_eq!(byte, [round]);
            right.set_read_timeout(Some(SHORT)).unwrap();
        }
    });
}

/// A write into full buffers gives up; what was written before arrives, and nothing else.
#[test]
fn writes_time_out() {
    for_each_cluster(|_| {
        let (mut left, mut right) = pair();
        shrink_buffers(&left);
        shrink_buffers(&right);
        left.set_write_timeout(Some(SHORT)).unwrap();
        assert_eq!(left.write_timeout().unwrap(), Some(SHORT));
        let mut written = 0;
        let error = loop {
            match left.write(&[3; 10_000]) {
                Ok(count) => written += count,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let reader = fibre::spawn(move || {
            let mut all = Vec::new();
            right.read_to_end(&mut all).unwrap();
            all.len()
        });
        left.set_write_timeout(None).unwrap();
        left.write_all(&[3; 10_000]).unwrap();
        drop(left);
        assert_eq!(reader.join().unwrap(), written + 10_000);
    });
}

/// A time-out of zero is refused; none, and one beyond all clocks, wait.
#[test]
fn odd_time_outs() {
    for_each_cluster(|_| {
        let (mut left, right) = pair();
        let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
        let zero = Some(Duration::ZERO);
        assert_eq!(kind(left.set_read_timeout(zero)), ErrorKind::InvalidInput);
        assert_eq!(kind(left.set_write_timeout(zero)), ErrorKind::InvalidInput);
        for time in [
            None,
            Some(Duration::MAX),
            Some(Duration::from_secs(1 << 32)),
        ] {
            left.set_read_timeout(time).unwrap();
            left.set_write_timeout(time).unwrap();
            let mut other = right.try_clone().unwrap();
            let writer = fibre::spawn(move || {
                fibre::sleep(Duration::from_millis(1));
                other.write_all(b"x").unwrap();
            });
            assert_eq!(left.read(&mut [0; 4]).unwrap(), 1);
            left.write_all(b"y").unwrap();
            writer.join().unwrap();
        }
        left.set_read_timeout(Some(Duration::from_nanos(1)))
            .unwrap();
        assert_eq!(left.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

/// Data that arrives at the moment of the time-out is read now or later, and never lost.
#[test]
fn time_outs_race_data() {
    for_each_cluster(|_| {
        let (mut left, mut right) = pair();
        right
            .set_read_timeout(Some(Duration::from_micros(150)))
            .unwrap();
        left.set_nodelay(true).unwrap();
        let writer = fibre::spawn(move || {
            for i in 0..500_u32 {
                fibre::sleep(Duration::from_micros(100 + u64::from(i % 60)));
                left.write_all(&i.to_be_bytes()).unwrap();
            }
        });
        let (mut all, mut late) = (Vec::new(), 0);
        loop {
            let mut buffer = [0; 7];
            match right.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    late += 1;
                }
            }
        }
        let expected: Vec<u8> = (0..500_u32).flat_map(u32::to_be_bytes).collect();
        assert_eq!(all, expected);
        println!("{late} reads were late");
        writer.join().unwrap();
    });
}

/// A time-out that is set while a call waits is for later calls, also if the one that waits has to
/// begin anew.
#[test]
fn calls_keep_the_time_out_they_began_with() {
    for_each_cluster(|_| {
        let (left, right) = pair();
        let right = Arc::new(right);
        let waiting = Arc::clone(&right);
        let reader = fibre::spawn(move || (&*waiting).read(&mut [0]).unwrap());
        until_waiting(WaitKind::Io, &[reader.id()]);
        right.set_read_timeout(Some(SHORT)).unwrap();
        // It looks again, and waits again.
        right.set_read_deadline(Some(Instant::now() + Duration::from_secs(3600)));
        let late = (&*right).read(&mut [0]).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        let_others_block();
        (&left).write_all(b"x").unwrap();
        assert_eq!(reader.join().unwrap(), 1);
    });
}

/// The kernel tells of room in a send buffer only when there is much. A writer that finds some
/// at the end of its time must not leave the next one to wait for an event that does not come.
#[test]
fn a_peer_that_does_not_read_costs_few_time_outs() {
    let (mut ours, _theirs) = pair_with_std();
    let timeout = Duration::from_millis(10);
    ours.set_write_timeout(Some(timeout)).unwrap();
    let fibre = fibre::spawn(move || {
        let (mut waits, mut errors) = (0, 0);
        while errors < 3 {
            let started = Instant::now();
            if let Err(error) = ours.write(&[0; 8192]) {
                assert_eq!(error.kind(), ErrorKind::TimedOut);
                errors += 1;
                // Meanwhile the kernel asks the peer's whether it has room, and makes a little
                // itself.
                fibre::sleep(Duration::from_millis(300));
            } else if started.elapsed() >= timeout {
                waits += 1;
            }
        }
        waits
    });
    let waits = fibre.join().unwrap();
    assert!(waits < 20, "{waits} calls waited before they wrote");
}
