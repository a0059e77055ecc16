//! What `std::thread` promises, of threads that are fibres.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread::{self, Builder, Thread};
use std::time::Duration;

/// A moment.
const SHORT: Duration = Duration::from_millis(2);

/// What `available_parallelism` was before threads were fibres.
static PARALLELISM: OnceLock<usize> = OnceLock::new();

/// What is found out before threads are fibres.
pub(crate) fn before() {
    PARALLELISM.get_or_init(|| thread::available_parallelism().unwrap().get());
    assert!(!thread::spawn(fibre::in_fibre).join().unwrap());
}

pub(crate) fn threads_are_fibres() {
    let ids = Arc::new(Mutex::new(HashSet::new()));
    let threads: Vec<_> = (0..100_usize)
        .map(|number| {
            let ids = Arc::clone(&ids);
            thread::spawn(move || {
                let own = thread::current().id();
                for _ in 0..5 {
                    thread::yield_now();
                    assert_eq!(thread::current().id(), own);
                }
                assert!(fibre::in_fibre() && ids.lock().unwrap().insert(own));
                number * 2
            })
        })
        .collect();
    for (number, thread) in threads.into_iter().enumerate() {
        let id = thread.thread().id();
        assert_eq!(thread.join().unwrap(), 2 * number);
        assert!(ids.lock().unwrap().contains(&id));
    }
}

pub(crate) fn names() {
    let named = Builder::new().name("a worker of many words".into());
    let thread = named.spawn(|| {
        thread::yield_now();
        let own = thread::current();
        let mut name = [0_u8; 16];
        // SAFETY: room for a name.
        let asked = unsafe {
            libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len())
        };
        assert_eq!(asked, 0);
        (own.name().map(str::to_owned), name)
    });
    let (name, cut) = thread.unwrap().join().unwrap();
    assert_eq!(name.as_deref(), Some("a worker of many words"));
    assert_eq!(&cut, b"a worker of man\0");
    let nameless = thread::spawn(|| thread::current().name().map(str::to_owned));
    assert_eq!(nameless.join().unwrap(), None);
}

/// Uses some of the stack in each of so many frames.
fn descend(frames: usize) -> usize {
    let mut room = [0_u8; 1024];
    std::hint::black_box(&mut room);
    match frames {
        0 => room.len(),
        _ => descend(frames - 1) + usize::from(room[7]),
    }
}

pub(crate) fn stacks_have_the_size_that_is_asked_for() {
    let deep = Builder::new().stack_size(8 << 20);
    let deep = deep.spawn(|| descend(4000)).unwrap();
    // Without a wish, std asks for 2 MiB.
    let usual = thread::spawn(|| descend(800));
    assert_eq!(deep.join().unwrap() + usual.join().unwrap(), 2048);
}

pub(crate) fn absurd_stacks_are_refused() {
    let absurd = Builder::new().stack_size(1 << 50).spawn(|| ());
    assert_eq!(absurd.unwrap_err().kind(), ErrorKind::WouldBlock);
}

pub(crate) fn panics_are_the_threads() {
    let threads: Vec<_> = (0..20)
        .map(|number| {
            thread::spawn(move || {
                thread::yield_now();
                assert!(!thread::panicking());
                if number % 2 == 0 {
                    resume_unwind(Box::new(number));
                }
                number
            })
        })
        .collect();
    for (number, thread) in threads.into_iter().enumerate() {
        match thread.join() {
            Ok(value) => assert_eq!((value, value % 2), (number, 1)),
            Err(payload) => assert_eq!(payload.downcast_ref(), Some(&number)),
        }
    }
    let scoped = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            scope.spawn(|| resume_unwind(Box::new("within")));
        });
    }));
    assert!(scoped.is_err());
}

/// Waits in its destructor, and counts.
struct Counts(Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        thread::sleep(Duration::from_micros(100));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    /// What the thread has.
    static HELD: RefCell<Vec<Counts>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn values_of_threads_end_before_a_join_returns() {
    let ended = Arc::new(AtomicUsize::new(0));
    for round in 1..=10 {
        let theirs = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            HELD.with_borrow_mut(|held| {
                assert!(held.is_empty());
                held.push(Counts(Arc::clone(&theirs)));
                thread::yield_now();
                held.push(Counts(theirs));
            });
        });
        thread.join().unwrap();
        assert_eq!(ended.load(Ordering::Relaxed), 2 * round);
    }
}

pub(crate) fn scopes_borrow() {
    let mut values = vec![0; 50];
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (number, value) in values.iter_mut().enumerate() {
            let sum = &sum;
            scope.spawn(move || {
                thread::sleep(Duration::from_micros(50));
                *value = number;
                sum.fetch_add(number, Ordering::Relaxed);
            });
        }
    });
    assert!(values.iter().enumerate().all(|(at, value)| at == *value));
    assert_eq!(sum.into_inner(), 49 * 50 / 2);
}

pub(crate) fn detached_threads_end() {
    let (send, receive) = mpsc::channel();
    let ended = Arc::new(AtomicUsize::new(0));
    for number in 0..50 {
        let (send, ended) = (send.clone(), Arc::clone(&ended));
        drop(thread::spawn(move || {
            thread::yield_now();
            HELD.with_borrow_mut(|held| held.push(Counts(ended)));
            send.send(number).unwrap();
        }));
    }
    drop(send);
    assert_eq!(receive.iter().sum::<usize>(), 49 * 50 / 2);
    while ended.load(Ordering::Relaxed) < 50 {
        thread::yield_now();
    }
}

pub(crate) fn parks_and_channels() {
    let (tell, told) = mpsc::channel::<Thread>();
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    let parked = thread::spawn(move || {
        tell.send(thread::current()).unwrap();
        while !seen.load(Ordering::Acquire) {
            thread::park();
        }
    });
    let thread = told.recv().unwrap();
    done.store(true, Ordering::Release);
    thread.unpark();
    parked.join().unwrap();
    thread::park_timeout(SHORT);
    let (send, receive) = mpsc::sync_channel(0);
    let (answer, answers) = mpsc::channel();
    let other = thread::spawn(move || receive.iter().for_each(|it: u32| answer.send(it).unwrap()));
    for number in 0..50 {
        send.send(number).unwrap();
        assert_eq!(answers.recv().unwrap(), number);
    }
    assert!(answers.recv_timeout(SHORT).is_err());
    drop(send);
    other.join().unwrap();
}

pub(crate) fn locks() {
    const THREADS: usize = 8;
    let shared = Arc::new((
        Mutex::new(0),
        Condvar::new(),
        RwLock::new(0),
        Barrier::new(THREADS),
    ));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (turn, changed, sum, all) = &*shared;
                all.wait();
                for round in 0..10 {
                    let mine = round * THREADS + number;
                    let waited = changed.wait_while(turn.lock().unwrap(), |now| *now != mine);
                    *waited.unwrap() += 1;
                    changed.notify_all();
                    *sum.write().unwrap() += *sum.read().map_or(&0, |_| &1);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(*shared.0.lock().unwrap(), 10 * THREADS);
    assert_eq!(*shared.2.read().unwrap(), 10 * THREADS);
}

pub(crate) fn spins_with_yields_end() {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&flag);
    let spins = thread::spawn(move || {
        while !theirs.load(Ordering::Acquire) {
            thread::yield_now();
        }
    });
    let sets = thread::spawn(move || flag.store(true, Ordering::Release));
    sets.join().unwrap();
    spins.join().unwrap();
}

pub(crate) fn parallelism_is_as_before() {
    let now = || thread::available_parallelism().unwrap().get();
    assert_eq!(Some(&now()), PARALLELISM.get());
    assert_eq!(Some(&thread::spawn(now).join().unwrap()), PARALLELISM.get());
}

pub(crate) fn thread_per_connection() {
    const CLIENTS: usize = 50;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let echo = |mut stream: TcpStream| {
            let mut bytes = [0; 64];
            loop {
                match stream.read(&mut bytes).unwrap() {
                    0 => return,
                    length => stream.write_all(&bytes[..length]).unwrap(),
                }
            }
        };
        let threads: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let stream = listener.accept().unwrap().0;
                thread::spawn(move || echo(stream))
            })
            .collect();
        threads.into_iter().for_each(|one| one.join().unwrap());
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                for round in 0..10 {
                    let question = (number * 100 + round).to_le_bytes();
                    let mut answer = [0; 8];
                    stream.write_all(&question).unwrap();
                    stream.read_exact(&mut answer).unwrap();
                    assert_eq!(question, answer);
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|one| one.join().unwrap());
    server.join().unwrap();
}

/// They all wait at a time.
pub(crate) fn many_threads_at_once() {
    const THREADS: usize = 1000;
    let all = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let all = Arc::clone(&all);
            thread::spawn(move || {
                all.wait();
                number
            })
        })
        .collect();
    let sum: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
    assert_eq!(sum, THREADS * (THREADS - 1) / 2);
}

pub(crate) fn children_are_waited_for() {
    let children: Vec<_> = (0..4)
        .map(|_| thread::spawn(|| Command::new("true").status().unwrap().success()))
        .collect();
    assert!(children.into_iter().all(|one| one.join().unwrap()));
}
