//! A handler posts a round of events; the last of them to run posts the next round.

#include "unbalanced.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <asio.hpp>

namespace {

using Strand = asio::strand<asio::io_context::executor_type>;

/// How events keep apart.
enum class Kind { made, kept, none };

/// Computes for so many cycles, about: as in the harness.
void work(std::uint64_t cycles) {
    volatile std::uint64_t begin = cycles;
    std::uint64_t value = begin;
    for (std::uint64_t step = 0; step < cycles / 4; ++step) {
        value = (value * 0x9E3779B9ULL) ^ (value >> 7);
    }
    begin = value;
}

/// The cycles of an event.
std::uint64_t cycles_of(std::size_t number) {
    const std::size_t index = number % 250;
    return index < 5 ? (index + 1) * 10000 : 100;
}

/// A run of some rounds.
class Run {
public:
    Run(Kind kind, std::size_t size, std::size_t rounds) : kind(kind), size(size), rounds(rounds) {
        for (std::size_t made = 0; kind == Kind::kept && made < size; ++made) {
            strands.push_back(asio::make_strand(context));
        }
    }

    /// Runs all rounds on so many threads; returns how many events have run.
    std::size_t on(std::size_t processors) {
        asio::post(context, [this] { fork(); });
        std::vector<std::thread> others;
        for (std::size_t other = 1; other < processors; ++other) {
            others.emplace_back([this] { context.run(); });
        }
        context.run();
        for (std::thread& other : others) {
            other.join();
        }
        return ran;
    }

private:
    /// Posts a round.
    void fork() {
        if (rounds-- == 0) {
            return;
        }
        left = size;
        for (std::size_t number = 0; number < size; ++number) {
            const auto event = [this, number] { leaf(cycles_of(number)); };
            switch (kind) {
                case Kind::made: asio::post(asio::make_strand(context), event); break;
                case Kind::kept: asio::post(strands[number], event); break;
                case Kind::none: asio::post(context, event); break;
            }
        }
    }

    /// One event.
    void leaf(std::uint64_t cycles) {
        work(cycles);
        ++ran;
        if (--left == 0) {
            asio::post(context, [this] { fork(); });
        }
    }

    asio::io_context context;
    const Kind kind;
    const std::size_t size;
    std::size_t rounds;
    std::vector<Strand> strands;
    std::atomic<std::size_t> left{0};
    std::atomic<std::size_t> ran{0};
};

/// The kind of this name.
Kind kind_of(const std::string& variant) {
    if (variant.empty()) {
        return Kind::made;
    }
    if (variant == "kept-strands") {
        return Kind::kept;
    }
    if (variant == "no-strands") {
        return Kind::none;
    }
    throw WrongCall("unbalanced has no variant " + variant);
}

}  // namespace

Sample unbalanced(const Settings& settings, const std::string& variant) {
    const Kind kind = kind_of(variant);
    const std::size_t size = settings.count("events");
    return calibrated(settings, size, [&](std::size_t operations) {
        const std::size_t rounds = (operations + size - 1) / size;
        Run run(kind, size, rounds);
        const Stopwatch watch;
        const std::size_t ran = run.on(settings.count("processors"));
        Sample sample = watch.stop().per(rounds * size);
        if (ran != rounds * size) {
            throw std::runtime_error("not all events have run");
        }
        sample.values["kev_per_s"] = 1e6 / sample.wall_ns;
        return sample;
    });
}
