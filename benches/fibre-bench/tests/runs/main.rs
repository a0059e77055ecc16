//! What is measured comes out right: programs, servers, the load generator and peers.

mod support;

#[path = "actors.rs"]
mod suite_actors;
#[path = "events.rs"]
mod suite_events;
#[path = "load.rs"]
mod suite_load;
#[path = "peers.rs"]
mod suite_peers;
#[path = "servers.rs"]
mod suite_servers;
#[path = "utilisation.rs"]
mod suite_utilisation;
