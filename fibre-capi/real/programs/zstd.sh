# zstd: workers out of a pool with two condition variables, and jobs of 1 MB that wait for each other's output.
package=libzstd version=1.5.4+dfsg2-5
archive=libzstd_1.5.4+dfsg2.orig.tar.xz
sha256=8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953
what="compressor, 8 threads"

build() {
    make -C programs CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 zstd &&
        make -C tests CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" poolTests
}

# Its tests of the pool, and that streams of several thread counts come back.
check() {
    tests/poolTests || exit 1
    local threads
    for threads in 1 2 8 32; do
        programs/zstd -qc -T$threads -B1MB <"$place/corpus" | programs/zstd -qdc | cmp - "$place/corpus" || exit 1
    done
    echo "poolTests; 4 ways come back"
}

work() {
    programs/zstd -qc -6 -T8 -B1MB <"$place/corpus"
}
