#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# install_executorch.sh [--clean | [--editable] [--minimal] [--use-pt-pinned-commit]]
#
# Builds the Python package and installs it, with its dependencies, into the active environment. CMAKE_ARGS passes options
# to CMake: CMAKE_ARGS="-DEXECUTORCH_BUILD_BACKENDS=none" ./install_executorch.sh
#
#   --editable, -e          install in place: changes to .py files take effect at once; after changes to C++, run this again
#   --minimal               without the packages that the examples import
#   --use-pt-pinned-commit  install the PyTorch release that the tests use, instead of keeping the installed one or
#                           installing the newest
#   --clean                 remove build products (build, cmake-out, pip-out, dist) and clear ccache; install nothing
set -euo pipefail
root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
python="${PYTHON:-python}"
requirements="${root}/scripts/requirements"
editable=() clean='' minimal='' pinned=''
for argument in "$@"; do
  case "${argument}" in
    --clean) clean=1 ;;
    --editable | -e) editable=(--no-build-isolation --editable) ;;
    --minimal) minimal=1 ;;
    --use-pt-pinned-commit) pinned=1 ;;
    -h | --help) sed -n '3,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "install_executorch.sh: unknown option ${argument}; --help lists the options" >&2; exit 1 ;;
  esac
done

if [[ -n "${clean}" ]]; then
  [[ $# -eq 1 ]] || { echo "install_executorch.sh: --clean installs nothing and takes no other option" >&2; exit 1; }
  rm -rf "${root}"/{build,cmake-out,pip-out,dist} "${root}"/python/*.egg-info
  find "${root}/python" \( -name '*.so' -o -name '*.pyd' \) -delete
  ! command -v ccache >/dev/null || ccache --clear --zero-stats >/dev/null
  exit 0
fi

command -v "${python}" >/dev/null || {
  echo "install_executorch.sh: ${python} was not found; activate an environment, or set PYTHON to the interpreter" >&2
  exit 1
}
constraints=() package="${root}[export]"
[[ -z "${pinned}" ]] || constraints=(-c "${requirements}/constraints.txt")
[[ -n "${minimal}" ]] || package="${root}[examples]"
# Without isolation, the requirements of the build must be installed.
[[ ${#editable[@]} -eq 0 ]] || "${python}" -m pip install ${constraints[@]+"${constraints[@]}"} -r "${requirements}/build.txt"
"${python}" -m pip install ${constraints[@]+"${constraints[@]}"} ${editable[@]+"${editable[@]}"} "${package}"
