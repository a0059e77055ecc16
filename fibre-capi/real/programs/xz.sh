# xz: workers that wait for each other under timed and untimed condition variables; clocks of their own for these; signals
# blocked around the making of threads.
package=xz-utils version=5.8.1-1+deb13u1
archive=xz-utils_5.8.1.orig.tar.xz
sha256=0b54f79df85912504de0b14aec7971e3f964491af1812d83447005807513cd9e
what="compressor, 8 threads"
patience=600

build() {
    ./configure --disable-shared --disable-nls --disable-doc --disable-scripts --disable-lzmainfo --disable-lzmadec \
        --disable-dependency-tracking && make && make -C tests check TESTS=
}

# Its own tests, and that streams of several thread counts come back through several.
check() {
    make -C tests check
    local threads
    for threads in 1 2 8 32; do
        src/xz/xz -2 -T$threads --block-size=256KiB <"$place/corpus" | src/xz/xz -dc -T$threads |
            cmp - "$place/corpus" || exit 1
    done
    echo "$(sed -n 's/^# PASS: */tests passed: /p' tests/test-suite.log), 4 ways come back"
}

work() {
    src/xz/xz -2 -T8 --block-size=512KiB <"$place/corpus"
}
