//! asio without Boost, as a peer of coloured events: strands are its colours.
//!
//! Without arguments it prints the names of its workloads, and their variants. `peer-asio WORKLOAD
//! key=value…` runs one repetition and prints it as one line of JSON. `peer-asio server` serves
//! (server.cpp). A wrong call ends with exit code 2, a failure with 1.
//!
//! To build it:
//!
//!     g++ -O2 -DNDEBUG -std=c++17 -o peer-asio *.cpp ../boost/measure.cpp ../boost/settings.cpp
//!         ../boost/http.cpp -pthread

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "server.hpp"
#include "unbalanced.hpp"

namespace {

/// What stands before the name of a variant.
const std::string variant_key = "variant=";

/// Takes the variant out of the arguments; empty for the usual way.
std::string take_variant(std::vector<std::string>& arguments) {
    for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
        if (argument->compare(0, variant_key.size(), variant_key) == 0) {
            const std::string variant = argument->substr(variant_key.size());
            arguments.erase(argument);
            return variant;
        }
    }
    return {};
}

/// Does what the arguments ask for.
void perform(const std::string& name, std::vector<std::string> arguments) {
    if (name == "server") {
        return serve(arguments);
    }
    if (name != "unbalanced") {
        throw WrongCall("there is no workload " + name);
    }
    const std::string variant = take_variant(arguments);
    const Settings settings({{"events", 50000, 1}}, arguments);
    std::cout << unbalanced(settings, variant) << std::endl;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        std::cout << "unbalanced kept-strands no-strands\n";
        return 0;
    }
    try {
        perform(arguments[1], {arguments + 2, arguments + count});
        return 0;
    } catch (const WrongCall& error) {
        std::cerr << "peer-asio: " << error.what() << "\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "peer-asio: " << error.what() << "\n";
        return 1;
    }
}
