//! Fibres that are cancelled together.

use crate::support::{for_each_cluster, let_others_block};
use fibre::sync::Semaphore;
use fibre::{Builder, CancelToken, Cancelled, Cluster, JoinHandle};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A fibre that waits until it is cancelled.
fn waiting(token: &CancelToken) -> JoinHandle<Result<(), Cancelled>> {
    let wait = || fibre::sleep_within(Duration::MAX);
    Builder::new().cancel_token(token).spawn(wait).unwrap()
}

/// All that have the token are cancelled, and those that get it afterwards; others are not.
#[test]
fn all_that_have_it() {
    for_each_cluster(|_| {
        let (token, other) = (CancelToken::new(), CancelToken::new());
        let fibres: Vec<_> = (0..100).map(|_| waiting(&token.clone())).collect();
        let bystander = waiting(&other);
        let_others_block();
        assert!(!token.is_cancelled());
        token.cancel();
        token.cancel();
        assert!(token.is_cancelled() && !other.is_cancelled());
        for fibre in fibres.into_iter().chain([waiting(&token)]) {
            assert_eq!(fibre.join().unwrap(), Err(Cancelled));
        }
        assert!(!bystander.is_finished());
        other.cancel();
        assert_eq!(bystander.join().unwrap(), Err(Cancelled));
    });
}

/// A child is cancelled with its parent, and not the other way round; the ones in between may
/// be gone.
#[test]
fn children() {
    for_each_cluster(|_| {
        let parent = CancelToken::new();
        let (first, second) = (parent.child(), parent.child().child());
        let fibres = [&parent, &first, &second].map(waiting);
        first.cancel();
        let [above, cancelled, beside] = fibres;
        assert_eq!(cancelled.join().unwrap(), Err(Cancelled));
        let_others_block();
        assert!(!above.is_finished() && !beside.is_finished());
        assert!(!parent.is_cancelled() && !second.is_cancelled());
        parent.cancel();
        assert!(second.is_cancelled() && parent.child().is_cancelled());
        assert_eq!(above.join().unwrap(), Err(Cancelled));
        assert_eq!(beside.join().unwrap(), Err(Cancelled));
    });
}

/// One of the fibres may cancel them all, itself included.
#[test]
fn from_inside() {
    for_each_cluster(|_| {
        let token = CancelToken::new();
        let others: Vec<_> = (0..10).map(|_| waiting(&token)).collect();
        let own = token.clone();
        let canceller = move || {
            own.cancel();
            fibre::cancellation_point()
        };
        let canceller = Builder::new().cancel_token(&token).spawn(canceller);
        assert_eq!(canceller.unwrap().join().unwrap(), Err(Cancelled));
        for other in others {
            assert_eq!(other.join().unwrap(), Err(Cancelled));
        }
    });
}

/// Fibres that have ended, their handles gone, are not touched: nobody refers to them.
#[test]
fn ended_fibres_are_forgotten() {
    for_each_cluster(|cluster| {
        let token = CancelToken::new();
        let permits = Arc::new(Semaphore::new(0));
        for _ in 0..500 {
            let permits = Arc::clone(&permits);
            let brief = Builder::new().cancel_token(&token);
            drop(brief.spawn(move || permits.release()).unwrap());
        }
        (0..250).for_each(|_| permits.acquire());
        token.cancel();
        (0..250).for_each(|_| permits.acquire());
        crate::support::eventually(|| cluster.live() == 1);
        token.cancel();
    });
}

/// A token may be used in several clusters, and outlive them.
#[test]
fn several_clusters() {
    crate::support::watched(|| {
        let token = CancelToken::new();
        for processors in [1, 2] {
            let clusters: Vec<_> = (0..3)
                .map(|_| Cluster::builder().processors(processors).build().unwrap())
                .collect();
            let spawn = |cluster: &Cluster| {
                let wait = || fibre::sleep_within(Duration::MAX);
                let builder = Builder::new().cancel_token(&token);
                builder.spawn_in(cluster, wait).unwrap()
            };
            let fibres: Vec<_> = clusters.iter().map(spawn).collect();
            token.cancel();
            for fibre in fibres {
                assert_eq!(fibre.join().unwrap(), Err(Cancelled));
            }
            clusters.into_iter().for_each(Cluster::stop);
        }
        token.cancel();
    });
}

/// A token is cancelled at its moment, with all that has it, and says why; one that was cancelled
/// before keeps its own cause.
#[test]
fn a_moment_cancels_and_is_the_cause() {
    for_each_cluster(|_| {
        let sleeps = || fibre::sleep_within(Duration::from_secs(3600));
        let token = CancelToken::new();
        let child = token.child();
        let end = Instant::now() + Duration::from_millis(3);
        token.cancel_at(end).unwrap();
        let sleeper = Builder::new().cancel_token(&child).spawn(sleeps).unwrap();
        assert!(sleeper.join().unwrap().is_err() && Instant::now() >= end);
        assert!(child.cause().unwrap().is::<fibre::TimedOut>());
        let token = CancelToken::new();
        token
            .cancel_at(Instant::now() + Duration::from_secs(3600))
            .unwrap();
        token.cancel_because("enough");
        token.cancel_because("too late");
        assert_eq!(token.cause().unwrap().to_string(), "enough");
        // The fibre that waited for the moment ends, or the cluster could not.
    });
}
