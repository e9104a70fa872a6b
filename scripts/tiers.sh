# Sourced by the other scripts: `expected_tiers` prints the tiers that this processor can run, by what
# the kernel says of it and not by what the library finds, separated by commas.
expected_tiers() {
  tiers_machine=$(uname -m)
  tiers_flags=" $(sed -n 's/^flags[[:space:]]*: //p' /proc/cpuinfo | head -n 1) "
  tiers_list=scalar
  has_flags() {
    for tiers_flag in "$@"; do
      case $tiers_flags in *" $tiers_flag "*) ;; *) return 1 ;; esac
    done
  }
  case $tiers_machine in
    x86_64)
      if has_flags avx2 fma f16c; then
        tiers_list=$tiers_list,avx2
        if has_flags avx512f avx512bw avx512dq avx512vl; then tiers_list=$tiers_list,avx512; fi
      fi ;;
    aarch64) tiers_list=$tiers_list,neon ;;
  esac
  echo "$tiers_list"
}
