#!/bin/sh
# Builds the library with assertions and runs all tests on every tier that this processor can run. The
# last line counts single test cases: "N passed, N failed, N skipped". Exits with 1 where one failed.
#
# HEADWISE_VECTORS=FOLDER   also checks files that others wrote (tests/vectors)
# HEADWISE_SEED=N           other random numbers
# HEADWISE_TEST_ISA=TIER    one tier only; fails where that cannot run
set -eu
if [ -d "${HEADWISE_VECTORS:-}" ]; then # tests run in other folders
  HEADWISE_VECTORS=$(cd "$HEADWISE_VECTORS" && pwd)
  export HEADWISE_VECTORS
fi
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/tiers.sh
install_packages gcc g++ libc6-dev meson ninja-build pkg-config python3 libsleef-dev libcmocka-dev \
  liblapacke libutf8proc-dev libpcre2-dev

build=build/test
log=build/test.log

quietly() {
  "$@" >>"$log" 2>&1 || { cat "$log" >&2; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
}

mkdir -p build
: >"$log"
[ -f "$build/build.ninja" ] ||
  quietly meson setup "$build" --buildtype=debugoptimized -Db_ndebug=false -Dtests=enabled \
    -Dtools=enabled -Dbench=disabled
quietly ninja -C "$build"

meson test -C "$build" --no-rebuild --print-errorlogs </dev/null || true # counted below
./scripts/count_tests.py --expect "${HEADWISE_TEST_ISA:-$(expected_tiers)}" \
  "$build/meson-logs/testlog.json"
