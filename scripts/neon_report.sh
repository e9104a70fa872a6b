#!/bin/sh
# What can be said of the neon tier without a board, as Markdown on stdout: llvm-mca's opinion of the
# inner loops, and the instructions executed under emulation. bench/README.md says what it is worth.
#   scripts/neon_report.sh           LLVM_MCA=/path/to/llvm-mca chooses the version of llvm-mca
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

build=build/aarch64-report
log=build/neon_report.log
cpus="cortex-a55 cortex-a72 cortex-a76 neoverse-n1"

prepare() {
  install_packages gcc libc6-dev meson ninja-build pkg-config python3 qemu-user \
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross libsleef-dev:arm64 >&2
  # Versions before 17 take a neoverse-n1 for a cortex-a57.
  [ -n "${LLVM_MCA:-}" ] || { install_packages llvm-19 >&2 && LLVM_MCA=llvm-mca-19; }
}

# Failing commands show what they wrote.
quietly() {
  "$@" >>"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

build_all() {
  mkdir -p build
  : >"$log"
  [ -f $build/build.ninja ] ||
    quietly meson setup $build --cross-file cross/aarch64-linux-gnu.ini --buildtype=release \
      -Disa=neon -Dopenmp=disabled -Dtests=disabled -Dbench=disabled -Dexamples=false
  quietly ninja -C $build
  quietly gcc -std=c11 -O2 -shared -fPIC -o $build/count.so scripts/neon/count.c
  quietly aarch64-linux-gnu-gcc -std=c11 -O2 -Iinclude -o $build/work scripts/neon/work.c \
    -L$build -lheadwise
}

table_of_loops() {
  echo "| tile | steps | instructions | per multiply-add | $(echo "$cpus" | sed 's/ / | /g') |"
  echo "|---|--:|--:|--:|$(echo "$cpus" | sed 's/[^ ][^ ]* */--:|/g')"
  # shellcheck disable=SC2086
  python3 scripts/neon/loops.py aarch64-linux-gnu-objdump "$LLVM_MCA" \
    "$(ls $build/src/libheadwise-neon.a.p/*_"$1".c.o)" "headwise_$1_f32_neon" "$2" $cpus
}

# Instructions of a run of the program work.
count() {
  LD_LIBRARY_PATH=$build qemu-aarch64 -plugin $build/count.so $build/work "$@" 2>&1 |
    awk '/ instructions$/ { n = $1 } /^neon$/ { ran = 1 } END { if (!ran || !n) exit 1; print n }'
}

# per_multiply_add CALL HEADS QUERIES KEYS HEAD_DIM: what two calls more execute, over their
# multiply-adds (one for each score's and each value's product).
per_multiply_add() {
  once=$(count "$1" 1 "$2" "$3" "$4" "$5")
  thrice=$(count "$1" 3 "$2" "$3" "$4" "$5")
  awk -v more=$((thrice - once)) -v products=$((2 * 2 * $2 * $3 * $4 * $5)) -v call="$1" \
    -v shape="H:$2/S:$3/T:$4/D:$5" \
    'BEGIN { printf "| %s | %s | %.3f |\n", call, shape, more / products }'
}

prepare
build_all
echo "## Inner loops: share of the FMA limit by $("$LLVM_MCA" --version | sed -n 's/.*\(LLVM version.*\)/\1/p')"
echo
echo "scores, all tiles:"
echo
table_of_loops scores 4
for kernel in values project; do
  echo
  echo "$kernel, whole tiles:"
  echo
  table_of_loops $kernel 8
done
echo
echo "## Executed instructions per multiply-add ($(qemu-aarch64 --version | head -n 1))"
echo
echo "| call | shape | instructions |"
echo "|---|---|--:|"
per_multiply_add operator 8 128 128 64
per_multiply_add operator 8 512 512 64
per_multiply_add cache 8 1 1024 64
per_multiply_add cache 8 1 1024 128
per_multiply_add f16-cache 8 1 1024 64
per_multiply_add operator 8 1 1024 64
