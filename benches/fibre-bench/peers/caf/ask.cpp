//! A question there and its answer back.

#include <memory>

#include "runs.hpp"
#include "workloads.hpp"

using namespace caf;

namespace {

/// One question in so many is timed by itself.
constexpr std::uint64_t timed = 16;
/// Questions of the first round.
constexpr std::size_t fewest = 1000;

/// Latencies, in nanoseconds.
using Times = std::shared_ptr<const std::vector<std::int64_t>>;

/// An actor that answers.
behavior echo(event_based_actor* self) {
    return {
        [=](std::uint64_t question) { return question + 1; },
        [=](end_atom) { self->quit(); },
    };
}

/// What an asker knows.
struct Asked {
    std::uint64_t question = 0;
    std::uint64_t sum = 0;
    std::int64_t begin = 0;
    std::shared_ptr<std::vector<std::int64_t>> times;
};

/// Asks the next question, or reports.
void ask_next(stateful_actor<Asked>* self, const actor& echo, const actor& master,
              std::uint64_t questions) {
    Asked& asked = self->state;
    if (asked.question == questions) {
        self->send(master, done_atom::value, asked.sum, Times(asked.times));
        self->quit();
        return;
    }
    const bool is_timed = asked.question % timed == 0;
    if (is_timed) {
        asked.begin = now();
    }
    self->request(echo, infinite, asked.question).await([=](std::uint64_t answer) {
        Asked& asked = self->state;
        if (is_timed) {
            asked.times->push_back(now() - asked.begin);
        }
        asked.sum += answer;
        ++asked.question;
        ask_next(self, echo, master, questions);
    });
}

/// An actor that asks, one question after the other.
behavior asker(stateful_actor<Asked>* self, const actor& echo, const actor& master) {
    self->state.times = std::make_shared<std::vector<std::int64_t>>();
    return {
        [=](begin_atom, std::uint64_t questions) { ask_next(self, echo, master, questions); },
    };
}

}  // namespace

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Times)

Sample workload::ask(actor_system& system, const Settings& settings) {
    return calibrated(settings, fewest, [&](std::size_t questions) {
        scoped_actor self{system};
        const actor master = self;
        const actor to = system.spawn(echo);
        const Stopwatch watch;
        self->send(system.spawn(asker, to, master), begin_atom::value,
                   static_cast<std::uint64_t>(questions));
        std::uint64_t sum = 0;
        Times times;
        self->receive([&](done_atom, std::uint64_t all, const Times& its_times) {
            sum = all;
            times = its_times;
        });
        Sample sample = watch.stop().per(questions);
        self->send(to, end_atom::value);
        expect("the sum", sum, std::uint64_t{questions * (questions + 1) / 2});
        add_quantiles(sample, *times);
        return sample;
    });
}
