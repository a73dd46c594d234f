#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the delegate for Qualcomm's NPUs and qnn_executor_runner, with the headers of the SDK that QNN_SDK_ROOT names:
#
#   build.sh [--release]                  for this machine in build-x86, where the SDK has an emulator of the HTP, and for
#                                         Android in build-android, with the NDK that ANDROID_NDK_ROOT names
#   build.sh --skip_x86_64                not for this machine
#   build.sh --skip_linux_android         not for Android
#   build.sh --enable_linux_embedded      also for 64-bit Arm Linux in build-oe-linux; CXX and CC name the cross compilers
#   build.sh --job_number N               with N jobs at once
#
# Without --release it is a debug build. In each folder, the library is backends/qualcomm/qnn/libqnn_executorch_backend.a
# and the runner examples/qualcomm/executor_runner/qnn_executor_runner.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
host=1 android=1 embedded=0 kind=Debug jobs=4
while [[ $# -gt 0 ]]; do
  case $1 in
    --release) kind=Release; shift ;;
    --skip_x86_64) host=0; shift ;;
    --skip_linux_android) android=0; shift ;;
    --enable_linux_embedded) embedded=1; shift ;;
    --job_number) jobs=${2:?"--job_number needs a number"}; shift 2 ;;
    -h | --help) sed -n '3,13s/^# \{0,1\}//p' backends/qualcomm/scripts/build.sh; exit ;;
    *) echo "build.sh: $1 is not an option; --help lists them" >&2; exit 2 ;;
  esac
done
: "${QNN_SDK_ROOT:?set it to the folder of the Qualcomm AI Engine Direct SDK}"
if [[ ${android} == 1 ]]; then
  : "${ANDROID_NDK_ROOT:?set it to the root of an NDK, r27 or later}"
fi
build() {
  local folder="$1"
  shift
  cmake -S . -B "${folder}" "-DCMAKE_BUILD_TYPE=${kind}" -DEXECUTORCH_BUILD_TESTS=OFF -DEXECUTORCH_BUILD_QNN=ON \
    -DEXECUTORCH_BUILD_EXTENSION_MODULE=ON "-DQNN_SDK_ROOT=${QNN_SDK_ROOT}" "$@"
  cmake --build "${folder}" --parallel "${jobs}" --target qnn_executorch_backend qnn_executor_runner
}
if [[ ${host} == 1 ]]; then
  build build-x86
fi
if [[ ${android} == 1 ]]; then
  build build-android -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/android.cmake "-DANDROID_NDK=${ANDROID_NDK_ROOT}"
fi
if [[ ${embedded} == 1 ]]; then
  build build-oe-linux -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64
fi
