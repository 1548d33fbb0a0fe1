#!/usr/bin/env bash
# Install the packages named through apt. Without root, or without apt, print the command and fail.
set -euo pipefail

if ! command -v apt-get > /dev/null; then
  echo "Not a Debian or Ubuntu system; install what corresponds to: $*" >&2
  exit 1
fi
if [[ $(id -u) -ne 0 ]]; then
  echo "Missing system packages; as root run: apt-get install $*" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq < /dev/null
apt-get install -y -qq --no-install-recommends "$@" < /dev/null > /dev/null
