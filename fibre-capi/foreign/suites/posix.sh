# The Open POSIX Test Suite, which is the part of LTP that tests POSIX: its tests of threads, semaphores, signals, fork.
package=posixtestsuite version=1.5.2-8
archive=posixtestsuite_1.5.2.orig.tar.gz
sha256=15a2185672127cba851d35ec9d538ff6148defdbb75f99c7e9c50aeba0f94757
title="The Open POSIX Test Suite, threads, semaphores, signals and fork"

prepare() {
    :
}

# Each has the number of its assertion and its own. Of sigaction there is one for each signal, of which the first is taken.
tests() {
    (cd "$source_place" && find conformance/interfaces/{pthread_*,sem_*,sig*,raise,kill,killpg,fork} -name '[0-9]*-[0-9]*.c' \
        ! -name '*buildonly*' | grep -Ev '/sigaction/[0-9]+-([2-9]|[0-9]{2,})\.c$')
}

flags_of() {
    before=(-O2 -std=gnu99 -D_POSIX_C_SOURCE=200112L -D_XOPEN_SOURCE=600 -D_GNU_SOURCE -I "$source_place/include"
        -I "$source_place/${1%/*}")
}

# The suite's codes.
word_of() {
    case $1 in
    2) echo unresolved ;;
    4) echo unsupported ;;
    5) echo untested ;;
    *) common_word "$1" ;;
    esac
}
