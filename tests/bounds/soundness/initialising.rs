//! What a program without `unsafe` can bring about by an initialiser of std's that blocks its
//! fibre, no library can keep it from; builds with debug assertions say it.

use fibre::Cluster;
use fibre::sync::{Mutex, Semaphore};
use std::cell::OnceCell;
use std::process::Command;
use std::sync::{LazyLock, Once, OnceLock};
use std::thread;
use std::time::Duration;

/// Set in the environment of a child.
const ROLE: &str = "SOUNDNESS_INITIALISING";

/// A little time.
const SOON: Duration = Duration::from_millis(1);

/// What is said about a `thread_local!`.
const LOCAL: &str = "initialiser of a std `thread_local!`";

/// What is said about the others.
const ONCE: &str = "initialiser of a std `LazyLock`";

/// Has a child run `body` in a fibre, and looks how often it has said what is `said`, and that it
/// has said nothing else.
#[track_caller]
fn says(times: usize, said: &str, setting: &str, body: fn()) {
    if std::env::var_os(ROLE).is_some() {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        cluster.spawn(body).join().unwrap();
        cluster.stop();
        return;
    }
    let test = thread::current().name().unwrap().to_owned();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture", "--test-threads=1"])
        .env(ROLE, "")
        .env("FIBRE_INITIALISERS", setting)
        // A spare processor would let the lock's holder go on before anybody waits for it.
        .env("FIBRE_MAX_SPARE", "0")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let expected = if cfg!(debug_assertions) { times } else { 0 };
    assert_eq!(errors.matches(said).count(), expected, "{errors}");
    let all = errors.matches("lets others run, in").count();
    assert_eq!(all, expected, "{errors}");
}

/// A value of a thread that is made by something that waits.
macro_rules! made_by {
    ($make:expr) => {{
        thread_local!(static MADE: u32 = {
            $make;
            1
        });
        assert_eq!(MADE.with(|made| *made), 1);
    }};
}

#[test]
fn a_sleep_is_told_of() {
    says(1, LOCAL, "1", || made_by!(fibre::sleep(SOON)));
}

#[test]
fn a_lock_is_told_of() {
    static LOCK: Mutex<()> = Mutex::new(());
    says(1, LOCAL, "1", || {
        let (locked, has_locked) = fibre::channel::bounded(1);
        let holder = fibre::spawn(move || {
            let _guard = LOCK.lock();
            locked.send(()).unwrap();
            fibre::sleep(SOON * 20);
        });
        has_locked.recv().unwrap();
        made_by!(drop(LOCK.lock()));
        holder.join().unwrap();
    });
}

#[test]
fn a_yield_is_told_of() {
    says(1, LOCAL, "1", || {
        let other = fibre::spawn(|| ());
        made_by!(fibre::yield_now());
        other.join().unwrap();
    });
}

/// Also if the fibre waits deeper down, on another stack, and more than once.
#[test]
fn what_lies_deeper_is_told_of_once() {
    says(1, LOCAL, "1", || {
        made_by!({
            let joined = fibre::spawn(|| ()).join();
            fibre::sleep(SOON);
            joined.unwrap();
        });
    });
}

/// Two initialisers, two words.
#[test]
fn each_is_told_of() {
    says(2, LOCAL, "1", || {
        thread_local! {
            static TEXT: String = {
                fibre::sleep(SOON);
                "text".to_owned()
            };
        }
        made_by!(fibre::sleep(SOON));
        assert_eq!(TEXT.with(String::len), 4);
    });
}

#[test]
fn a_lazy_lock_is_told_of() {
    static LAZY: LazyLock<u32> = LazyLock::new(|| {
        fibre::sleep(SOON);
        7
    });
    says(1, ONCE, "1", || assert_eq!(*LAZY, 7));
}

#[test]
fn a_once_is_told_of() {
    says(1, ONCE, "1", || {
        Once::new().call_once(|| fibre::sleep(SOON));
        OnceLock::new().get_or_init(|| fibre::sleep(SOON));
    });
}

/// The ways out that the words name; and waits after initialisers, with what these have left on the
/// stack.
#[test]
fn all_else_is_not() {
    fibre::fibre_local!(static OWN: u32 = {
        fibre::sleep(SOON);
        3
    });
    static LAZY: fibre::sync::LazyLock<u32> = fibre::sync::LazyLock::new(|| {
        fibre::sleep(SOON);
        4
    });
    thread_local!(static LATE: OnceCell<u32> = const { OnceCell::new() });
    #[inline(never)]
    fn deep(levels: u32, permits: &Semaphore) {
        made_by!(std::hint::black_box(0_u32));
        if levels > 0 {
            deep(levels - 1, permits);
        }
        fibre::yield_now();
        permits.release();
        permits.acquire();
        fibre::sleep(Duration::from_micros(10));
    }
    says(0, "lets others run", "1", || {
        assert_eq!(OWN.with(|own| *own) + *LAZY, 7);
        made_by!(std::hint::black_box(()));
        let others: Vec<_> = (0..4)
            .map(|_| fibre::spawn(|| deep(20, &Semaphore::new(0))))
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        fibre::sleep(SOON);
        // The first value stays: nothing that somebody has borrowed is replaced.
        assert_eq!(LATE.with(|late| *late.get_or_init(|| 5)), 5);
    });
}

#[test]
fn it_can_be_switched_off() {
    says(0, LOCAL, "0", || made_by!(fibre::sleep(SOON)));
}
