#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# setup.sh pi4|pi5 [--force-rebuild]: compiles llama_main and its libraries for a Raspberry Pi with a 64-bit system, into
# cmake-out (or BUILD_DIR). Runs on Linux. The compiler is that in TOOLCHAIN_PATH, or the system's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="${BUILD_DIR:-cmake-out}"
least_cmake=3.24

die() { echo "[ERROR] $*" >&2; exit 1; }

board='' rebuild=''
for argument in "$@"; do
  case "${argument}" in
    pi4 | pi5) board="${argument}" ;;
    --force-rebuild) rebuild=1 ;;
    -h | --help) sed -n '3,4s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown argument ${argument}; usage: setup.sh pi4|pi5 [--force-rebuild]" ;;
  esac
done
[[ -n "${board}" ]] || die "which board? usage: setup.sh pi4|pi5 [--force-rebuild]"

[[ "$(uname -s)" == Linux ]] || die "cross-compiling needs Linux, found $(uname -s); compile on the Pi itself instead"
for tool in cmake git ninja; do
  command -v "${tool}" >/dev/null || die "${tool} is missing: install it and run this again"
done
found="$(cmake --version | sed -n '1s/.* //p')"
[[ "$(printf '%s\n' "${least_cmake}" "${found}" | sort -V | head -n 1)" == "${least_cmake}" ]] ||
  die "CMake ${least_cmake} or newer is needed, found ${found}: pip install cmake"

prefix=aarch64-linux-gnu-
if [[ -n "${TOOLCHAIN_PATH:-}" ]]; then
  prefix="${TOOLCHAIN_PATH}/bin/aarch64-none-linux-gnu-"
  [[ -x "${prefix}g++" ]] || die "TOOLCHAIN_PATH has no bin/aarch64-none-linux-gnu-g++; expected the folder of Arm's GNU toolchain"
elif ! command -v "${prefix}g++" >/dev/null; then
  command -v apt-get >/dev/null || die "${prefix}g++ is missing: install it, or set TOOLCHAIN_PATH to Arm's GNU toolchain"
  echo "==== Installing the cross compiler ===="
  sudo=''
  ((EUID == 0)) || sudo=sudo
  ${sudo} apt-get install -y g++-aarch64-linux-gnu
fi

[[ -z "${rebuild}" ]] || rm -rf "${build}"
echo "==== Building for ${board} ===="
cmake -S . -B "${build}" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE="${PWD}/cmake/preset/llm.cmake" \
  -DCMAKE_TOOLCHAIN_FILE="${PWD}/examples/raspberry_pi/arm-toolchain-${board}.cmake"
cmake --build "${build}" --target llama_main llama_runner extension_module
echo "[SUCCESS] LLaMA runner built successfully"

echo "==== Verifying Build Outputs ===="
# output FILE [NOTE]: says how large it is.
output() {
  [[ -s "$1" ]] || die "$1 was not built"
  "${prefix}readelf" -h "$1" | grep -a AArch64 >/dev/null || die "$1 is not for 64-bit Arm"
  echo "[SUCCESS] ✓ ${1##*/} ($(du -h --apparent-size "$1" | cut -f1))${2:+ - $2}"
}
output "${build}/examples/models/llama/llama_main"
output "${build}/examples/models/llama/runner/libllama_runner.so"
output "${build}/sdk/cpp/executorch/extension/libextension_module.a" "static library"
glibc="$("${prefix}objdump" -T "${build}/examples/models/llama/llama_main" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)"
echo "The programs need ${glibc} or newer on the Pi (\`ldd --version\` there says what it has)."
echo "✓ ExecuTorch cross-compilation setup completed successfully!"
