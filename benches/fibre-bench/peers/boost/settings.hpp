//! The settings of a workload: key=value on the command line.

#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

/// A wrong call of this program.
struct WrongCall : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A setting that a workload takes.
struct Key {
    /// What stands before the equals sign.
    std::string name;
    /// What it has unless given.
    double value;
    /// The smallest value that makes sense.
    double least;
};

/// The value of each key.
class Settings {
public:
    /// Reads the arguments; throws WrongCall for a key that is neither common to
    /// all workloads nor among this one's own, or that is given twice.
    Settings(const std::vector<Key>& own, const std::vector<std::string>& arguments);

    /// The value of a key that counts something.
    std::size_t count(const std::string& name) const;

    /// How long the repetition shall last.
    double seconds() const;

private:
    /// Takes one argument.
    void read(const std::string& argument);

    /// The keys there are, with what was given.
    std::map<std::string, Key> keys;
    /// Which of them were given.
    std::set<std::string> given;
};
