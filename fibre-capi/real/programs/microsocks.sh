# microsocks: a SOCKS5 proxy with a thread for each connection.
package=microsocks version=1.0.3-2
archive=microsocks_1.0.3.orig.tar.gz
sha256=6801559b6f8e17240ed8eef17a36eea8643412b5a7476980fd4e24b02a021b82
what="a thread per connection: SOCKS5 proxy, 200 clients"
address=127.0.0.1 port=19080

build() {
    make CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" LIBS= microsocks
}

# It has no tests of its own: every byte through it is looked at.
check() {
    ./microsocks -i 127.0.0.1 -p 19080 &
    sleep 0.5
    "$place/through" socks5 127.0.0.1 19080 200 5 20 || exit 1
    kill $!
    wait $! || true
    echo "20000 messages right"
}

serve() {
    exec ./microsocks -i 127.0.0.1 -p 19080
}

load() {
    "$place/through" socks5 127.0.0.1 19080 200 10 20
}
