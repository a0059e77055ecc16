//! The workloads: programs over actors, as `benches/fibre-bench/src/actors` describes them. Each checks what
//! has come out.

#pragma once

#include <caf/all.hpp>

#include "../boost/measure.hpp"
#include "../boost/settings.hpp"

namespace workload {

/// BIG: players ping each other, all of them.
Sample big(caf::actor_system& system, const Settings& settings);

/// BANG: senders send numbers to one receiver.
Sample bang(caf::actor_system& system, const Settings& settings);

/// LOGM: workers ask computers for the terms of the logistic map.
Sample logm(caf::actor_system& system, const Settings& settings);

/// PUBSUB: publishers send to the subscribers of their topic.
Sample pubsub(caf::actor_system& system, const Settings& settings);

/// An actor asks another, one question after the other.
Sample ask(caf::actor_system& system, const Settings& settings);

/// Actors that have nothing to do.
Sample rest(caf::actor_system& system, const Settings& settings);

}  // namespace workload

/// What actors tell each other, whatever the program.
using begin_atom = caf::atom_constant<caf::atom("begin")>;
using done_atom = caf::atom_constant<caf::atom("done")>;
using end_atom = caf::atom_constant<caf::atom("end")>;
using left_atom = caf::atom_constant<caf::atom("left")>;
