# plzip: a parallel lzip in C++: a splitter, workers and a muxer with a mutex and a condition variable for each of them.
package=plzip version=1.12-3
archive=plzip_1.12.orig.tar.xz
sha256=7e170d78ed245e293405d5c62aa33b79b19c133cf6fff7642f7326df8cda5f51
needs=lzlib.h
what="compressor in C++, 8 threads"

build() {
    ./configure CXX="$CXX" CXXFLAGS="$CXXFLAGS" LDFLAGS="$LDFLAGS" && make
}

# Its own tests, and that streams of several thread counts come back through several.
check() {
    make check || exit 1
    local threads
    for threads in 1 2 8 32; do
        ./plzip -2 -n $threads -B 256KiB <"$place/corpus" | ./plzip -dc -n $threads | cmp - "$place/corpus" || exit 1
    done
    echo "make check; 4 ways come back"
}

work() {
    ./plzip -2 -n 8 -B 512KiB <"$place/corpus"
}
