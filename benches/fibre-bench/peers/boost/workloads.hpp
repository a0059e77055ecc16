//! The workloads, each in a file of its name.

#pragma once

#include "measure.hpp"
#include "settings.hpp"

namespace workload {

/// Fibres that let each other run.
Sample yield(const Settings& settings);
/// Making and joining fibres.
Sample spawn(const Settings& settings);
/// A round trip over two semaphores.
Sample semaphore(const Settings& settings);
/// A round trip over a mutex and a condition variable.
Sample condvar(const Settings& settings);
/// A round trip over two channels.
Sample channel(const Settings& settings);
/// Uncontended locking.
Sample mutex(const Settings& settings);
/// Contended locking, with fairness.
Sample contend(const Settings& settings);
/// Waiting for a mutex while others contend for it.
Sample wait(const Settings& settings);
/// A unit of work.
Sample work(const Settings& settings);
/// Many blocked fibres, with their memory.
Sample blocked(const Settings& settings);
/// A tree of fibres.
Sample skynet(const Settings& settings);
/// Sleeping, with lateness.
Sample sleep(const Settings& settings);

}  // namespace workload
