# The tests of glibc's own threads. Those that need the inside of glibc, or its build, do not compile.
package=glibc version=2.36-9+deb12u14
archive=glibc_2.36.orig.tar.xz
sha256=a543c02070d46ccaf866957efd13f10c924daa74c86a90a0254db09a92a708ee
title="glibc's tests of threads (nptl)"

members=('*/nptl/*' '*/support/*' '*/sysdeps/pthread/*' '*/include/*.h' '*/test-skeleton.c')

# What tests are linked with, and the few of glibc's headers that they include.
prepare() {
    local shim=$suite_place/shim support=$suite_place/$1/support file
    mkdir -p "$shim" "$support"
    for file in array_length intprops libc-diag libc-pointer-arith; do
        cp "$source_place/include/$file.h" "$shim"
    done
    : >"$shim/config.h"
    for file in support sysdeps test-skeleton.c; do
        ln -sfn "$source_place/$file" "$shim/$file"
    done
    # The build's folders, of which these tests use none.
    for file in SRCDIR OBJDIR OBJDIR_ELF_LDSO INSTDIR LIBDIR BINDIR SBINDIR SLIBDIR ROOTSBINDIR COMPLOCALEDIR; do
        echo "#define ${file}_PATH \"$suite_place\""
    done >"$shim/paths-of-build.h"
    local mapping=() options=(-w -O1 -std=gnu11 -D_GNU_SOURCE -DMODULE_NAME=testsuite -DTIMEOUTFACTOR=1 -include limits.h
        -include "$shim/paths-of-build.h" -idirafter "$shim" -idirafter "$shim/support" -idirafter "$source_place/include")
    [[ $1 == fibre ]] && mapping=(-include "$capi/include/fibre-rt/fibre_pthread.h")
    find "$source_place/support" -name '*.c' ! -name 'tst-*' ! -name 'test-*' ! -name '*-time64.c' ! -name '*-container.c' \
        ! -name 'links-dso*' ! -name '*_compare_string_main.c' ! -name '*_blob_main.c' |
        xargs -P "$(nproc)" -I '{}' sh -c 'file=$1 && shift && cc "$@" -c "$file" -o "$0/$(basename "$file").o" || true' "$support" \
            '{}' "${mapping[@]}" "${options[@]}" 2>"$support.build"
    rm -f "$support.a"
    ar rcs "$support.a" "$support"/*.o
}

tests() {
    (cd "$source_place" && find nptl sysdeps/pthread -maxdepth 1 -name 'tst-*.c' ! -name '*-mod*.c' ! -name '*aux.c' \
        ! -name '*-common.c' ! -name '*-static*.c' ! -name 'tst-skeleton*')
}

flags_of() {
    before=(-O1 -std=gnu11 -fexceptions -D_GNU_SOURCE -idirafter "$suite_place/shim" -idirafter "$suite_place/shim/support"
        -idirafter "$source_place/nptl" -idirafter "$source_place/sysdeps/pthread")
    after=("$suite_place/$kind/support.a" -ldl)
}

# The driver's codes: 77 says that the test is not for this system.
word_of() {
    case $1 in
    77) echo unsupported ;;
    *) common_word "$1" ;;
    esac
}
