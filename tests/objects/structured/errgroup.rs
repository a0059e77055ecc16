//! Go's `golang.org/x/sync/errgroup`.
//!
//! | there | here |
//! |---|---|
//! | `g.Go(f)` | `group.spawn(f)`, or `run` without a result |
//! | `g.Wait()` | the end of the group's call; its error is the first |
//! | `errgroup.WithContext` | every group: its token, `group.token()` |
//! | `g.SetLimit(n)` | `Group::builder().limit(n)` |
//! | `g.TryGo(f)` | a permit of one's own: `try_permit`, and `run` if there is one |

use super::{LONG, everywhere, no_results};
use crate::support::for_each_cluster;
use fibre::channel::{Receiver, Sender, bounded};
use fibre::sync::{Event, Semaphore};
use fibre::{Group, GroupError, Limit, group};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// "Just errors": some pages are fetched, and the first error is the group's.
#[test]
fn just_errors() {
    everywhere(|| {
        let fetch = |pages: &[&'static str]| {
            group(|group| {
                no_results(group);
                for &page in pages {
                    group.run(move || match page.starts_with("http://") {
                        true => Ok(()),
                        false => Err(page),
                    });
                }
                Ok(())
            })
        };
        assert_eq!(fetch(&["http://a", "http://b"]), Ok(()));
        let failed = fetch(&["http://a", "nowhere", "http://b"]);
        assert_eq!(failed, Err(GroupError::Failed("nowhere")));
    });
}

/// "Parallel": several searches, with results in the order of their starts.
#[test]
fn parallel() {
    everywhere(|| {
        let found = group(|group| {
            for kind in ["web", "image", "video"] {
                group.spawn(move || {
                    fibre::yield_now();
                    Ok::<_, ()>(format!("{kind} result"))
                });
            }
            Ok(group.results_in_order().collect::<Vec<_>>())
        });
        assert_eq!(
            found.unwrap(),
            ["web result", "image result", "video result"]
        );
    });
}

/// Sends texts until it is cancelled or has none left.
fn walk(texts: &[&'static str], paths: Sender<&'static str>) -> Result<(), &'static str> {
    for &text in texts {
        let sent = paths.send_within(text, Limit::Cancellation);
        sent.map_err(|_| "the walk was cancelled")?;
    }
    Ok(())
}

/// Sums up texts until there are no more.
fn digest(
    paths: Receiver<&'static str>,
    sums: Sender<(&'static str, u32)>,
) -> Result<(), &'static str> {
    while let Ok(path) = paths.recv_within(Limit::Cancellation) {
        if path == "unreadable" {
            return Err("cannot read");
        }
        let sum = path.bytes().map(u32::from).sum();
        sums.send_within((path, sum), Limit::Cancellation)
            .map_err(|_| "cancelled")?;
    }
    Ok(())
}

/// "Pipeline" (`MD5All`): a walk, a fixed number of digesters, and a collector, with channels of no
/// room in between. An error of any stage ends all.
fn digest_all(
    texts: &[&'static str],
) -> Result<BTreeMap<&'static str, u32>, GroupError<&'static str>> {
    group(|group| {
        no_results(group);
        let ((paths, to_digest), (sums, to_collect)) = (bounded(1), bounded(1));
        group.run(move || walk(texts, paths));
        for _ in 0..4 {
            let (to_digest, sums) = (to_digest.clone(), sums.clone());
            group.run(move || digest(to_digest, sums));
        }
        drop((to_digest, sums)); // so that the last digester closes the channel
        Ok(to_collect.iter().collect())
    })
}

#[test]
fn a_pipeline() {
    everywhere(|| {
        let sums = digest_all(&["a", "b", "ab", "ba", "abc"]).unwrap();
        let expected = [("a", 97), ("ab", 195), ("abc", 294), ("b", 98), ("ba", 195)];
        assert_eq!(sums.into_iter().collect::<Vec<_>>(), expected);
        let failed = digest_all(&["a", "unreadable", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(failed, Err(GroupError::Failed("cannot read")));
    });
}

/// `WithContext`: the context ends with the first error, and not by success.
#[test]
fn the_context_ends_with_the_first_error() {
    everywhere(|| {
        for fails in [false, true] {
            let mut context = None;
            let ended: Result<(), GroupError<u32>> = group(|group| {
                context = Some(group.token());
                no_results(group);
                for number in 0..5_u32 {
                    group.run(move || match fails && number == 3 {
                        true => Err(number),
                        false => Ok(()),
                    });
                }
                Ok(())
            });
            assert_eq!(ended.is_err(), fails);
            assert_eq!(context.unwrap().is_cancelled(), fails);
        }
    });
}

/// `SetLimit`: no more run at once, and `Go` waits for room; a limit of zero would let nobody in,
/// and counts as one here.
#[test]
fn a_limit() {
    everywhere(|| {
        for limit in [0, 1, 2, 5] {
            let (active, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let ended: Result<(), GroupError<()>> = Group::builder().limit(limit).run(|group| {
                no_results(group);
                for _ in 0..40 {
                    group.run(|| {
                        let now = active.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        fibre::yield_now();
                        active.fetch_sub(1, Ordering::SeqCst);
                        Ok(())
                    });
                }
                Ok(())
            });
            assert_eq!(ended, Ok(()));
            assert!((1..=limit.max(1)).contains(&most.into_inner()));
        }
    });
}

/// `TryGo`: starts a fibre if there is room at once. A group has no such call; a semaphore says
/// whether there is room, and the fibre has its permit.
#[test]
fn try_go() {
    everywhere(|| {
        let (room, leave, ran) = (Semaphore::new(2), Event::new(), AtomicU32::new(0));
        let ended = group(|group| {
            no_results::<()>(group);
            let try_go = || {
                let permit = room.try_permit();
                permit.is_some_and(|permit| {
                    group.run(|| {
                        let _permit = permit;
                        leave.wait();
                        ran.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    });
                    true
                })
            };
            let started = [try_go(), try_go(), try_go()];
            leave.set();
            while group.running() > 0 {
                fibre::yield_now();
            }
            Ok((started, try_go()))
        });
        assert_eq!(ended, Ok(([true, true, false], true)));
        assert_eq!((ran.into_inner(), room.available()), (3, 2));
    });
}

/// A panic of a function is the waiter's, when all have ended.
#[test]
fn a_panic_is_the_waiters() {
    for_each_cluster(|_| {
        let ended = AtomicU32::new(0);
        let panics = catch_unwind(AssertUnwindSafe(|| {
            group(|group| {
                no_results::<&str>(group);
                group.run(|| {
                    let _ = fibre::sleep_within(LONG);
                    ended.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                });
                group.run(|| resume_unwind(Box::new("on purpose")));
                Ok(())
            })
        }));
        assert_eq!(panics.unwrap_err().downcast_ref(), Some(&"on purpose"));
        assert_eq!(ended.into_inner(), 1);
    });
}
