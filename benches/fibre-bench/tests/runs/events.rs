//! The programs over coloured events do all that they should, under every policy.

use fibre_bench::events::cache_efficient::CacheEfficient;
use fibre_bench::events::penalty::Penalty;
use fibre_bench::events::table2::Table2;
use fibre_bench::events::unbalanced::Unbalanced;
use fibre_events::{Events, Policy};

/// Runs a program under every policy, on one, two and four processors. The program itself says
/// whether an event is lost, or what it has made is wrong.
fn everywhere(run: impl Fn(&Events) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let policies = [
        Policy::Off,
        Policy::Libasync,
        Policy::MelyBase,
        Policy::TimeLeft,
    ];
    for policy in policies {
        for processors in [1, 2, 4] {
            for locality in [false, true] {
                let builder = Events::builder().processors(processors).policy(policy);
                run(&builder.locality(locality).build()?)?;
            }
        }
    }
    Ok(())
}

#[test]
fn unbalanced() -> anyhow::Result<()> {
    let program = Unbalanced {
        events: 300,
        rounds: 3,
    };
    everywhere(|events| program.run(events).map(drop))
}

#[test]
fn table2() -> anyhow::Result<()> {
    let program = Table2 {
        links: 20,
        ..Table2::default()
    };
    everywhere(|events| program.run(events).map(drop))
}

#[test]
fn penalty() -> anyhow::Result<()> {
    let program = Penalty {
        arrays: 10,
        rounds: 3,
    };
    everywhere(|events| program.run(events).map(drop))
}

#[test]
fn cache_efficient() -> anyhow::Result<()> {
    let program = CacheEfficient {
        arrays: 5,
        rounds: 3,
    };
    everywhere(|events| program.run(events).map(drop))
}

#[test]
fn nothing_moves_that_is_not_stolen() -> anyhow::Result<()> {
    let events = || {
        let builder = Events::builder().processors(2).policy(Policy::Off);
        builder.build()
    };
    let penalty = Penalty {
        arrays: 10,
        rounds: 3,
    };
    assert_eq!(penalty.run(&events()?)?.moved, 0);
    let sorts = CacheEfficient {
        arrays: 5,
        rounds: 3,
    };
    assert_eq!(sorts.run(&events()?)?.moved, 0);
    Ok(())
}
