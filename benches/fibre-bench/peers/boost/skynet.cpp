//! skynet: a tree of fibres, ten children to each, which add up the numbers of
//! the leaves.
//!
//! Children run at once (`launch::dispatch`), are detached and hand their sums up
//! in a channel with room for all of them, as in the library's own version of
//! this benchmark. Fibres to be joined keep their stacks until then, and nearly
//! all of the tree's would do so at the same time.

#include <cstdint>
#include <stdexcept>
#include <string>

#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/policy.hpp>

#include "workloads.hpp"

namespace {

using boost::fibers::fiber;
using boost::fibers::launch;

/// What carries sums up.
using Sums = boost::fibers::buffered_channel<std::uint64_t>;

/// How many children an inner node has.
constexpr std::size_t fan_out = 10;

/// Room for the sums of all children; must be a power of two, of which the
/// library keeps one slot empty.
constexpr std::size_t room = 16;

/// A leaf with a number, or the parent of ten that have those from it on.
void node(std::uint64_t number, std::uint64_t leaves, Sums& parent) {
    if (leaves == 1) {
        parent.push(number);
        return;
    }
    Sums sums(room);
    const std::uint64_t share = leaves / fan_out;
    for (std::size_t child = 0; child < fan_out; ++child) {
        const std::uint64_t first = number + child * share;
        fiber(launch::dispatch, [=, &sums] { node(first, share, sums); }).detach();
    }
    std::uint64_t total = 0;
    for (std::size_t child = 0; child < fan_out; ++child) {
        total += sums.value_pop();
    }
    parent.push(total);
}

/// How many nodes a tree has.
std::size_t nodes_above(std::size_t leaves) {
    std::size_t nodes = 1;
    for (std::size_t level = leaves; level > 1; level /= fan_out) {
        if (level % fan_out != 0) {
            throw WrongCall(std::to_string(leaves) + " leaves make no full tree");
        }
        nodes += level;
    }
    return nodes;
}

/// Makes one tree and lets it go; its sum must be right.
void tree(std::uint64_t leaves) {
    Sums sum(room);
    fiber(launch::dispatch, [&] { node(0, leaves, sum); }).detach();
    if (sum.value_pop() != leaves * (leaves - 1) / 2) {
        throw std::runtime_error("the sum of the leaves is wrong");
    }
}

}  // namespace

Sample workload::skynet(const Settings& settings) {
    const std::size_t leaves = settings.count("leaves");
    const std::size_t nodes = nodes_above(leaves);
    return calibrated(settings, nodes, [=](std::size_t operations) {
        const std::size_t trees = (operations + nodes - 1) / nodes;
        const Stopwatch watch;
        for (std::size_t grown = 0; grown < trees; ++grown) {
            tree(leaves);
        }
        return watch.stop().per(trees * nodes);
    });
}
