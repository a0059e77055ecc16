# civetweb: a web server with a pool of threads that take connections from a queue, and a thread that accepts them.
package=civetweb version=1.16+dfsg-2+deb13u1
archive=civetweb_1.16+dfsg.orig.tar.xz
sha256=41dbfd68cd3b914ce440a5813f21058813b61a972600cc04fb8233a0d2d04fe4
what="a pool of 256 threads: web server, 200 clients"
address=127.0.0.1 port=19084

build() {
    mkdir site && seq 1 2000 >site/data &&
        $CC $CFLAGS -DNO_SSL -DNO_CGI -Iinclude -o civetweb src/civetweb.c src/main.c $LDFLAGS -ldl
}

# What both the checks and the measurement start; it goes on until a signal comes.
serve() {
    exec ./civetweb -document_root site -listening_ports 127.0.0.1:19084 -num_threads 256 -enable_keep_alive yes \
        -keep_alive_timeout_ms 60000
}

# Its tests need a framework that is not there: whole files, and a few answers of other kinds, each looked at.
check() {
    ./civetweb -document_root site -listening_ports 127.0.0.1:19084 -num_threads 256 -enable_keep_alive yes \
        -keep_alive_timeout_ms 60000 &
    sleep 1
    "$place/through" get 127.0.0.1 19084 200 5 20 /data "$PWD/site/data" || exit 1
    local request answers=""
    for request in "GET /data" "HEAD /data" "GET /none" "GET /" "GET /%00" "PUT /data" "NONSENSE /"; do
        exec 3<>/dev/tcp/127.0.0.1/19084
        printf '%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$request" >&3
        answers+=" $(sed -n '1s/^HTTP.1.1 \([0-9]*\).*/\1/p' <&3)"
        exec 3>&-
    done
    kill $!
    wait $! || exit 1
    echo "20000 files right; answers$answers"
}

load() {
    "$place/through" get 127.0.0.1 19084 200 10 20 /data "$PWD/site/data"
}
