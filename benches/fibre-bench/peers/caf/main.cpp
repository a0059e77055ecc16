//! The C++ Actor Framework, as a peer: one program with the harness's programs over actors.
//!
//! Without arguments it prints the names of its workloads. `peer-caf WORKLOAD key=value…` runs one
//! repetition of a workload and prints it as one line of JSON. A wrong call ends with exit code 2,
//! a failure with 1. Everything is as CAF has it by default, but for the number of its threads.
//!
//! To build it:
//!
//!     g++ -O2 -DNDEBUG -std=c++17 -o peer-caf *.cpp ../boost/measure.cpp ../boost/settings.cpp
//!         -lcaf_core -pthread

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "workloads.hpp"

namespace {

/// One thing this peer can be measured at.
struct Workload {
    /// What the harness asks for.
    const char* name;
    /// The settings it takes beside the common ones.
    std::vector<Key> keys;
    /// Does one repetition.
    Sample (*run)(caf::actor_system&, const Settings&);
};

/// All there are, in the order in which they are listed.
const std::vector<Workload> workloads = {
    {"big", {{"players", 512, 1}}, workload::big},
    {"bang", {{"senders", 512, 1}, {"numbers", 2000, 1}}, workload::bang},
    {"logm", {{"terms", 25000, 1}, {"series", 10, 1}}, workload::logm},
    {"pubsub",
     {{"publishers", 10, 1}, {"subscribers", 1000, 1}, {"topics", 2, 1}, {"messages", 100, 1}},
     workload::pubsub},
    {"ask", {}, workload::ask},
    {"rest", {{"actors", 1000, 1}, {"seconds", 1, 0}}, workload::rest},
};

/// Runs one repetition and prints it.
void measure(const Workload& workload, const std::vector<std::string>& arguments) {
    const Settings settings(workload.keys, arguments);
    caf::actor_system_config config;
    config.set("scheduler.max-threads", settings.count("processors"));
    caf::actor_system system{config};
    std::cout << workload.run(system, settings) << std::endl;
}

/// Does what the arguments ask for.
void perform(const std::string& name, const std::vector<std::string>& arguments) {
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
        std::cerr << "peer-caf: " << error.what() << "\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "peer-caf: " << error.what() << "\n";
        return 1;
    }
}
