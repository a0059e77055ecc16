# Measuring both builds in turns, and the table of what came out.

# What a compressor is given: text of a made-up language, the same for both builds.
make_corpus() {
    [[ -s $place/corpus ]] || awk 'BEGIN {
        srand(1)
        for (word = 0; word < 5000; word++)
            for (letter = 0; letter < 2 + 7 * rand(); letter++)
                words[word] = words[word] sprintf("%c", 97 + int(26 * rand() * rand()))
        for (line = 0; line < 100000; line++) {
            text = ""
            for (word = 0; word < 12; word++)
                text = text words[int(5000 * rand() ^ 3)] " "
            print text
        }
    }' >"$place/corpus"
}

# Starts `serve` of a recipe on core 0, and waits until somebody listens at $address:$port. Sets `server`.
start_server() {
    taskset -c "${1:-0}" bash -c "$(declare -f serve); serve" >"$place/server.log" 2>&1 &
    server=$!
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        if (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null; then
            return
        fi
        sleep 0.02
    done
    tail -3 "$place/server.log" >&2
    return 1
}

# Ends the server that was started.
stop_server() {
    kill "$server" 2>/dev/null || true
    local tries
    for ((tries = 0; tries < 250; tries++)); do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.02
    done
    kill -KILL "$server" 2>/dev/null && echo "real: $name did not end by SIGTERM" >&2
    wait "$server" 2>/dev/null || true
}

# Seconds of CPU time, user and system, that the server has taken, and the most memory that it had, in kB.
server_costs() {
    local fields hertz
    read -r -a fields < <(sed 's/.*) //' "/proc/$server/stat")
    hertz=$(getconf CLK_TCK)
    echo "$(awk -v ticks=$((fields[11] + fields[12])) -v hertz="$hertz" 'BEGIN { printf "%.2f", ticks / hertz }')" \
        "$(awk '/VmHWM/ { print $2 }' "/proc/$server/status")"
}

# One repetition of the build in the current directory: wall seconds, CPU seconds, kB.
repetition() {
    local wall user system costs
    if declare -f serve >/dev/null; then
        start_server || return 1
        read -r wall user system < <({ time taskset -c 1 bash -c "$(declare -f load through); load" >"$place/output.$1" \
            2>"$place/load.log"; } 2>&1)
        costs=$(server_costs)
        stop_server
        echo "$wall $costs"
    else
        read -r wall user system < <({ time bash -c "$(declare -f work); work" >"$place/output.$1" 2>"$place/work.log"; } 2>&1)
        echo "$wall $(awk -v u="$user" -v s="$system" 'BEGIN { print u + s }') -"
    fi
}

# The middle of the numbers of standard input.
median() {
    sort -n | awk '{ all[NR] = $1 } END { print (NR % 2) ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'
}

# Column `$2` of the repetitions of the build `$1`.
column() {
    cut -d' ' -f"$2" "$place/$name/times.$1"
}

# Measures both builds in turns and keeps a row for the table; their outputs have to be identical.
# `$1` is what the checks said, `$2` one of the recipe's `cases`, which its commands find in `size`.
measure() {
    local build round label=$what
    if [[ -n ${cases:-} ]]; then
        export size=$2
        label="$size $what"
    fi
    for build in pthread fibre; do
        : >"$place/$name/times.$build"
    done
    for ((round = 0; round < repetitions; round++)); do
        for build in pthread fibre; do
            toolchain "$build"
            (cd "$place/$name/$build" && repetition "$build") >>"$place/$name/times.$build" || return 1
        done
        if ! cmp "$place/output.pthread" "$place/output.fibre" || [[ ! -s $place/output.fibre ]]; then
            cat "$place"/{work,load,server}.log 2>/dev/null | tail -5 >&2
            echo "real: $name: the builds do not write the same" >&2
            return 1
        fi
    done
    printf '%s|%s|%s|%s|%s|%s|%s|%s|%s\n' "$name" "$label" "$1" \
        "$(column pthread 1 | median)" "$(column fibre 1 | median)" \
        "$(column pthread 2 | median)" "$(column fibre 2 | median)" \
        "$(column pthread 3 | median)" "$(column fibre 3 | median)" | tee -a "$place/rows"
}

# Writes the table to docs/results.
table() {
    local cores file
    cores=$(nproc)
    file=$root/docs/results/$cores-cores-c/real.md
    mkdir -p "$(dirname "$file")"
    {
        echo "# Real programs, built twice"
        echo
        echo "Written by \`fibre-capi/real/run\`; not to be edited. What it does: [real-programs.md](../../c/real-programs.md)."
        echo
        echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $cores cores · Linux $(uname -r) · commit" \
            "$(git -C "$root" rev-parse --short HEAD) · $(date -u +%FT%TZ) · median of $repetitions runs in turns"
        echo
        echo "Each program is built from the same sources for the system's pthreads and, by \`-include fibre_pthread.h\`, for"
        echo "fibres; output and the outcome of its own checks are the same. Seconds; servers run on one core and their load on"
        echo "the other, time is that of the load, CPU time and memory those of the server."
        echo
        echo "| program | what | checks | time: pthreads | fibres | ratio | CPU: pthreads | fibres | ratio | MB: pthreads | fibres |"
        echo "|---|---|---|---|---|---|---|---|---|---|---|"
        awk -F'|' 'function ratio(a, b) { return a > 0 ? sprintf("%.2f", b / a) : "" }
            function mega(kilo) { return kilo == "-" ? "" : sprintf("%.1f", kilo / 1024) }
            { printf "| %s | %s | %s | %.2f | %.2f | %s | %.2f | %.2f | %s | %s | %s |\n",
                $1, $2, $3, $4, $5, ratio($4, $5), $6, $7, ratio($6, $7), mega($8), mega($9) }' "$place/rows"
    } >"$file"
    echo "written: $file"
}
