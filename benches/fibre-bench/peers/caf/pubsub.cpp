//! PUBSUB. A topic is a list of subscribers, all of which are sent the same message.

#include <memory>

#include "runs.hpp"
#include "workloads.hpp"

using namespace caf;

namespace {

using next_atom = atom_constant<atom("next")>;

/// Latencies, in nanoseconds.
using Times = std::shared_ptr<const std::vector<std::int64_t>>;

/// What a publisher has published.
struct Published {
    std::uint64_t count = 0;
};

/// An actor that publishes to its topic, a message at a time.
behavior publisher(stateful_actor<Published>* self, const actor& master, std::uint64_t own,
                   const std::vector<actor>& topic, std::uint64_t messages) {
    return {
        [=](next_atom) {
            if (self->state.count == messages) {
                self->send(master, done_atom::value);
                self->quit();
                return;
            }
            const message news = make_message(own, self->state.count, now());
            for (const actor& subscriber : topic) {
                self->send(subscriber, news);
            }
            ++self->state.count;
            self->send(self, next_atom::value);
        },
    };
}

/// What a subscriber has read.
struct Read {
    std::vector<std::uint64_t> next;
    std::uint64_t left = 0;
    std::uint64_t disordered = 0;
    std::shared_ptr<std::vector<std::int64_t>> times;
};

/// An actor that reads topics.
behavior subscriber(stateful_actor<Read>* self, const actor& master, std::size_t publishers,
                    std::uint64_t expected) {
    self->state.next.resize(publishers);
    self->state.left = expected;
    self->state.times = std::make_shared<std::vector<std::int64_t>>();
    return {
        [=](std::uint64_t from, std::uint64_t number, std::int64_t at) {
            Read& read = self->state;
            read.times->push_back(now() - at);
            read.disordered += number != read.next[from];
            read.next[from] = number + 1;
            if (--read.left == 0) {
                self->send(master, left_atom::value, read.disordered, Times(read.times));
                self->quit();
            }
        },
    };
}

/// The sizes of a run.
struct Sizes {
    std::size_t publishers;
    std::size_t subscribers;
    std::size_t topics;
    std::uint64_t messages;
};

/// Runs it once; returns all latencies.
std::vector<std::int64_t> run(actor_system& system, const Sizes& sizes) {
    scoped_actor self{system};
    const actor master = self;
    std::vector<std::vector<actor>> topics(sizes.publishers);
    for (std::size_t number = 0; number < sizes.subscribers; ++number) {
        const actor one =
            system.spawn(subscriber, master, sizes.publishers, sizes.topics * sizes.messages);
        for (std::size_t topic = 0; topic < sizes.topics; ++topic) {
            topics[(number + topic) % sizes.publishers].push_back(one);
        }
    }
    for (std::uint64_t number = 0; number < sizes.publishers; ++number) {
        self->send(system.spawn(publisher, master, number, topics[number], sizes.messages),
                   next_atom::value);
    }
    topics.clear();
    std::size_t left = sizes.publishers + sizes.subscribers;
    std::uint64_t disordered = 0;
    std::vector<std::int64_t> all;
    self->receive_while([&] { return left > 0; })(
        [&](done_atom) { --left; },
        [&](left_atom, std::uint64_t its_disordered, const Times& times) {
            --left;
            disordered += its_disordered;
            all.insert(all.end(), times->begin(), times->end());
        });
    const std::size_t right = sizes.subscribers * sizes.topics * sizes.messages;
    expect("the count of deliveries", all.size(), right);
    expect("messages out of order", disordered, std::uint64_t{0});
    return all;
}

}  // namespace

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Times)

Sample workload::pubsub(actor_system& system, const Settings& settings) {
    const Sizes sizes = {settings.count("publishers"), settings.count("subscribers"),
                         settings.count("topics"), settings.count("messages")};
    if (sizes.topics > sizes.publishers) {
        throw WrongCall("there are more topics for each than publishers");
    }
    const std::size_t deliveries = sizes.subscribers * sizes.topics * sizes.messages;
    std::vector<std::int64_t> latencies;
    Sample sample = repeated(settings, deliveries,
                             [&](Sample&) { latencies = run(system, sizes); });
    add_quantiles(sample, std::move(latencies));
    return sample;
}
