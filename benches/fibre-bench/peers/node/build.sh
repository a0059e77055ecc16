#!/bin/sh
# Makes PROGRAM what runs the script of this directory:
#
#     sh build.sh PROGRAM
set -eu
source=$(cd "$(dirname "$0")" && pwd)
program=$1
node --check "$source/served.js"
cp "$source/served.js" "$program.js"
cat > "$program" <<'END_OF_PROGRAM'
#!/bin/sh
exec node "$0.js" "$@"
END_OF_PROGRAM
chmod +x "$program"
