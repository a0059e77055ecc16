//! semaphore, condvar, channel: two fibres that wake each other in turn.
//!
//! One operation is a round trip: two wakes, two blocks. A channel of capacity
//! 2, the least that the library allows, keeps one slot empty and so holds one
//! value.

#include <mutex>

#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>

#include "semaphore.hpp"
#include "workloads.hpp"

namespace {

/// A flag under a mutex, with a condition variable on which two players wait for
/// their turn.
class Turns {
public:
    /// Blocks until it is the player's turn and hands the turn over.
    void take(bool player) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [=] { return turn == player; });
        turn = !player;
        changed.notify_one();
    }

private:
    /// Guards the turn.
    boost::fibers::mutex mutex;
    /// Told of each change of the turn.
    boost::fibers::condition_variable changed;
    /// Whose turn it is.
    bool turn = false;
};

/// Measures one fibre's ping and another's pong.
template <typename Ping, typename Pong>
Sample round_trips(const Settings& settings, Ping ping, Pong pong) {
    return calibrated(settings, 1000, [=](std::size_t operations) {
        boost::fibers::fiber partner([=] {
            for (std::size_t done = 0; done < operations + 2; ++done) {
                pong();
            }
        });
        ping();  // the partner has started after the second
        ping();
        const Stopwatch watch;
        for (std::size_t done = 0; done < operations; ++done) {
            ping();
        }
        const Spent spent = watch.stop();
        partner.join();
        return spent.per(operations);
    });
}

}  // namespace

Sample workload::semaphore(const Settings& settings) {
    Semaphore there;
    Semaphore back;
    const auto ping = [&] {
        there.release();
        back.acquire();
    };
    const auto pong = [&] {
        there.acquire();
        back.release();
    };
    return round_trips(settings, ping, pong);
}

Sample workload::condvar(const Settings& settings) {
    Turns turns;
    return round_trips(settings, [&] { turns.take(false); }, [&] { turns.take(true); });
}

Sample workload::channel(const Settings& settings) {
    boost::fibers::buffered_channel<int> there(2);
    boost::fibers::buffered_channel<int> back(2);
    int number = 0;
    const auto ping = [&] {
        there.push(number);
        back.pop(number);
    };
    const auto pong = [&] { back.push(there.value_pop() + 1); };
    return round_trips(settings, ping, pong);
}
