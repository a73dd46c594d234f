#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the runtime, the kernels and the backends as xcframeworks for Apple's systems and simulators (arm64).
#
#   scripts/build_apple_frameworks.sh                          all products, into cmake-out/
#   scripts/build_apple_frameworks.sh --models a.pte b.pte     kernels_selected: only kernels and dtypes of these models
#   scripts/build_apple_frameworks.sh --models App/Resources   the same for all .pte files in a folder
#   scripts/build_apple_frameworks.sh --products executorch_debug,kernels_optimized   only these
#   scripts/build_apple_frameworks.sh --NAME                   executorch, kernels_optimized and the backend backend_NAME;
#                                                              several together too
#   scripts/build_apple_frameworks.sh --slices macos-arm64     only for these systems, separated by commas; all: for all
#   scripts/build_apple_frameworks.sh --output DIRECTORY       instead of cmake-out/
#   scripts/build_apple_frameworks.sh --debug                  the same, named *_debug, beside the others
#
# Products: executorch, executorch_llm, kernels_optimized, kernels_quantized, kernels_llm, and backend_<name> for each backend
# whose manifest names iOS. With --models, kernels_selected replaces the other kernels_ products. Each product also exists with
# the suffix _debug: unoptimised and with all log messages. The others log errors only; exceptions have the same texts.
# Systems: ios-arm64, ios-arm64-simulator and macos-arm64 by default.
# With --slices also ios-arm64-maccatalyst, xros-arm64 and xros-arm64-simulator (visionOS).
# With the variable EXECUTORCH_ENABLE_EVENT_TRACER=ON, libraries record ETDumps.
# Needs CMake 3.24, Ninja, and a Python (the one that PYTHON names, or python3) with jinja2 and pyyaml.
#
# On a Mac with Xcode 16, apps can link them: Package.swift offers the products that were built. On Linux,
# clang 19 compiles the same sources with the open headers of the PyPI package ziglang. Those frameworks are not signed,
# and nothing was linked with them. They show that everything compiles, that a product has every function that the
# products call, and what the frameworks contain.
set -euo pipefail
root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="${root}/sdk/ios/frameworks"
python="${PYTHON:-python3}"
jobs="${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"

all_products=(executorch executorch_llm kernels_optimized kernels_quantized kernels_llm kernels_selected)
backends=()          # their products
backend_manifests='' # a line for each: product, option, target, symbol
default_slices=(ios-arm64 ios-arm64-simulator macos-arm64)
all_slices=("${default_slices[@]}" ios-arm64-maccatalyst xros-arm64 xros-arm64-simulator)

die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The CMake targets of a product: static libraries, or several whose names match a pattern. Libraries that several
# products need are in the first product.
targets_of() {
  case "$1" in
    executorch) echo executorch_core program_schema executorch prim_ops extension_data_loader extension_flat_tensor \
      extension_named_data_map extension_file_cache extension_shared_library extension_threadpool extension_tensor \
      extension_image extension_module bundled_program etdump extension_c_api ;;
    # extension_c_api has the functions for language models and speech: here in this product, and in executorch all others.
    executorch_llm) echo extension_c_api extension_asr_runner extension_llm_runner extension_llm_sampler extension_llm_tokenizers executorch_pcre2 \
      executorch_yyjson executorch_utf8proc executorch_xgrammar ;;
    kernels_llm) echo llm_kernels executorch_highway llm_ops_table ;;
    kernels_optimized) echo portable_kernels optimized_kernels optimized_native_cpu_ops_table ;;
    kernels_quantized) echo quantized_kernels quantized_ops_table ;;
    kernels_selected) echo selected_ops_lib portable_kernels ;;
    backend_*) of_backend "$1" 3 ;;
  esac
}

# The function that registers a product's kernels or backend; its Swift target calls it.
symbol_of() {
  case "$1" in
    kernels_optimized) echo executorch_optimized_native_cpu_kernels_at_load ;;
    kernels_quantized) echo executorch_quantized_kernels_at_load ;;
    kernels_llm) echo executorch_llm_kernels_at_load ;;
    kernels_selected) echo executorch_selected_ops_lib_kernels_at_load ;;
    backend_*) of_backend "$1" 4 ;;
  esac
}

# The products that an app must link together with a product, as Package.swift declares.
needs_of() {
  case "$1" in
    executorch) ;;
    kernels_quantized | kernels_llm) echo executorch kernels_optimized ;;
    *) echo executorch ;;
  esac
}

# library_of PRODUCT SLICE: the library's name, with the names of systems that -force_load uses in an app's settings.
library_of() {
  case "$2" in
    ios-arm64) echo "lib$1_ios.a" ;;
    ios-arm64-simulator) echo "lib$1_simulator.a" ;;
    macos-arm64) echo "lib$1_macos.a" ;;
    ios-arm64-maccatalyst) echo "lib$1_maccatalyst.a" ;;
    xros-arm64) echo "lib$1_xros.a" ;;
    xros-arm64-simulator) echo "lib$1_xrsimulator.a" ;;
  esac
}

# folder_of OUTPUT SLICE SUFFIX: the build folder of all products with _debug, or of all others.
folder_of() { echo "$1/build-$2${3/_/-}"; }

models=()  # absolute paths

main() {
  local output="${root}/cmake-out" products=() slices=("${default_slices[@]}") debug=''
  while (($#)); do
    case "$1" in
      --products) IFS=, read -r -a products <<<"$2"; shift ;;
      --slices)
        IFS=, read -r -a slices <<<"$2"
        [[ "$2" != all ]] || slices=("${all_slices[@]}")
        shift ;;
      --debug) debug=1 ;;
      --output) mkdir -p "$2"; output="$(cd "$2" && pwd)"; shift ;;
      --models)
        while (($# > 1)) && [[ "$2" != --* ]]; do
          shift
          [[ -e "$1" ]] || die "there is no file or folder $1, which --models names."
          models+=("$(cd "$(dirname "$1")" && pwd)/$(basename "$1")")
        done
        ((${#models[@]})) || die "--models takes the app's .pte files, or a folder of them; found none." ;;
      -h | --help) sed -n '3,26s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
      *)
        ((${#backends[@]})) || read_backends
        [[ "$1" == --* && " ${backends[*]} " == *" backend_${1#--} "* ]] ||
          die "there is no option $1; --help lists them, and those of backends are: ${backends[*]/#backend_/--}."
        ((${#products[@]})) || products=(executorch kernels_optimized)
        products+=("backend_${1#--}") ;;
    esac
    shift
  done
  ((${#backends[@]})) || read_backends
  local name
  if ((!${#products[@]})); then
    products=(executorch executorch_llm kernels_optimized kernels_quantized kernels_llm ${backends[@]+"${backends[@]}"})
    ((!${#models[@]})) || products=(executorch executorch_llm kernels_selected ${backends[@]+"${backends[@]}"})
  fi
  if [[ -n "${debug}" ]]; then
    products=("${products[@]%_debug}")  # users may give names with the suffix
    products=("${products[@]/%/_debug}")
  fi
  for name in "${products[@]}"; do
    [[ " ${all_products[*]} " == *" ${name%_debug} "* ]] || die "there is no product ${name}; the products are: ${all_products[*]}, and each with _debug"
  done
  for name in "${slices[@]}"; do
    [[ " ${all_slices[*]} " == *" ${name} "* ]] || die "there is no system ${name}; the systems are: ${all_slices[*]}"
  done
  [[ " ${products[*]} " != *" kernels_selected"* ]] || ((${#models[@]})) ||
    die "kernels_selected holds what models need: name them with --models."
  mkdir -p "${output}"
  if [[ "$(uname)" == Darwin ]]; then
    command -v xcodebuild >/dev/null || die "xcodebuild is missing: install Xcode 15 or newer, and run xcode-select --install."
  else
    prepare_linux
  fi
  local suffix product of_kind
  for suffix in '' _debug; do
    of_kind=()
    for product in "${products[@]}"; do
      [[ "${product}" != "${product%_debug}${suffix}" ]] || of_kind+=("${product}")
    done
    ((${#of_kind[@]})) || continue
    for name in "${slices[@]}"; do
      build_slice "${name}" "$(folder_of "${output}" "${name}" "${suffix}")" "${of_kind[@]}"
    done
  done
  copy_headers "${output}/include"
  for product in "${products[@]}"; do
    make_framework "${product}" "${output}" "${slices[@]}"
  done
  ln -sfn "${output}" "${root}/sdk/ios/Frameworks"
  if [[ "$(uname)" == Darwin ]]; then
    echo "If an app does not see a new product: File > Packages > Reset Package Caches in Xcode, or swift package purge-cache."
  else
    echo "These frameworks were compiled on Linux: they are unsigned, and no app was linked with them. Build those that an app ships on a Mac."
  fi
}

# Reads the manifests of backends, and writes the sources of their Swift targets.
read_backends() {
  local name
  backend_manifests="$("${python}" "${root}/scripts/backend_manifests.py" --platform ios --list product option target symbol)" || exit 1
  for name in $(cut -f 1 <<<"${backend_manifests}"); do
    backends+=("${name}")
    all_products+=("${name}")
  done
  "${python}" "${tools}/backend_targets.py"
}

# of_backend PRODUCT COLUMN
of_backend() { awk -F '\t' -v product="$1" -v column="$2" '$1 == product { print $column }' <<<"${backend_manifests}"; }

# clang, and free headers for Apple's systems.
prepare_linux() {
  command -v clang++-19 >/dev/null || command -v clang++ >/dev/null || die "clang is missing. On Debian: apt-get install clang-19 llvm-19"
  ar="$(command -v llvm-ar-19 || command -v llvm-ar)" || die "llvm-ar is missing. On Debian: apt-get install llvm-19"
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

# build_slice SLICE FOLDER PRODUCTS...: either all products have _debug, or none.
build_slice() {
  local slice="$1" folder="$2" options=(-DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_LOG_LEVEL=error) targets=() product name
  shift 2
  [[ "$1" != *_debug ]] || options=(-DCMAKE_BUILD_TYPE=Debug -DEXECUTORCH_LOG_LEVEL=debug)
  for product in ${backends[@]+"${backends[@]}"}; do
    [[ " $* " == *" ${product} "* || " $* " == *" ${product}_debug "* ]] && name=ON || name=OFF
    options+=("-D$(of_backend "${product}" 2)=${name}")
  done
  for product in executorch_llm=EXTENSION_LLM_RUNNER kernels_llm=KERNELS_LLM; do
    [[ " $* " == *" ${product%=*} "* || " $* " == *" ${product%=*}_debug "* ]] && name=ON || name=OFF
    options+=("-DEXECUTORCH_BUILD_${product#*=}=${name}")
  done
  options+=("-DEXECUTORCH_ENABLE_EVENT_TRACER=${EXECUTORCH_ENABLE_EVENT_TRACER:-OFF}")
  # The folder may have been built for other models.
  options+=("-DEXECUTORCH_SELECT_OPS_MODEL=$(IFS=';'; printf '%s' "${models[*]:-}")")
  ((${#models[@]})) && options+=(-DEXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD=ON) || options+=(-DEXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD=OFF)
  if [[ "$(uname)" == Darwin ]]; then
    options+=(-DCMAKE_OSX_ARCHITECTURES=arm64)
    case "${slice}" in
      ios-arm64) options+=(-DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_SYSROOT=iphoneos -DCMAKE_OSX_DEPLOYMENT_TARGET=13.0) ;;
      ios-arm64-simulator) options+=(-DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_SYSROOT=iphonesimulator -DCMAKE_OSX_DEPLOYMENT_TARGET=13.0) ;;
      macos-arm64) options+=(-DCMAKE_OSX_DEPLOYMENT_TARGET=11.0) ;;
      # CMake has no name for this system: it is macOS for CMake, and flags give the compilers the target.
      ios-arm64-maccatalyst) options+=(-DCMAKE_OSX_DEPLOYMENT_TARGET= -DCMAKE_C_FLAGS="--target=arm64-apple-ios14.0-macabi"
        -DCMAKE_CXX_FLAGS="--target=arm64-apple-ios14.0-macabi" -DCMAKE_OBJCXX_FLAGS="--target=arm64-apple-ios14.0-macabi") ;;
      xros-arm64) options+=(-DCMAKE_SYSTEM_NAME=visionOS -DCMAKE_OSX_SYSROOT=xros -DCMAKE_OSX_DEPLOYMENT_TARGET=1.0) ;;
      xros-arm64-simulator) options+=(-DCMAKE_SYSTEM_NAME=visionOS -DCMAKE_OSX_SYSROOT=xrsimulator -DCMAKE_OSX_DEPLOYMENT_TARGET=1.0) ;;
    esac
  else
    local target
    case "${slice}" in
      ios-arm64) target=arm64-apple-ios13.0 ;;
      ios-arm64-simulator) target=arm64-apple-ios13.0-simulator ;;
      macos-arm64) target=arm64-apple-macos11.0 ;;
      ios-arm64-maccatalyst) target=arm64-apple-ios14.0-macabi ;;
      xros-arm64) target=arm64-apple-xros1.0 ;;
      xros-arm64-simulator) target=arm64-apple-xros1.0-simulator ;;
    esac
    options+=("-DCMAKE_TOOLCHAIN_FILE=${tools}/apple-from-linux.cmake" "-DAPPLE_TARGET=${target}" "-DAPPLE_HEADERS=${headers}")
  fi
  cmake -S "${root}" -B "${folder}" -G Ninja -DEXECUTORCH_BUILD_PRESET_FILE="${root}/cmake/preset/ios.cmake" \
    -DPython3_EXECUTABLE="$(command -v "${python}")" "${options[@]}"
  for product in "$@"; do
    for name in $(targets_of "${product%_debug}"); do targets+=("${name}"); done
  done
  cmake --build "${folder}" --parallel "${jobs}" --target "${targets[@]}"
  # One library for each product, with the objects of its targets.
  mkdir -p "${folder}/products"
  for product in "$@"; do
    local archives=() found
    for name in $(targets_of "${product%_debug}"); do
      # The kernels of a selection are compiled for its dtypes, as separate libraries.
      [[ "${name}" != selected_ops_lib ]] || name='selected_ops_lib*'
      found="$(find "${folder}" -name "lib${name/%_ops_table/_kernels_bindings}.a" -not -path "${folder}/products/*")"
      [[ -n "${found}" ]] || die "the build made no library for the target ${name}."
      [[ "${product%_debug} ${name}" != "kernels_selected portable_kernels" ]] || found="$(without_selected "${folder}" "${found}")"
      [[ "${name}" != extension_c_api ]] || found="$(part_of_c_api "${folder}" "${product%_debug}" "${found}")"
      while IFS= read -r archive; do archives+=("${archive}"); done <<<"${found}"
    done
    "${libtool:-libtool}" -static -o "${folder}/products/$(library_of "${product}" "${slice}")" "${archives[@]}" 2> >(grep -v 'has no symbols' >&2 || true)
  done
}

# without_selected FOLDER ARCHIVE: a copy of the archive without the objects that a selection replaces. Fast kernels
# call portable ones in cases that no model needs: the unselected ones must be linkable, and the linker drops them.
without_selected() {
  local rest="$1/products/portable_kernels_rest.a" selected
  cp "$2" "${rest}"
  selected="$("${ar:-ar}" t "$1/libselected_ops_lib_portable_kernels.a" | grep -v '^__')"
  # shellcheck disable=SC2086  # one name a word
  "${ar:-ar}" d "${rest}" ${selected}
  printf '%s\n' "${rest}"
}

# part_of_c_api FOLDER PRODUCT ARCHIVE: a copy of the archive that has the objects of language models and speech only, for
# executorch_llm, or all others. The linker takes these objects where an app calls them, so apps without language models
# need no executorch_llm.
part_of_c_api() {
  local part="$1/products/c_api_of_$2.a" llm='^(asr|llm(_[a-z]+)?)\.cpp\.o$' others
  cp "$3" "${part}"
  if [[ "$2" == executorch_llm ]]; then
    others="$("${ar:-ar}" t "$3" | grep -v -E -e '^__' -e "${llm}")"
  else
    others="$("${ar:-ar}" t "$3" | grep -E "${llm}")"
  fi
  # shellcheck disable=SC2086  # one name a word
  "${ar:-ar}" d "${part}" ${others}
  printf '%s\n' "${part}"
}

# copy_headers FOLDER: copies the headers of the C interface, for projects that link the libraries without the Swift
# package, which has them. No framework contains them, because Xcode copies a framework's headers beside the built
# products, where the headers of two variants would conflict.
copy_headers() {
  rm -rf "$1"
  cp -RL "${root}/sdk/ios/Sources/CExecuTorch/include" "$1"
}

# make_framework PRODUCT OUTPUT SLICES...
make_framework() {
  local product="$1" output="$2" slice name needed libraries=() arguments=() checks=()
  shift 2
  local framework="${output}/${product}.xcframework" base="${product%_debug}"
  for slice in "$@"; do
    libraries+=("$(folder_of "${output}" "${slice}" "${product#"${base}"}")/products/$(library_of "${product}" "${slice}")")
  done
  if [[ "$(uname)" == Darwin ]]; then
    rm -rf "${framework}"
    for name in "${libraries[@]}"; do arguments+=(-library "${name}"); done
    xcodebuild -create-xcframework "${arguments[@]}" -output "${framework}"
  else
    for slice in "$@"; do
      arguments+=("${slice}=${libraries[${#arguments[@]}]}")
    done
    "${python}" "${tools}/xcframework.py" assemble "${framework}" "${arguments[@]}"
  fi
  [[ "${base}" != backend_* ]] || "${python}" "${tools}/vendor_frameworks.py" "${base}" "${output}"
  if [[ "${base}" == executorch ]]; then
    for name in "${output}"/include/CExecuTorch/*.h; do
      [[ "${name}" == */@(asr|llm).h ]] || checks+=(--header "${name}")
    done
  elif [[ "${base}" == executorch_llm ]]; then
    checks=(--header "${output}/include/CExecuTorch/llm.h" --header "${output}/include/CExecuTorch/asr.h")
  else
    checks=(--symbol "$(symbol_of "${base}")")
  fi
  # Also against the other variant, because an app may link the runtime with all log messages and optimised kernels.
  for needed in $(needs_of "${base}"); do
    for name in "${needed}${product#"${base}"}" "${needed}" "${needed}_debug"; do
      [[ -d "${output}/${name}.xcframework" ]] || continue
      checks+=(--needs "${output}/${name}.xcframework")
      break
    done
  done
  "${python}" "${tools}/xcframework.py" check "${framework}" "${checks[@]}"
}

main "$@"
