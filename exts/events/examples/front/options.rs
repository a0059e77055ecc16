//! The part of the command line that all programs have.

use super::limits::Limits;
use clap::{Args, ValueEnum};
use fibre_events::{Events, Policy};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// What all programs can be told.
#[derive(Args)]
pub(crate) struct Options {
    /// Port to listen on at 127.0.0.1; with 0 the kernel chooses one
    #[arg(long, default_value_t = 8080)]
    port: u16,

    /// Processors [default: what affinity and quota allow]
    #[arg(long)]
    processors: Option<usize>,

    /// What idle processors steal
    #[arg(long, value_enum, default_value = "time-left")]
    policy: Named,

    /// Clients served at a time; further ones wait to be accepted
    #[arg(long, default_value_t = 10_000)]
    max_clients: usize,

    /// Seconds that a client may be silent between requests, or take nothing of an answer
    #[arg(long, default_value_t = 60)]
    idle_timeout: u32,

    /// Seconds that a request may take to arrive, from its first byte on
    #[arg(long, default_value_t = 10)]
    request_timeout: u32,

    /// Give all events one colour, as in a program that was never coloured
    #[arg(long)]
    one_colour: bool,
}

/// Policies by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Named {
    Off,
    Libasync,
    MelyBase,
    TimeLeft,
}

impl From<Named> for Policy {
    fn from(name: Named) -> Self {
        match name {
            Named::Off => Self::Off,
            Named::Libasync => Self::Libasync,
            Named::MelyBase => Self::MelyBase,
            Named::TimeLeft => Self::TimeLeft,
        }
    }
}

impl Options {
    /// Where to listen.
    pub(crate) fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// The events with these processors and this policy.
    pub(crate) fn events(&self) -> io::Result<Events> {
        let mut builder = Events::builder().policy(self.policy.into());
        if let Some(count) = self.processors {
            builder = builder.processors(count);
        }
        builder.build()
    }

    /// The limits of clients.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            clients: self.max_clients,
            idle: Duration::from_secs(self.idle_timeout.into()),
            request: Duration::from_secs(self.request_timeout.into()),
            one_colour: self.one_colour,
            ..Limits::default()
        }
    }
}
