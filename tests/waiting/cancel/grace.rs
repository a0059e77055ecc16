//! Cancellation with grace: stretches that are spared until a limit.

use crate::support::{Random, eventually, for_each_cluster, until_waiting};
use fibre::sync::Event;
use fibre::{
    Builder, CancelToken, Cancelled, GroupError, JoinHandle, Limit, WaitError, WaitKind,
    cancellable, graceful, is_cancelled, is_ending, shield, sleep_within,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(3);
const LONG: Duration = Duration::from_secs(3600);

/// Spawns a fibre with this token.
fn with<T: Send + 'static>(
    token: &CancelToken,
    body: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    Builder::new().cancel_token(token).spawn(body).unwrap()
}

/// How a stretch has ended, and what a wait after it says.
type Stretched = (
    Result<Result<(), WaitError>, Cancelled>,
    Result<(), Cancelled>,
);

/// A fibre that is in a stretch when this returns, and stays until the event is set, or it is
/// cancelled. It returns how the stretch has ended, and what a wait after it says.
fn stretching(token: &CancelToken, event: &Arc<Event>) -> JoinHandle<Stretched> {
    let (begun, event) = (Arc::new(Event::new()), Arc::clone(event));
    let begins = Arc::clone(&begun);
    let fibre = with(token, move || {
        let ended = graceful(|| {
            begins.set();
            event.wait_within(Limit::Cancellation)
        });
        (ended, sleep_within(LONG))
    });
    begun.wait();
    fibre
}

/// Those outside of a stretch end at once, and those within one when it ends.
#[test]
fn a_stretch_is_spared_and_other_waits_end_at_once() {
    for_each_cluster(|_| {
        let (service, event) = (CancelToken::new(), Arc::new(Event::new()));
        let token = service.child();
        let spared = stretching(&token, &event);
        let outside = with(&token, || sleep_within(LONG));
        service.cancel_within(LONG).unwrap();
        assert_eq!(outside.join().unwrap(), Err(Cancelled));
        assert!(service.is_cancelled() && token.is_cancelled());
        assert!(token.limit().is_some() && !spared.is_finished());
        // One that begins later is cancelled, and begins no stretch.
        let late = with(&token, || graceful(|| unreachable!("it is too late")));
        assert_eq!(late.join().unwrap(), Err::<(), _>(Cancelled));
        event.set();
        assert_eq!(spared.join().unwrap(), (Ok(Ok(())), Err(Cancelled)));
    });
}

/// The limit ends what waits in a stretch; the earlier of two counts, and `cancel` spares nobody.
#[test]
fn the_earliest_limit_ends_a_stretch() {
    for_each_cluster(|_| {
        let ended = (Ok(Err(WaitError::Cancelled)), Err(Cancelled));
        for times in [[SHORT, LONG], [LONG, SHORT]] {
            let token = CancelToken::new();
            let fibre = stretching(&token, &Arc::new(Event::new()));
            let before = Instant::now();
            for time in times {
                token.cancel_within(time).unwrap();
            }
            assert!(token.limit().is_some_and(|limit| limit < before + LONG));
            assert_eq!(fibre.join().unwrap(), ended);
            assert!(Instant::now() >= before + SHORT, "it was spared until then");
        }
        for by_handle in [false, true] {
            let token = CancelToken::new();
            let fibre = stretching(&token, &Arc::new(Event::new()));
            token.cancel_within(LONG).unwrap();
            match by_handle {
                true => fibre.cancel(),
                false => token.cancel(),
            }
            assert_eq!(fibre.join().unwrap(), ended);
        }
        // A time beyond the clock's range never comes.
        let (token, event) = (CancelToken::new(), Arc::new(Event::new()));
        let fibre = stretching(&token, &event);
        token.cancel_within(Duration::MAX).unwrap();
        event.set();
        assert_eq!(fibre.join().unwrap(), (Ok(Ok(())), Err(Cancelled)));
    });
}

/// A stretch within a stretch is a part of it, also if the cancellation comes in between.
#[test]
fn stretches_nest() {
    for_each_cluster(|_| {
        let (token, told) = (CancelToken::new(), Arc::new(Event::new()));
        let (begun, hears) = (Arc::new(Event::new()), Arc::clone(&told));
        let begins = Arc::clone(&begun);
        let fibre = with(&token, move || {
            let first = graceful(|| {
                graceful(|| ()).unwrap();
                begins.set();
                hears.wait();
                assert!(is_ending() && !is_cancelled());
                let inner = graceful(|| sleep_within(Duration::from_micros(50)));
                assert_eq!(inner, Ok(Ok(())));
                // Its end is not that of the outer one.
                sleep_within(Duration::from_micros(50))
            });
            (first, is_cancelled(), graceful(|| ()))
        });
        begun.wait();
        token.cancel_within(LONG).unwrap();
        told.set();
        assert_eq!(fibre.join().unwrap(), (Ok(Ok(())), true, Err(Cancelled)));
    });
}

/// A shield in a stretch holds beyond the limit; in a shield, a stretch begins in any case.
#[test]
fn shields_and_stretches_nest() {
    for_each_cluster(|_| {
        let token = CancelToken::new();
        let begun = Arc::new(Event::new());
        let begins = Arc::clone(&begun);
        let limited = token.clone();
        let fibre = with(&token, move || {
            let ended = graceful(|| {
                let shielded = shield(|| {
                    begins.set();
                    eventually(|| limited.limit().is_some_and(|limit| Instant::now() > limit));
                    sleep_within(SHORT)
                });
                (shielded, sleep_within(LONG))
            });
            (ended, shield(|| graceful(|| sleep_within(SHORT))))
        });
        begun.wait();
        token.cancel_within(SHORT).unwrap();
        let ended = fibre.join().unwrap();
        assert_eq!(ended, (Ok((Ok(()), Err(Cancelled))), Ok(Ok(()))));
        // Without a token, and on a plain thread, it is a call.
        assert_eq!(
            fibre::spawn(|| graceful(is_ending)).join().unwrap(),
            Ok(false)
        );
        let thread = std::thread::spawn(|| graceful(is_ending));
        assert_eq!(thread.join().unwrap(), Ok(false));
    });
}

/// In `cancellable`, the limit unwinds calls of a stretch that cannot fail; a panic ends a stretch.
#[test]
fn a_stretch_that_is_unwound_ends() {
    for_each_cluster(|_| {
        let token = CancelToken::new();
        let begun = Arc::new(Event::new());
        let begins = Arc::clone(&begun);
        let fibre = with(&token, move || {
            let ended = cancellable(|| {
                graceful(|| {
                    begins.set();
                    Event::new().wait();
                })
            });
            (ended, sleep_within(LONG))
        });
        begun.wait();
        until_waiting(WaitKind::Event, &[fibre.id()]);
        token.cancel_within(SHORT).unwrap();
        assert_eq!(fibre.join().unwrap(), (Err(Cancelled), Err(Cancelled)));
    });
}

/// A group within a stretch is a part of it; in a group outside of one, the fibres that are in a
/// stretch are spared, though others end with errors.
#[test]
fn groups_are_spared_as_their_callers_are() {
    for_each_cluster(|_| {
        let (service, go) = (CancelToken::new(), Arc::new(Event::new()));
        let (begun, goes) = (Arc::new(AtomicU32::new(0)), Arc::clone(&go));
        let begins = Arc::clone(&begun);
        let within = with(&service, move || {
            graceful(|| {
                fibre::group(|group| {
                    group.spawn(|| {
                        begins.fetch_add(1, Ordering::SeqCst);
                        goes.wait_within(Limit::Cancellation)
                    });
                    Ok(group.results().count())
                })
            })
        });
        let (goes, begins) = (Arc::clone(&go), Arc::clone(&begun));
        let finished = Arc::new(AtomicBool::new(false));
        let finishes = Arc::clone(&finished);
        let around = with(&service, move || {
            fibre::group(|group| {
                for _ in 0..3 {
                    group.spawn(|| sleep_within(LONG).map_err(WaitError::from));
                }
                group.spawn(|| {
                    let waits = || {
                        begins.fetch_add(1, Ordering::SeqCst);
                        goes.wait_within(Limit::Cancellation)
                    };
                    let ended = graceful(waits)?;
                    finishes.store(ended.is_ok(), Ordering::SeqCst);
                    ended
                });
                group.results().for_each(drop);
                Ok(())
            })
        });
        eventually(|| begun.load(Ordering::SeqCst) == 2);
        service.cancel_within(LONG).unwrap();
        // The others of its group end meanwhile.
        for _ in 0..100 {
            fibre::yield_now();
        }
        assert!(!within.is_finished() && !around.is_finished());
        go.set();
        assert_eq!(within.join().unwrap(), Ok(Ok(1)));
        assert_eq!(around.join().unwrap(), Err(GroupError::Cancelled));
        assert!(finished.load(Ordering::SeqCst), "it was spared");
    });
}

/// What the fibres of the stress test share.
struct Service {
    token: CancelToken,
    /// Set after a cancellation: no stretch begins any more.
    told: AtomicBool,
    /// Set before one that spares nobody.
    hard: AtomicBool,
    stretches: AtomicU32,
}

/// Begins stretches until the fibre is cancelled. None is cut short without a reason.
fn serve(service: &Service, random: &mut Random) {
    loop {
        let told = service.told.load(Ordering::SeqCst);
        let stretch = graceful(|| {
            service.stretches.fetch_add(1, Ordering::Relaxed);
            let wait = Duration::from_micros(random.below(60) as u64);
            let worked = match random.below(4) {
                0 => graceful(|| sleep_within(wait)).unwrap_or(Err(Cancelled)),
                1 => fibre::cancellation_point(),
                2 => {
                    fibre::yield_now();
                    fibre::cancellation_point()
                }
                _ => sleep_within(wait),
            };
            // The reason is there before the cancellation.
            let limit = service.token.limit();
            let is_over = limit.is_some_and(|limit| Instant::now() >= limit);
            let may_be_cut = is_over || service.hard.load(Ordering::SeqCst);
            assert!(worked.is_ok() || may_be_cut, "it was to be spared");
        });
        assert!(stretch.is_err() || !told, "a stretch has begun too late");
        if stretch.is_err() || fibre::cancellation_point().is_err() {
            assert!(graceful(|| ()).is_err());
            return;
        }
        if random.one_in(3) {
            fibre::yield_now();
        }
    }
}

/// Random stretches against random cancellations: those that have begun are spared, none begins
/// later, and all fibres end.
#[test]
fn random_stretches_are_spared_exactly() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let mut random = Random::new(seed);
        let mut stretches = 0;
        for _ in 0..60 {
            let service = Arc::new(Service {
                token: CancelToken::new(),
                told: AtomicBool::new(false),
                hard: AtomicBool::new(false),
                stretches: AtomicU32::new(0),
            });
            let fibres: Vec<_> = (0..8)
                .map(|number| {
                    let (service, mut random) = (Arc::clone(&service), random.split());
                    let token = match number % 2 {
                        0 => service.token.clone(),
                        _ => service.token.child(),
                    };
                    with(&token, move || serve(&service, &mut random))
                })
                .collect();
            fibre::sleep(Duration::from_micros(random.below(200) as u64));
            for _ in 0..1 + random.below(2) {
                let grace = Duration::from_micros(random.below(150) as u64);
                service.token.cancel_within(grace).unwrap();
                service.told.store(true, Ordering::SeqCst);
            }
            if random.one_in(3) {
                service.hard.store(true, Ordering::SeqCst);
                service.token.cancel();
            }
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            stretches += service.stretches.load(Ordering::Relaxed);
        }
        println!("{stretches} stretches");
    });
}
