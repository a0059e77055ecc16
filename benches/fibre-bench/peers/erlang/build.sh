#!/bin/sh
# Compiles the modules of this directory into PROGRAM.modules, and makes PROGRAM what runs them:
#
#     sh build.sh PROGRAM
set -eu
cd "$(dirname "$0")"
program=$1
mkdir -p "$program.modules"
erlc -Werror -o "$program.modules" ./*.erl
# Scheduler threads are an option of the emulator, so the word `processors=N` is read before.
cat > "$program" <<'END'
#!/bin/sh
processors=1
for word in "$@"; do
    case $word in processors=*) processors=${word#processors=} ;; esac
done
case $processors in ''|0*|*[!0-9]*) processors=1 ;; esac # the program refuses it
ERL_CRASH_DUMP_SECONDS=0 exec erl +S "$processors:$processors" -noshell -pa "$0.modules" -s actor_peer main -extra "$@"
END
chmod +x "$program"
