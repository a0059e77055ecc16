//! Boost.Fiber, as a peer: one program with the harness's workloads.
//!
//! Without arguments it prints the names of its workloads. `peer-boost WORKLOAD
//! key=value…` runs one repetition of a workload and prints it as one line of
//! JSON. `peer-boost server` serves (server.cpp). A wrong call ends with exit code
//! 2, a failure with 1.
//!
//! To build it:
//!
//!     g++ -O2 -std=c++17 -o peer-boost *.cpp -lboost_fiber -lboost_context -pthread

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <boost/context/stack_traits.hpp>

#include "runtime.hpp"
#include "server.hpp"
#include "settings.hpp"
#include "workloads.hpp"

namespace {

/// One thing this peer can be measured at.
struct Workload {
    /// What the harness asks for.
    const char* name;
    /// The settings it takes beside the common ones.
    std::vector<Key> keys;
    /// Does one repetition, in a fibre.
    Sample (*run)(const Settings&);
};

/// The smallest stack the library allows, in bytes.
const auto least_stack = static_cast<double>(boost::context::stack_traits::minimum_size());

/// All there are, in the order in which they are listed.
const std::vector<Workload> workloads = {
    {"yield", {{"fibres", 2, 1}}, workload::yield},
    {"spawn", {{"batch", 1, 1}}, workload::spawn},
    {"semaphore", {}, workload::semaphore},
    {"condvar", {}, workload::condvar},
    {"channel", {}, workload::channel},
    {"mutex", {}, workload::mutex},
    {"contend",
     {{"threads", 8, 1}, {"locks", 1, 1}, {"held", 0, 0}, {"free", 0, 0}, {"seconds", 0.5, 0}},
     workload::contend},
    {"wait",
     {{"crowd", 50, 1}, {"held", 100, 0}, {"yields", 0, 0}, {"pause", 100, 0}, {"seconds", 1, 0}},
     workload::wait},
    {"work", {{"units", 1000, 1}}, workload::work},
    {"blocked", {{"fibres", 20000, 1}, {"passes", 1, 1}, {"stack", 16384, least_stack}}, workload::blocked},
    {"skynet", {{"leaves", 100000, 1}}, workload::skynet},
    {"sleep", {{"micros", 1000, 1}, {"count", 200, 1}}, workload::sleep},
};

/// Runs one repetition and prints it.
void measure(const Workload& workload, const std::vector<std::string>& arguments) {
    const Settings settings(workload.keys, arguments);
    const Sample sample = with_processors(
        settings.count("processors"), [&] { return workload.run(settings); });
    std::cout << sample << std::endl;
}

/// Does what the arguments ask for.
void perform(const std::string& name, const std::vector<std::string>& arguments) {
    if (name == "server") {
        return serve(arguments);
    }
    for (const Workload& workload : workloads) {
        if (workload.name == name) {
            return measure(workload, arguments);
        }
    }
    throw WrongCall("there is no workload " + name);
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        for (const Workload& workload : workloads) {
            std::cout << workload.name << "\n";
        }
        return 0;
    }
    try {
        perform(arguments[1], {arguments + 2, arguments + count});
        return 0;
    } catch (const WrongCall& error) {
        std::cerr << "peer-boost: " << error.what() << "\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "peer-boost: " << error.what() << "\n";
        return 1;
    }
}
