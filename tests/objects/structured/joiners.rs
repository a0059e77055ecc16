//! Java's `StructuredTaskScope` and its joiners (JEP 505, JEP 525).
//!
//! | there | here |
//! |---|---|
//! | `open()`, `awaitAllSuccessfulOrThrow` | `group`, with `run` or `spawn` |
//! | `allSuccessfulOrThrow` | `group`, and `results_in_order` |
//! | `anySuccessfulOrThrow` | a group that keeps going, and `first` |
//! | `awaitAll` | a group that keeps going, and `run` or `results` |
//! | `allUntil(predicate)` | a group that keeps going, its results, and `end_rest` |
//! | `withTimeout`, `onTimeout` | the group's `timeout`; `results_within`, which keeps what there is |
//! | `close` waits for subtasks | the group's call does |

use super::{LONG, SHORT, everywhere, no_results};
use crate::support::{eventually, for_each_cluster};
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Event;
use fibre::{FibreError, Group, GroupError, Partial, PartialCause, group};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};

/// The first program: a user and an order, found at the same time. If one fails, the other is
/// cancelled, and the error is the whole's.
fn handle(
    find_user: impl Fn() -> Result<&'static str, &'static str> + Sync,
    fetch_order: impl Fn() -> Result<&'static str, &'static str> + Sync,
) -> Result<String, GroupError<&'static str>> {
    group(|scope| {
        scope.spawn(&find_user);
        scope.spawn(&fetch_order);
        let results: Vec<_> = scope.results_in_order().collect();
        Ok(results.join(", "))
    })
}

/// `allSuccessfulOrThrow`: results in the order of forks; a failure short-circuits.
#[test]
fn all_successful_or_throw() {
    everywhere(|| {
        let slow_user = || {
            fibre::sleep(SHORT);
            Ok("Ada")
        };
        assert_eq!(handle(slow_user, || Ok("7 books")).unwrap(), "Ada, 7 books");
        let cancelled = AtomicU32::new(0);
        let endless = || match fibre::sleep_within(LONG) {
            Ok(()) => Ok("never"),
            Err(_) => {
                cancelled.fetch_add(1, Ordering::Relaxed);
                Err("interrupted")
            }
        };
        let failed = handle(endless, || Err("no such order"));
        assert_eq!(failed, Err(GroupError::Failed("no such order")));
        let failed = handle(|| Err("no such user"), endless);
        assert_eq!(failed, Err(GroupError::Failed("no such user")));
        // The second time, the failure may have come before the fork, which then starts nothing.
        assert!((1..=2).contains(&cancelled.into_inner()));
    });
}

/// `anySuccessfulOrThrow`: the first success, and the rest is cancelled; if all fail, one of the
/// failures is the error.
#[test]
fn any_successful_or_throw() {
    fn race(subtasks: &[Result<u32, &'static str>]) -> Result<u32, GroupError<&'static str>> {
        Group::builder().keep_going().run(|scope| {
            for subtask in subtasks {
                scope.spawn(|| match *subtask {
                    Ok(0) => fibre::sleep_within(LONG)
                        .map(|()| 0)
                        .map_err(|_| "interrupted"),
                    result => result,
                });
            }
            scope.first().map_err(|all_failed| {
                let failures = all_failed.into_results().into_iter();
                let mut errors = failures.filter_map(|item| item.unwrap_err().into_error());
                errors.next().unwrap_or("no subtasks")
            })
        })
    }
    everywhere(|| {
        assert_eq!(race(&[Ok(0), Err("down"), Ok(7), Ok(0)]), Ok(7));
        assert_eq!(
            race(&[Err("down"), Err("down")]),
            Err(GroupError::Failed("down"))
        );
        assert_eq!(race(&[]), Err(GroupError::Failed("no subtasks")));
    });
}

/// `awaitAllSuccessfulOrThrow` with subtasks of several types: the caller takes their results from
/// where they have left them.
#[test]
fn subtasks_of_several_types() {
    everywhere(|| {
        let (mut name, mut count) = (None, None);
        let ended: Result<(), GroupError<&str>> = group(|scope| {
            no_results(scope);
            scope.run(|| {
                name = Some("Ada");
                Ok(())
            });
            scope.run(|| {
                count = Some(7_u64);
                Ok(())
            });
            Ok(())
        });
        assert_eq!((ended, name, count), (Ok(()), Some("Ada"), Some(7)));
    });
}

/// `awaitAll`: all subtasks end by themselves, whatever becomes of others.
#[test]
fn await_all() {
    everywhere(|| {
        let done = AtomicU32::new(0);
        let failed = Group::builder().keep_going().run(|scope| {
            for number in 0..10 {
                let done = &done;
                scope.run(move || {
                    fibre::yield_now();
                    done.fetch_add(1, Ordering::Relaxed);
                    match number % 5 {
                        0 => Err(number),
                        _ => Ok(()),
                    }
                });
            }
            Ok(scope
                .results()
                .filter(|result: &Result<(), _>| result.is_err())
                .count())
        });
        assert_eq!((failed, done.into_inner()), (Ok(2), 10));
    });
}

/// `allUntil`: a predicate over the ended subtasks cancels the rest, which is no failure: here once
/// two have failed. All that have ended are had, with what the cancelled ones return.
#[test]
fn all_until_a_predicate_says_so() {
    everywhere(|| {
        let items = Group::builder().keep_going().run(|scope| {
            for number in 0..8_u32 {
                scope.spawn(move || match number {
                    2 | 5 => Err(number),
                    6 | 7 => Ok(fibre::sleep_within(LONG).map_or(10 * number, |()| 0)),
                    _ => Ok(number),
                });
            }
            let (mut items, mut failures) = (Vec::new(), 0);
            while let Some(item) = scope.next() {
                failures += u32::from(item.is_err());
                items.push(item.map_err(|error| error.into_error().unwrap()));
                if failures == 2 && !scope.token().is_cancelled() {
                    scope.end_rest();
                    scope.spawn(|| unreachable!("a fork after that starts nothing"));
                }
            }
            Ok(items)
        });
        let mut items = items.unwrap();
        items.sort_unstable();
        let expected = [Ok(0), Ok(1), Ok(3), Ok(4), Ok(60), Ok(70), Err(2), Err(5)];
        assert_eq!(items, expected);
    });
}

/// A scope with a time: it fails as a whole when that is over, its subtasks are cancelled, and the
/// owner has waited for them.
#[test]
fn a_scope_has_a_time() {
    everywhere(|| {
        let ended = AtomicU32::new(0);
        let waits = || {
            let cancelled = fibre::sleep_within(LONG).is_err();
            ended.fetch_add(u32::from(cancelled), Ordering::Relaxed);
            Err::<(), _>("interrupted")
        };
        let late = Group::builder().timeout(SHORT).run(|scope| {
            (0..3).for_each(|_| scope.spawn(waits));
            Ok(scope.results().count())
        });
        assert_eq!((late, ended.into_inner()), (Err(GroupError::TimedOut), 3));
    });
}

/// `onTimeout` (JEP 525): a joiner that returns what there is when the time is over.
#[test]
fn a_joiner_may_return_what_there_is_in_time() {
    everywhere(|| {
        let there = group(|scope| {
            scope.spawn(|| Ok::<_, fibre::Cancelled>(1));
            scope.spawn(|| fibre::sleep_within(LONG).map(|()| 2));
            eventually(|| scope.running() == 1);
            let there = scope.results_within(SHORT);
            assert!(
                there
                    .as_ref()
                    .is_err_and(|there| there.cause() == PartialCause::TimedOut)
            );
            Ok(there.unwrap_or_else(Partial::into_results))
        });
        assert_eq!(there, Ok(vec![1]));
    });
}

/// A subtask that opens a scope of its own: its failure is the subtask's, and cancellation goes
/// down through both.
#[test]
fn scopes_nest() {
    everywhere(|| {
        let interrupted = AtomicU32::new(0);
        let endless = || {
            let cancelled = fibre::sleep_within(LONG).is_err();
            interrupted.fetch_add(u32::from(cancelled), Ordering::Relaxed);
            Err::<(), _>("interrupted")
        };
        // A failure within goes up from scope to scope, and cancels the siblings on its way.
        let failed: Result<(), _> = group(|outer| {
            outer.run(endless);
            outer.run(|| {
                let inner: Result<(), _> = group(|inner| {
                    inner.run(endless);
                    inner.run(|| Err("deep down"));
                    no_results(inner);
                    Ok(())
                });
                inner.map_err(|error| error.into_error().unwrap())
            });
            no_results(outer);
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed("deep down")));
        // A failure outside goes down.
        let failed: Result<(), _> = group(|outer| {
            outer.run(|| {
                let inner: Result<(), _> = group(|inner| {
                    inner.run(endless);
                    no_results(inner);
                    Ok(())
                });
                inner.map_err(|_| "the inner scope was cancelled")
            });
            outer.run(|| Err("outside"));
            no_results(outer);
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed("outside")));
        // Those that the failure has overtaken have found their scope cancelled.
        assert_eq!(interrupted.into_inner(), 3);
    });
}

/// An owner that leaves the block early, with a value, an error or by its time, has waited for its
/// subtasks: none outlives the scope.
#[test]
fn an_owner_that_leaves_waits_for_its_subtasks() {
    everywhere(|| {
        for way in 0..3 {
            let (running, begun) = (AtomicU32::new(0), Event::new());
            let left: Result<u32, _> = group(|scope| {
                scope.run(|| {
                    running.fetch_add(1, Ordering::Relaxed);
                    begun.set();
                    // In a shield, so that it takes its time also when it is cancelled.
                    fibre::shield(|| fibre::sleep(SHORT));
                    running.fetch_sub(1, Ordering::Relaxed);
                    Ok(())
                });
                no_results(scope);
                begun.wait();
                match way {
                    0 => return Ok(1), // early, with a value
                    1 => Err("early")?,
                    _ => scope.cancel(),
                }
                Ok(2)
            });
            let expected = [
                Ok(1),
                Err(GroupError::Failed("early")),
                Err(GroupError::Cancelled),
            ];
            assert_eq!(left, expected[way]);
            assert_eq!(running.into_inner(), 0, "a subtask has outlived its scope");
        }
    });
}

/// One request: two subtasks in a scope of its own.
fn answer(mut client: TcpStream) -> io::Result<()> {
    let mut question = [0];
    client.read_exact(&mut question)?;
    let parts = group(|scope| {
        scope.spawn(|| Ok(question[0] + 1));
        scope.spawn(|| match question[0] {
            13 => Err(io::Error::other("an unlucky question")),
            number => Ok(number + 2),
        });
        Ok(scope.results_in_order().collect::<Vec<u8>>())
    });
    let failed = |error: GroupError<io::Error>| io::Error::other(error.to_string());
    client.write_all(&parts.map_err(failed)?)
}

/// The server of the JEP: a scope for all connections, and one for each request. A request that
/// fails is no matter of the others; when the server is told to stop, it ends when all have.
#[test]
fn a_server_has_a_scope_for_each_request() {
    for_each_cluster(|_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = listener.try_clone().unwrap();
        let server = fibre::spawn(move || {
            Group::builder().keep_going().run(|scope| {
                for (client, _) in acceptor.connections() {
                    scope.run(move || answer(client));
                }
                scope.end_rest();
                let failures = scope
                    .results()
                    .map(|result: Result<(), _>| result.unwrap_err());
                Ok(failures.filter_map(FibreError::into_error).count())
            })
        });
        let ask = |question: u8| {
            let mut client = TcpStream::connect(address)?;
            client.write_all(&[question])?;
            let mut answer = [0; 2];
            client.read_exact(&mut answer).map(|()| answer)
        };
        for number in 0..20 {
            match ask(number) {
                Ok(answer) => assert_eq!(answer, [number + 1, number + 2]),
                Err(error) => {
                    assert_eq!((number, error.kind()), (13, io::ErrorKind::UnexpectedEof));
                }
            }
        }
        let idle = TcpStream::connect(address).unwrap(); // a request that never comes
        listener.close();
        let ended: Result<usize, GroupError<io::Error>> = server.join().unwrap();
        assert!(matches!(ended, Ok(1)), "{ended:?}");
        drop(idle);
    });
}
