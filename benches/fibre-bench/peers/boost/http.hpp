//! The one answer every server gives, and the one way every server finds the
//! end of a request: as in the harness's other servers.
//!
//! A request is whatever ends with an empty line. The scanner keeps its place
//! between two reads as a count of matched bytes, so nobody has to keep the bytes
//! of an unfinished request. Some requests are special: `GET /spin?ms=N` burns CPU
//! time, `GET /spin?us=N` does for so many microseconds, and `GET /block?ms=N` blocks
//! its kernel thread, to see how long that delays others. Only a head with an `s` or a `b` as its sixth byte, or one that is cut
//! before it, has its first bytes copied aside.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace http {

/// What every request gets, 64 bytes long.
constexpr std::string_view answer =
    "HTTP/1.1 200 OK\r\nServer: hi\r\nContent-Length: 13\r\n\r\nHello, World!";

/// How many answers leave together when a client pipelines its requests.
constexpr std::size_t answers_per_write = 16;

/// So many answers in a row, at most `answers_per_write`.
std::string_view answers(std::size_t count);

/// Finds the ends of requests in a stream that arrives in pieces.
class Scanner {
public:
    /// Takes the next bytes of the stream, does what special requests that end in
    /// them ask for, and returns how many requests end in them.
    std::size_t feed(std::string_view rest);

private:
    /// How many bytes the next request takes up to its end; `npos` if all of these
    /// belong to one that goes on.
    std::size_t end_of(std::string_view stream);
    /// Takes what follows of a head.
    void extend(std::string_view stream);
    /// The head has ended: does what it asks for, and makes ready for the next one.
    void finish();

    /// How many bytes of the empty line the stream ended with so far.
    std::size_t matched = 0;
    /// The first bytes of a head that may be special: the longer prefix and a
    /// number of six digits.
    std::array<char, 20> opening{};
    /// How many were copied, or `ordinary`.
    std::size_t length = 0;
};

}  // namespace http
