//! What comes from outside: descriptors, signals, children, names.

use crate::support::{Log, Random, eventually, everywhere, finish};
use fibre::Cluster;
use fibre::process::Command;
use fibre::signal::SIGUSR1;
use fibre_events::{Colour, Events, Handler};
use std::hash::{Hash, Hasher};
use std::io::{Read, Write, pipe};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_callback_is_called_for_each_readiness() {
    static READ: Handler = Handler::new("read").time_us(1);
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let (reader, mut writer) = pipe().unwrap();
        let (reader, log) = (Arc::new(reader), Log::default());
        let (source, said) = (Arc::clone(&reader), log.clone());
        let call = move || {
            let mut byte = [0];
            let count = (&*source).read(&mut byte).unwrap();
            said.say(if count == 0 { 256 } else { u64::from(byte[0]) });
        };
        events
            .on_readable(Arc::clone(&reader), 5, READ.every(call))
            .unwrap();
        events.start();
        // More than one byte at a time: the callback is called until there is none left.
        writer.write_all(&[1, 2, 3]).unwrap();
        eventually(|| log.words() == [1, 2, 3]);
        writer.write_all(&[4]).unwrap();
        eventually(|| log.words() == [1, 2, 3, 4]);
        assert!(events.off_readable(&reader));
        assert!(!events.off_readable(&reader));
        writer.write_all(&[5]).unwrap();
        finish(&events);
        assert_eq!(log.words(), [1, 2, 3, 4]);
    });
}

#[test]
fn a_later_callback_takes_the_place_of_an_earlier_one() {
    let events = Events::builder().processors(2).build().unwrap();
    let (reader, mut writer) = pipe().unwrap();
    let (reader, log) = (Arc::new(reader), Log::default());
    for word in [1, 2] {
        let (source, said) = (Arc::clone(&reader), log.clone());
        let call = move || {
            let _ = (&*source).read(&mut [0; 8]).unwrap();
            said.say(word);
        };
        events.on_readable(Arc::clone(&reader), 5, call).unwrap();
    }
    events.start();
    writer.write_all(&[1]).unwrap();
    eventually(|| log.words() == [2]);
    finish(&events);
}

#[test]
fn both_directions_have_callbacks() {
    let (here, mut there) = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Arc::new(listener.accept().unwrap().0), there)
    };
    let events = Events::builder().processors(2).build().unwrap();
    let (handle, stream) = (events.clone(), Arc::clone(&here));
    let write = move || {
        (&*stream).write_all(b"ping").unwrap();
        assert!(handle.off_writable(&stream));
    };
    events.on_writable(Arc::clone(&here), 8, write).unwrap();
    let (handle, stream) = (events.clone(), Arc::clone(&here));
    let read = move || {
        let mut answer = [0; 4];
        (&*stream).read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"pong");
        handle.stop();
    };
    events.on_readable(Arc::clone(&here), 8, read).unwrap();
    events.start();
    let mut question = [0; 4];
    there.read_exact(&mut question).unwrap();
    assert_eq!(&question, b"ping");
    there.write_all(b"pong").unwrap();
    let report = events.run();
    assert_eq!((report.ran, report.panicked), (2, 0));
}

/// A handler that waits holds up neither direction of its descriptor but its own.
#[test]
fn a_direction_is_told_while_the_other_one_is_handled() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let (here, mut there) = UnixStream::pair().unwrap();
        let here = Arc::new(here);
        let (go_on, may_go_on) = fibre::channel::unbounded();
        let log = Log::default();
        let (source, said) = (Arc::clone(&here), log.clone());
        let read = move || {
            said.say(1);
            let () = may_go_on.recv().unwrap();
            let _ = (&*source).read(&mut [0; 8]).unwrap();
            said.say(3);
        };
        events.on_readable(Arc::clone(&here), 1, read).unwrap();
        events.start();
        there.write_all(b"x").unwrap();
        eventually(|| log.words() == [1]);
        let (handle, source, said) = (events.clone(), Arc::clone(&here), log.clone());
        let write = move || {
            assert!(handle.off_writable(&source));
            said.say(2);
        };
        events.on_writable(Arc::clone(&here), 2, write).unwrap();
        eventually(|| log.words() == [1, 2]);
        go_on.send(()).unwrap();
        eventually(|| log.words() == [1, 2, 3]);
        // It is told again of what comes later, with the other callback gone.
        there.write_all(b"y").unwrap();
        eventually(|| log.words() == [1, 2, 3, 1]);
        go_on.send(()).unwrap();
        finish(&events);
        assert_eq!(log.words(), [1, 2, 3, 1, 3]);
    });
}

/// A file is always ready, though no epoll instance takes it.
#[test]
fn files_are_always_ready() {
    let events = Events::builder().processors(1).build().unwrap();
    let file = Arc::new(std::fs::File::open("/proc/self/exe").unwrap());
    let (handle, source, log) = (events.clone(), Arc::clone(&file), Log::default());
    let said = log.clone();
    let call = move || {
        let mut bytes = [0; 4];
        (&*source).read_exact(&mut bytes).unwrap();
        said.say(bytes[0].into());
        if said.words().len() == 2 {
            assert!(handle.off_readable(&source));
            handle.stop();
        }
    };
    events.on_readable(file, 0, call).unwrap();
    assert_eq!(events.run().panicked, 0);
    assert_eq!(log.words()[0], 0x7f);
    assert_eq!(log.words().len(), 2);
}

/// Descriptors that nothing comes to have callbacks, and no fibres.
#[test]
fn descriptors_that_wait_cost_no_fibres() {
    let events = Events::builder().processors(1).build().unwrap();
    let pipes: Vec<_> = (0..100).map(|_| pipe().unwrap()).collect();
    let (readers, writers): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
    let log = Log::default();
    for (colour, reader) in readers.into_iter().enumerate() {
        let (reader, said) = (Arc::new(reader), log.clone());
        let source = Arc::clone(&reader);
        let call = move || {
            let _ = (&*source).read(&mut [0]).unwrap();
            said.say(colour as u64);
        };
        events.on_readable(reader, colour as u64, call).unwrap();
    }
    events.start();
    (&writers[42]).write_all(b"x").unwrap();
    eventually(|| log.words() == [42]);
    let fibres = fibre::waits().len();
    assert!(fibres < 20, "{fibres} fibres wait for 100 descriptors");
    assert_eq!(finish(&events).ran, 1);
}

/// A key with a comparison that panics once.
#[derive(Clone)]
struct Moody(Arc<AtomicBool>);

impl PartialEq for Moody {
    fn eq(&self, _: &Self) -> bool {
        assert!(!self.0.swap(false, Ordering::Relaxed), "moody");
        true
    }
}

impl Eq for Moody {}

impl Hash for Moody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        7.hash(state);
    }
}

/// What the reader of all descriptors calls of the program may panic: the others are told.
#[test]
fn a_panic_leaves_others_their_readiness() {
    let events = Events::builder().processors(1).build().unwrap();
    let log = Log::default();
    let is_moody = Arc::new(AtomicBool::new(false));
    // Equal keys, which are compared, as they are not one object.
    let moody = || Colour::of(&Moody(Arc::clone(&is_moody)));
    let mut writers = Vec::new();
    for (word, colour) in [(1, moody()), (2, moody()), (3, Colour::from(3))] {
        let (reader, writer) = pipe().unwrap();
        let (reader, said) = (Arc::new(reader), log.clone());
        let source = Arc::clone(&reader);
        let call = move || {
            assert_eq!((&*source).read(&mut [0]).unwrap(), 1);
            said.say(word);
        };
        events.on_readable(reader, colour, call).unwrap();
        writers.push(writer);
    }
    events.start();
    writers[0].write_all(b"x").unwrap();
    eventually(|| log.words() == [1]);
    is_moody.store(true, Ordering::Relaxed);
    writers[1].write_all(b"x").unwrap();
    // The event that panicked is told again, as there is still something to read.
    eventually(|| log.words() == [1, 2]);
    assert!(!is_moody.load(Ordering::Relaxed), "no key was compared");
    writers[2].write_all(b"x").unwrap();
    eventually(|| log.words() == [1, 2, 3]);
    assert_eq!(finish(&events).ran, 3);
}

/// A cluster that is left within limits takes the reader of all descriptors along.
#[test]
fn readiness_ends_with_its_cluster() {
    let cluster = Cluster::builder().processors(1).build().unwrap();
    let events = Events::builder().within(&cluster).build().unwrap();
    let (reader, _writer) = pipe().unwrap();
    let reader = Arc::new(reader);
    events.on_readable(Arc::clone(&reader), 1, || ()).unwrap();
    events.start();
    // The workers of events that nobody stops are left behind; the reader is not.
    let moment = Duration::from_millis(100);
    let _ = cluster.stop_within(moment, moment);
    eventually(|| Arc::strong_count(&reader) == 1);
}

/// Descriptors come and go, and so do their numbers: no callback is called for what another
/// descriptor had, and none is left out.
#[test]
fn numbers_of_descriptors_are_used_again() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        events.start();
        let mut random = Random::new(7);
        let mut waits = Vec::new();
        let log = Log::default();
        let mut expected = Vec::new();
        for word in 0..200 {
            let (reader, writer) = pipe().unwrap();
            let (reader, said) = (Arc::new(reader), log.clone());
            let (source, handle) = (Arc::clone(&reader), events.clone());
            let call = move || {
                // A read of an empty pipe would block the thread for ever.
                assert_eq!((&*source).read(&mut [0; 8]).unwrap(), 1, "told too early");
                let was_there = handle.off_readable(&source);
                assert!(was_there, "it has been taken back");
                said.say(word);
            };
            events.on_readable(Arc::clone(&reader), word, call).unwrap();
            waits.push((word, reader, writer));
            if random.below(3) > 0 {
                continue;
            }
            let (word, reader, mut writer) = waits.swap_remove(random.below(waits.len()));
            if random.below(2) == 0 {
                // Its number is free from here on.
                assert!(events.off_readable(&reader));
                continue;
            }
            writer.write_all(b"x").unwrap();
            expected.push(word);
            eventually(|| log.words().len() == expected.len());
        }
        for (word, _reader, mut writer) in waits.drain(..) {
            writer.write_all(b"x").unwrap();
            expected.push(word);
        }
        eventually(|| log.words().len() == expected.len());
        assert_eq!(finish(&events).panicked, 0);
        let mut words = log.words();
        words.sort_unstable();
        expected.sort_unstable();
        assert_eq!(words, expected);
    });
}

#[test]
fn signals_are_events() {
    let events = Events::builder().processors(2).build().unwrap();
    let log = Log::default();
    let said = log.clone();
    events.on_signal(SIGUSR1, 0, move || said.say(1)).unwrap();
    events.start();
    for count in 1..=3 {
        // SAFETY: a call without memory, of a signal that has a handler.
        assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) }, 0);
        eventually(|| log.words().len() == count);
    }
    assert!(events.off_signal(SIGUSR1));
    assert!(!events.off_signal(SIGUSR1));
    assert_eq!(finish(&events).ran, 3);
}

#[test]
fn children_are_events() {
    let events = Events::builder().processors(2).build().unwrap();
    let child = Command::new("true").spawn().unwrap();
    let handle = events.clone();
    let call = move |status: std::io::Result<fibre::process::ExitStatus>| {
        assert!(status.unwrap().success());
        handle.stop();
    };
    events.on_child(child, 0, call).unwrap();
    assert_eq!(events.run().panicked, 0);
}

#[test]
fn names_are_looked_up_beside_each_other() {
    let events = Events::builder().processors(2).build().unwrap();
    let log = Log::default();
    for colour in 0..4 {
        let said = log.clone();
        let call = move |found: std::io::Result<Vec<std::net::SocketAddr>>| {
            let found = found.unwrap();
            assert!(found.iter().all(|address| address.ip().is_loopback()));
            said.say(found.len() as u64);
        };
        events.lookup("localhost", 80, colour, call).unwrap();
    }
    events.start();
    eventually(|| log.words().len() == 4);
    assert!(log.words().iter().all(|count| *count > 0));
    finish(&events);
}

#[test]
fn connections_are_events_and_so_are_failures() {
    /// A port that the kernel gives nobody by itself, and that nothing listens on.
    const NOBODYS: u16 = 1;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let events = Events::builder().processors(2).build().unwrap();
    let log = Log::default();
    let said = log.clone();
    let connected = move |stream: std::io::Result<fibre::net::TcpStream>| {
        assert_eq!(stream.unwrap().peer_addr().unwrap().port(), port);
        said.say(1);
    };
    events.tcp_connect("127.0.0.1", port, 3, connected).unwrap();
    events.start();
    eventually(|| log.words() == [1]);
    drop(listener);
    let said = log.clone();
    let refused = move |stream: std::io::Result<fibre::net::TcpStream>| {
        assert!(stream.is_err());
        said.say(2);
    };
    // The port that was given back may be somebody else's by now.
    events
        .tcp_connect("127.0.0.1", NOBODYS, 3, refused)
        .unwrap();
    eventually(|| log.words() == [1, 2]);
    assert_eq!(finish(&events).panicked, 0);
}

#[test]
fn registrations_end_with_the_events() {
    let events = Events::builder().processors(2).build().unwrap();
    let (reader, _writer) = pipe().unwrap();
    let reader = Arc::new(reader);
    events.on_readable(Arc::clone(&reader), 1, || ()).unwrap();
    events.start();
    finish(&events);
    assert_eq!(Arc::strong_count(&reader), 1);
    assert!(events.on_readable(reader, 1, || ()).is_err());
}
