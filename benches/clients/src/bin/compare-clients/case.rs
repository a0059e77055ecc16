//! What is compared: clients and servers, and how many at a time.

use anyhow::{Context, Result};
use fibre_clients::load::{Kind, Reading};
use fibre_clients::servers::{Server, mariadb, postgres, redis};
use fibre_clients::way::Way;
use fibre_measure::Cores;

use crate::measured::{Measured, Patience};

/// A client, or a server, that is compared.
pub(crate) struct Case {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What a call is.
    pub(crate) call: &'static str,
    /// What runs.
    subject: Subject,
}

/// What runs.
enum Subject {
    /// Clients of a kind, of a server.
    Clients(Kind, Service),
    /// Workers of `tiny_http`, and ureq on threads as its clients.
    TinyHttp,
}

/// A server that clients need.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Service {
    Redis,
    MariaDb,
    Postgres,
    Http,
    Nothing,
}

/// All cases.
pub(crate) const CASES: [Case; 8] = [
    Case {
        name: "redis",
        call: "`BLPOP` and `ECHO`, crate `redis`",
        subject: Subject::Clients(Kind::Redis, Service::Redis),
    },
    Case {
        name: "mysql",
        call: "`SELECT SLEEP`, crate `mysql`, MariaDB",
        subject: Subject::Clients(Kind::Mysql, Service::MariaDb),
    },
    Case {
        name: "libpq",
        call: "`pg_sleep`, libpq, PostgreSQL",
        subject: Subject::Clients(Kind::Pq, Service::Postgres),
    },
    Case {
        name: "ureq2",
        call: "a page, ureq 2",
        subject: Subject::Clients(Kind::Ureq2, Service::Http),
    },
    Case {
        name: "ureq3",
        call: "a page, ureq 3",
        subject: Subject::Clients(Kind::Ureq3, Service::Http),
    },
    Case {
        name: "libcurl",
        call: "a page, libcurl",
        subject: Subject::Clients(Kind::Curl, Service::Http),
    },
    Case {
        name: "tiny_http",
        call: "a page served, tiny_http",
        subject: Subject::TinyHttp,
    },
    Case {
        name: "process",
        call: "a shell, `std::process`",
        subject: Subject::Clients(Kind::Process, Service::Nothing),
    },
];

/// How many clients call how often.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// Clients at once.
    pub(crate) clients: usize,
    /// Calls of each.
    pub(crate) calls: usize,
    /// How long the server waits before it answers, in milliseconds.
    pub(crate) wait_ms: u64,
}

impl Load {
    /// Slow answers.
    pub(crate) const SLOW: Self = Self {
        clients: 100,
        calls: 4,
        wait_ms: 50,
    };
    /// Many clients.
    pub(crate) const MANY: Self = Self {
        clients: 1000,
        calls: 1,
        wait_ms: 50,
    };
    /// A few clients that hardly wait.
    pub(crate) const QUICK: Self = Self {
        clients: 4,
        calls: 2,
        wait_ms: 5,
    };

    /// What is asked of clients with calls that block the only processor: so many calls of each,
    /// and nothing of many clients.
    pub(crate) fn of_bare(self, calls: usize) -> Option<Self> {
        let calls = self.calls.min(calls);
        (self != Self::MANY).then_some(Self { calls, ..self })
    }

    /// How reports call it.
    pub(crate) fn title(self) -> String {
        format!("{} clients × {}", self.clients, self.calls)
    }
}

/// The servers that run, and where.
pub(crate) struct Places {
    redis: Option<Server>,
    mariadb: Option<Server>,
    postgres: Option<Server>,
    /// The HTTP server, which ends when it is dropped.
    http: Option<(Measured, String)>,
}

impl Places {
    /// Starts what these cases need.
    pub(crate) fn start(cases: &[&Case]) -> Result<Self> {
        let needs = |service| {
            cases.iter().any(
                |case| matches!(case.subject, Subject::Clients(_, needed) if needed == service),
            )
        };
        Ok(Self {
            redis: needs(Service::Redis).then(redis).transpose()?,
            mariadb: needs(Service::MariaDb).then(mariadb).transpose()?,
            postgres: needs(Service::Postgres).then(postgres).transpose()?,
            http: needs(Service::Http).then(start_http).transpose()?,
        })
    }

    /// Where a server is.
    fn of(&self, service: Service) -> Result<&str> {
        let place = match service {
            Service::Redis => self.redis.as_ref().map(Server::place),
            Service::MariaDb => self.mariadb.as_ref().map(Server::place),
            Service::Postgres => self.postgres.as_ref().map(Server::place),
            Service::Http => self.http.as_ref().map(|(_, place)| place.as_str()),
            Service::Nothing => Some(""),
        };
        place.context("a server that was not started")
    }
}

/// Starts the HTTP server.
fn start_http() -> Result<(Measured, String)> {
    let mut server = Measured::start("servers", &["http"], None)?;
    let place = server.place()?;
    Ok((server, place))
}

impl Case {
    /// Runs it once; `None` if it has hung where it may.
    pub(crate) fn measure(
        &self,
        load: Load,
        way: Way,
        places: &Places,
        cores: &Cores,
    ) -> Result<Option<Reading>> {
        let patience = Patience::of(way);
        let measured = cores.measured(1);
        let outcome = match self.subject {
            Subject::Clients(kind, service) => {
                let place = places.of(service)?;
                clients(kind, way, load, place, Some(&measured))
                    .and_then(|clients| clients.reading(patience))
            }
            Subject::TinyHttp => tiny_http(load, way, patience, &measured),
        };
        outcome.with_context(|| format!("{}, {}", self.name, way.title()))
    }
}

/// Starts clients.
fn clients(
    kind: Kind,
    way: Way,
    load: Load,
    place: &str,
    cores: Option<&[usize]>,
) -> Result<Measured> {
    let (kind, way) = (value(&kind), value(&way));
    let [clients, calls] = [load.clients, load.calls].map(|count| count.to_string());
    let wait = load.wait_ms.to_string();
    let arguments = [
        "clients",
        "--kind",
        &kind,
        "--way",
        &way,
        "--place",
        place,
        "--clients",
        &clients,
        "--calls",
        &calls,
        "--wait-ms",
        &wait,
    ];
    Measured::start("measured", &arguments, cores)
}

/// Runs a server of `tiny_http` and its clients. The time is the clients', the CPU time the
/// server's.
fn tiny_http(load: Load, way: Way, patience: Patience, cores: &[usize]) -> Result<Option<Reading>> {
    // No more than that: workers wait within `fibre::blocking`. Its pool has 512 threads, and a
    // worker that has a request needs a thread to answer.
    let workers = load.clients.min(100).to_string();
    let arguments = ["serve", "--way", &value(&way), "--workers", &workers];
    let mut server = Measured::start("measured", &arguments, Some(cores))?;
    let place = server.place()?;
    let clients = clients(Kind::Ureq3, Way::Threads, load, &place, None)?;
    let Some(seen) = clients.reading(patience)? else {
        return Ok(None);
    };
    let cost = server.reading(patience)?;
    Ok(cost.map(|cost| Reading {
        cpu_s: cost.cpu_s,
        ..seen
    }))
}

/// A value as the command line has it.
fn value(value: &impl clap::ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}
