# GNU libmicrohttpd: an HTTP server in a library. Its tests run it with a thread for each connection, with a thread that
# polls, with a pool of these, over select, poll and epoll.
package=libmicrohttpd version=0.9.75-6
archive=libmicrohttpd_0.9.75.orig.tar.xz
sha256=796e7e217a4802679fcac667a4e98501c53185dcf50ca0583870e84192620131
what="a thread per connection: web server, 200 clients"
address=127.0.0.1 port=19082

build() {
    seq 1 2000 >data && mkfifo input
    ./configure --disable-doc --disable-https --disable-nls --disable-curl --disable-shared --disable-dependency-tracking &&
        make && make -C src/microhttpd check TESTS=
}

check() {
    make -C src/microhttpd check
    sed -n 's/^# PASS: */tests passed: /p' src/microhttpd/test-suite.log
}

# It ends when there is something to read.
serve() {
    exec ./src/examples/fileserver_example 19082 <>input
}

load() {
    "$place/through" get 127.0.0.1 19082 200 10 20 /data "$PWD/data"
}
