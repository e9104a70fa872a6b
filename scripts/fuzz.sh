#!/bin/sh
# Builds the libraries and the targets of tests/fuzz with clang, libFuzzer and sanitizers, and runs each
# target from its seeds: fuzz.sh [SECONDS for each, 60] [TARGET ...]. Prints executions and edges covered;
# an input that fails stays in build/fuzz and its name is printed. What was found goes on next time.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
install_packages clang libclang-rt-14-dev gcc libc6-dev meson ninja-build pkg-config libsleef-dev

seconds=${1:-60}
[ $# -eq 0 ] || shift
build=build/fuzz
log=build/fuzz.log
mkdir -p build
if [ ! -f "$build/build.ninja" ]; then
  CC=clang meson setup "$build" --buildtype=debugoptimized -Db_ndebug=false -Db_lundef=false \
    -Doptimization=1 -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link -Ddefault_library=static \
    -Dopenmp=disabled -Dtests=disabled -Dtools=disabled -Dmodel=disabled -Dbench=disabled \
    -Dexamples=false >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
ninja -C "$build" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }

status=0
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  name=${name#fuzz_}
  case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
  # shellcheck disable=SC2046
  clang -g -O1 -std=c11 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Iinclude -Iio \
    "$source" "$build"/io/libheadwise-io.a "$build"/io/json/libheadwise-json.a "$build"/libheadwise.a \
    $(pkg-config --libs sleef 2>/dev/null || echo -lsleef) -lpthread -lm -o "$build/fuzz_$name"
  mkdir -p "$build/corpus/$name"
  if "$build/fuzz_$name" -max_total_time="$seconds" -max_len=8192 -print_final_stats=1 -verbosity=1 \
    -rss_limit_mb=2000 -malloc_limit_mb=1000 -timeout=20 -artifact_prefix="$build/$name-" \
    "$build/corpus/$name" "tests/fuzz/seeds/$name" >"$build/$name.log" 2>&1; then
    verdict="no failure"
  else
    verdict="FAILED, see $build/$name.log"
    status=1
  fi
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$build/$name.log" | tail -n 1)
  echo "fuzz $name: ${executions:-0} executions, ${edges:-0} edges covered, $verdict"
done
exit $status
