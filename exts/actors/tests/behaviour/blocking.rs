//! Handlers may block: on sockets, locks, channels, other actors.

use crate::support::{each, everywhere};
use fibre::channel::unbounded;
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Mutex;
use fibre_actors::{Actor, Context, Reply};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// An actor with a connection of its own, which asks the server on it.
struct Client(TcpStream);

impl Actor for Client {
    type Message = (u8, Reply<u8>);

    fn handle(&mut self, (byte, reply): (u8, Reply<u8>), _: &mut Context<'_, Self>) {
        self.0.write_all(&[byte]).unwrap();
        let mut answer = [0];
        self.0.read_exact(&mut answer).unwrap();
        reply.send(answer[0]);
    }
}

#[test]
fn handlers_read_sockets() {
    everywhere(|actors| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = fibre::spawn(move || {
            for _ in 0..8 {
                let (mut stream, _) = listener.accept().unwrap();
                fibre::spawn(move || {
                    let mut byte = [0];
                    while let Ok(1) = stream.read(&mut byte) {
                        fibre::sleep(Duration::from_micros(200));
                        stream.write_all(&[byte[0] ^ 0xff]).unwrap();
                    }
                });
            }
        });
        let clients: Vec<_> = (0..8)
            .map(|_| actors.spawn(Client(TcpStream::connect(address).unwrap())))
            .collect();
        let askers: Vec<_> = clients
            .into_iter()
            .map(|client| {
                fibre::spawn(move || {
                    (0..20).all(|byte| client.ask(|reply| (byte, reply)) == Ok(byte ^ 0xff))
                })
            })
            .collect();
        assert!(askers.into_iter().all(|asker| asker.join().unwrap()));
        server.join().unwrap();
    });
}

/// While some wait in their handlers, others run.
#[test]
fn actors_that_wait_hold_up_nobody() {
    everywhere(|actors| {
        let (go, stays) = unbounded::<()>();
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let stays = stays.clone();
                let actor = actors.spawn(each(move |(): ()| _ = stays.recv()));
                actor.send(()).unwrap();
                actor
            })
            .collect();
        let echo = actors.spawn(each(|(number, reply): (u32, Reply<u32>)| {
            reply.send(number)
        }));
        for number in 0..100 {
            assert_eq!(echo.ask(|reply| (number, reply)), Ok(number));
        }
        drop(go);
        waiting.iter().for_each(|actor| actor.stop());
        waiting.iter().for_each(|actor| _ = actor.wait());
    });
}

/// Actors that share a lock, and hold it while they sleep.
#[test]
fn handlers_take_locks() {
    everywhere(|actors| {
        let count = Arc::new(Mutex::new(0));
        let all: Vec<_> = (0..10)
            .map(|_| {
                let count = Arc::clone(&count);
                actors.spawn(each(move |(): ()| {
                    let mut count = count.lock();
                    let before = *count;
                    fibre::yield_now();
                    *count = before + 1;
                }))
            })
            .collect();
        for _ in 0..50 {
            all.iter().for_each(|actor| actor.send(()).unwrap());
        }
        all.iter().for_each(|actor| actor.stop());
        all.iter().for_each(|actor| _ = actor.wait());
        assert_eq!(*count.lock(), 500);
    });
}

/// A message that takes a million steps in one handler does not keep others from their turn.
#[test]
fn a_busy_actor_takes_turns_with_others() {
    everywhere(|actors| {
        let busy = actors.spawn(each(|_: u32| {}));
        let flood = busy.clone();
        let flooding = fibre::spawn(move || {
            (0..100_000).for_each(|number| flood.send(number).unwrap());
        });
        let echo = actors.spawn(each(|reply: Reply<()>| reply.send(())));
        assert_eq!(echo.ask(|reply| reply), Ok(()));
        flooding.join().unwrap();
    });
}
