#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the MediaTek backend for Android in cmake-android-out, at the root of the repository: libneuron_backend.a in
# cmake-android-out/backends/mediatek. ANDROID_NDK names the NDK, NEUROPILOT_SDK_ROOT the folder of setup.md. Arguments go to CMake.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
: "${ANDROID_NDK:?set it to the root of an NDK, r27 or later}"
: "${NEUROPILOT_SDK_ROOT:?set it to the folder that backends/mediatek/setup.md describes}"
cmake -S . -B cmake-android-out -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_TESTS=OFF -DEXECUTORCH_BUILD_NEURON=ON \
  -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/android.cmake "-DANDROID_NDK=${ANDROID_NDK}" \
  "-DNEUROPILOT_SDK_ROOT=${NEUROPILOT_SDK_ROOT}" "$@"
cmake --build cmake-android-out --parallel --target neuron_backend
