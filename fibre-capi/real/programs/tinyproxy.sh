# tinyproxy: an HTTP proxy with a thread for each connection. A daemon: it forks before it makes its threads, and is led by
# signals that end its main thread's poll.
package=tinyproxy version=1.11.1-2.1+deb12u1
archive=tinyproxy_1.11.1.orig.tar.xz
sha256=d66388448215d0aeb90d0afdd58ed00386fb81abc23ebac9d80e194fceb40f7c
what="a thread per connection: HTTP proxy, 200 clients"
address=127.0.0.1 port=19081

build() {
    ./configure --disable-manpage_support && make &&
        printf '%s\n' "Port 19081" "Listen 127.0.0.1" "Timeout 60" "MaxClients 1000" "LogLevel Critical" \
            "Allow 127.0.0.1" "DefaultErrorFile \"$PWD/data/templates/default.html\"" >through.conf
}

# Its own tests, with a web server in Perl.
check() {
    local outcome
    outcome=$(sh tests/scripts/run_tests.sh)
    echo "$outcome"
    grep -q '^killing tinyproxy... ok' <<<"$outcome" || exit 1
    echo "$(grep -c ' ok' <<<"$outcome") steps of its tests, $(grep ' errors$' <<<"$outcome")"
}

serve() {
    exec ./src/tinyproxy -d -c through.conf
}

load() {
    "$place/through" connect 127.0.0.1 19081 200 10 20
}
