//! BANG.

#include "runs.hpp"
#include "workloads.hpp"

using namespace caf;

namespace {

/// What the receiver has got.
struct Got {
    std::uint64_t left = 0;
    std::uint64_t sum = 0;
};

/// The actor that gets all numbers.
behavior receiver(stateful_actor<Got>* self, const actor& master, std::uint64_t expected) {
    self->state.left = expected;
    return {
        [=](std::uint64_t number) {
            self->state.sum += number;
            if (--self->state.left == 0) {
                self->send(master, done_atom::value, self->state.sum);
                self->quit();
            }
        },
    };
}

/// An actor that sends so many numbers when it is told to.
behavior sender(event_based_actor* self, const actor& receiver) {
    return {
        [=](begin_atom, std::uint64_t numbers) {
            for (std::uint64_t number = 0; number < numbers; ++number) {
                self->send(receiver, number);
            }
            self->quit();
        },
    };
}

/// Runs it once.
void run(actor_system& system, std::uint64_t senders, std::uint64_t numbers) {
    scoped_actor self{system};
    const actor master = self;
    const actor to = system.spawn(receiver, master, senders * numbers);
    for (std::uint64_t one = 0; one < senders; ++one) {
        self->send(system.spawn(sender, to), begin_atom::value, numbers);
    }
    std::uint64_t sum = 0;
    self->receive([&](done_atom, std::uint64_t all) { sum = all; });
    expect("the sum", sum, senders * (numbers * (numbers - 1) / 2));
}

}  // namespace

Sample workload::bang(actor_system& system, const Settings& settings) {
    const std::size_t senders = settings.count("senders");
    const std::size_t numbers = settings.count("numbers");
    return repeated(settings, senders * numbers, [&](Sample&) { run(system, senders, numbers); });
}
