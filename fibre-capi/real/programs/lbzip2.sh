# lbzip2: another parallel bzip2, a scheduler of its own over condition variables: every block passes three of them. Its
# main thread waits for signals that its threads send.
package=lbzip2 version=2.5-2.3
archive=lbzip2_2.5.orig.tar.bz2
sha256=eec4ff08376090494fa3710649b73e5412c3687b4b9b758c93f73aa7be27555b
what="condition variables: bzip2, 8 threads"

# It was written for an older C library, which named two things that it asks for.
build() {
    ./configure CPPFLAGS="-D_IO_ftrylockfile -D_IO_ERR_SEEN=0x20" && make
}

check() {
    make check
    ./src/lbzip2 -n 8 -c <"$place/corpus" | ./src/lbzip2 -n 8 -dc | cmp - "$place/corpus" || exit 1
    grep -h '^# PASS' tests/test-suite.log | sed 's/^# PASS: */tests passed: /'
}

work() {
    ./src/lbzip2 -n 8 -c <"$place/corpus"
}
