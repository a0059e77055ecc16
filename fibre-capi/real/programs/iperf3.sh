# iperf3: bulk streams, with a thread for each at either end. Debian's archive lists its source, but
# did not give it out: this is what the crate `iperf3-rs` carries of it.
crate=iperf3-rs version=1.0.1
archive=iperf3-rs-1.0.1.crate
sha256=957a1bcc6adec88ebe3748fdcf43dccf50610b56b8ea1df5f2a5f0d4eaf4fa39
patience=60
cases="1 16"
what="bulk streams: 6 GB over 127.0.0.1, both ends"

build() {
    cd iperf3 && ./configure --disable-shared --without-openssl --without-sctp && make -C src iperf3 && make -C src check TESTS=
}

# Its own tests, and streams there, back, and both ways, each of which says at the end what it has received.
check() {
    make -C iperf3/src check >tests.log || exit 1
    local way port=19085 ended=""
    for way in "" -R --bidir; do
        : >server.out
        ./iperf3/src/iperf3 -s -1 --forceflush -B 127.0.0.1 -p $port >>server.out &
        until grep -q listening server.out; do sleep 0.05; done
        ./iperf3/src/iperf3 -c 127.0.0.1 -p $port -P 16 -n 200M $way >client.out || exit 1
        wait $! || exit 1
        ended+=" $(grep -c receiver client.out)"
        port=$((port + 1))
    done
    echo "$(sed -n 's/^# PASS: */tests passed: /p' tests.log); streams that came:$ended"
}

# A server for one client, and that one. Where all bytes are sent, its threads spin until each is told
# to end: more of them than processors with spare ones hang, see docs/c/real-programs.md.
work() {
    : >server.out
    ./iperf3/src/iperf3 -s -1 --forceflush -B 127.0.0.1 -p 19089 >>server.out &
    until grep -q listening server.out; do sleep 0.01; done
    ./iperf3/src/iperf3 -c 127.0.0.1 -p 19089 -P "$size" -n 6G >client.out && wait $! &&
        echo "$(grep -c receiver client.out) ends of $size streams"
}
