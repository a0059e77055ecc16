# redis: a server whose main thread and I/O threads wait for each other by spinning; there are more of these than
# processors.
package=redis version=5:8.0.2-3+deb13u2
archive=redis_8.0.2.orig.tar.gz
sha256=caf3c0069f06fc84c5153bd2a348b204c578de80490c73857bee01d9b5d7401f
what="I/O threads that spin for each other: 50 clients"
address=127.0.0.1 port=19379

build() {
    make -C src -j2 MALLOC=libc OPTIMIZATION=-O2 redis-server redis-benchmark redis-cli
}

# Its own tests need Tcl. 50 clients count with it, at one processor and at two where it runs on fibres.
check() {
    local processors counted
    for processors in 1 2; do
        FIBRE_PROCESSORS=$processors ./src/redis-server --bind 127.0.0.1 --port 19379 --save "" --io-threads 4 &
        until ./src/redis-cli -p 19379 ping; do sleep 0.1; done
        timeout 100 ./src/redis-benchmark -p 19379 -c 50 -n 20000 -q incr counted >benchmark.log || exit 1
        counted=$(./src/redis-cli -p 19379 get counted)
        kill $!
        wait $! || true
        [[ $counted == 20000 ]] || exit 1
    done
    echo "2 times $counted requests counted"
}

serve() {
    exec ./src/redis-server --bind 127.0.0.1 --port 19379 --save "" --io-threads 4
}

load() {
    ./src/redis-benchmark -p 19379 -c 50 -n 20000 -q incr counted >/dev/null && ./src/redis-cli -p 19379 get counted
}
