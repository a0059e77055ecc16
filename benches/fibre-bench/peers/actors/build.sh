#!/bin/sh
# Builds the binary of PROGRAM's name and copies it to PROGRAM:
#
#     sh build.sh DIRECTORY/peer-actix
set -eu
program=$1
name=$(basename "$program")
target=$(dirname "$program")/actor-peers
cargo build --quiet --release --locked --bin "$name" --target-dir "$target"
cp "$target/release/$name" "$program"
