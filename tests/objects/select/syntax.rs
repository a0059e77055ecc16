//! What one can write in a selection.

use crate::support::{for_each_cluster, text_of};
use fibre::channel::{RecvError, TrySendError, bounded, unbounded};
use fibre::select;
use fibre::select::{Arm, after, any, any_timeout, any_within, try_any};
use fibre::sync::{AutoEvent, Event, Semaphore};
use fibre::{JoinHandle, Limit, WaitError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(2);

/// An output that does not fit leaves its arm out, and the others are waited for.
#[test]
fn patterns_need_not_fit() {
    for_each_cluster(|_| {
        let ((numbers, from_numbers), (words, from_words)) = (unbounded(), unbounded());
        let speaker = fibre::spawn(move || {
            for i in 0..3 {
                numbers.send(i).unwrap();
            }
            drop(numbers);
            fibre::sleep(SHORT);
            words.send(String::from("end")).unwrap();
        });
        let (mut heard, mut sum) = (None, 0);
        while heard.is_none() {
            select! {
                biased;
                Ok(number) = from_numbers.recv_arm() => sum += number,
                // It is moved out of the pattern, and changed.
                Ok(mut word) = from_words.recv_arm() => {
                    word.push('!');
                    heard = Some(word);
                }
            }
        }
        assert_eq!((heard.as_deref(), sum), (Some("end!"), 3));
        speaker.join().unwrap();
        let none = select! {
            Ok(_) = from_numbers.recv_arm() => 1,
            Ok(_) = from_words.recv_arm() => 2,
            else => 3,
        };
        assert_eq!(none, 3);
        let one_of_both = select! {
            Ok(1) | Err(RecvError) = from_numbers.recv_arm() => true,
            else => false,
        };
        assert!(one_of_both);
    });
}

/// A value that does not fit is dropped, and the ones behind it stay.
#[test]
fn what_does_not_fit_is_one_value() {
    let (sender, receiver) = unbounded();
    (0..3).for_each(|i| sender.send(i).unwrap());
    let fits = select! {
        Ok(7) = receiver.recv_arm() => true,
        default => false,
    };
    assert!(!fits);
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
}

/// A guard that does not hold leaves its arm out; none is left at `else`, or at the end that is
/// there.
#[test]
fn guards_leave_arms_out() {
    let (permits, event) = (Semaphore::new(5), Event::new());
    for open in [false, true] {
        let taken = select! {
            permit = permits.permit_arm(), if open => permit.count(),
            () = event.wait_arm() => 7,
            default => 0,
        };
        assert_eq!(taken, usize::from(open));
        assert_eq!(permits.available(), 5);
        let chosen = select! {
            _ = permits.permit_arm(), if open => { 1 }
            () = event.wait_arm(), if false => { 2 }
            else => 3,
        };
        assert_eq!(chosen, if open { 1 } else { 3 });
        let chosen = select! {
            _ = permits.permit_arm(), if open => 1,
            timeout(Duration::from_secs(1000)) => 2,
            else => 3,
        };
        assert_eq!(chosen, if open { 1 } else { 3 });
    }
    let late = Instant::now();
    let all_closed = select! {
        _ = permits.permit_arm(), if false => 1,
        default(Duration::from_secs(1000)) => 2,
    };
    assert!(all_closed == 2 && late.elapsed() < Duration::from_secs(900));
    let panics = catch_unwind(AssertUnwindSafe(
        || select! { () = event.wait_arm(), if false => {} },
    ));
    assert!(text_of(&*panics.unwrap_err()).contains("no arm"));
    let (sender, receiver) = bounded(1);
    let guarded = select! {
        recv(receiver) -> value, if sender.is_closed() => value.is_ok(),
        send(sender, 1) -> sent, if !sender.is_closed() => sent.is_ok(),
    };
    assert!(guarded && receiver.try_recv() == Ok(1));
}

/// A guard may look at what its arm borrows.
#[test]
fn guards_come_before_their_arms() {
    let mut fibres = vec![Some(fibre::spawn(|| 1)), None];
    let mut sum = 0;
    for fibre in &mut fibres {
        select! {
            result = JoinHandle::join_arm(fibre), if fibre.is_some() => sum += result.unwrap(),
            else => sum += 10,
        }
    }
    assert_eq!(sum, 11);
}

/// An arm that may not be there, and arms that are made before.
#[test]
fn arms_are_values() {
    let (sender, receiver) = unbounded();
    sender.send(1).unwrap();
    let mut arms = [None, Some(receiver.recv_arm())];
    let [none, some] = &mut arms;
    let value = select! {
        _ = none => None,
        value = some => value.ok(),
    };
    assert_eq!(value, Some(1));
    let mut boxed: Vec<Box<dyn Arm<Output = u64> + '_>> = vec![
        Box::new(after(Duration::from_secs(1000)).map(|_| 1)),
        Box::new(receiver.recv_arm().map(|value| value.unwrap())),
    ];
    assert_eq!(try_any(&mut boxed), None);
    assert_eq!(any_within(&mut boxed, SHORT), Err(WaitError::TimedOut));
    assert_eq!(any_timeout(&mut boxed, SHORT), None);
    sender.send(8).unwrap();
    assert_eq!(any_timeout(&mut boxed, Duration::ZERO), Some((1, 8)));
    sender.send(9).unwrap();
    assert_eq!(any(&mut boxed), (1, 9));
    let none: &mut [Box<dyn Arm<Output = ()>>] = &mut [];
    assert!(try_any(none).is_none());
    assert!(catch_unwind(AssertUnwindSafe(|| any(none))).is_err());
}

/// As many arms as there are.
#[test]
fn any_of_many() {
    for_each_cluster(|_| {
        let events: Vec<_> = (0..40).map(|_| AutoEvent::new()).collect();
        fibre::scope(|scope| {
            scope.spawn(|| {
                for event in &events {
                    event.set();
                    fibre::yield_now();
                }
            });
            let mut seen = vec![0; events.len()];
            for _ in 0..events.len() {
                let mut arms: Vec<_> = events.iter().map(AutoEvent::wait_arm).collect();
                let (place, ()) = any(&mut arms);
                seen[place] += 1;
            }
            assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
        });
        let waits = fibre::spawn(|| {
            let never = Event::new();
            any_within(&mut [never.wait_arm()], Limit::Cancellation)
        });
        waits.cancel();
        assert_eq!(waits.join().unwrap(), Err(WaitError::Cancelled));
        let waits = fibre::spawn(|| {
            let never = Event::new();
            any_timeout(&mut [never.wait_arm()], Duration::MAX)
        });
        waits.cancel();
        assert_eq!(waits.join().unwrap(), None);
    });
}

/// Bodies leave loops and functions, and use what was waited for.
#[test]
fn bodies_are_ordinary_code() {
    fn first(permits: &Semaphore, handles: &mut Vec<JoinHandle<u32>>) -> Result<u32, RecvError> {
        let mut last = handles.pop();
        loop {
            select! {
                result = JoinHandle::join_arm(&mut last) => {
                    if result.map_err(|_| RecvError)? > 2 {
                        return Ok(permits.available() as u32);
                    }
                    last = handles.pop();
                    continue;
                }
                permit = permits.permit_arm(), if permits.available() > 1 => permit.forget(),
                _ = after(Duration::from_secs(1000)) => break Err(RecvError),
            }
        }
    }
    let mut handles: Vec<_> = (0..5).rev().map(|i| fibre::spawn(move || i)).collect();
    assert_eq!(first(&Semaphore::new(3), &mut handles), Ok(1));
    assert_eq!(handles.len(), 1);

    // One selection in the body of another, and in an arm's expression.
    let (outer, inner) = (Event::new(), Event::new());
    outer.set();
    let value = select! {
        () = outer.wait_arm() => select! {
            () = inner.wait_arm() => 1,
            () = select! { () = outer.wait_arm() => outer.wait_arm() } => 2,
        },
    };
    assert_eq!(value, 2);

    let full = bounded(0);
    let back = select! {
        sent = full.0.send_arm(vec![1]) => sent.is_ok(),
        default => matches!(full.0.try_send(vec![2]), Err(TrySendError::Full(_))),
    };
    assert!(back);
}
