# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the other scripts: prints steps, and creates the environment that they need in <repo>/.venv. Everything
# here can be run again at any time; finished steps are skipped.

root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="${root}/.venv"
python="${venv}/bin/python"
logs="${root}/.cache/logs"
stamps="${root}/.cache/stamps"
jobs="${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"
mkdir -p "${logs}" "${stamps}"
# A second clone, or a second build folder, reuses object files that the first one compiled.
export CCACHE_BASEDIR="${root}" CCACHE_NOHASHDIR=1
# Without this, ccache does not cache files that use a precompiled header.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
# ccache remembers the hashes of files by their inodes, as newer versions do by default. Otherwise it reads a precompiled header of 40 to
# 100 MB again for each file, which takes most of the time of a hit.
[[ -n "${CCACHE_NOINODECACHE:-}" ]] || export CCACHE_INODECACHE="${CCACHE_INODECACHE:-true}"
# One name for the compiler, because ccache treats gcc and cc as different compilers. Builds of Python would call gcc,
# and CMake would call cc.
if [[ -z "${CC:-}${CXX:-}" ]] && command -v cc >/dev/null && command -v c++ >/dev/null; then
  export CC=cc CXX=c++
fi

if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m' erase=$'\r\e[K'
else
  bold='' dim='' red='' green='' plain='' erase=''
fi

sdk_version() { sed -n 's/^__version__ = "\(.*\)"$/\1/p' "${root}/python/sdk/__init__.py"; }

say() { printf '%s\n' "$*"; }
die() {
  printf '%serror:%s %s\n' "${red}" "${plain}" "$*" >&2
  exit 1
}

# show_failure LOG: prints the lines of LOG that name an error, which may be far above its end, and the end.
show_failure() {
  local log="$1" errors
  errors="$(head -n -30 "${log}" | grep -nE '(^|[ :])(error|fatal error|FAILED|\*\*\*Failed)\b|ERROR: [A-Z][a-z]*Sanitizer' | head -n 20 || true)"
  [[ -z "${errors}" ]] || printf '\n%s\n%s\n' "Errors in ${log#"${root}"/}, by their lines:" "${errors}"
  printf '\n%s\n' "The end of ${log#"${root}"/}:"
  tail -n 30 "${log}"
}

# step NAME COMMAND...: runs COMMAND with its output in a log, and shows one line with its time. Without a terminal, a long
# one also shows every minute that it still runs.
# Returns COMMAND's status; if it failed, the log's errors and its end are shown, and the file failed_log, if it is set, has
# the log's path.
step() {
  local name="$1" start=${SECONDS} status=0 ticker=''
  shift
  local log="${logs}/${name// /-}.log"
  if [[ -n "${erase}" ]]; then
    printf '  … %s' "${name}"
  else
    # A builtin waits, because a child would outlive the loop.
    while ! read -rt 60; do printf '  … %-34s %s\n' "${name}" "$(clock $((SECONDS - start)))"; done <> <(:) &
    ticker=$!
  fi
  "$@" >"${log}" 2>&1 </dev/null || status=$?
  if [[ -n "${ticker}" ]]; then
    kill "${ticker}" 2>/dev/null || true
    wait "${ticker}" 2>/dev/null || true
  fi
  if [[ ${status} -eq 0 ]]; then
    printf '%s  %s✓%s %-34s %s%s%s\n' "${erase}" "${green}" "${plain}" "${name}" "${dim}" "$(clock $((SECONDS - start)))" "${plain}"
  else
    printf '%s  %s✗%s %-34s %s\n' "${erase}" "${red}" "${plain}" "${name}" "$(clock $((SECONDS - start)))"
    [[ -z "${failed_log:-}" ]] || printf '%s' "${log}" >"${failed_log}"
    show_failure "${log}" | sed 's/^/    /'
    printf '\n'
  fi
  return "${status}"
}

# needs_disk GIGABYTES FOLDER...: ends with an error if less is free where a FOLDER lies.
needs_disk() {
  local gigabytes="$1" folder free
  for folder in "${@:2}"; do
    free=$(($(df -Pk "${folder}" | awk 'NR == 2 { print $4 }') / 1024 / 1024))
    ((free >= gigabytes)) ||
      die "the disk of ${folder} has ${free} GB left, and this needs ${gigabytes} GB; remove old build folders, or work on another disk."
  done
}

# once NAME FILES... -- COMMAND...: a step that is skipped if FILES have not changed since it last succeeded.
once() {
  local name="$1" files=()
  shift
  while [[ "$1" != "--" ]]; do
    files+=("$1")
    shift
  done
  shift
  local stamp="${stamps}/${name// /-}" now
  now="$(printf '%s\n' "$*" "${venv}" | cat - "${files[@]}" | sha256sum | cut -d' ' -f1)"
  [[ -x "${python}" && -f "${stamp}" && "$(cat "${stamp}")" == "${now}" ]] && return 0
  step "${name}" "$@" || exit 1
  printf '%s' "${now}" >"${stamp}"
}

clock() { printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); }

# system WHAT PACKAGES [WHY]: calls debian() unless WHAT, a command or the pattern of an absolute path, exists.
system() { is_there "$1" || debian "$@"; }

# is_there WHAT: whether the command, or a file that matches the pattern of an absolute path, exists.
is_there() { if [[ "$1" == /* ]]; then compgen -G "$1" >/dev/null; else command -v "$1" >/dev/null; fi; }

# debian WHAT PACKAGES [WHY]: installs PACKAGES, because WHAT is missing; without apt or root, ends with an error that says how to.
debian() {
  local packages="$2"
  if [[ "$(id -u)" -ne 0 ]] || ! command -v apt-get >/dev/null; then
    die "$1 is missing${3:+ ($3)}. On Debian or Ubuntu: sudo apt-get install ${packages}"
  fi
  export DEBIAN_FRONTEND=noninteractive
  # A fresh container has no package lists.
  apt-cache show "${packages%% *}" >/dev/null 2>&1 || step "apt-get update" apt-get update || exit 1
  # shellcheck disable=SC2086 # several packages may be named
  # Another process may be installing at the same time.
  step "install packages of Debian" apt-get install -o DPkg::Lock::Timeout=600 -y --no-install-recommends ${packages} || exit 1
}

# Prints the first Python of a supported version.
find_python() {
  local candidate
  for candidate in ${PYTHON:+"${PYTHON}"} python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    command -v "${candidate}" >/dev/null || continue
    if "${candidate}" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
      printf '%s' "${candidate}"
      return 0
    fi
  done
  return 1
}

make_venv() {
  local base
  if ! base="$(find_python)"; then
    system python3 "python3 python3-venv python3-dev" "3.10 to 3.14"
    base="$(find_python)" || die "No Python from 3.10 to 3.14 was found; name one with PYTHON=/path/to/python."
  fi
  "${base}" -c 'import ensurepip, venv' 2>/dev/null || debian "Python's venv" python3-venv
  "${base}" -c 'import os, sysconfig as s, sys; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' ||
    debian Python.h python3-dev "to build the extension module"
  [[ -x "${python}" ]] && "${python}" -c 'import pip' 2>/dev/null && return 0
  step "virtual environment .venv" "${base}" -m venv --clear "${venv}" || exit 1
}

pip() { "${python}" -m pip --disable-pip-version-check "$@"; }

# A CPU build of torch if pip finds one. On Linux, the default index has a build with gigabytes of GPU libraries, which
# nothing here uses; PIP_EXTRA_INDEX_URL can name PyTorch's own index of CPU builds.
install_torch() {
  local wanted
  wanted="$(sed -n 's/^torch==//p' "${root}/scripts/requirements/constraints.txt")"
  pip install --no-compile "torch==${wanted}+cpu" 2>/dev/null || pip install --no-compile "torch==${wanted}"
}

# packages NAME...: installs the packages in scripts/requirements/NAME.txt at the pinned versions, and torch before them. With
# --no-compile, because Python compiles a module when it is first imported, and most of the 14,000 modules never are.
packages() {
  local folder="${root}/scripts/requirements" name
  "${python}" -c 'import torch' 2>/dev/null || step "torch" install_torch || exit 1
  for name in "$@"; do
    once "Python packages ${name}" "${folder}/${name}.txt" "${folder}/constraints.txt" -- \
      pip install --no-compile -c "${folder}/constraints.txt" -r "${folder}/${name}.txt"
  done
}

# A compiler, CMake and Ninja. The last two come from PyPI if the system has none, or a CMake that is too old.
build_tools() {
  command -v c++ >/dev/null || command -v clang++ >/dev/null || system c++ "g++" "a C++17 compiler"
  export PATH="${venv}/bin:${PATH}"
  local missing=()
  cmake_is_new || missing+=(cmake)
  command -v ninja >/dev/null || missing+=(ninja)
  [[ ${#missing[@]} -eq 0 ]] || step "build tools" pip install -c "${root}/scripts/requirements/constraints.txt" "${missing[@]}" || exit 1
}

cmake_is_new() {
  local version
  version="$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')"
  [[ -n "${version}" && "$(printf '3.25\n%s\n' "${version}" | sort -V | head -n 1)" == "3.25" ]]
}

# install_package FOLDER TARGETS OPTION=VALUE...: installs the package, editable, built in FOLDER, with executor_runner beside it: a
# change to a .py needs no rebuild, a change to a .cpp only this step. Warnings are errors, as in other builds, so that all share
# object files in ccache. (-C, which is shorter, needs pip 23.1; Debian 12 makes virtual environments with 23.0.)
install_package() {
  local folder="$1" targets="$2"
  shift 2
  CMAKE_BUILD_PARALLEL_LEVEL="${jobs}" pip install --no-build-isolation --no-deps -e "${root}" \
    --config-settings=build-dir="${folder}" --config-settings=build.targets="${targets};executor_runner" \
    --config-settings=cmake.define.EXECUTORCH_BUILD_EXECUTOR_RUNNER=ON \
    --config-settings=cmake.define.EXECUTORCH_ENABLE_WERROR=ON \
    "${@/#/--config-settings=cmake.define.}"
}

# Rebuilds the package, with the demo backends, only if a native source, the build or the packaging has changed.
package() {
  once_per_native_source "build the package" \
    install_package "${root}/build/package" "_portable_lib;_tokenizers;executor_runner_with_demo_backends" EXECUTORCH_BUILD_DEMO_BACKENDS=ON \
    EXECUTORCH_CADENCE_CPU_RUNNER=ON
}

# Builds the package for the demo: without language models, which are a third of the files. If the whole package
# has been built, the demo uses that. Sets package_folder and package_stamp to the build's folder and stamp.
demo_package() {
  package_folder="${root}/build/package" package_stamp="${stamps}/build-the-package"
  if [[ -f "${package_stamp}" ]]; then
    package
  else
    package_folder="${root}/build/runtime" package_stamp="${stamps}/build-the-runtime"
    once_per_native_source "build the runtime" install_package "${package_folder}" "_portable_lib" \
      EXECUTORCH_BUILD_EXTENSION_LLM=OFF EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=OFF EXECUTORCH_BUILD_KERNELS_LLM=OFF
  fi
}

# once_per_native_source NAME COMMAND...: a step that is skipped if no native source, nothing of the build or the packaging has changed.
once_per_native_source() {
  local name="$1" sources
  shift
  mapfile -t sources < <(
    cd "${root}" && find CMakeLists.txt pyproject.toml cmake codegen kernels sdk/cpp python backends -type f \
      ! -name '*_test.cpp' ! -path '*/__pycache__/*' ! \( -path 'python/*' -name '*.py' \) ! -name '*.so' | sort | sed "s|^|${root}/|"
  )
  # An editable installation lists its modules by path, so it is repeated if one of them has moved.
  local finder known
  for finder in "${venv}"/lib/python*/site-packages/_editable_skbc_pte_sdk.py; do
    for known in $(grep -oE "'${root}/python/[^']*\.py'" "${finder}" 2>/dev/null | tr -d "'"); do
      [[ -f "${known}" ]] || rm -f "${stamps}/${name// /-}"
    done
  done
  once "${name}" "${sources[@]}" -- "$@"
}
