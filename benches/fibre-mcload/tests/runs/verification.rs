//! What is wrong is noticed, and what is not wrong is not.

use anyhow::Result;
use fibre_mcload::Plan;
use fibre_mcload::distribution::{Distribution, ETC_KEY, ETC_VALUE};
use fibre_mcload::keys::Popularity;
use fibre_mcload::protocol::Dialect;

use crate::server::{Fault, Server};
use crate::{plan, report};

/// Both dialects.
const DIALECTS: [Dialect; 2] = [Dialect::Text, Dialect::Meta];

/// Runs against a server with a fault, in a dialect, and says which wrongs were seen.
fn wrongs(fault: Fault, dialect: Dialect) -> Result<Vec<String>> {
    let server = Server::start(fault)?;
    let report = Plan {
        dialect,
        ..plan(&server)
    }
    .run()?;
    assert_eq!(report.examples.is_empty(), report.is_right());
    Ok(report.wrong.into_keys().collect())
}

#[test]
fn a_right_server_is_found_right() -> Result<()> {
    for dialect in DIALECTS {
        let server = Server::start(Fault::None)?;
        let report = Plan {
            dialect,
            ..plan(&server)
        }
        .run()?;
        assert!(report.is_clean(), "{report}");
        assert_eq!((report.counts.requests(), report.counts.misses), (1000, 0));
        assert_eq!(report.counts.sets, report.counts.stored);
        assert!(
            (200..400).contains(&report.counts.sets),
            "{}",
            report.counts.sets
        );
    }
    Ok(())
}

#[test]
fn answers_in_pieces_of_any_size_are_right() -> Result<()> {
    for (size, dialect) in [1, 2, 7, 130]
        .into_iter()
        .flat_map(|size| DIALECTS.map(|dialect| (size, dialect)))
    {
        let server = Server::start(Fault::Pieces(size))?;
        let plan = Plan {
            dialect,
            requests: Some(200),
            ..plan(&server)
        };
        assert!(plan.run()?.is_clean());
    }
    Ok(())
}

#[test]
fn sizes_of_all_kinds_are_right() -> Result<()> {
    let server = Server::start(Fault::None)?;
    let plans = [
        Plan {
            key_size: ETC_KEY,
            value_size: ETC_VALUE,
            ..plan(&server)
        },
        Plan {
            value_size: Distribution::Uniform(8.0, 200_000.0),
            value_limit: 200_000,
            requests: Some(200),
            pipeline: 16,
            ..plan(&server)
        },
        Plan {
            popularity: Popularity::Zipf(0.99),
            update: 1.0,
            ..plan(&server)
        },
        Plan {
            keys: 4,
            pipeline: 64,
            processors: 2,
            ..plan(&server)
        },
    ];
    for plan in plans {
        let report = plan.run()?;
        assert!(report.is_clean(), "{report}");
    }
    Ok(())
}

#[test]
fn a_foreign_value_is_noticed() -> Result<()> {
    for dialect in DIALECTS {
        assert_eq!(wrongs(Fault::Foreign, dialect)?, ["foreign"]);
    }
    Ok(())
}

#[test]
fn a_torn_value_is_noticed() -> Result<()> {
    for dialect in DIALECTS {
        assert_eq!(wrongs(Fault::Torn, dialect)?, ["torn"]);
    }
    Ok(())
}

#[test]
fn a_stale_value_is_noticed() -> Result<()> {
    for dialect in DIALECTS {
        assert_eq!(wrongs(Fault::Stale, dialect)?, ["stale"]);
    }
    Ok(())
}

#[test]
fn a_value_that_was_never_sent_is_noticed() -> Result<()> {
    for dialect in DIALECTS {
        assert_eq!(wrongs(Fault::Unwritten, dialect)?, ["unwritten"]);
    }
    Ok(())
}

#[test]
fn an_answer_to_another_request_is_noticed() -> Result<()> {
    for dialect in DIALECTS {
        assert_eq!(wrongs(Fault::Disordered, dialect)?, ["disordered"]);
    }
    Ok(())
}

#[test]
fn what_is_no_answer_is_noticed() -> Result<()> {
    let report = report(Fault::Nonsense)?;
    assert!(report.wrong["disordered"] > 0 && report.lost["nonsense"] > 0);
    Ok(())
}

#[test]
fn a_cache_may_forget_and_refuse() -> Result<()> {
    let forgetful = report(Fault::Forget(5))?;
    assert!(
        forgetful.is_clean() && forgetful.counts.misses_of_stored > 0,
        "{forgetful}"
    );
    assert!(forgetful.hit_ratio() < 1.0, "{forgetful}");
    let full = report(Fault::Refuse(5))?;
    assert!(
        full.is_right() && full.counts.refused > 0 && full.counts.misses > 0,
        "{full}"
    );
    assert!(full.counts.stored < full.counts.sets);
    Ok(())
}

#[test]
fn what_was_not_stored_or_not_kept_is_a_shortfall() -> Result<()> {
    assert_eq!(report(Fault::None)?.shortfall(1.0), None);
    let forgetful = report(Fault::Forget(5))?;
    assert!(forgetful.shortfall(1.0).is_some(), "{forgetful}");
    assert_eq!(forgetful.shortfall(0.5), None, "{forgetful}");
    let full = report(Fault::Refuse(5))?;
    assert!(full.shortfall(0.0).is_some(), "{full}");
    // Nothing is stored while it is measured, and nothing was before.
    let server = Server::start(Fault::Refuse(1))?;
    let empty = Plan {
        update: 0.0,
        ..plan(&server)
    }
    .run()?;
    assert_eq!(empty.counts.misses_of_stored, 0);
    assert!(empty.shortfall(1.0).is_some(), "{empty}");
    Ok(())
}

#[test]
fn a_plan_without_sense_is_refused() -> Result<()> {
    let server = Server::start(Fault::None)?;
    let good = plan(&server);
    let bad = [
        Plan {
            connections: 0,
            ..good.clone()
        },
        Plan {
            keys: 3,
            ..good.clone()
        },
        Plan {
            update: 1.5,
            ..good.clone()
        },
        Plan {
            rate: Some(0.0),
            ..good.clone()
        },
        Plan {
            processors: 0,
            ..good
        },
    ];
    assert!(bad.iter().all(|plan| plan.run().is_err()));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    assert!(Plan::new(nobody).run().is_err());
    Ok(())
}
