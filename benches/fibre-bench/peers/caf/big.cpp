//! BIG.

#include <memory>

#include "runs.hpp"
#include "workloads.hpp"

using namespace caf;

namespace {

using ping_atom = atom_constant<atom("ping")>;
using pong_atom = atom_constant<atom("pong")>;

/// All players.
using Players = std::shared_ptr<const std::vector<actor>>;

/// What a player has counted.
struct Count {
    std::size_t awaited = 0;
    std::uint64_t pings = 0;
    std::uint64_t pongs = 0;
};

/// One of those that ping each other. Whom a ping is from, the message itself says.
behavior player(stateful_actor<Count>* self, const actor& master) {
    return {
        [=](begin_atom, const Players& players) {
            self->state.awaited = players->size();
            for (const actor& one : *players) {
                self->send(one, ping_atom::value);
            }
        },
        [=](ping_atom) {
            ++self->state.pings;
            self->send(actor_cast<actor>(self->current_sender()), pong_atom::value);
        },
        [=](pong_atom) {
            ++self->state.pongs;
            if (--self->state.awaited == 0) {
                self->send(master, done_atom::value);
            }
        },
        [=](end_atom) {
            self->send(master, left_atom::value, self->state.pings, self->state.pongs);
            self->quit();
        },
    };
}

/// Runs it once.
void run(actor_system& system, std::size_t count) {
    scoped_actor self{system};
    const actor master = self;
    auto made = std::make_shared<std::vector<actor>>();
    for (std::size_t one = 0; one < count; ++one) {
        made->push_back(system.spawn(player, master));
    }
    const Players players = made;
    for (const actor& one : *players) {
        self->send(one, begin_atom::value, players);
    }
    std::size_t dones = 0;
    self->receive_while([&] { return dones < count; })([&](done_atom) { ++dones; });
    for (const actor& one : *players) {
        self->send(one, end_atom::value);
    }
    std::size_t left = 0;
    std::uint64_t pings = 0;
    std::uint64_t pongs = 0;
    self->receive_while([&] { return left < count; })(
        [&](left_atom, std::uint64_t its_pings, std::uint64_t its_pongs) {
            ++left;
            pings += its_pings;
            pongs += its_pongs;
        });
    const std::uint64_t right = count * count;
    expect("pings", pings, right);
    expect("pongs", pongs, right);
}

}  // namespace

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Players)

Sample workload::big(actor_system& system, const Settings& settings) {
    const std::size_t players = settings.count("players");
    return repeated(settings, 2 * players * players, [&](Sample&) { run(system, players); });
}
