//! The programs over actors come out right, under each policy and on 1, 2 and 8 processors.

use anyhow::Context as _;
use fibre_actors::{Actors, Policy};
use fibre_bench::actors::Program;
use fibre_bench::actors::apsp::Apsp;
use fibre_bench::actors::bang::Bang;
use fibre_bench::actors::big::Big;
use fibre_bench::actors::cdict::CDict;
use fibre_bench::actors::chat::Chat;
use fibre_bench::actors::csll::CSll;
use fibre_bench::actors::logm::LogM;
use fibre_bench::actors::nqn::NQn;
use fibre_bench::actors::pubsub::PubSub;
use fibre_bench::actors::trapr::TrapR;

/// Kernel threads for actors.
const PROCESSORS: [usize; 3] = [1, 2, 8];

/// Runs something under each policy and on each number of processors.
fn everywhere(run: impl Fn(&Actors) -> anyhow::Result<()>) -> anyhow::Result<()> {
    for policy in Policy::ALL {
        for processors in PROCESSORS {
            let builder = Actors::builder().policy(policy).processors(processors);
            let actors = builder.build()?;
            run(&actors).with_context(|| format!("{policy:?}, {processors} processors"))?;
            actors.stop();
        }
    }
    Ok(())
}

/// Runs a program in its small size, twice in each cluster.
fn check<P: Program>() -> anyhow::Result<()> {
    let program = P::small();
    everywhere(|actors| {
        for _ in 0..2 {
            program.check(&program.run(actors)?)?;
        }
        Ok(())
    })
}

#[test]
fn big() -> anyhow::Result<()> {
    check::<Big>()
}

#[test]
fn bang() -> anyhow::Result<()> {
    check::<Bang>()
}

#[test]
fn logm() -> anyhow::Result<()> {
    check::<LogM>()
}

#[test]
fn apsp() -> anyhow::Result<()> {
    check::<Apsp>()
}

#[test]
fn cdict() -> anyhow::Result<()> {
    check::<CDict>()
}

#[test]
fn csll() -> anyhow::Result<()> {
    check::<CSll>()
}

#[test]
fn nqn() -> anyhow::Result<()> {
    check::<NQn>()
}

#[test]
fn trapr() -> anyhow::Result<()> {
    check::<TrapR>()
}

#[test]
fn pubsub() -> anyhow::Result<()> {
    check::<PubSub>()
}

#[test]
fn chat() -> anyhow::Result<()> {
    let chat = Chat::small();
    everywhere(|actors| chat.check(&chat.run(actors)?))
}
