# Sourced by the other scripts: `install_packages NAME...` installs the Debian packages that are missing,
# by apt, with sudo only when not root. Nothing is printed or touched where none is missing.

# Whether a package is installed for this machine's architecture (NAME) or another one (NAME:ARCH).
package_is_installed() {
  case $1 in
    *:*) package_arch=${1##*:} ;;
    *) package_arch=$(dpkg --print-architecture) ;;
  esac
  dpkg-query -W -f='${db:Status-Status} ${Architecture}\n' "${1%%:*}" 2>/dev/null |
    grep -qx -e "installed $package_arch" -e "installed all"
}

apt_install() {
  $package_sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
    install -y --no-install-recommends "$@" >/dev/null
}

# Lets apt find packages of another architecture, once its lists are fetched anew.
add_architecture() {
  [ "$1" = "$(dpkg --print-architecture)" ] || dpkg --print-foreign-architectures | grep -qx "$1" ||
    $package_sudo dpkg --add-architecture "$1"
}

install_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This is no Debian system: expecting these packages, or their like, to be installed: $*" >&2
    return 0
  fi
  package_missing=
  for package_name in "$@"; do
    package_is_installed "$package_name" || package_missing="$package_missing $package_name"
  done
  [ -n "$package_missing" ] || return 0
  package_sudo=
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "Missing packages:$package_missing; run as root: apt-get install$package_missing" >&2
      return 1
    fi
    package_sudo=sudo
  fi
  echo "installing$package_missing"
  for package_name in $package_missing; do
    case $package_name in *:*) add_architecture "${package_name##*:}" ;; esac
  done
  # A fresh machine has no lists of packages, an old one has stale ones: fetch them where needed.
  # shellcheck disable=SC2086
  apt_install $package_missing 2>/dev/null ||
    { $package_sudo apt-get -qq update && apt_install $package_missing; } ||
    { echo "apt-get could not install$package_missing" >&2; return 1; }
}
