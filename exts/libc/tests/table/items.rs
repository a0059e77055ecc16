//! The rows: what each calls, and what it asks.

use socket2::{Domain, Socket, Type};
use std::cell::UnsafeCell;
use std::io::{self, BufRead, Read, Write, pipe};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

/// What lets a call go on, from a kernel thread.
type Give = Box<dyn FnOnce() + Send>;

/// A call that waits for that.
type Wait = Box<dyn FnOnce()>;

/// Makes both.
type Make = fn() -> (Give, Wait);

/// Answers a question.
type Question = fn() -> &'static str;

/// What is asked about threads, by name.
pub(crate) const QUESTIONS: &[(&str, Question)] = &[
    ("`thread::spawn` makes", || {
        match thread::spawn(fibre::in_fibre).join().unwrap() {
            true => "a fibre",
            false => "a kernel thread",
        }
    }),
    ("a thread-local, as `errno` is, belongs to", || {
        let own = place_of_a_thread_local();
        owner(fibre::spawn(place_of_a_thread_local).join().unwrap() == own)
    }),
    ("`thread::current()` belongs to", || {
        let own = thread::current().id();
        owner(fibre::spawn(|| thread::current().id()).join().unwrap() == own)
    }),
];

/// Where the caller's `errno` is, a thread-local of the C library's.
fn place_of_a_thread_local() -> usize {
    // SAFETY: it has no conditions.
    unsafe { libc::__errno_location() }.addr()
}

/// What has a value that another fibre of the processor has, too, or not.
fn owner(is_shared: bool) -> &'static str {
    match is_shared {
        true => "the kernel thread",
        false => "the fibre",
    }
}

/// Starts a kernel thread that calls `hold`, and in that its argument, which waits to be let go on.
fn while_held(hold: impl FnOnce(Box<dyn FnOnce()>) + Send + 'static) -> Give {
    let ((taken, is_taken), (give, given)) = (mpsc::channel(), mpsc::channel());
    let holds = move || {
        hold(Box::new(move || {
            taken.send(()).unwrap();
            given.recv().unwrap();
        }));
    };
    fibre_libc::plainly(|| thread::spawn(holds));
    is_taken.recv().unwrap();
    Box::new(move || give.send(()).unwrap())
}

/// A byte through this end.
fn byte_by(mut end: impl Write + Send + 'static) -> Give {
    Box::new(move || end.write_all(b"\n").unwrap())
}

/// Nothing: the call ends by itself.
fn nothing() -> Give {
    Box::new(|| ())
}

/// Calls that wait, by name.
pub(crate) const WAITS: &[(&str, Make)] = &[
    ("`TcpStream`: `read`", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut near = listener.accept().unwrap().0;
        let wait = move || near.read_exact(&mut [0]).unwrap();
        (byte_by(far), Box::new(wait))
    }),
    ("`TcpListener`: `accept`", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let give = move || drop(TcpStream::connect(address).unwrap());
        (
            Box::new(give),
            Box::new(move || drop(listener.accept().unwrap())),
        )
    }),
    ("`UdpSocket`: `recv`", || {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = near.local_addr().unwrap();
        let give = move || assert_eq!(far.send_to(b"x", address).unwrap(), 1);
        let wait = move || assert_eq!(near.recv(&mut [0]).unwrap(), 1);
        (Box::new(give), Box::new(wait))
    }),
    ("`UnixStream`: `read`", || {
        let (mut near, far) = UnixStream::pair().unwrap();
        (
            byte_by(far),
            Box::new(move || near.read_exact(&mut [0]).unwrap()),
        )
    }),
    ("`io::pipe`: `read`", || {
        let (mut near, far) = pipe().unwrap();
        (
            byte_by(far),
            Box::new(move || near.read_exact(&mut [0]).unwrap()),
        )
    }),
    ("`io::stdin`: `read_line` from a pipe", || {
        let (near, far) = pipe().unwrap();
        // SAFETY: this program has its standard input from nobody else.
        assert_eq!(unsafe { libc::dup2(near.as_raw_fd(), 0) }, 0);
        let wait = || assert_eq!(io::stdin().lock().read_line(&mut String::new()).unwrap(), 1);
        (byte_by(far), Box::new(wait))
    }),
    ("`io::stdout`: its lock, which another thread has", || {
        let give = while_held(|until| {
            let _lock = io::stdout().lock();
            until();
        });
        (give, Box::new(|| drop(io::stdout().lock())))
    }),
    ("`to_socket_addrs` of a name", || {
        let wait = || assert!("localhost:80".to_socket_addrs().unwrap().next().is_some());
        (nothing(), Box::new(wait))
    }),
    ("`process::Child`: `wait`", || {
        let child = Command::new("cat").stdin(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let input = child.stdin.take();
        let wait = move || assert!(child.wait().unwrap().success());
        (Box::new(move || drop(input)), Box::new(wait))
    }),
    ("`thread::sleep`", || {
        let wait = || thread::sleep(Duration::from_millis(5));
        (nothing(), Box::new(wait))
    }),
    ("`thread::JoinHandle`: `join`", || {
        let (give, given) = mpsc::channel();
        let thread = thread::spawn(move || given.recv().unwrap());
        (
            Box::new(move || give.send(()).unwrap()),
            Box::new(move || thread.join().unwrap()),
        )
    }),
    ("`thread::scope`: its end", || {
        let (give, given) = mpsc::channel();
        let wait = move || thread::scope(|scope| drop(scope.spawn(move || given.recv().unwrap())));
        (Box::new(move || give.send(()).unwrap()), Box::new(wait))
    }),
    ("`thread::park`", || {
        let (own, flag) = (thread::current(), Arc::new(AtomicBool::new(false)));
        let theirs = Arc::clone(&flag);
        let give = move || {
            theirs.store(true, Ordering::Release);
            own.unpark();
        };
        let wait = move || {
            while !flag.load(Ordering::Acquire) {
                thread::park();
            }
        };
        (Box::new(give), Box::new(wait))
    }),
    ("a spin with `thread::yield_now`", || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&flag);
        let wait = move || {
            while !flag.load(Ordering::Acquire) {
                thread::yield_now();
            }
        };
        (
            Box::new(move || theirs.store(true, Ordering::Release)),
            Box::new(wait),
        )
    }),
    ("`sync::Mutex`", || {
        let lock = Arc::new(Mutex::new(()));
        let theirs = Arc::clone(&lock);
        let give = while_held(move |until| {
            let _guard = theirs.lock().unwrap();
            until();
        });
        (give, Box::new(move || drop(lock.lock().unwrap())))
    }),
    ("`sync::RwLock`", || {
        let lock = Arc::new(RwLock::new(()));
        let theirs = Arc::clone(&lock);
        let give = while_held(move |until| {
            let _guard = theirs.read().unwrap();
            until();
        });
        (give, Box::new(move || drop(lock.write().unwrap())))
    }),
    ("`sync::Condvar`", || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let give = move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        };
        let wait = move || {
            let (flag, changed) = &*shared;
            drop(changed.wait_while(flag.lock().unwrap(), |flag| !*flag));
        };
        (Box::new(give), Box::new(wait))
    }),
    ("`sync::Barrier`", || {
        let both = Arc::new(Barrier::new(2));
        let theirs = Arc::clone(&both);
        let give = move || {
            theirs.wait();
        };
        let wait = move || {
            both.wait();
        };
        (Box::new(give), Box::new(wait))
    }),
    ("`sync::OnceLock`", || {
        let value = Arc::new(OnceLock::new());
        let theirs = Arc::clone(&value);
        let give = while_held(move |until| {
            theirs.get_or_init(until);
        });
        let wait = move || {
            value.get_or_init(|| ());
        };
        (give, Box::new(wait))
    }),
    ("`sync::LazyLock`", || {
        static BEGIN: Mutex<Option<mpsc::Sender<()>>> = Mutex::new(None);
        static VALUE: LazyLock<()> = LazyLock::new(|| {
            let (give, given) = mpsc::channel();
            *BEGIN.lock().unwrap() = Some(give);
            given.recv().unwrap();
        });
        fibre_libc::plainly(|| thread::spawn(|| *VALUE));
        let give = loop {
            if let Some(give) = BEGIN.lock().unwrap().take() {
                break give;
            }
            fibre::yield_now();
        };
        (
            Box::new(move || give.send(()).unwrap()),
            Box::new(|| *VALUE),
        )
    }),
    ("`sync::mpsc`: `recv`", || {
        let (give, given) = mpsc::channel();
        (
            Box::new(move || give.send(()).unwrap()),
            Box::new(move || given.recv().unwrap()),
        )
    }),
    ("`sync::mpsc`: `send` without room", || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let give = move || receiver.recv().unwrap();
        (Box::new(give), Box::new(move || sender.send(()).unwrap()))
    }),
    ("parking_lot: `Mutex`", || {
        let lock = Arc::new(parking_lot::Mutex::new(()));
        let theirs = Arc::clone(&lock);
        let give = while_held(move |until| {
            let _guard = theirs.lock();
            until();
        });
        (give, Box::new(move || drop(lock.lock())))
    }),
    ("parking_lot: `RwLock`", || {
        let lock = Arc::new(parking_lot::RwLock::new(()));
        let theirs = Arc::clone(&lock);
        let give = while_held(move |until| {
            let _guard = theirs.read();
            until();
        });
        (give, Box::new(move || drop(lock.write())))
    }),
    ("parking_lot: `Condvar`", || {
        let shared = Arc::new((parking_lot::Mutex::new(false), parking_lot::Condvar::new()));
        let theirs = Arc::clone(&shared);
        let give = move || {
            *theirs.0.lock() = true;
            theirs.1.notify_one();
        };
        let wait = move || shared.1.wait_while(&mut shared.0.lock(), |flag| !*flag);
        (Box::new(give), Box::new(wait))
    }),
    ("crossbeam: channels", || {
        let (give, given) = crossbeam_channel::bounded(0);
        (
            Box::new(move || give.send(()).unwrap()),
            Box::new(move || given.recv().unwrap()),
        )
    }),
    ("flume: channels", || {
        let (give, given) = flume::bounded(0);
        (
            Box::new(move || give.send(()).unwrap()),
            Box::new(move || given.recv().unwrap()),
        )
    }),
    ("rayon: a scope, on a thread that is not rayon's", || {
        let (give, given) = mpsc::channel();
        let wait = move || rayon::scope(|scope| scope.spawn(move |_| given.recv().unwrap()));
        (Box::new(move || give.send(()).unwrap()), Box::new(wait))
    }),
    ("tokio: `block_on` with drivers", || {
        let (give, given) = tokio::sync::oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let wait = move || runtime.unwrap().block_on(given).unwrap();
        (Box::new(move || give.send(()).unwrap()), Box::new(wait))
    }),
    ("socket2: `recv`", || {
        let (near, far) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        let wait = move || {
            let mut room = [MaybeUninit::uninit()];
            assert_eq!(near.recv(&mut room).unwrap(), 1);
        };
        (byte_by(far), Box::new(wait))
    }),
    ("C: `pthread_mutex_lock`", || {
        let lock = Arc::new(LockOfC(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
        let theirs = Arc::clone(&lock);
        let give = while_held(move |until| theirs.with(until));
        (give, Box::new(move || lock.with(|| ())))
    }),
];

/// A mutex of `pthread`.
struct LockOfC(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: the calls on it may come from all threads, and it stays in its `Arc`.
unsafe impl Sync for LockOfC {}
// SAFETY: as above.
unsafe impl Send for LockOfC {}

impl LockOfC {
    /// Calls `f` with the lock.
    fn with(&self, f: impl FnOnce()) {
        // SAFETY: it has been initialised, and the same thread unlocks it.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.0.get()) }, 0);
        f();
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
    }
}
