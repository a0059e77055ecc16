#!/usr/bin/env bash
# The servers and libraries that clients are tested with, from Debian's packages.
#
#   servers.sh check      whether all are there; names what is missing
#   servers.sh install    installs what is missing, as root
#   servers.sh run [...]  installs, builds, and runs them on 127.0.0.1 until standard input ends
#
# Servers that run have folders of their own below the temporary one, and end with this script. Those
# that Debian starts by itself after an installation are left as they are.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Prints the packages whose programs or libraries are missing.
missing() {
    command -v redis-server >/dev/null || echo redis-server
    PATH="$PATH:/usr/sbin" command -v mariadbd >/dev/null || echo mariadb-server-core
    command -v my_print_defaults >/dev/null || echo mariadb-client-core
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || echo postgresql
    command -v pkg-config >/dev/null || echo pkg-config
    pkg-config --exists libpq 2>/dev/null || echo libpq-dev
    pkg-config --exists libcurl 2>/dev/null || echo libcurl4-openssl-dev
}

install() {
    mapfile -t packages < <(missing)
    if [ ${#packages[@]} -gt 0 ]; then
        apt-get update
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
    fi
}

case "${1:-}" in
    check)
        packages=$(missing)
        if [ -n "$packages" ]; then
            echo "missing:" $packages >&2
            exit 1
        fi
        ;;
    install)
        install
        ;;
    run)
        install
        shift
        cargo build --quiet --release --package fibre-clients --bin servers
        exec cargo run --quiet --release --package fibre-clients --bin servers -- "$@"
        ;;
    *)
        sed -n '2,9s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac
