//! Waiting for several descriptors.

use crate::support::sockets::{pair, registrations, shrink_buffers};
use crate::support::{
    Random, any_cluster, cpu_time_of, eventually, for_each_cluster, let_others_block,
    processor_counts, run_in, watched,
};
use fibre::io::{
    PipeReader, PollFd, Pollable, Readiness, pipe, poll, poll_timeout, poll_until, try_poll,
};
use fibre::{CancelToken, Cluster};
use rustix::event::{EventfdFlags, eventfd};
use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const READ: Readiness = Readiness::READ;
const WRITE: Readiness = Readiness::WRITE;
const NONE: Readiness = Readiness::NONE;

/// What is told of each.
fn told(fds: &[PollFd<'_>]) -> Vec<Readiness> {
    fds.iter().map(PollFd::readiness).collect()
}

/// Looks once at one descriptor.
fn now(fd: &impl AsFd, interest: Readiness) -> Readiness {
    let mut fds = [PollFd::new(fd, interest)];
    try_poll(&mut fds).unwrap();
    fds[0].readiness()
}

/// One of several, of ours and of others', becomes ready; which one differs.
#[test]
fn whichever_comes() {
    for_each_cluster(|_| {
        let ours: Vec<_> = (0..3).map(|_| pipe().unwrap()).collect();
        let others: Vec<_> = (0..3).map(|_| std::io::pipe().unwrap()).collect();
        for round in 0..12 {
            let mut fds: Vec<_> = ours.iter().map(|(end, _)| PollFd::new(end, READ)).collect();
            fds.extend(others.iter().map(|(end, _)| PollFd::new(end, READ)));
            // The same one twice, which is told twice.
            fds.push(PollFd::new(&others[0].0, READ | Readiness::PRIORITY));
            let chosen = round % 6;
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(1));
                    let sent = match chosen {
                        0..3 => (&ours[chosen].1).write(b"x"),
                        _ => (&others[chosen - 3].1).write(b"x"),
                    };
                    sent.unwrap();
                });
                assert_eq!(poll(&mut fds).unwrap(), if chosen == 3 { 2 } else { 1 });
            });
            let expected = [0, 1, 2, 3, 4, 5, 3].map(|i| if i == chosen { READ } else { NONE });
            assert_eq!(told(&fds), expected, "{chosen}");
            // It is told as long as it is so.
            assert!(poll(&mut fds).unwrap() > 0);
            let mut byte = [0];
            let taken = match chosen {
                0..3 => (&ours[chosen].0).read(&mut byte),
                _ => (&others[chosen - 3].0).read(&mut byte),
            };
            assert_eq!(taken.unwrap(), 1);
            assert_eq!(try_poll(&mut fds).unwrap(), 0);
        }
    });
}

/// What `poll` says of sockets: data, room, half-close, hang-up, all of it again and again.
#[test]
fn sockets() {
    for_each_cluster(|_| {
        let (left, right) = pair();
        assert_eq!(now(&left, READ | WRITE), WRITE);
        (&right).write_all(b"hello").unwrap();
        let mut fds = [PollFd::new(&left, READ)];
        assert_eq!(poll(&mut fds).unwrap(), 1);
        assert_eq!(told(&fds), [READ]);
        right.shutdown(fibre::net::Shutdown::Write).unwrap();
        fds[0].set_interest(Readiness::READ_CLOSED);
        assert_eq!(poll(&mut fds).unwrap(), 1);
        assert_eq!(told(&fds), [Readiness::READ_CLOSED]);
        left.shutdown(fibre::net::Shutdown::Write).unwrap();
        fds[0].set_interest(NONE);
        assert_eq!(poll(&mut fds).unwrap(), 1);
        assert_eq!(told(&fds), [Readiness::HANGUP]);
        let mut text = String::new();
        (&left).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    });
}

/// Room in a socket's buffer comes when the peer reads.
#[test]
fn room_to_write() {
    for_each_cluster(|_| {
        let (left, right) = pair();
        shrink_buffers(&left);
        shrink_buffers(&right);
        left.set_write_timeout(Some(Duration::from_millis(2)))
            .unwrap();
        let written = Cell::new(0);
        // What is under way makes room once more when it has come.
        eventually(|| {
            while let Ok(count) = (&left).write(&[3; 10_000]) {
                written.set(written.get() + count);
            }
            now(&left, WRITE) == NONE
        });
        let reader = fibre::spawn(move || {
            fibre::sleep(Duration::from_millis(1));
            let mut all = Vec::new();
            (&right).read_to_end(&mut all).unwrap();
            all.len()
        });
        let mut fds = [PollFd::new(&left, WRITE)];
        assert_eq!(poll(&mut fds).unwrap(), 1);
        assert_eq!(told(&fds), [WRITE]);
        drop(left);
        assert_eq!(reader.join().unwrap(), written.get());
    });
}

/// All who look at one descriptor are told, and readers of it lose nothing by them.
#[test]
fn onlookers_and_readers() {
    for_each_cluster(|_| {
        let (reader, writer) = pipe().unwrap();
        let reader = Arc::new(reader);
        let told = Arc::new(AtomicUsize::new(0));
        let onlookers = (0..5).map(|_| {
            let (reader, told) = (Arc::clone(&reader), Arc::clone(&told));
            fibre::spawn(move || {
                poll(&mut [PollFd::new(&*reader, READ)]).unwrap();
                told.fetch_add(1, Ordering::SeqCst);
            })
        });
        let onlookers: Vec<_> = onlookers.collect();
        let_others_block();
        (&writer).write_all(b"a").unwrap();
        eventually(|| told.load(Ordering::SeqCst) == 5);
        assert_eq!((&*reader).read(&mut [0; 8]).unwrap(), 1);
        onlookers.into_iter().for_each(|one| one.join().unwrap());

        // One that looks for something else stands before one that reads.
        let (token, looking) = (CancelToken::new(), Arc::clone(&reader));
        let onlooker = fibre::Builder::new()
            .cancel_token(&token)
            .spawn(move || poll(&mut [PollFd::new(&*looking, Readiness::PRIORITY)]));
        let_others_block();
        let reading = Arc::clone(&reader);
        let reading = fibre::spawn(move || (&*reading).read(&mut [0; 8]).unwrap());
        let_others_block();
        (&writer).write_all(b"bc").unwrap();
        assert_eq!(reading.join().unwrap(), 2);
        token.cancel();
        assert!(onlooker.unwrap().join().unwrap().is_err());
    });
}

/// Those whom nothing that comes satisfies do not keep each other busy.
#[test]
fn the_unsatisfied_rest() {
    for count in processor_counts() {
        let cluster = any_cluster().processors(count).name("unsatisfied");
        let body = |_: &Cluster| {
            let (reader, writer) = pipe().unwrap();
            let reader = Arc::new(reader);
            let fibres = (0..3).map(|_| {
                let reader = Arc::clone(&reader);
                fibre::spawn(move || {
                    poll(&mut [PollFd::new(&*reader, Readiness::PRIORITY)]).unwrap()
                })
            });
            let fibres: Vec<_> = fibres.collect();
            let_others_block();
            (&writer).write_all(b"not for them").unwrap();
            let_others_block();
            let (before, begun) = (cpu_time_of("unsatisfied"), Instant::now());
            fibre::sleep(Duration::from_millis(50));
            let used = cpu_time_of("unsatisfied") - before;
            // The sleep may take long on a busy machine; pollers look all the time meanwhile.
            let took = begun.elapsed();
            assert!(
                u128::from(used) < took.as_nanos() / 2,
                "{used} ns in {took:?}"
            );
            reader.close();
            for fibre in fibres {
                assert_eq!(fibre.join().unwrap(), 1);
            }
        };
        run_in(cluster.build().unwrap(), Arc::new(body));
    }
}

/// Deadlines: past ones look once, others wait as long as they say.
#[test]
fn deadlines() {
    for_each_cluster(|_| {
        let ((ours, writer), (others, _other_writer)) = (pipe().unwrap(), std::io::pipe().unwrap());
        let mut fds = [PollFd::new(&ours, READ), PollFd::new(&others, READ)];
        for _ in 0..3 {
            let before = Instant::now();
            assert_eq!(poll_timeout(&mut fds, Duration::from_millis(3)).unwrap(), 0);
            assert!(before.elapsed() >= Duration::from_millis(3));
            assert_eq!(poll_until(&mut fds, before).unwrap(), 0);
        }
        assert_eq!(poll_timeout(&mut [], Duration::from_millis(1)).unwrap(), 0);
        (&writer).write_all(b"x").unwrap();
        assert_eq!(poll_timeout(&mut fds, Duration::ZERO).unwrap(), 1);
        assert_eq!(poll_timeout(&mut fds, Duration::MAX).unwrap(), 1);
    });
}

/// A cancelled fibre looks at nothing any more, and one that waits is woken.
#[test]
fn cancellation() {
    for_each_cluster(|_| {
        let (reader, _writer) = pipe().unwrap();
        let token = CancelToken::new();
        let fibre = fibre::Builder::new().cancel_token(&token).spawn(move || {
            let kind = |result: std::io::Result<usize>| result.unwrap_err().raw_os_error();
            let mut fds = [PollFd::new(&reader, READ)];
            [kind(poll(&mut fds)), kind(poll(&mut []))]
        });
        let_others_block();
        token.cancel();
        let canceled = Some(rustix::io::Errno::CANCELED.raw_os_error());
        assert_eq!(fibre.unwrap().join().unwrap(), [canceled, canceled]);
    });
}

/// Closing wakes who waits for it among others, and is told later, too.
#[test]
fn closing() {
    for_each_cluster(|_| {
        let ((one, _one_writer), (other, _other_writer)) = (pipe().unwrap(), pipe().unwrap());
        let (one, other) = (Arc::new(one), Arc::new(other));
        let waiting = [Arc::clone(&one), Arc::clone(&other)];
        let fibre = fibre::spawn(move || {
            let mut fds = [&*waiting[0], &*waiting[1]].map(|end| PollFd::new(end, READ));
            poll(&mut fds).unwrap();
            told(&fds)
        });
        let_others_block();
        other.close();
        assert_eq!(fibre.join().unwrap(), [NONE, Readiness::INVALID]);
        assert_eq!(now(&*other, READ), Readiness::INVALID);
        assert_eq!((&*one).read(&mut []).unwrap(), 0);
    });
}

/// Files are always ready; what they are never does not keep the others from being waited for.
#[test]
fn files() {
    for_each_cluster(|_| {
        let file = File::open("/proc/self/exe").unwrap();
        assert_eq!(now(&file, READ), READ);
        let (reader, writer) = std::io::pipe().unwrap();
        let mut fds = [
            PollFd::new(&file, Readiness::PRIORITY),
            PollFd::new(&reader, READ),
        ];
        assert_eq!(poll_timeout(&mut fds, Duration::from_millis(1)).unwrap(), 0);
        (&writer).write_all(b"x").unwrap();
        assert_eq!(poll(&mut fds).unwrap(), 1);
        assert_eq!(told(&fds), [NONE, READ]);
    });
}

/// Nothing of a call is left in the runtime or in the kernel: descriptors come and go under the
/// same numbers.
#[test]
fn nothing_stays_behind() {
    for_each_cluster(|_| {
        for _ in 0..100 {
            let ((reader, writer), (quiet, _writer)) = (std::io::pipe().unwrap(), pipe().unwrap());
            let fibre = fibre::spawn(move || {
                fibre::yield_now();
                (&writer).write_all(b"x").unwrap();
                writer
            });
            let mut fds = [PollFd::new(&quiet, READ), PollFd::new(&reader, READ)];
            assert_eq!(poll(&mut fds).unwrap(), 1);
            let reader = PipeReader::try_from(reader).unwrap();
            assert_eq!((&reader).read(&mut [0; 8]).unwrap(), 1);
            let_go(&reader);
            fibre.join().unwrap();
        }
    });
}

/// Looks at one with a deadline that passes.
fn let_go(reader: &PipeReader) {
    let timeout = Duration::from_micros(50);
    assert_eq!(
        poll_timeout(&mut [PollFd::new(reader, READ)], timeout).unwrap(),
        0
    );
}

/// Plain threads wait as well.
#[test]
fn threads() {
    watched(|| {
        let ((ours, writer), (others, _writer)) = (pipe().unwrap(), std::io::pipe().unwrap());
        let mut fds = [PollFd::new(&ours, READ), PollFd::new(&others, READ)];
        assert_eq!(poll_timeout(&mut fds, Duration::from_millis(1)).unwrap(), 0);
        let thread = thread::spawn(move || (&writer).write_all(b"x").map(|()| writer));
        assert_eq!(poll(&mut fds).unwrap(), 1);
        assert_eq!(told(&fds), [READ, NONE]);
        thread.join().unwrap().unwrap();
    });
}

/// Several that look at overlapping sets, and take what they find, while all of it is written at
/// random: every byte is taken.
#[test]
fn crowds() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        const PIPES: usize = 6;
        const BYTES: usize = 300;
        let mut random = Random::new(seed);
        let pipes: Arc<Vec<_>> = Arc::new((0..PIPES).map(|_| pipe().unwrap()).collect());
        let taken = Arc::new(AtomicUsize::new(0));
        let takers = (0..4).map(|me| {
            let (pipes, taken) = (Arc::clone(&pipes), Arc::clone(&taken));
            fibre::spawn(move || {
                // Each looks at four of the six.
                let mine: Vec<_> = (0..4).map(|i| &pipes[(me + i) % PIPES].0).collect();
                loop {
                    let mut fds: Vec<_> = mine.iter().map(|end| PollFd::new(*end, READ)).collect();
                    poll(&mut fds).unwrap();
                    for (end, fd) in mine.iter().zip(&fds) {
                        if fd.readiness() == Readiness::INVALID {
                            return;
                        }
                        let mut byte = [0];
                        if fd.readiness().contains(READ)
                            && rustix::io::read(end, &mut byte) == Ok(1)
                        {
                            taken.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
            })
        });
        let takers: Vec<_> = takers.collect();
        for _ in 0..BYTES {
            (&pipes[random.below(PIPES)].1).write_all(b"x").unwrap();
            if random.below(4) == 0 {
                fibre::yield_now();
            }
            if random.below(50) == 0 {
                fibre::sleep(Duration::from_micros(200));
            }
        }
        eventually(|| taken.load(Ordering::SeqCst) == BYTES);
        pipes.iter().for_each(|(end, _)| end.close());
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        let late = (&pipes[0].0).read(&mut [0]).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::ConnectionAborted);
    });
}

/// A fibre that waits for a descriptor goes on when the object goes that has had it, and when
/// another one comes.
#[test]
fn owners_come_and_go() {
    for_each_cluster(|_| {
        let counter = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let mut owner = Some(Pollable::new(Arc::clone(&counter)).unwrap());
        for round in 0..6 {
            let watched = Arc::clone(&counter);
            let fibre = fibre::spawn(move || poll(&mut [PollFd::new(&*watched, READ)]).unwrap());
            let_others_block();
            match owner.take() {
                None => owner = Some(Pollable::new(Arc::clone(&counter)).unwrap()),
                Some(owner) if round < 3 => drop(owner.into_inner().unwrap()),
                Some(owner) => drop(owner),
            }
            let_others_block();
            rustix::io::write(&counter, &1_u64.to_ne_bytes()).unwrap();
            assert_eq!(fibre.join().unwrap(), 1);
            rustix::io::read(&counter, &mut [0; 8]).unwrap();
        }
        drop(owner);
        let number = counter.as_raw_fd();
        assert_eq!(registrations(number), 0, "{number} is left in an instance");
    });
}
