# pigz: a gzip that compresses blocks in parallel. Mutexes and condition variables behind a lock type of its own; threads
# that are kept between files.
package=pigz version=2.8-1
archive=pigz_2.8.orig.tar.xz
sha256=bec34f9d61e28b9b069da9efd53e73d22cd207a4798ed664832dc9b17aa486aa
what="compressor, 8 threads"

build() {
    make CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" pigz
}

# Its own test of formats and thread counts, and that a stream comes back.
check() {
    make CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" test
    ./pigz -c -p 8 -b 64 <"$place/corpus" | ./pigz -dc | cmp - "$place/corpus"
    echo "make test; input comes back"
}

work() {
    ./pigz -c -p 8 <"$place/corpus"
}
