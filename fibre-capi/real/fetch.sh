# Fetching from Debian's source archive, with lists of our own: those of the system stay as they are.
# What that does not have, a crate may carry. The script that reads this has said $self, its name, and $place.

# The suites that recipes name their versions from.
suites="bookworm trixie"

# Where the system gets Debian's packages from.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -m1 '/debian/*$' ||
        echo "$self: this system has no source of Debian's packages" >&2
}

# apt-get, with everything that it keeps under $place/apt.
private_apt() {
    local apt=$place/apt
    mkdir -p "$apt"/{lists/partial,cache/archives/partial}
    : >"$apt/status"
    local mirror
    mirror=$(mirror)
    local suite
    for suite in $suites; do
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
            "$mirror $suite main"
    done >"$apt/sources.list"
    apt-get -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$apt" \
        -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" \
        -o APT::Sandbox::User= -o Acquire::Retries=2 -qq "$@"
}

# Whether the file `$1` has the sum `$2`.
verified() {
    echo "$2  $1" | sha256sum --check --status
}

# Has the archive `$3` of the crate `$1`, version `$2`, with sha256 `$4`, under $place/archives:
# whatever cargo downloads it for, it keeps the archive.
fetch_crate() {
    local archive=$place/archives/$3 log=$place/fetch.log kept
    if [[ -e $archive ]] && verified "$archive" "$4"; then
        return
    fi
    # Not within the project, whose lock file has nothing to do with it.
    if (cd "$place/archives" && cargo info "$1@$2") >"$log" 2>&1; then
        for kept in "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$3"; do
            if [[ -e $kept ]] && verified "$kept" "$4"; then
                cp "$kept" "$archive"
                return
            fi
        done
    fi
    echo "$self: cannot download the crate $1 $2 (no network, or it is not what this script was written for):" >&2
    tail -3 "$log" | sed 's/^/    /' >&2
    return 1
}

# Downloads the archives of the source package `$1`, version `$2`. A later one will do: Debian drops a version when it has
# mended something, and the archive of the program's authors stays, as its sum will say.
download() {
    cd "$place/archives"
    private_apt source --download-only --tar-only "$1=$2" || private_apt source --download-only --tar-only "$1"
}

# Has the archive `$3` of the source package `$1`, version `$2`, with sha256 `$4`, under $place/archives.
fetch() {
    local package=$1 version=$2 archive=$place/archives/$3 sum=$4
    if [[ -e $archive ]] && verified "$archive" "$sum"; then
        return
    fi
    local log=$place/fetch.log
    if ! ls "$place"/apt/lists/*Sources* >/dev/null 2>&1; then
        private_apt update >"$log" 2>&1 || true
    fi
    if ! (download "$package" "$version") >"$log" 2>&1; then
        echo "$self: cannot download $package $version from Debian's archive (no network, or no longer there):" >&2
        grep -E '^(E:|Err|  [0-9]{3} )' "$log" | head -3 | sed 's/^/    /' >&2
        return 1
    fi
    if ! verified "$archive" "$sum"; then
        echo "$self: $3 is not what this script was written for: its sha256 differs; not used" >&2
        rm -f "$archive"
        return 1
    fi
}
