//! A fibre per connection over asio's sockets: a web server without an HTTP
//! library, or an echo server.
//!
//! Each thread is a world of its own: an io_context that takes no locks, a
//! scheduler, and a listener on the address that all share (`SO_REUSEPORT`). The
//! scheduler, a round robin, looks at the sockets once in each pass of its ready
//! queue, and sleeps in the io_context when the queue is empty. The integration
//! that comes with the library as an example sleeps in a handler and costs more.
//! asio's sockets are edge-triggered, try first, and take a short read for a
//! drained socket.
//!
//! It prints the address it listens on and ends when its standard input is
//! closed, so that no server outlives the harness.

#include "server.hpp"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string_view>
#include <thread>

#include <boost/asio.hpp>
#include <boost/fiber/all.hpp>

#include "http.hpp"
#include "settings.hpp"

namespace {

namespace asio = boost::asio;
namespace fibers = boost::fibers;
using asio::ip::tcp;
using Reuse = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
using Error = boost::system::error_code;

/// How many connections may wait to be accepted.
constexpr int backlog = 4096;
/// How many files the kernel lets a process open (fs.nr_open).
constexpr rlim_t files_of_kernel = 1 << 20;
/// Bytes of a fibre's stack beside its buffer, from a pool without guards.
constexpr std::size_t stack = 12 << 10;
/// Buffers there are, in bytes.
constexpr std::size_t small_buffer = 1024;
constexpr std::size_t usual_buffer = 4096;

/// What the server is told.
struct Options {
    tcp::endpoint address;
    std::size_t processors = 1;
    bool echo = false;
    bool small_buffer = false;
};

/// A round robin that looks at sockets.
class Polling : public fibers::algo::algorithm {
public:
    explicit Polling(asio::io_context& context) : context(context) {}

    void awakened(fibers::context* fibre) noexcept override { fibre->ready_link(ready); }

    fibers::context* pick_next() noexcept override {
        if (ready.empty()) {
            return nullptr;
        }
        fibers::context* next = &ready.front();
        ready.pop_front();
        // The dispatcher comes once in each pass of the queue.
        if (next->is_context(fibers::type::dispatcher_context)) {
            context.poll();
        }
        return next;
    }

    bool has_ready_fibers() const noexcept override { return !ready.empty(); }

    void suspend_until(const std::chrono::steady_clock::time_point& time) noexcept override {
        if (time == std::chrono::steady_clock::time_point::max()) {
            context.run_one();
        } else {
            context.run_one_until(time);
        }
        context.poll();
    }

    void notify() noexcept override { asio::post(context, [] {}); }

private:
    asio::io_context& context;
    fibers::scheduler::ready_queue_type ready;
};

/// Starts an operation with a handler and suspends the fibre until it was called.
/// All handlers run on this thread, outside of any fibre of ours.
template <typename Start>
std::size_t await(Error& error, Start start) {
    fibers::context* const fibre = fibers::context::active();
    std::size_t moved = 0;
    start([&, fibre](const Error& outcome, std::size_t bytes = 0) {
        error = outcome;
        moved = bytes;
        fibers::context::active()->schedule(fibre);
    });
    fibre->suspend();
    return moved;
}

/// Sends everything, at once where the socket takes it.
void send(tcp::socket& socket, std::string_view bytes, Error& error) {
    while (!bytes.empty() && !error) {
        std::size_t sent = socket.write_some(asio::buffer(bytes), error);
        if (error == asio::error::would_block) {
            sent = await(error, [&](auto done) {
                socket.async_write_some(asio::buffer(bytes), std::move(done));
            });
        }
        bytes.remove_prefix(sent);
    }
}

/// Replies until the client goes away; an error ends the connection like a close.
template <std::size_t room>
void converse(tcp::socket socket, bool echo) {
    http::Scanner requests;
    std::array<char, room> buffer;
    for (Error error; !error;) {
        const std::size_t length = await(error, [&](auto done) {
            socket.async_read_some(asio::buffer(buffer), std::move(done));
        });
        const std::string_view bytes(buffer.data(), length);
        if (echo) {
            send(socket, bytes, error);
            continue;
        }
        for (std::size_t left = requests.feed(bytes); left > 0 && !error;) {
            const std::size_t now = std::min(left, http::answers_per_write);
            send(socket, http::answers(now), error);
            left -= now;
        }
    }
}

/// Takes connections for ever and starts a fibre for each.
void accept(tcp::acceptor& listener, const Options& options) {
    const auto handle =
        options.small_buffer ? converse<small_buffer> : converse<usual_buffer>;
    fibers::pooled_fixedsize_stack stacks(stack + usual_buffer);
    for (;;) {
        Error error;
        tcp::socket socket(listener.get_executor());
        await(error, [&](auto done) { listener.async_accept(socket, std::move(done)); });
        if (error) {
            std::cerr << "peer-boost: " << error.message() << "\n";
            std::_Exit(1);
        }
        socket.set_option(tcp::no_delay(true));
        socket.non_blocking(true);
        fibers::fiber(fibers::launch::post, std::allocator_arg, stacks, handle, std::move(socket),
                      options.echo)
            .detach();
    }
}

/// A listener that lets others listen on the same address.
tcp::acceptor listen(asio::io_context& context, const tcp::endpoint& address) {
    tcp::acceptor listener(context, address.protocol());
    listener.set_option(tcp::acceptor::reuse_address(true));
    listener.set_option(Reuse(true));
    listener.bind(address);
    listener.listen(backlog);
    return listener;
}

/// The life of a thread; the first one announces the address it got, and starts
/// the others.
void run(const Options& options, const std::function<void(const tcp::endpoint&)>& listening) {
    asio::io_context context(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
    const auto keep = asio::make_work_guard(context);
    fibers::use_scheduling_algorithm<Polling>(context);
    tcp::acceptor listener = listen(context, options.address);
    listening(listener.local_endpoint());
    accept(listener, options);
}

/// Lets this process open as many files as it may.
void raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    const rlimit kernel{files_of_kernel, files_of_kernel};
    const rlimit own{limit.rlim_max, limit.rlim_max};
    if (limit.rlim_max >= files_of_kernel || setrlimit(RLIMIT_NOFILE, &kernel) != 0) {
        setrlimit(RLIMIT_NOFILE, &own);
    }
}

/// Ends the process when nobody holds its input any more.
void exit_when_stdin_closes() {
    std::array<char, 64> ignored;
    while (read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
    }
    std::_Exit(0);
}

/// A number that is at least 1.
std::size_t number(const std::string& text) {
    std::size_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || value == 0) {
        throw WrongCall(text + " is no number that is at least 1");
    }
    return value;
}

/// What the arguments say.
Options parse(const std::vector<std::string>& arguments) {
    Options options;
    std::string address = "127.0.0.1:0";
    for (std::size_t index = 0; index < arguments.size(); ++index) {
        const std::string& argument = arguments[index];
        if (argument == "--echo") {
            options.echo = true;
        } else if (argument == "--processors") {
            if (++index == arguments.size()) {
                throw WrongCall(argument + " needs a value");
            }
            options.processors = number(arguments[index]);
        } else if (argument == "--small-buffer") {
            options.small_buffer = true;
        } else {
            address = argument;
        }
    }
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) {
        throw WrongCall(address + " is no address");
    }
    const int port = std::atoi(address.c_str() + colon + 1);
    options.address = {asio::ip::make_address(address.substr(0, colon)),
                       static_cast<unsigned short>(port)};
    return options;
}

}  // namespace

void serve(const std::vector<std::string>& arguments) {
    Options options = parse(arguments);
    raise_file_limit();
    run(options, [&](const tcp::endpoint& address) {
        options.address = address;
        for (std::size_t other = 1; other < options.processors; ++other) {
            std::thread([options] { run(options, [](const tcp::endpoint&) {}); }).detach();
        }
        std::cout << "listening on " << address << std::endl;
        std::thread(exit_when_stdin_closes).detach();
    });
}
