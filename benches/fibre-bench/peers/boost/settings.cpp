//! How arguments are read and checked.

#include "settings.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace {

/// Taken by every workload. One of the same name among the workload's own
/// replaces them.
const std::vector<Key> common_keys = {{"processors", 1, 1}, {"seconds", 0.1, 0}};

/// The number that a text is; not a number if it is none.
double number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return end == text.c_str() + text.size() && end != text.c_str() ? value : NAN;
}

/// Whether a key may have a value: only seconds have fractions, and no count is
/// larger than 32 bits.
bool sensible(const Key& key, double value) {
    const bool whole = key.name == "seconds" || value == std::trunc(value);
    return whole && value >= key.least && value <= INT32_MAX;
}

}  // namespace

Settings::Settings(const std::vector<Key>& own, const std::vector<std::string>& arguments) {
    for (const Key& key : common_keys) {
        keys[key.name] = key;
    }
    for (const Key& key : own) {
        keys[key.name] = key;
    }
    for (const std::string& argument : arguments) {
        read(argument);
    }
}

void Settings::read(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto found = keys.find(name);
    if (equals == std::string::npos || found == keys.end() || !given.insert(name).second) {
        throw WrongCall("there is no key for " + argument + ", or it is given twice");
    }
    const double value = number(argument.substr(equals + 1));
    if (!sensible(found->second, value)) {
        throw WrongCall(argument + " is no sensible value");
    }
    found->second.value = value;
}

std::size_t Settings::count(const std::string& name) const {
    return static_cast<std::size_t>(keys.at(name).value);
}

double Settings::seconds() const {
    return keys.at("seconds").value;
}
