#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the runtime, the kernels and the backends as xcframeworks for iOS, its simulator and macOS (arm64).
#
#   scripts/build_apple_frameworks.sh                             all products, into cmake-out/
#   scripts/build_apple_frameworks.sh --products executorch       only these, separated by commas
#   scripts/build_apple_frameworks.sh --slices macos-arm64        only for these systems
#   scripts/build_apple_frameworks.sh --output DIRECTORY
#
# Products: executorch kernels_optimized kernels_quantized backend_xnnpack. Systems: ios-arm64 ios-arm64-simulator macos-arm64.
#
# On a Mac with Xcode 15 they are what apps link: the Swift package sdk/ios finds them. On Linux clang 19 compiles the same sources
# with the open headers of the PyPI package ziglang: the libraries are unsigned, nothing was linked with them, and they serve to
# check that everything compiles and what the frameworks look like.
set -euo pipefail
root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="${root}/sdk/ios/frameworks"
python="${PYTHON:-python3}"
jobs="${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"

all_products=(executorch kernels_optimized kernels_quantized backend_xnnpack)
all_slices=(ios-arm64 ios-arm64-simulator macos-arm64)

die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The targets of CMake in a product, each a static library. What several products need is in the first.
targets_of() {
  case "$1" in
    executorch) echo executorch_core program_schema executorch prim_ops extension_data_loader extension_flat_tensor \
      extension_named_data_map extension_threadpool extension_tensor extension_module extension_c_api ;;
    kernels_optimized) echo portable_kernels optimized_kernels optimized_native_cpu_ops_table ;;
    kernels_quantized) echo quantized_kernels quantized_ops_table ;;
    backend_xnnpack) echo xnnpack_backend ;;
  esac
}

# The function that registers what a product holds; its Swift target calls it.
symbol_of() {
  case "$1" in
    kernels_optimized) echo executorch_optimized_native_cpu_kernels_at_load ;;
    kernels_quantized) echo executorch_quantized_kernels_at_load ;;
    backend_xnnpack) echo executorch_xnnpack_backend_at_load ;;
  esac
}

main() {
  local output="${root}/cmake-out" products=("${all_products[@]}") slices=("${all_slices[@]}")
  while (($#)); do
    case "$1" in
      --products) IFS=, read -r -a products <<<"$2"; shift ;;
      --slices) IFS=, read -r -a slices <<<"$2"; shift ;;
      --output) mkdir -p "$2"; output="$(cd "$2" && pwd)"; shift ;;
      -h | --help) sed -n '3,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
      *) die "there is no option $1; --help lists them." ;;
    esac
    shift
  done
  local name
  for name in "${products[@]}"; do
    [[ " ${all_products[*]} " == *" ${name} "* ]] || die "there is no product ${name}; the products are: ${all_products[*]}"
  done
  for name in "${slices[@]}"; do
    [[ " ${all_slices[*]} " == *" ${name} "* ]] || die "there is no system ${name}; the systems are: ${all_slices[*]}"
  done
  mkdir -p "${output}"
  if [[ "$(uname)" == Darwin ]]; then
    command -v xcodebuild >/dev/null || die "xcodebuild is missing: install Xcode 15 or newer, and run xcode-select --install."
  else
    prepare_linux
  fi
  for name in "${slices[@]}"; do
    build_slice "${name}" "${output}/build-${name}" "${products[@]}"
  done
  local product
  for product in "${products[@]}"; do
    make_framework "${product}" "${output}" "${slices[@]}"
  done
  ln -sfn "${output}" "${root}/sdk/ios/Frameworks"
  [[ "$(uname)" == Darwin ]] || echo "These were compiled on Linux: unsigned, linked with nothing. Build on a Mac what an app is to ship."
}

# clang, and headers of Apple's systems that are free to use.
prepare_linux() {
  command -v clang++-19 >/dev/null || command -v clang++ >/dev/null || die "clang is missing. On Debian: apt-get install clang-19 llvm-19"
  libtool="$(command -v llvm-libtool-darwin-19 || command -v llvm-libtool-darwin)" || die "llvm-libtool-darwin is missing. On Debian: apt-get install llvm-19"
  headers="${root}/.cache/apple/lib"
  [[ -d "${headers}/libcxx" ]] && return
  local folder
  folder="$(mktemp -d)"
  "${python}" -m pip download --quiet --disable-pip-version-check --no-deps --dest "${folder}" ziglang==0.13.0.post1
  mkdir -p "${root}/.cache/apple"
  "${python}" - "${folder}" "${root}/.cache/apple" <<'PY'
import pathlib, sys, zipfile

wheel = zipfile.ZipFile(next(pathlib.Path(sys.argv[1]).glob("*.whl")))
wanted = tuple(f"ziglang/lib/{name}/" for name in ("libcxx/include", "libcxxabi/include", "libc/include/any-macos-any", "libc/include/any-darwin-any"))
for name in wheel.namelist():
    if name.startswith(wanted) and not name.endswith("/"):
        path = pathlib.Path(sys.argv[2], name.removeprefix("ziglang/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wheel.read(name))
PY
  rm -rf "${folder}"
}

# build_slice SLICE FOLDER PRODUCTS...
build_slice() {
  local slice="$1" folder="$2" options=(-DCMAKE_BUILD_TYPE=Release) targets=() product name
  shift 2
  [[ " $* " == *" backend_xnnpack "* ]] && options+=(-DEXECUTORCH_BUILD_XNNPACK=ON) || options+=(-DEXECUTORCH_BUILD_XNNPACK=OFF)
  if [[ "$(uname)" == Darwin ]]; then
    options+=(-DCMAKE_OSX_ARCHITECTURES=arm64)
    case "${slice}" in
      ios-arm64) options+=(-DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_SYSROOT=iphoneos -DCMAKE_OSX_DEPLOYMENT_TARGET=13.0) ;;
      ios-arm64-simulator) options+=(-DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_SYSROOT=iphonesimulator -DCMAKE_OSX_DEPLOYMENT_TARGET=13.0) ;;
      macos-arm64) options+=(-DCMAKE_OSX_DEPLOYMENT_TARGET=11.0) ;;
    esac
  else
    local target
    case "${slice}" in
      ios-arm64) target=arm64-apple-ios13.0 ;;
      ios-arm64-simulator) target=arm64-apple-ios13.0-simulator ;;
      macos-arm64) target=arm64-apple-macos11.0 ;;
    esac
    options+=("-DCMAKE_TOOLCHAIN_FILE=${tools}/apple-from-linux.cmake" "-DAPPLE_TARGET=${target}" "-DAPPLE_HEADERS=${headers}")
  fi
  cmake -S "${root}" -B "${folder}" -G Ninja -DEXECUTORCH_BUILD_PRESET_FILE="${root}/cmake/preset/ios.cmake" \
    -DPython3_EXECUTABLE="$(command -v "${python}")" "${options[@]}"
  for product in "$@"; do
    for name in $(targets_of "${product}"); do targets+=("${name}"); done
  done
  cmake --build "${folder}" --parallel "${jobs}" --target "${targets[@]}"
  # One library a product: the objects of its targets.
  mkdir -p "${folder}/products"
  for product in "$@"; do
    local archives=() archive
    for name in $(targets_of "${product}"); do
      archive="$(find "${folder}" -name "lib${name/%_ops_table/_kernels_bindings}.a" -not -path "${folder}/products/*")"
      [[ -n "${archive}" ]] || die "the build made no library for the target ${name}."
      archives+=("${archive}")
    done
    "${libtool:-libtool}" -static -o "${folder}/products/lib${product}.a" "${archives[@]}" 2> >(grep -v 'has no symbols' >&2 || true)
  done
}

# make_framework PRODUCT OUTPUT SLICES...
make_framework() {
  local product="$1" output="$2" slice arguments=() checks=()
  shift 2
  local framework="${output}/${product}.xcframework" include="${output}/include"
  if [[ "${product}" == executorch ]]; then
    local c_api="${root}/sdk/cpp/executorch/extension/c_api"
    rm -rf "${include}" && mkdir -p "${include}/CExecuTorch"
    cp "${c_api}"/{executorch,metadata,cancellation,devtools}.h "${include}/CExecuTorch/"
    # Apps link the static library by themselves: nothing names a shared one.
    sed '/link "executorch_c"/d' "${c_api}/module.modulemap" >"${include}/CExecuTorch/module.modulemap"
    local header
    for header in executorch metadata cancellation devtools; do checks+=(--header "CExecuTorch/${header}.h"); done
  else
    checks=(--symbol "$(symbol_of "${product}")")
  fi
  if [[ "$(uname)" == Darwin ]]; then
    rm -rf "${framework}"
    for slice in "$@"; do
      arguments+=(-library "${output}/build-${slice}/products/lib${product}.a")
      [[ "${product}" != executorch ]] || arguments+=(-headers "${include}")
    done
    xcodebuild -create-xcframework "${arguments[@]}" -output "${framework}"
  else
    [[ "${product}" != executorch ]] || arguments+=(--headers "${include}")
    for slice in "$@"; do arguments+=("${slice}=${output}/build-${slice}/products/lib${product}.a"); done
    "${python}" "${tools}/xcframework.py" assemble "${framework}" "${arguments[@]}"
  fi
  "${python}" "${tools}/xcframework.py" check "${framework}" "${checks[@]}"
}

main "$@"
