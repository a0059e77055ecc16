//! What the child does while its calls go wrong, and how it notices what got lost.
//!
//! Conversations go over TCP, both ways at once, and one way over Unix streams, with several
//! buffers per call, and over pipes; where the plan allows, messages go back and forth, and bytes
//! are copied. What one sends follows from the conversation's own number, so that bytes that are
//! lost, doubled, swapped or another's are noticed. Buffers are small: all have to wait, also for
//! room.
//!
//! A call that fails as the plan foresees is made again, or ends its conversation, of which then
//! only the beginning has to be right. Anything else that fails, fails the test.

use super::conversation::{End, is_passing, persist, receive, send};
use super::messages;
use super::plan::Plan;
use super::seat::{self, Question, ask};
use super::support::sockets::shrink_buffers;
use super::support::{Random, any_cluster, run_in};
use super::tracer;
use fibre::io::pipe;
use fibre::net::{TcpListener, TcpStream};
use fibre::os::unix::net::UnixStream;
use fibre::{Cluster, IoChoices, JoinHandle, Poller};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// Conversations over TCP; of the others there are half as many of each kind.
const CONVERSATIONS: u64 = 6;

/// Runs the calling test's traffic under a plan, with each poller.
#[track_caller]
pub fn under(plan: Plan) {
    each_poller_under(plan, talk);
}

/// Runs a body under a plan, with each poller and one and two processors.
#[track_caller]
pub fn each_poller_under(plan: Plan, body: fn(Plan, &Cluster, Random)) {
    if !seat::is_child() {
        return tracer::run(&plan, &[]);
    }
    let mut random = Random::new(Random::seed());
    seat::take();
    for poller in Poller::ALL {
        for processors in [1, 2] {
            eprintln!("{poller}, {processors} processors");
            let before = ask(Question::Begin);
            let builder = any_cluster().poller(poller).processors(processors);
            let cluster = persist(plan, || builder.clone().build()).unwrap();
            // The watchdog of the next line is no part of the test.
            ask(Question::End);
            let random = random.split();
            let all = move |cluster: &Cluster| {
                ask(Question::Begin);
                body(plan, cluster, random.clone());
            };
            run_in(cluster, Arc::new(all));
            assert!(ask(Question::End) > before, "nothing went wrong");
        }
    }
}

/// All conversations, to their ends.
fn talk(plan: Plan, cluster: &Cluster, mut random: Random) {
    let listener = persist(plan, || TcpListener::bind("127.0.0.1:0")).unwrap();
    let listener = Arc::new(listener);
    let address = listener.local_addr().unwrap();
    let acceptors = [(); 2].map(|()| {
        let (listener, random) = (Arc::clone(&listener), random.split());
        cluster.spawn(move || answer_all(plan, &listener, random))
    });
    let mut ends = Vec::new();
    for number in 1..=CONVERSATIONS {
        let mut sizes = random.split();
        let client = cluster.spawn(move || call(plan, address, number, &mut sizes));
        ends.push(client);
        let sizes = random.split();
        match number % 4 {
            1 => ends.extend(over_unix(plan, cluster, number, sizes)),
            2 => ends.extend(over_pipe(plan, cluster, number, sizes)),
            _ => {}
        }
    }
    if plan.keeps_messages() {
        ends.extend(messages::talk(plan, cluster, 99));
    }
    if plan.is_silent() {
        ends.extend(messages::pass_on(plan, cluster, 100, random.split()));
    }
    let ends: Vec<_> = ends.into_iter().map(|end| end.join().unwrap()).collect();
    listener.close();
    let conversations = acceptors
        .into_iter()
        .flat_map(|fibre| fibre.join().unwrap());
    let answers: Vec<_> = conversations.map(|fibre| fibre.join().unwrap()).collect();
    if plan.lasting.is_empty() {
        assert!(ends.iter().chain(&answers).all(|end| *end == End::Whole));
        assert!(answers.len() >= CONVERSATIONS as usize, "{answers:?}");
    }
}

/// Accepts, and has a fibre answer each caller.
fn answer_all(plan: Plan, listener: &TcpListener, mut random: Random) -> Vec<JoinHandle<End>> {
    let mut conversations = Vec::new();
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => return conversations,
            Err(error) => {
                assert!(is_passing(plan, &error));
                continue;
            }
        };
        let mut sizes = random.split();
        conversations.push(fibre::spawn(move || {
            shrink_buffers(&stream);
            let mut number = [0; 8];
            match fill(plan, &stream, &mut number) {
                Some(8) => both_ways(
                    plan,
                    stream,
                    u64::from_be_bytes(number),
                    !u64::from_be_bytes(number),
                    &mut sizes,
                ),
                // Whoever called could not be registered, and has gone.
                _ => End::Whole,
            }
        }));
    }
}

/// Calls, says the conversation's number, and talks.
fn call(plan: Plan, address: SocketAddr, number: u64, sizes: &mut Random) -> End {
    let Some(stream) = persist(plan, || TcpStream::connect(address)) else {
        return End::Broken;
    };
    shrink_buffers(&stream);
    let name = number.to_be_bytes();
    let mut said = 0;
    while said < name.len() {
        match persist(plan, || (&stream).write(&name[said..])) {
            Some(count) => said += count,
            None => return End::Broken,
        }
    }
    both_ways(plan, stream, !number, number, sizes)
}

/// Receives what follows from one number, and sends what follows from another.
fn both_ways(plan: Plan, stream: TcpStream, receives: u64, sends: u64, sizes: &mut Random) -> End {
    let stream = Arc::new(stream);
    let writing = Arc::clone(&stream);
    let mut writes = sizes.split();
    let writer = fibre::spawn(move || {
        let end = send(plan, sends, &mut writes, |slices| {
            (&*writing).write(&slices[0])
        });
        if end == End::Whole {
            let _ = writing.shutdown(std::net::Shutdown::Write);
        } else {
            writing.close();
        }
        end
    });
    let end = receive(plan, receives, sizes, |slices| {
        (&*stream).read(&mut slices[0])
    });
    if end == End::Broken {
        stream.close();
    }
    match (end, writer.join().unwrap()) {
        (End::Whole, End::Whole) => End::Whole,
        _ => End::Broken,
    }
}

/// One direction of a Unix stream, with several buffers per call.
fn over_unix(
    plan: Plan,
    cluster: &Cluster,
    number: u64,
    mut sizes: Random,
) -> [JoinHandle<End>; 2] {
    let (left, right) = persist(plan, UnixStream::pair).unwrap();
    shrink_buffers(&left);
    let mut reads = sizes.split();
    [
        cluster.spawn(move || {
            send(plan, number, &mut sizes, |slices| {
                (&left).write_vectored(slices)
            })
        }),
        cluster.spawn(move || {
            receive(plan, number, &mut reads, |slices| {
                (&right).read_vectored(slices)
            })
        }),
    ]
}

/// One pipe.
fn over_pipe(
    plan: Plan,
    cluster: &Cluster,
    number: u64,
    mut sizes: Random,
) -> [JoinHandle<End>; 2] {
    let (reader, writer) = persist(plan, pipe).unwrap();
    let mut reads = sizes.split();
    [
        cluster.spawn(move || {
            send(plan, number, &mut sizes, |slices| {
                (&writer).write_vectored(slices)
            })
        }),
        cluster.spawn(move || {
            receive(plan, number, &mut reads, |slices| {
                (&reader).read_vectored(slices)
            })
        }),
    ]
}

/// Reads until the buffer is full, or to the end; returns how much there was, unless it failed.
fn fill(plan: Plan, mut stream: &TcpStream, buffer: &mut [u8]) -> Option<usize> {
    let mut total = 0;
    while total < buffer.len() {
        match persist(plan, || stream.read(&mut buffer[total..]))? {
            0 => break,
            count => total += count,
        }
    }
    Some(total)
}
