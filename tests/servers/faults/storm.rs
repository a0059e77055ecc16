//! Descriptor numbers that are used again at once.
//!
//! Fibres and threads open, duplicate, overwrite and close sockets and pipes of all kinds, for
//! `FIBRE_STRESS_SECONDS` with each poller (default: a tenth of one). Readers wait for what will
//! never come until a close, a cancellation, a deadline or the peer ends that, and the number has
//! its next owner at once. All that is said carries the speaker's name.

use super::frames::{Frames, Word};
use super::support::sockets::{listener, reset_on_close};
use super::support::{Random, watched_for};
use fibre::io::pipe;
use fibre::net::{TcpListener, TcpStream};
use fibre::os::unix::net::UnixStream;
use fibre::{Cluster, IoChoices, Poller};
use rustix::event::{EventfdFlags, eventfd};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Fibres that open and close.
const FIBRES: u64 = 8;

/// Threads that do, too.
const THREADS: u64 = 2;

/// How long each poller is tried.
fn duration() -> Duration {
    let seconds = std::env::var("FIBRE_STRESS_SECONDS").ok();
    seconds.map_or(Duration::from_millis(100), |text| {
        Duration::from_secs_f64(text.parse().unwrap())
    })
}

/// With each poller, with 1, 2 and 4 processors, of which some clusters move fibres at every turn.
#[test]
fn numbers_change_hands() {
    let mut random = Random::new(Random::seed());
    let settings = [(1, false), (2, false), (4, false), (2, true), (4, true)];
    for poller in Poller::ALL {
        let started = Instant::now();
        let mut said = 0;
        for (place, (processors, forced)) in settings.into_iter().enumerate() {
            let end = started + duration() * (place as u32 + 1) / settings.len() as u32;
            let builder = Cluster::builder().poller(poller).processors(processors);
            let builder = if forced {
                // SAFETY: fibres of this storm keep nothing across a wait that belongs to a
                // kernel thread.
                unsafe { builder.force_migration() }
            } else {
                builder
            };
            let remark =
                format!(" with poller {poller}, {processors} processors, forced: {forced}");
            let limit = duration() + Duration::from_secs(60);
            said += watched_for(limit, &remark, || {
                storm(builder.build().unwrap(), end, &mut random)
            });
        }
        println!("{poller}: {said} conversations");
    }
}

/// One cluster's part, until `end`; returns how many conversations there were.
fn storm(cluster: Cluster, end: Instant, random: &mut Random) -> u64 {
    let listener = Arc::new(listener());
    let address = listener.local_addr().unwrap();
    let servers = [(); 2].map(|()| {
        let (listener, random) = (Arc::clone(&listener), random.split());
        cluster.spawn(move || serve(&listener, random))
    });
    let count = Arc::new(AtomicU64::new(0));
    let mut player = || Player {
        address,
        random: random.split(),
        count: Arc::clone(&count),
    };
    let fibres: Vec<_> = (0..FIBRES)
        .map(|_| {
            let player = player();
            cluster.spawn(move || player.play(end))
        })
        .collect();
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let player = player();
            thread::spawn(move || player.play(end))
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    listener.close();
    servers
        .into_iter()
        .for_each(|server| server.join().unwrap());
    cluster.stop();
    count.load(Ordering::SeqCst)
}

/// Answers whoever calls, each in a fibre, until the listener closes.
fn serve(listener: &TcpListener, mut random: Random) {
    let mut answers = Vec::new();
    while let Ok((stream, _)) = listener.accept() {
        let random = random.split();
        answers.push(fibre::spawn(move || answer(&stream, random)));
        if answers.len() >= 64 {
            answers.drain(..).for_each(|answer| answer.join().unwrap());
        }
    }
    answers
        .into_iter()
        .for_each(|answer| answer.join().unwrap());
}

/// Answers one caller, to its end or sometimes ours.
fn answer(stream: &TcpStream, mut random: Random) {
    let mut frames = Frames::new(stream, 0);
    let mut word = frames.receive_from_anybody().unwrap();
    while let Some(heard) = word {
        if heard == Word::Idle {
            // A side that has said that may end in any way.
            let _ = frames.receive();
            return;
        }
        let leave = heard == Word::More && random.one_in(12);
        let say = if leave { Word::Bye } else { heard };
        frames.send(say, random.below(4000)).unwrap();
        if leave || heard == Word::Bye {
            return;
        }
        if heard == Word::Rude {
            let error = frames.receive().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            return;
        }
        word = frames.receive().unwrap();
    }
    panic!("the end came without a word");
}

/// A fibre that opens and closes.
struct Player {
    address: SocketAddr,
    random: Random,
    /// How many conversations there were.
    count: Arc<AtomicU64>,
}

impl Player {
    /// Plays until the end.
    fn play(mut self, end: Instant) {
        while Instant::now() < end {
            match self.random.below(7) {
                0..=2 => self.call(),
                3 => self.over_unix(),
                4 => self.over_pipe(),
                5 => self.wait_in_vain(),
                _ => self.overwrite(),
            }
        }
    }

    /// The next conversation's name.
    fn tag(&mut self) -> u64 {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.random.next()
    }

    /// Calls the server, and leaves in some way.
    fn call(&mut self) {
        let stream = TcpStream::connect(self.address).unwrap();
        let tag = self.tag();
        let rude = self.random.one_in(3);
        let mut frames = Frames::new(stream, tag);
        for _ in 0..self.random.below(5) {
            if !self.exchange(&mut frames, Word::More) {
                return;
            }
            if self.random.one_in(4) {
                // The old number goes, with what was known of it.
                let copy = frames.stream().try_clone().unwrap();
                *frames.stream() = copy;
            }
        }
        let word = if rude { Word::Rude } else { Word::Bye };
        if self.exchange(&mut frames, word) && rude {
            reset_on_close(frames.stream());
        }
    }

    /// Says something and hears the answer; `false`: the other one leaves.
    fn exchange(&mut self, frames: &mut Frames<TcpStream>, word: Word) -> bool {
        frames.send(word, self.random.below(4000)).unwrap();
        let answer = frames.receive().unwrap().expect("an answer");
        if answer != word {
            assert_eq!((word, answer), (Word::More, Word::Bye));
            assert_eq!(frames.receive().unwrap(), None);
        }
        answer == word
    }

    /// One end of a pair speaks, the other one listens, and both are gone.
    fn over_unix(&mut self) {
        let (left, right) = UnixStream::pair().unwrap();
        self.monologue(left, right);
    }

    /// The same by a pipe.
    fn over_pipe(&mut self) {
        let (reader, writer) = pipe().unwrap();
        self.monologue(writer, reader);
    }

    /// A fibre says some words, and we hear them.
    fn monologue(&mut self, speaks: impl Write + Send + 'static, hears: impl Read) {
        let tag = self.tag();
        let (words, mut random) = (self.random.below(4), self.random.split());
        let speaker = fibre::spawn(move || {
            let mut frames = Frames::new(speaks, tag);
            (0..words).for_each(|_| frames.send(Word::More, random.below(4000)).unwrap());
            frames.send(Word::Bye, 0).unwrap();
        });
        let mut frames = Frames::new(hears, tag);
        (0..words).for_each(|_| assert_eq!(frames.receive().unwrap(), Some(Word::More)));
        assert_eq!(frames.receive().unwrap(), Some(Word::Bye));
        drop(frames.into_stream());
        speaker.join().unwrap();
    }

    /// A fibre waits for what will not come, and is told why not.
    fn wait_in_vain(&mut self) {
        let stream = Arc::new(TcpStream::connect(self.address).unwrap());
        let tag = self.tag();
        Frames::new(&*stream, tag).send(Word::Idle, 0).unwrap();
        let reading = Arc::clone(&stream);
        let reader = fibre::spawn(move || {
            let mut byte = [0];
            let outcome = (&*reading).read(&mut byte);
            drop(reading);
            outcome.map_err(|error| (error.kind(), error.raw_os_error()))
        });
        for _ in 0..self.random.below(4) {
            fibre::yield_now();
        }
        let cancelled = libc::ECANCELED;
        match self.random.below(4) {
            0 => {
                stream.close();
                drop(stream);
                let told = reader.join().unwrap();
                assert_eq!(told, Err((ErrorKind::ConnectionAborted, None)));
            }
            1 => {
                drop(stream);
                reader.cancel();
                let told = reader.join().unwrap().unwrap_err();
                assert_eq!(told.1, Some(cancelled));
            }
            2 => {
                let soon = Instant::now() + Duration::from_micros(self.random.below(300) as u64);
                stream.set_read_deadline(Some(soon));
                drop(stream);
                let told = reader.join().unwrap();
                assert_eq!(told, Err((ErrorKind::TimedOut, None)));
            }
            _ => {
                stream.shutdown(Shutdown::Both).unwrap();
                drop(stream);
                assert_eq!(reader.join().unwrap(), Ok(0));
            }
        }
    }

    /// A connection takes over the number of something else, which is closed by that.
    fn overwrite(&mut self) {
        let stream = TcpStream::connect(self.address).unwrap();
        let tag = self.tag();
        let mut frames = Frames::new(stream, tag);
        let word = if self.random.one_in(2) {
            Word::Bye
        } else {
            Word::More
        };
        if !self.exchange(&mut frames, word) || word == Word::Bye {
            return;
        }
        let mut number = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        rustix::io::dup3(frames.stream(), &mut number, rustix::io::DupFlags::CLOEXEC).unwrap();
        let moved = std::net::TcpStream::from(number);
        *frames.stream() = TcpStream::try_from(moved).unwrap();
        if self.exchange(&mut frames, Word::More) {
            self.exchange(&mut frames, Word::Bye);
        }
    }
}
