#!/usr/bin/env bash
# Install what the tests and the demo need from the system, where it is missing:
# Mesa's software Vulkan and OpenGL drivers (only where no adapter of that sort is found),
# Xvfb, and the X11 libraries that a window needs; and the packages named. Without root it names the command and goes on.
set -euo pipefail

cd "$(dirname "$0")/.."
python=.venv/bin/python

# Print the backend types that have an adapter: Vulkan, OpenGL, Metal, ...
adapters() {
  "$python" - << 'END' 2> /dev/null || true
import wgpu

print(*{adapter.info["backend_type"] for adapter in wgpu.gpu.enumerate_adapters_sync()})
END
}

installed() {
  dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null | grep -qx installed
}

wanted=("$@")
found=$(adapters)
if [[ $found != *Vulkan* ]]; then
  wanted+=(libvulkan1 mesa-vulkan-drivers)
fi
if [[ $found != *OpenGL* ]]; then
  wanted+=(libegl1 libgl1-mesa-dri)
fi
if ! command -v Xvfb > /dev/null; then
  wanted+=(xvfb)
fi
wanted+=(libx11-6 libxcursor1 libxi6 libxinerama1 libxrandr2) # what glfw loads

missing=()
for package in "${wanted[@]}"; do
  if ! command -v dpkg-query > /dev/null || ! installed "$package"; then
    missing+=("$package")
  fi
done
if [[ ${#missing[@]} -gt 0 ]]; then
  echo "Installing ${missing[*]}"
  scripts/apt_install.sh "${missing[@]}" || true
  found=$(adapters)
fi
echo "WebGPU adapters through: ${found:-none; the cpu backend is used}"
