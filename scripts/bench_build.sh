# shellcheck shell=sh disable=SC2034
# Sourced by the benchmark scripts: `build_benchmarks PACKAGE...` installs what is missing, builds a
# release with benchmarks in build/bench, and sets $bench to the folder of the programs.
build_benchmarks() {
  install_packages gcc g++ libc6-dev meson ninja-build pkg-config libsleef-dev libbenchmark-dev "$@"
  bench=build/bench/bench
  bench_log=build/bench.log
  mkdir -p build
  : >"$bench_log"
  if [ ! -f build/bench/build.ninja ]; then
    meson setup build/bench --buildtype=release -Dbench=enabled -Dtests=disabled -Dtools=disabled \
      -Dexamples=false >>"$bench_log" 2>&1 || { cat "$bench_log" >&2; exit 1; }
  fi
  ninja -C build/bench >>"$bench_log" 2>&1 || { cat "$bench_log" >&2; exit 1; }
}
