//! Requests and their ends.

#include "http.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace http {

namespace {

/// The bytes that end a request.
constexpr std::string_view head_end = "\r\n\r\n";
/// A length of an opening that says: not special, look no further.
constexpr std::size_t ordinary = static_cast<std::size_t>(-1);
/// Where the byte lies that tells most requests from special ones.
constexpr std::size_t telling = 5;
/// What a request may ask for at most, in milliseconds.
constexpr long longest = 60'000;

/// A run of answers.
const std::string many = [] {
    std::string text;
    for (std::size_t index = 0; index < answers_per_write; ++index) {
        text += answer;
    }
    return text;
}();

/// The number that follows a prefix, if the head begins with it.
template <typename Unit>
bool asks(std::string_view head, std::string_view prefix, Unit& time) {
    if (head.substr(0, prefix.size()) != prefix) {
        return false;
    }
    head.remove_prefix(prefix.size());
    long number = 0;
    std::from_chars(head.data(), head.data() + head.size(), number);
    time = Unit(std::clamp(number, 0L, longest));
    return true;
}

/// Does what a special request asks for, on the calling thread.
void perform(std::string_view head) {
    std::chrono::milliseconds time{};
    std::chrono::microseconds short_time{};
    if (asks(head, "GET /spin?us=", short_time) || asks(head, "GET /spin?ms=", time)) {
        const auto end = std::chrono::steady_clock::now() + short_time + time;
        while (std::chrono::steady_clock::now() < end) {
        }
    } else if (asks(head, "GET /block?ms=", time)) {
        std::this_thread::sleep_for(time);
    }
}

}  // namespace

std::string_view answers(std::size_t count) {
    return std::string_view(many).substr(0, count * answer.size());
}

std::size_t Scanner::feed(std::string_view rest) {
    std::size_t ended = 0;
    extend(rest);
    for (;;) {
        const std::size_t bytes = end_of(rest);
        if (bytes == std::string_view::npos) {
            return ended;
        }
        ++ended;
        finish();
        rest.remove_prefix(bytes);
        extend(rest);
    }
}

std::size_t Scanner::end_of(std::string_view stream) {
    for (std::size_t place = 0; place < stream.size(); ++place) {
        if (matched == 0) {
            place = stream.find(head_end[0], place);
            if (place == std::string_view::npos) {
                return place;
            }
        }
        if (stream[place] == head_end[matched]) {
            matched = (matched + 1) % head_end.size();
            if (matched == 0) {
                return place + 1;
            }
        } else {
            matched = stream[place] == head_end[0] ? 1 : 0;
        }
    }
    return std::string_view::npos;
}

void Scanner::extend(std::string_view stream) {
    if (length == ordinary || stream.empty()) {
        return;
    }
    if (length == 0 && stream.size() > telling && stream[telling] != 's' && stream[telling] != 'b') {
        length = ordinary;
        return;
    }
    const std::size_t copied = std::min(stream.size(), opening.size() - length);
    std::copy_n(stream.begin(), copied, opening.begin() + static_cast<std::ptrdiff_t>(length));
    length += copied;
}

void Scanner::finish() {
    const std::size_t copied = std::exchange(length, 0);
    if (copied != ordinary) {
        perform({opening.data(), copied});
    }
}

}  // namespace http
