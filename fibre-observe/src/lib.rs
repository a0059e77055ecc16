//! Metrics: what a process' processors have done so far, and the settings that hold.
//!
//! Programs call [`metrics`](metrics::metrics) by the crate `fibre`. The rest is switched on by
//! environment variables, in programs that know nothing of it: `FIBRE_STATS`, `FIBRE_SCHEDTRACE`,
//! `FIBRE_METRICS` and `FIBRE_DEBUG`. The core counts, at detours only; here is nothing that a
//! fibre goes through. Modules, lowest first; each imports only from those above it in this list:
//!
//! | module | what it is |
//! |---|---|
//! | `output` | writing to standard error without being held up |
//! | `metrics` | the value |
//! | `text` | the value for people |
//! | `exposition` | the value as OpenMetrics text |
//! | `plain_text` | that in Prometheus' older format |
//! | `request` | what an HTTP client asks for |
//! | `fork` | sockets that a forked child closes |
//! | `connection` | one client, which may be slow or hostile |
//! | `server` | `FIBRE_METRICS` |
//! | `trace` | `FIBRE_SCHEDTRACE` |
//! | `settings` | `FIBRE_DEBUG=config` |
//! | `start` | what begins with the first cluster |

#![cfg(not(loom))]
#![cfg_attr(not(test), deny(unreachable_pub, unnameable_types))]

mod connection;
mod exposition;
mod fork;
mod metrics;
mod output;
mod plain_text;
mod request;
mod server;
mod settings;
mod start;
mod text;
mod trace;

pub use self::{
    exposition::exposition,
    metrics::{Metrics, metrics},
    start::observe_as_told,
};
