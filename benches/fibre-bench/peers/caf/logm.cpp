//! LOGM. A worker awaits each answer, and skips the requests for terms that wait meanwhile.

#include <cmath>

#include "runs.hpp"
#include "workloads.hpp"

using namespace caf;

namespace {

using next_atom = atom_constant<atom("next")>;

/// The rate of the first series, and how much a series' rate and first term are above those of the
/// one before.
constexpr double rate = 3.46;
constexpr double increment = 0.0025;

/// What comes after a term.
double after(double rate, double term) {
    return rate * term * (1.0 - term);
}

/// The actor that knows a rate.
behavior computer(event_based_actor* self, double rate) {
    return {
        [=](double term) { return after(rate, term); },
        [=](end_atom) { self->quit(); },
    };
}

/// What a worker knows.
struct Series {
    double term = 0;
    std::uint64_t results = 0;
};

/// The actor of a series.
behavior worker(stateful_actor<Series>* self, double first, const actor& computer) {
    self->state.term = first;
    return {
        [=](next_atom) {
            self->request(computer, infinite, self->state.term).await([=](double term) {
                self->state.term = term;
                ++self->state.results;
            });
        },
        [=](end_atom, const actor& master) {
            self->send(master, done_atom::value, self->state.term, self->state.results);
            self->send(computer, end_atom::value);
            self->quit();
        },
    };
}

/// The sum of the last terms, computed in one go.
double sum_of(std::size_t series, std::uint64_t terms) {
    double sum = 0;
    for (std::size_t one = 0; one < series; ++one) {
        const double above = static_cast<double>(one) * increment;
        double term = above;
        for (std::uint64_t done = 0; done < terms; ++done) {
            term = after(rate + above, term);
        }
        sum += term;
    }
    return sum;
}

/// Runs it once.
void run(actor_system& system, std::size_t series, std::uint64_t terms) {
    scoped_actor self{system};
    const actor master = self;
    std::vector<actor> workers;
    for (std::size_t one = 0; one < series; ++one) {
        const double above = static_cast<double>(one) * increment;
        workers.push_back(system.spawn(worker, above, system.spawn(computer, rate + above)));
    }
    for (std::uint64_t term = 0; term < terms; ++term) {
        for (const actor& one : workers) {
            self->send(one, next_atom::value);
        }
    }
    for (const actor& one : workers) {
        self->send(one, end_atom::value, master);
    }
    std::size_t ended = 0;
    std::uint64_t results = 0;
    double sum = 0;
    self->receive_while([&] { return ended < series; })(
        [&](done_atom, double term, std::uint64_t its_results) {
            ++ended;
            sum += term;
            results += its_results;
        });
    expect("the count of answers", results, series * terms);
    // The order of the sum is that of the workers' ends.
    if (std::abs(sum - sum_of(series, terms)) > 1e-9) {
        throw std::runtime_error("the sum is " + std::to_string(sum));
    }
}

}  // namespace

Sample workload::logm(actor_system& system, const Settings& settings) {
    const std::size_t series = settings.count("series");
    const std::size_t terms = settings.count("terms");
    return repeated(settings, 3 * terms * series, [&](Sample&) { run(system, series, terms); });
}
