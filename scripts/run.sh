#!/bin/sh
# Builds a release and runs a layer of four heads on a sentence: what each head looks at, whether the
# heads' contributions sum to the output, and the time of each tier this processor can run.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages gcc libc6-dev meson ninja-build pkg-config libsleef-dev liblapacke

build=build/release
log=build/release.log
data=examples/data/sentence.safetensors

quietly() {
  "$@" >>"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

mkdir -p build
: >"$log"
[ -f "$build/build.ninja" ] ||
  quietly meson setup "$build" --buildtype=release -Dtools=enabled -Dtests=disabled \
    -Dbench=disabled -Dexamples=false
quietly ninja -C "$build"

"$build/tools/headwise" info
echo
"$build/tools/headwise" layer --weights "$data" --input "$data" --check --time --repeat 1000
