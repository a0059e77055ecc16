# pbzip2: a bzip2 in C++ that compresses blocks in parallel: one thread that reads, workers, one that writes, and queues
# with condition variables and timed waits between them.
package=pbzip2 version=1.1.13-1
archive=pbzip2_1.1.13.orig.tar.gz
sha256=bca3d7b50e4e5f963c82cb9626bb72e4062d83bc2b8b028eee22efdcda972b9b
what="compressor in C++, 8 threads"

build() {
    make CXX="$CXX" CXXFLAGS="$CXXFLAGS -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 -DUSE_STACKSIZE_CUSTOMIZATION" \
        LDFLAGS="$LDFLAGS" pbzip2
}

# It has no tests of its own: several ways to compress, and that each comes back.
check() {
    cp "$place/corpus" input
    local options
    for options in "-p8" "-p1" "-p8 -b1" "-p3 -1 -m50" "-p8 -S256"; do
        # shellcheck disable=SC2086
        ./pbzip2 -kf $options input && ./pbzip2 -t -p8 input.bz2 && ./pbzip2 -dc -p4 input.bz2 | cmp - input || exit 1
        ./pbzip2 -dc -p4 <input.bz2 | cmp - input || exit 1
    done
    echo "5 ways, all come back"
}

work() {
    ./pbzip2 -c -p8 -k "$place/corpus"
}
