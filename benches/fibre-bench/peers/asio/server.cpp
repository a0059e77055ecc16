//! One io_context for all threads, and a strand for each connection: asio's own way to keep the
//! callbacks of a connection apart.
//!
//! It prints the address it listens on and ends when its standard input is closed, so that no
//! server outlives the harness.

#include "server.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <thread>

#include <asio.hpp>

#include "../boost/http.hpp"
#include "../boost/settings.hpp"

namespace {

using asio::ip::tcp;
using Error = std::error_code;

/// How many connections may wait to be accepted.
constexpr int backlog = 4096;

/// What the server is told.
struct Options {
    std::size_t processors = 1;
    std::size_t body = 13;
};

/// As many answers as leave in one write, and how long one of them is.
struct Answers {
    std::string run;
    std::size_t each;
};

/// Answers with a body of so many bytes.
Answers answers_with(std::size_t body) {
    const std::string head =
        "HTTP/1.1 200 OK\r\nServer: hi\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n";
    const std::string answer = head + std::string(body, 'x');
    Answers answers{{}, answer.size()};
    for (std::size_t count = 0; count < http::answers_per_write; ++count) {
        answers.run += answer;
    }
    return answers;
}

/// A connection, which its callbacks keep.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(tcp::socket socket, const Answers& answers)
        : socket(std::move(socket)), answers(answers) {}

    /// Reads, and answers what has come. An error ends the connection.
    void read() {
        socket.async_read_some(asio::buffer(buffer), [self = shared_from_this()](
                                                         const Error& error, std::size_t length) {
            if (!error) {
                self->left = self->requests.feed({self->buffer.data(), length});
                self->write();
            }
        });
    }

private:
    /// Answers the requests that are left.
    void write() {
        if (left == 0) {
            return read();
        }
        const std::size_t now = std::min(left, http::answers_per_write);
        left -= now;
        asio::async_write(socket, asio::buffer(answers.run.data(), now * answers.each),
                          [self = shared_from_this()](const Error& error, std::size_t) {
                              if (!error) {
                                  self->write();
                              }
                          });
    }

    tcp::socket socket;
    const Answers& answers;
    http::Scanner requests;
    std::array<char, 4096> buffer;
    std::size_t left = 0;
};

/// Takes connections for ever, each with a strand.
void accept(asio::io_context& context, tcp::acceptor& listener, const Answers& answers) {
    listener.async_accept(asio::make_strand(context), [&](const Error& error, tcp::socket socket) {
        if (!error) {
            socket.set_option(tcp::no_delay(true));
            std::make_shared<Connection>(std::move(socket), answers)->read();
        }
        accept(context, listener, answers);
    });
}

/// Lets this process open as many files as it may.
void raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/// Ends the process when nobody holds its input any more.
void exit_when_stdin_closes() {
    std::array<char, 64> ignored;
    while (read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
    }
    std::_Exit(0);
}

/// What the arguments say.
Options parse(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t index = 0; index + 1 < arguments.size(); index += 2) {
        const int value = std::atoi(arguments[index + 1].c_str());
        if (arguments[index] == "--processors" && value > 0) {
            options.processors = static_cast<std::size_t>(value);
        } else if (arguments[index] == "--body" && value >= 0) {
            options.body = static_cast<std::size_t>(value);
        } else {
            throw WrongCall(arguments[index] + " is no option of this server");
        }
    }
    return options;
}

}  // namespace

void serve(const std::vector<std::string>& arguments) {
    const Options options = parse(arguments);
    const Answers answers = answers_with(options.body);
    raise_file_limit();
    asio::io_context context(static_cast<int>(options.processors));
    tcp::acceptor listener(context, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    listener.listen(backlog);
    accept(context, listener, answers);
    std::cout << "listening on " << listener.local_endpoint() << std::endl;
    std::thread(exit_when_stdin_closes).detach();
    for (std::size_t other = 1; other < options.processors; ++other) {
        std::thread([&context] { context.run(); }).detach();
    }
    context.run();
}
