#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Android library: executorch.aar, and a Maven repository with it, its sources and its documentation.
#
#   scripts/build_android_library.sh                    for arm64-v8a and x86_64, with the NDK that ANDROID_NDK names
#   scripts/build_android_library.sh --models a.pte ...  with only the operators that these programs use
#   scripts/build_android_library.sh --artifacts NAME ...  these artifacts instead of executorch-android alone, an AAR
#                                                       each: default (executorch-android), cpu (without a backend), or
#                                                       a backend (executorch-android-NAME)
#   scripts/build_android_library.sh --host             with this machine's library, for tests: executorch-host.aar
#   scripts/build_android_library.sh --library FILE     with this machine's library, built before
#   scripts/build_android_library.sh ... --size         also prints the sizes, stripped and compressed
#
# Variables of the environment, as in the documents:
#   ANDROID_NDK                   the root of an NDK, r27 or later
#   ANDROID_ABIS                  "arm64-v8a x86_64" (default), also armeabi-v7a and x86
#   EXECUTORCH_CMAKE_BUILD_TYPE   Release (default) or Debug
#   BUILD_AAR_DIR                 where the result goes (default: aar-out)
#   EXECUTORCH_BUILD_<BACKEND>    ON or OFF; by default the backends whose manifest names Android, if their SDK is found
#   EXECUTORCH_BUILD_DEVTOOLS, EXECUTORCH_ENABLE_EVENT_TRACER   both ON: a library that records ETDumps
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
source "${root}/sdk/android/tools.sh"
here="${PWD}"
cd "${root}"

type="${EXECUTORCH_CMAKE_BUILD_TYPE:-Release}"
out="$(realpath -m "${BUILD_AAR_DIR:-${here}/aar-out}")"
work=build/android-aar
options=(-DEXECUTORCH_BUILD_TESTS=OFF -DEXECUTORCH_BUILD_ANDROID_JNI=ON -DEXECUTORCH_BUILD_KERNELS_QUANTIZED=ON)
host='' library=''

main() {
  local size='' models=() artifacts=()
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
      --artifacts)
        while (($# > 1)) && [[ "$2" != --* ]]; do
          shift
          artifacts+=("$1")
        done
        ((${#artifacts[@]})) || die "--artifacts takes names: default, cpu, or the name of a backend; found none."
        ;;
      -h | --help) sed -n '3,21s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
      *) die "there is no option $1; scripts/build_android_library.sh --help lists them." ;;
    esac
    shift
  done
  ((${#artifacts[@]})) || artifacts=(default)
  local artifact
  for artifact in "${artifacts[@]}"; do
    python3 sdk/android/artifacts.py "${artifact}" >/dev/null || exit 1
  done
  ((${#artifacts[@]} == 1)) || [[ -z "${library}" ]] || die "--library is the library of one artifact; found ${#artifacts[@]}."
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
  [[ -n "${library}" ]] || build_tools
  for artifact in "${artifacts[@]}"; do
    make_artifact "${artifact}"
    [[ -z "${size}" ]] || python3 sdk/android/sizes.py "${out}/${aar}"
  done
}

# make_artifact NAME: builds its native libraries, and writes ${aar} and the artifact's files for the Maven repository.
make_artifact() {
  local name="$1" kind abi libraries=() version ndk=0 suffix=''
  # The folders of executorch-android have no suffix.
  [[ "${name}" == default ]] || suffix="-${name}"
  mapfile -t kind < <(python3 sdk/android/artifacts.py "${name}" | tail -n +2)
  aar="executorch${suffix}${host:+-host}.aar"
  if [[ -n "${host}" ]]; then
    abi="$(uname -m)"
    [[ "${abi}" != aarch64 ]] || abi=arm64-v8a
    local built="${library}"
    if [[ -z "${built}" ]]; then
      step "library of this machine${suffix:+ (${name})}" native "host${suffix}" "${kind[@]}" -DCMAKE_BUILD_TYPE="${type}" || exit 1
      built="${work}/host${suffix}/sdk/android/jni/libexecutorch.so"
    fi
    strip --strip-unneeded -o "${work}/libexecutorch${suffix}-host.so" "${built}"
    libraries=(--library "${abi}=${work}/libexecutorch${suffix}-host.so")
  else
    for abi in ${ANDROID_ABIS:-arm64-v8a x86_64}; do
      step "library for ${abi}${suffix:+ (${name})}" native_for "${abi}" "${suffix}" "${kind[@]}" || exit 1
      libraries+=(--library "${abi}=${work}/${abi}${suffix}/stripped/libexecutorch.so")
    done
    ndk="$(sed -n 's/^Pkg\.Revision *= *\([0-9]*\).*/\1/p' "${ANDROID_NDK}/source.properties")"
  fi
  version="$(sdk_version)"
  python3 sdk/android/package_aar.py --classes "${work}/classes" --out "${out}" --version "${version}" \
    --kotlin "${kotlin_version}" --ndk "${ndk}" --artifact "${name}" --name "${aar}" "${libraries[@]}"
  python3 sdk/android/check_aar.py ${host:+--host} "${out}/${aar}"
}

check_ndk() {
  [[ -n "${ANDROID_NDK:-}" && -f "${ANDROID_NDK}/build/cmake/android.toolchain.cmake" ]] && return 0
  die "Building for Android needs its NDK (r27 or later): set ANDROID_NDK to the folder of one; it has a file
build/cmake/android.toolchain.cmake. Found ANDROID_NDK='${ANDROID_NDK:-}'. Android Studio installs NDKs under
<Android SDK>/ndk/<version>, and https://developer.android.com/ndk/downloads has them. Without one, --host makes the
same AAR with this machine's library, for tests on a JVM; it does not run on a device."
}

# native FOLDER CMAKE-ARGUMENTS... The variables of the environment come last, so that they override the others.
native() {
  local folder="${work}/$1"
  shift
  cmake -S . -B "${folder}" -G Ninja "$@" "${options[@]}" &&
    cmake --build "${folder}" --parallel "${jobs}" --target executorch_jni
}

# native_for ABI SUFFIX CMAKE-ARGUMENTS... Like the presets android-arm64-v8a and android-x86_64, for any ABI. The library
# with symbols is kept beside the stripped one: Google Play uses it to make crash reports readable.
native_for() {
  local abi="$1" suffix="$2"
  local folder="${work}/${abi}${suffix}" symbols="${out}/symbols${suffix}/${abi}"
  shift 2
  native "${abi}${suffix}" --toolchain "${root}/cmake/toolchains/android.cmake" -DANDROID_NDK="${ANDROID_NDK}" \
    -DANDROID_ABI="${abi}" -DANDROID_PLATFORM=android-21 -DANDROID_STL=c++_static \
    -DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON -DCMAKE_BUILD_TYPE="${type}" "$@" &&
    mkdir -p "${folder}/stripped" "${symbols}" &&
    cp "${folder}/sdk/android/jni/libexecutorch.so" "${symbols}/" &&
    "${ANDROID_NDK}"/toolchains/llvm/prebuilt/*/bin/llvm-strip --strip-unneeded \
      -o "${folder}/stripped/libexecutorch.so" "${folder}/sdk/android/jni/libexecutorch.so"
}

main "$@"
