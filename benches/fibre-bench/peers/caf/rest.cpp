//! Actors that have nothing to do: what the process uses all the same.

#include <thread>

#include "workloads.hpp"

using namespace caf;

namespace {

/// How long the actors may take until they have nothing to do.
constexpr std::chrono::milliseconds settle(200);
/// The nanoseconds of an operation, which is a second.
constexpr double second = 1e9;

/// An actor that ends when it is told to.
behavior idle(event_based_actor* self) {
    return {
        [=](end_atom) { self->quit(); },
    };
}

}  // namespace

Sample workload::rest(actor_system& system, const Settings& settings) {
    std::vector<actor> actors;
    for (std::size_t one = 0; one < settings.count("actors"); ++one) {
        actors.push_back(system.spawn(idle));
    }
    std::this_thread::sleep_for(settle);
    const Stopwatch watch;
    std::this_thread::sleep_for(std::chrono::duration<double>(settings.seconds()));
    Sample sample = watch.stop().per(1);
    for (const actor& one : actors) {
        anon_send(one, end_atom::value);
    }
    sample.cpu_ns *= second / sample.wall_ns;
    sample.wall_ns = second;
    return sample;
}
