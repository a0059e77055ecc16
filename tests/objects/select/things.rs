//! One thing to wait for of each kind.

use crate::support::eventually;
use fibre::channel::{
    BroadcastReceiver, BroadcastSender, OneshotReceiver, OneshotSender, Receiver, Sender,
    WatchReceiver, WatchSender, bounded, broadcast, oneshot, rendezvous, watch,
};
use fibre::io::{PipeReader, PipeWriter, PollFd, Readiness, pipe, ready_arm, try_poll};
use fibre::net::{TcpListener, TcpStream};
use fibre::os::unix::net::{UnixListener, UnixStream};
use fibre::process::{Child, Command, Stdio};
use fibre::select::{Arm, Watchers};
use fibre::signal::{SIGUSR2, Signals};
use fibre::sync::{AutoEvent, Event, Mutex, Notify, Semaphore, SemaphorePermit, WaitGroup};
use fibre::{CancelToken, JoinHandle, Limit, select};
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A time that tests do not wait for.
pub(crate) const LONG: Duration = Duration::from_secs(1000);

/// How a selection is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Without a limit, the thing first.
    First,
    /// Without a limit, the thing last, behind an arm that never comes.
    Last,
    /// Until cancelled.
    Within,
    /// Without waiting.
    Now,
    /// For a time that does not pass.
    Long,
}

/// What a selection has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The thing.
    Thing,
    /// The event beside it.
    Other,
    /// Nothing.
    None,
}

use Chosen::{Other, Thing as This};

/// A thing to wait for.
pub(crate) trait Thing: Send + Sync {
    /// Selects between it and an event.
    fn select(&self, other: &AutoEvent, how: How) -> Chosen;

    /// Makes it ready, once.
    fn ready(&self);

    /// Takes it without waiting; whether it was there. What stays ready is not taken.
    fn take(&self) -> bool;
}

/// A kind of thing.
pub(crate) struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// Whether it stays ready when it has been chosen.
    pub stays: bool,
    /// Makes one that is not ready.
    pub make: fn() -> Arc<dyn Thing>,
}

/// Selects between an arm and an event.
pub(crate) fn choose<A: Arm>(mut arm: A, other: &AutoEvent, how: How) -> Chosen {
    match how {
        How::First => select! {
            _ = arm => This,
            () = other.wait_arm() => Other,
        },
        How::Last => {
            let never = Event::new();
            select! {
                () = other.wait_arm() => Other,
                () = never.wait_arm() => unreachable!("it is never set"),
                _ = &mut arm => This,
            }
        }
        How::Within => select! {
            () = other.wait_arm() => Other,
            _ = arm => This,
            within(Limit::Cancellation) => Chosen::None,
        },
        How::Now => select! {
            () = other.wait_arm() => Other,
            _ = arm => This,
            default => Chosen::None,
        },
        How::Long => select! {
            _ = arm => This,
            () = other.wait_arm() => Other,
            default(LONG) => Chosen::None,
        },
    }
}

/// The signal is one for the whole process, and tests run at the same time.
static SIGNALS: Semaphore = Semaphore::new(1);

/// Writes a kind: a name, whether it stays, the type with a way to make it, and what it does.
macro_rules! kinds {
    ($(
        $kind:ident $name:literal, stays $stays:literal;
        $made:ty = $make:expr;
        arm |$armed:pat_param| $arm:expr;
        ready |$readied:pat_param| $ready:expr;
        take |$taken:pat_param| $take:expr;
    )*) => {
        $(
            struct $kind($made);

            impl Thing for $kind {
                fn select(&self, other: &AutoEvent, how: How) -> Chosen {
                    let $armed = &self.0;
                    choose($arm, other, how)
                }

                fn ready(&self) {
                    let $readied = &self.0;
                    $ready;
                }

                fn take(&self) -> bool {
                    let $taken = &self.0;
                    $take
                }
            }
        )*

        /// All kinds, but for those of time and of groups.
        pub(crate) const KINDS: &[Kind] = &[$(Kind {
            name: $name,
            stays: $stays,
            make: || Arc::new($kind($make)),
        }),*];
    };
}

kinds! {
    Recv "a value in a channel", stays false;
    (Sender<u32>, Receiver<u32>) = bounded(1);
    arm |(_, receiver)| receiver.recv_arm();
    ready |(sender, _)| sender.send(1).unwrap();
    take |(_, receiver)| receiver.try_recv().is_ok();

    Room "room in a channel", stays false;
    (Sender<u32>, Receiver<u32>) = { let ends = bounded(1); ends.0.send(7).unwrap(); ends };
    arm |(sender, _)| sender.send_arm(8);
    ready |(_, receiver)| assert_eq!(receiver.try_recv(), Ok(7));
    take |(sender, _)| sender.try_send(8).is_ok();

    Meet "a sender of a rendezvous", stays false;
    (Sender<u32>, Receiver<u32>, Mutex<Vec<JoinHandle<bool>>>) = {
        let (sender, receiver) = rendezvous();
        (sender, receiver, Mutex::new(Vec::new()))
    };
    arm |(_, receiver, _)| receiver.recv_arm();
    ready |(sender, _, fibres)| {
        let sender = sender.clone();
        fibres.lock().push(fibre::spawn(move || sender.send(1).is_ok()));
    };
    take |(_, receiver, _)| receiver.try_recv().is_ok();

    Oneshot "a oneshot value", stays false;
    (Mutex<Option<OneshotSender<u32>>>, OneshotReceiver<u32>) = {
        let (sender, receiver) = oneshot();
        (Mutex::new(Some(sender)), receiver)
    };
    // The sender is gone afterwards, and the receiver says so: it is kept from doing that here.
    arm |(_, receiver)| receiver.recv_arm().map(|value| assert_eq!(value, Ok(1)));
    ready |(sender, _)| sender.lock().take().unwrap().send(1).unwrap();
    take |(_, receiver)| receiver.try_recv().is_ok();

    Broadcast "a broadcast value", stays false;
    (BroadcastSender<u32>, Mutex<BroadcastReceiver<u32>>) = {
        let (sender, receiver) = broadcast(4);
        (sender, Mutex::new(receiver))
    };
    arm |(_, receiver)| receiver.lock().recv_arm();
    ready |(sender, _)| assert_eq!(sender.send(1), Ok(1));
    take |(_, receiver)| receiver.lock().try_recv().is_ok();

    Watch "a change of a watched value", stays false;
    (WatchSender<u32>, Mutex<WatchReceiver<u32>>) = {
        let (sender, receiver) = watch(0);
        (sender, Mutex::new(receiver))
    };
    arm |(_, receiver)| receiver.lock().changed_arm();
    ready |(sender, _)| sender.send(1).unwrap();
    take |(_, receiver)| receiver.lock().changed_timeout(Duration::ZERO).is_ok();

    Finished "the end of a fibre", stays true;
    (Arc<Event>, Mutex<JoinHandle<u32>>) = {
        let event = Arc::new(Event::new());
        let waits = Arc::clone(&event);
        (event, Mutex::new(fibre::spawn(move || { waits.wait(); 1 })))
    };
    arm |(_, handle)| handle.lock().finished_arm();
    ready |(event, _)| event.set();
    take |(_, handle)| handle.lock().is_finished();

    Joined "the result of a fibre", stays false;
    (Arc<Event>, Mutex<Option<JoinHandle<u32>>>) = {
        let event = Arc::new(Event::new());
        let waits = Arc::clone(&event);
        (event, Mutex::new(Some(fibre::spawn(move || { waits.wait(); 1 }))))
    };
    arm |(_, handle)| JoinHandle::join_arm(&mut handle.lock()).map(|result| {
        assert_eq!(result.unwrap(), 1);
    });
    ready |(event, _)| event.set();
    take |(_, handle)| {
        let ended = handle.lock().take_if(|handle| handle.is_finished());
        ended.is_some_and(|handle| handle.join().unwrap() == 1)
    };

    Permit "a permit", stays false;
    Semaphore = Semaphore::new(0);
    arm |permits| permits.permit_arm().map(|permit| permit.forget());
    ready |permits| permits.release();
    take |permits| permits.try_acquire();

    Permits "two permits, with a third one elsewhere", stays false;
    Semaphore = Semaphore::new(1);
    arm |permits| permits.permits_arm(3).map(|permits| { permits.forget(); });
    ready |permits| permits.release_many(2);
    take |permits| permits.try_acquire_many(3);

    Owned "an owned permit", stays false;
    Arc<Semaphore> = Arc::new(Semaphore::new(0));
    arm |permits| permits.permits_owned_arm(1).map(|permit| permit.forget());
    ready |permits| permits.release();
    take |permits| permits.try_acquire();

    Set "an event", stays true;
    Event = Event::new();
    arm |event| event.wait_arm();
    ready |event| event.set();
    take |event| event.is_set();

    Auto "an event that resets itself", stays false;
    AutoEvent = AutoEvent::new();
    arm |event| event.wait_arm();
    ready |event| event.set();
    take |event| event.try_wait();

    Notified "a notification", stays false;
    Notify = Notify::new();
    arm |notify| notify.wait_arm();
    ready |notify| notify.notify_one();
    take |notify| notify.try_wait();

    Jobs "the jobs of a wait group", stays true;
    WaitGroup = { let group = WaitGroup::new(); group.add(1); group };
    arm |group| group.wait_arm();
    ready |group| group.done();
    take |group| group.try_wait();

    Token "a token's cancellation", stays true;
    CancelToken = CancelToken::new().child();
    arm |token| token.cancelled_arm();
    ready |token| token.cancel();
    take |token| token.is_cancelled();

    Tcp "a TCP connection", stays false;
    (TcpListener, Mutex<Vec<TcpStream>>) = {
        (TcpListener::bind("127.0.0.1:0").unwrap(), Mutex::new(Vec::new()))
    };
    arm |(listener, _)| listener.accept_arm().map(|accepted| drop(accepted.unwrap()));
    ready |(listener, clients)| {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        clients.lock().push(client);
    };
    take |(listener, _)| listener.accept_timeout(Duration::ZERO).is_ok();

    Unix "a Unix connection", stays false;
    (UnixListener, SocketAddr, Mutex<Vec<UnixStream>>) = {
        let address = unix_address();
        (UnixListener::bind_addr(&address).unwrap(), address, Mutex::new(Vec::new()))
    };
    arm |(listener, ..)| listener.accept_arm().map(|accepted| drop(accepted.unwrap()));
    ready |(_, address, clients)| {
        clients.lock().push(UnixStream::connect_addr(address).unwrap());
    };
    take |(listener, ..)| listener.accept_timeout(Duration::ZERO).is_ok();

    Ready "readiness of a pipe", stays true;
    (PipeReader, PipeWriter) = pipe().unwrap();
    arm |(reader, _)| ready_arm(reader, Readiness::READ).map(is_readable);
    ready |(_, writer)| { let mut writer = writer; writer.write_all(b"!").unwrap() };
    take |(reader, _)| try_poll(&mut [PollFd::new(reader, Readiness::READ)]).unwrap() == 1;

    Stranger "readiness of a descriptor of std's", stays true;
    (std::io::PipeReader, std::io::PipeWriter) = std::io::pipe().unwrap();
    arm |(reader, _)| ready_arm(reader, Readiness::READ).map(is_readable);
    ready |(_, writer)| { let mut writer = writer; writer.write_all(b"!").unwrap() };
    take |(reader, _)| try_poll(&mut [PollFd::new(reader, Readiness::READ)]).unwrap() == 1;

    Raised "a signal", stays false;
    (Signals, SemaphorePermit<'static>) = {
        let alone = SIGNALS.permit();
        (Signals::new([SIGUSR2]).unwrap(), alone)
    };
    arm |(signals, _)| signals.wait_arm().map(|signal| assert_eq!(signal.unwrap(), SIGUSR2));
    ready |_| {
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::USR2).unwrap();
    };
    take |(signals, _)| signals.try_wait().is_some();

    Process "the end of a process", stays true;
    (Mutex<Child>, Mutex<Option<PipeWriter>>) = {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        (Mutex::new(child), Mutex::new(stdin))
    };
    arm |(child, _)| child.lock().wait_arm().map(|status| assert!(status.unwrap().success()));
    ready |(_, stdin)| drop(stdin.lock().take());
    take |(child, _)| child.lock().try_wait().unwrap().is_some();

    Watched "an object of another crate", stays false;
    (Mutex<Vec<u32>>, Watchers) = Default::default();
    arm |(values, watchers)| watchers.watch(|| values.lock().pop());
    ready |(values, watchers)| { values.lock().push(1); watchers.notify_one() };
    take |(values, _)| values.lock().pop().is_some();
}

/// An address that nothing else has.
fn unix_address() -> SocketAddr {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fibre-select-{}-{count}", std::process::id());
    SocketAddr::from_abstract_name(name).unwrap()
}

/// Checks what a descriptor is ready for.
fn is_readable(ready: std::io::Result<Readiness>) {
    assert!(ready.unwrap().contains(Readiness::READ));
}

/// Waits until the thing is there, and takes it.
pub(crate) fn take_soon(thing: &dyn Thing) {
    eventually(|| thing.take());
}
