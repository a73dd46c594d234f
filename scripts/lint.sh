#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/lint.sh [--fix]: ruff, mypy, clang-format and the checks below over the whole tree; --fix applies the fixes that ruff and
# clang-format can make.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -d .venv/bin ]] && PATH="${PWD}/.venv/bin:${PATH}"

fix=''
case "${1:-}" in
  '') ;;
  --fix) fix=1 ;;
  *) echo "usage: scripts/lint.sh [--fix]" >&2; exit 2 ;;
esac
for tool in ruff mypy clang-format; do
  command -v "${tool}" >/dev/null || { echo "error: ${tool} is missing: pip install -r scripts/requirements/test.txt" >&2; exit 1; }
done

# Generated readers are checked by the script that makes them, not by a formatter.
mapfile -t sources < <(git ls-files -co --exclude-standard '*.cpp' '*.h' '*.m' | grep -v '_generated\.h$')
status=0
check() { echo "== $*"; "$@" || status=1; }

check ruff check --quiet ${fix:+--fix} .
check ruff format --quiet $([[ -n "${fix}" ]] || echo --check --diff) .
check mypy --no-error-summary
check scripts/undocumented
# With pipefail, a pipe fails if the reader exits while the writer still writes, which depends on timing.
mapfile -t scripts < <(git ls-files -co --exclude-standard | grep -v '\.[a-z]*$' ; git ls-files -co --exclude-standard '*.sh')
echo "== no early end of a pipe (${#scripts[@]} files)"
! grep -nE '\| *grep -[A-Za-z]*q' "${scripts[@]}" || { echo "write: | grep ... >/dev/null" >&2; status=1; }
# pytest imports a test file by its name alone, unless it is in a package: two of one name cannot be collected in one process.
# Each line of `collected` names the folders that a step collects together.
collected=("tests backends/*/test/python backends/*/*/test/python" backends/*/test backends/*/*/test)
echo "== names of test files (${#collected[@]} groups)"
for folders in "${collected[@]}"; do
  # shellcheck disable=SC2086 # a pattern of several folders
  twice="$(git ls-files -co --exclude-standard -- ${folders} | sed -n '/\/test_[^/]*\.py$/p' |
    while read -r file; do [[ -e "${file%/*}/__init__.py" || ! -e "${file}" ]] || echo "${file##*/}"; done | LC_ALL=C sort | uniq -d)"
  [[ -z "${twice}" ]] || { echo "${folders}: several files are named ${twice//$'\n'/, }: rename all but one" >&2; status=1; }
done
if ((${#sources[@]})); then
  echo "== clang-format (${#sources[@]} files)"
  clang-format --style=file $([[ -n "${fix}" ]] && echo -i || echo --dry-run --Werror) "${sources[@]}" || status=1
fi
exit "${status}"
