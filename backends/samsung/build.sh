#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Samsung backend:
#
#   build.sh -b x86_64    the Python modules that call Samsung's compiler, into python/sdk/backends/samsung/python;
#                         EXYNOS_AI_LITECORE_ROOT, or --sdk, names the folder of the SDK
#   build.sh -b android   libenn_backend.a, in build/samsung-android/backends/samsung; ANDROID_NDK_ROOT, or --ndk, names the NDK
#   build.sh --clean      removes what was built
#
# PYTHON names the interpreter that the modules are for. Without -b, both are built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=all
while [[ $# -gt 0 ]]; do
  case $1 in
    -b | --build) target=${2:?"-b needs x86_64, android or all"}; shift 2 ;;
    --sdk) EXYNOS_AI_LITECORE_ROOT=${2:?"--sdk needs a folder"}; shift 2 ;;
    --ndk) ANDROID_NDK_ROOT=${2:?"--ndk needs a folder"}; shift 2 ;;
    -c | --clean) rm -rf build/samsung-sdk build/samsung-android python/sdk/backends/samsung/python/Py*.so; exit ;;
    -h | --help) sed -n '3,10s/^# \{0,1\}//p' backends/samsung/build.sh; exit ;;
    *) echo "build.sh: $1 is not an option; --help lists them" >&2; exit 2 ;;
  esac
done
if [[ ${target} != x86_64 && ${target} != android && ${target} != all ]]; then
  echo "build.sh: -b is ${target}; expected x86_64, android or all" >&2
  exit 2
fi
if [[ ${target} != android ]]; then
  : "${EXYNOS_AI_LITECORE_ROOT:?set it to the folder of the Exynos AI LiteCore SDK (soc-developer.semiconductor.samsung.com)}"
  cmake -S backends/samsung/aot -B build/samsung-sdk -DCMAKE_BUILD_TYPE=Release \
    "-DEXYNOS_AI_LITECORE_ROOT=${EXYNOS_AI_LITECORE_ROOT}" "-DPython_EXECUTABLE=$(command -v "${PYTHON:-python3}")"
  cmake --build build/samsung-sdk --parallel
fi
if [[ ${target} != x86_64 ]]; then
  : "${ANDROID_NDK_ROOT:?set it to the root of an NDK, r27 or later}"
  cmake -S . -B build/samsung-android -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_TESTS=OFF -DEXECUTORCH_BUILD_ENN=ON \
    -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/android.cmake "-DANDROID_NDK=${ANDROID_NDK_ROOT}"
  cmake --build build/samsung-android --parallel --target enn_backend
fi
