#!/usr/bin/env bash
# Make the virtual environment $1 with a Python of 3.11 or later; $PYTHON chooses one.
set -euo pipefail

venv=$1

fits() {
  command -v "$1" > /dev/null &&
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
}

find_python() {
  for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
    if fits "$candidate"; then
      echo "$candidate"
      return
    fi
  done
}

apt_install=$(dirname "$0")/apt_install.sh
python=$(find_python)
if [[ -z $python ]]; then
  "$apt_install" python3 python3-venv || true
  python=$(find_python)
fi
if [[ -z $python ]]; then
  echo "No Python of 3.11 or later was found. Install one, or name it: make setup PYTHON=/path/to/python" >&2
  exit 1
fi

# Debian and Ubuntu ship ensurepip, which venv needs, in a package of its own.
if ! "$python" -c 'import ensurepip, venv' 2> /dev/null; then
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  "$apt_install" "python$version-venv" || true
fi
if "$python" -c 'import ensurepip, venv' 2> /dev/null; then
  "$python" -m venv "$venv"
elif "$python" -m virtualenv --version > /dev/null 2>&1; then
  "$python" -m virtualenv --quiet "$venv"
else
  echo "$python cannot make a virtual environment; install its venv package as shown above." >&2
  exit 1
fi
