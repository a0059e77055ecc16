//! What all tests of actors share: their settings, and actors made of closures.

use fibre::Cluster;
use fibre_actors::{Actor, ActorRef, Actors, Builder, Context, Mailbox, Policy};
use std::time::{Duration, Instant};

#[path = "../../../../tests/support/drops.rs"]
#[allow(dead_code, reason = "a part is used")]
pub mod drops;
#[path = "../../../../tests/support/random.rs"]
pub mod random;
#[path = "../../../../tests/support/watchdog.rs"]
#[allow(dead_code, reason = "a part is used")]
pub mod watchdog;

pub use drops::Drops;
pub use random::Random;
pub use watchdog::die;

/// An actor that is a function of its messages.
pub struct Each<M, F>(F, std::marker::PhantomData<fn(M)>);

impl<M: Send + 'static, F: FnMut(M) + Send + 'static> Actor for Each<M, F> {
    type Message = M;

    fn handle(&mut self, message: M, _: &mut Context<'_, Self>) {
        (self.0)(message);
    }
}

/// An actor that calls this for each message.
pub fn each<M, F: FnMut(M)>(handle: F) -> Each<M, F> {
    Each(handle, std::marker::PhantomData)
}

/// Spawns an actor with this mailbox.
pub fn with_mailbox<A: Actor>(actors: &Actors, mailbox: Mailbox, actor: A) -> ActorRef<A::Message> {
    let builder = Builder::new().mailbox(mailbox);
    builder.spawn_in(actors, actor).unwrap()
}

/// Runs a test in all settings. All actors have ended when it returns.
pub fn everywhere(test: impl Fn(&Actors)) {
    everywhere_once(&test);
}

/// [`everywhere`], compiled once, not for each test.
fn everywhere_once(test: &dyn Fn(&Actors)) {
    for processors in [1, 2, 4] {
        let builder = Actors::builder().processors(processors);
        run(
            builder.build().unwrap(),
            &format!("{processors} processors"),
            test,
        );
    }
    for policy in Policy::ALL {
        let actors = Actors::builder().policy(policy).processors(2).build();
        run(actors.unwrap(), &format!("{policy:?}"), test);
    }
    for processors in [2, 4] {
        let builder = Cluster::builder().processors(processors);
        // SAFETY: these actors keep nothing of a kernel thread across a wait.
        let cluster = unsafe { builder.force_migration() }.build().unwrap();
        let remark = format!("{processors} processors, and forced moves");
        run(Actors::within(&cluster), &remark, test);
        cluster.stop();
    }
}

/// Runs a test among these actors, and stops them.
fn run(actors: Actors, remark: &str, test: &dyn Fn(&Actors)) {
    let remark = format!(" with {remark}");
    watchdog::watched_for(watchdog::LIMIT, &remark, || {
        test(&actors);
        let witness = actors.clone();
        actors.stop();
        assert!(witness.is_empty(), "actors are left{remark}");
    });
}

/// Waits until something is true; fails if that takes very long.
#[track_caller]
pub fn eventually(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "it has not come true");
        fibre::sleep(Duration::from_micros(200));
    }
}
