//! `AsyncStream` by the traits of the crate `futures-io`: what generic code of others relies on,
//! with fibres and with an executor of others.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use fibre::net::{AsyncStream, Shutdown, TcpListener, TcpStream};
use fibre::os::unix::net::UnixStream;
use futures_util::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use futures_util::{future, pin_mut};
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take before it counts as hanging.
const LONG: Duration = Duration::from_secs(60);

/// More bytes than the buffers of a connection have room for.
const MUCH: usize = 8 << 20;

/// A connection: one end for tasks, the other one for a fibre or thread.
fn pair() -> (AsyncStream<TcpStream>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    theirs.set_read_timeout(Some(LONG)).unwrap();
    theirs.set_write_timeout(Some(LONG)).unwrap();
    (AsyncStream::new(listener.accept().unwrap().0), theirs)
}

/// Executes a future in each way: in a fibre, on a plain thread, and by an executor of others.
fn in_each_way<F: Future<Output = ()> + 'static>(body: fn() -> F) {
    fibre::spawn(move || fibre::block_on(body()))
        .join()
        .unwrap();
    fibre::block_on(body());
    futures_executor::block_on(body());
}

/// Copies from one end to the other, as generic code does.
async fn echo(stream: impl AsyncRead + AsyncWrite) {
    let (reader, mut writer) = stream.split();
    futures_util::io::copy(reader, &mut writer).await.unwrap();
    writer.close().await.unwrap();
}

#[test]
fn generic_code_reads_writes_and_closes() {
    in_each_way(|| async {
        let (ours, theirs) = pair();
        let client = thread::spawn(move || {
            let bytes: Vec<u8> = (0..MUCH).map(|index| (index / 7) as u8).collect();
            let mut back = Vec::new();
            thread::scope(|scope| {
                scope.spawn(|| {
                    (&theirs).write_all(&bytes).unwrap();
                    theirs.shutdown(Shutdown::Write).unwrap();
                });
                (&theirs).read_to_end(&mut back).unwrap();
            });
            assert!(back == bytes);
        });
        echo(ours).await;
        client.join().unwrap();
    });
}

#[test]
fn buffers_leave_in_their_order() {
    in_each_way(|| async {
        let (mut ours, mut theirs) = pair();
        let parts = [
            IoSlice::new(b"one, "),
            IoSlice::new(b""),
            IoSlice::new(b"two"),
        ];
        assert_eq!(ours.write_vectored(&parts).await.unwrap(), 8);
        assert_eq!(ours.write_vectored(&[]).await.unwrap(), 0);
        ours.flush().await.unwrap();
        ours.close().await.unwrap();
        let mut text = String::new();
        theirs.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one, two");
    });
}

#[test]
fn the_end_and_errors_are_as_for_those_who_block() {
    in_each_way(|| async {
        let (mut ours, theirs) = pair();
        assert_eq!(ours.read(&mut []).await.unwrap(), 0);
        theirs.shutdown(Shutdown::Write).unwrap();
        assert_eq!(ours.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(ours.read(&mut [0; 8]).await.unwrap(), 0);
        drop(theirs);
        // The peer resets what comes after its end.
        let error = loop {
            if let Err(error) = ours.write(&[0; 1024]).await {
                break error;
            }
        };
        let expected = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        assert!(expected.contains(&error.kind()), "{error}");
        ours.close().await.unwrap();
        let (mut ours, _theirs) = pair();
        ours.get_ref().close();
        let error = ours.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionAborted);
    });
}

#[test]
fn unix_streams_are_alike() {
    in_each_way(|| async {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut ours, mut theirs) = (AsyncStream::new(ours), AsyncStream::new(theirs));
        let mut buffer = [0; 5];
        let reading = theirs.read_exact(&mut buffer);
        let (wrote, read) = future::join(ours.write_all(b"hello"), reading).await;
        wrote.and(read).unwrap();
        assert_eq!(&buffer, b"hello");
    });
}

/// A waker that counts its calls.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until a waker has been called.
fn await_call(count: &Count) {
    let started = Instant::now();
    while count.0.load(Ordering::Relaxed) == 0 {
        assert!(started.elapsed() < LONG, "the waker is not called");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_last_waker_is_called_from_wherever_the_event_comes() {
    let (mut ours, mut theirs) = pair();
    let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let mut buffer = [0; 8];
    for count in [&first, &last] {
        let waker = Waker::from(Arc::clone(count));
        let mut context = Context::from_waker(&waker);
        let polled = AsyncRead::poll_read(Pin::new(&mut ours), &mut context, &mut buffer);
        assert!(polled.is_pending());
    }
    theirs.write_all(b"!").unwrap();
    await_call(&last);
    assert_eq!(first.0.load(Ordering::Relaxed), 0);
    let read = futures_executor::block_on(ours.read(&mut buffer));
    assert_eq!(read.unwrap(), 1);
}

#[test]
fn a_poll_that_is_given_up_takes_no_byte_from_the_next_one() {
    let (mut ours, mut theirs) = pair();
    for round in 0..200_u32 {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        {
            let mut buffer = [0; 4];
            let reading = ours.read(&mut buffer);
            pin_mut!(reading);
            assert!(reading.poll(&mut Context::from_waker(&waker)).is_pending());
            // It is dropped here, before its event comes or at the same time.
            if round % 2 == 0 {
                theirs.write_all(&round.to_le_bytes()).unwrap();
            }
        }
        if round % 2 == 1 {
            theirs.write_all(&round.to_le_bytes()).unwrap();
        }
        let mut buffer = [0; 4];
        fibre::block_on(ours.read_exact(&mut buffer)).unwrap();
        assert_eq!(u32::from_le_bytes(buffer), round);
    }
}

#[test]
fn a_full_connection_is_pending_until_there_is_room() {
    let (mut ours, theirs) = pair();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut sent = 0;
    // A call that succeeds may be pending now and then, so that other tasks run.
    let mut pauses = 0;
    while pauses < 100 {
        let mut context = Context::from_waker(&waker);
        match AsyncWrite::poll_write(Pin::new(&mut ours), &mut context, &[7; 1 << 16]) {
            Poll::Ready(wrote) => (sent, pauses) = (sent + wrote.unwrap(), 0),
            Poll::Pending => pauses += 1,
        }
    }
    count.0.store(0, Ordering::Relaxed);
    let mut context = Context::from_waker(&waker);
    let polled = AsyncWrite::poll_write(Pin::new(&mut ours), &mut context, &[7; 1 << 16]);
    assert!(polled.is_pending());
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        (&theirs).read_to_end(&mut all).unwrap();
        all.len()
    });
    await_call(&count);
    let more = fibre::block_on(poll_fn(|context| {
        AsyncWrite::poll_write(Pin::new(&mut ours), context, &[7; 1 << 10])
    }));
    sent += more.unwrap();
    futures_executor::block_on(ours.close()).unwrap();
    assert_eq!(reader.join().unwrap(), sent);
}
