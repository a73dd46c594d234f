#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Android library: executorch.aar, and a Maven repository with it, its sources and its documentation.
#
#   scripts/build_android_library.sh                    for arm64-v8a and x86_64, with the NDK that ANDROID_NDK names
#   scripts/build_android_library.sh --models a.pte ...  with only the operators that these programs use
#   scripts/build_android_library.sh --host             with this machine's library, for tests: executorch-host.aar
#   scripts/build_android_library.sh --library FILE     with this machine's library, built before
#   scripts/build_android_library.sh ... --size         and prints what it weighs, stripped and compressed
#
# Variables of the environment, as in the documents:
#   ANDROID_NDK                   the root of an NDK, r27 or later
#   ANDROID_ABIS                  "arm64-v8a x86_64" (default), also armeabi-v7a and x86
#   EXECUTORCH_CMAKE_BUILD_TYPE   Release (default) or Debug
#   BUILD_AAR_DIR                 where the result goes (default: aar-out)
#   EXECUTORCH_BUILD_<BACKEND>    ON or OFF; by default the backends whose manifest names Android, where their SDK is there
#   EXECUTORCH_BUILD_DEVTOOLS, EXECUTORCH_ENABLE_EVENT_TRACER   both ON: a library that records ETDumps
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
source "${root}/sdk/android/tools.sh"
here="${PWD}"
cd "${root}"

type="${EXECUTORCH_CMAKE_BUILD_TYPE:-Release}"
out="$(realpath -m "${BUILD_AAR_DIR:-${here}/aar-out}")"
work=build/android-aar
options=(-DEXECUTORCH_BUILD_TESTS=OFF -DEXECUTORCH_BUILD_ANDROID_JNI=ON -DEXECUTORCH_BUILD_BACKENDS=android
  -DEXECUTORCH_BUILD_KERNELS_QUANTIZED=ON)

main() {
  local host='' library='' size='' models=()
  while (($#)); do
    case "$1" in
      --host) host=1 ;;
      --library) host=1; shift; library="$(cd "${here}" && realpath "$1")" ;;
      --size) size=1 ;;
      --models)
        while (($# > 1)) && [[ "$2" != --* ]]; do
          shift
          models+=("$(cd "${here}" && realpath -e "$1")")
        done
        ((${#models[@]})) || die "--models takes the .pte files of the app, found none." ;;
      -h | --help) sed -n '3,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
      *) die "there is no option $1; scripts/build_android_library.sh --help lists them." ;;
    esac
    shift
  done
  [[ -n "${host}" ]] || check_ndk
  if ((${#models[@]})); then
    options+=("-DEXECUTORCH_SELECT_OPS_MODEL=$(IFS=';'; printf '%s' "${models[*]}")")
  fi
  local name
  for name in $(compgen -e EXECUTORCH_BUILD_ || true) $(compgen -e EXECUTORCH_ENABLE_ || true); do
    options+=("-D${name}=${!name}")
  done

  java_tools
  alone "${work}"
  mkdir -p "${out}"
  unless_compiled "${work}/classes" "${library_sources}"/{main,stand_in} -- "classes" compile_library "${work}/classes"
  local abi libraries=()
  if [[ -n "${host}" ]]; then
    abi="$(uname -m)"
    [[ "${abi}" != aarch64 ]] || abi=arm64-v8a
    if [[ -z "${library}" ]]; then
      build_tools
      step "library of this machine" native host -DCMAKE_BUILD_TYPE="${type}" || exit 1
      library="${work}/host/sdk/android/jni/libexecutorch.so"
    fi
    strip --strip-unneeded -o "${work}/libexecutorch-host.so" "${library}"
    libraries=(--library "${abi}=${work}/libexecutorch-host.so" --name executorch-host.aar)
  else
    build_tools
    for abi in ${ANDROID_ABIS:-arm64-v8a x86_64}; do
      step "library for ${abi}" native_for "${abi}" || exit 1
      libraries+=(--library "${abi}=${work}/${abi}/stripped/libexecutorch.so")
    done
  fi
  local version ndk=0
  version="$(sdk_version)"
  [[ -n "${host}" ]] || ndk="$(sed -n 's/^Pkg\.Revision *= *\([0-9]*\).*/\1/p' "${ANDROID_NDK}/source.properties")"
  python3 sdk/android/package_aar.py --classes "${work}/classes" --out "${out}" --version "${version}" \
    --kotlin "${kotlin_version}" --ndk "${ndk}" "${libraries[@]}"
  python3 sdk/android/check_aar.py ${host:+--host} "${out}/executorch${host:+-host}.aar"
  [[ -z "${size}" ]] || python3 sdk/android/sizes.py "${out}/executorch${host:+-host}.aar"
}

check_ndk() {
  [[ -n "${ANDROID_NDK:-}" && -f "${ANDROID_NDK}/build/cmake/android.toolchain.cmake" ]] && return 0
  die "Building for Android needs its NDK (r27 or later): set ANDROID_NDK to the folder of one; it has a file
build/cmake/android.toolchain.cmake. Found ANDROID_NDK='${ANDROID_NDK:-}'. Android Studio installs NDKs under
<Android SDK>/ndk/<version>, and https://developer.android.com/ndk/downloads has them. Without one, --host makes the
same AAR with this machine's library, for tests on a JVM; it does not run on a device."
}

# native FOLDER CMAKE-ARGUMENTS...
native() {
  local folder="${work}/$1"
  shift
  cmake -S . -B "${folder}" -G Ninja "${options[@]}" "$@" &&
    cmake --build "${folder}" --parallel "${jobs}" --target executorch_jni
}

# Like the presets android-arm64-v8a and android-x86_64, for any ABI. The library with symbols is kept beside the
# stripped one: Google Play uses it to make crash reports readable.
native_for() {
  native "$1" --toolchain "${root}/cmake/toolchains/android.cmake" -DANDROID_NDK="${ANDROID_NDK}" -DANDROID_ABI="$1" \
    -DANDROID_PLATFORM=android-21 -DANDROID_STL=c++_static -DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON \
    -DCMAKE_BUILD_TYPE="${type}" &&
    mkdir -p "${work}/$1/stripped" "${out}/symbols/$1" &&
    cp "${work}/$1/sdk/android/jni/libexecutorch.so" "${out}/symbols/$1/" &&
    "${ANDROID_NDK}"/toolchains/llvm/prebuilt/*/bin/llvm-strip --strip-unneeded \
      -o "${work}/$1/stripped/libexecutorch.so" "${work}/$1/sdk/android/jni/libexecutorch.so"
}

main "$@"
