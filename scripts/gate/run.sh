# SPDX-License-Identifier: BSD-3-Clause
# Runs the steps of scripts/test.sh, which sources this file, and counts their tests.

results="${root}/.cache/results"
costs="${root}/.cache/costs"

# run_gate NAME...: runs the steps of the gate in two lanes, then the long steps.
run_gate() {
  local name one=() two=() either=() rest=()
  for name; do
    case "${lane[${name}]:-}" in
      1) one+=("${name}") ;;
      2) two+=("${name}") ;;
      either) either+=("${name}") ;;
      *) rest+=("${name}") ;;
    esac
  done
  (erase='' && run_steps "${one[@]}" && run_unclaimed "${either[@]}") &
  local first=$!
  (erase='' && run_steps "${two[@]}" && run_unclaimed "${either[@]}")
  wait "${first}"
  run_steps "${rest[@]}"
}

run_steps() {
  local name
  for name; do run_step "${name}"; done
}

# run_unclaimed NAME...: runs the named steps that the other lane has not begun.
run_unclaimed() {
  local name
  for name; do
    # mkdir succeeds in one lane only.
    if mkdir "${results}/${name}.claim" 2>/dev/null; then run_step "${name}"; fi
  done
}

# measured NAME COMMAND...: writes the command's cost to a file: seconds, CPU seconds, and the number of files that were
# compiled and that ccache had.
measured() {
  # A command substitution has a different BASHPID.
  local name="$1" start=${SECONDS} status=0 before self="${BASHPID}"
  shift
  rm -f "${results}/${name}.ccache"
  export CCACHE_STATSLOG="${results}/${name}.ccache"
  before="$(cpu_time "${self}")"
  "$@" || status=$?
  touch "${CCACHE_STATSLOG}"
  printf '%s %s %s %s\n' $((SECONDS - start)) $(($(cpu_time "${self}") - before)) \
    "$(grep -cx cache_miss "${CCACHE_STATSLOG}")" \
    "$(grep -cxE '(direct|preprocessed)_cache_hit' "${CCACHE_STATSLOG}")" >"${results}/${name}.cost"
  unset CCACHE_STATSLOG
  return "${status}"
}

# cpu_time PROCESS: the CPU time in seconds of the process and of those for which it has waited; 0 without /proc.
cpu_time() {
  local hertz
  hertz="$(getconf CLK_TCK)"
  awk -v hertz="${hertz}" '{ sub(/.*\) /, ""); print int(($12 + $13 + $14 + $15) / hertz) }' "/proc/$1/stat" 2>/dev/null || echo 0
}

run_step() {
  local name="$1" log="${logs}/$1.log" status=0 reason
  reason="$(unmet_of "${name}")"
  if [[ -n "${reason}" ]]; then
    printf '  %s✗%s %-34s not run: %s\n' "${red}" "${plain}" "${name}" "${reason}"
    echo "not run: ${reason}" >"${results}/${name}.reason"
    echo "0 0 0 0" >"${results}/${name}.cost"
    echo "0 1 0 1" >"${results}/${name}.counts"
    return
  fi
  [[ -n "${lane[${name}]:-}" ]] || local -x SDK_TEST_SHARE=0/1 # long steps run all
  mkdir -p "${costs}" && rm -f "${costs}/${name}"
  local -x SDK_TEST_COSTS="${costs}/${name}" # see tests/costs.py
  measured "${name}" step "${name}" "step_${name}" || status=$?
  local p f s
  # pytest: "3 failed, 412 passed, 2 skipped in 9.1s"; ctest: "98% tests passed, 2 tests failed out of 120".
  p="$(sed -n 's/.*\b\([0-9]\+\) passed.* in [0-9.]*s.*/\1/p' "${log}" | tail -n 1)"
  f="$(sed -n 's/.*\b\([0-9]\+\) failed.* in [0-9.]*s.*/\1/p; s/.*tests passed, \([0-9]\+\) tests failed out of.*/\1/p' "${log}" | tail -n 1)"
  s="$(sed -n 's/.*\b\([0-9]\+\) skipped.* in [0-9.]*s.*/\1/p' "${log}" | tail -n 1)"
  local total
  total="$(sed -n 's/.*tests failed out of \([0-9]\+\).*/\1/p' "${log}" | tail -n 1)"
  [[ -z "${total}" ]] || p=$((total - ${f:-0}))
  # A step without tests counts as one test.
  [[ -n "${p}${f}" ]] || { [[ ${status} -eq 0 ]] && p=1 || f=1; }
  # A step may also fail outside its tests, for example in the build.
  [[ ${status} -eq 0 || ${f:-0} -gt 0 ]] || f=1
  echo "${p:-0} ${f:-0} ${s:-0} ${status}" >"${results}/${name}.counts"
  [[ ${status} -eq 0 ]] || advice "${log}" >"${results}/${name}.reason" || rm -f "${results}/${name}.reason"
}

print_times() {
  local name wall cpu compiled cached all=0 slow
  slow="$(slowness)"
  printf '\n%-20s %8s %8s %8s %9s %12s\n' step time "CPU s" budget compiled "from ccache"
  for name; do
    read -r wall cpu compiled cached <"${results}/${name}.cost"
    printf '%-20s %8s %8d %8s %9d %12d\n' "${name}" "$(clock "${wall}")" "${cpu}" "$(allowed "${name}" "${compiled}" "${slow}")" "${compiled}" "${cached}"
    all=$((all + cpu))
  done
  printf '%-20s %8s %8d\n' all "$(clock ${SECONDS})" "${all}"
}

# slowness: the CPU time of a fixed computation, in percent of that on the server of the budgets; at least 100.
slowness() {
  "${python}" -c 'if True:
    import time
    start, total = time.process_time(), 0
    for i in range(5_000_000):
        total += i * i % 7
    print(max(100, round((time.process_time() - start) / 0.34 * 100)))' 2>/dev/null || echo 100
}

# allowed NAME COMPILED SLOWNESS: the CPU time in seconds that a step may take on this machine; a dash without a budget.
# Compiling a file takes 2.7 s in the step asan on that server, and less in most other steps.
allowed() {
  local has="${budget[$1]:-}" compiled="$2" slow="$3"
  if [[ -n "${has}" ]]; then echo $(((has * 10 + compiled * 27) * slow / 1000)); else echo -; fi
}

# Names the steps that took more CPU time than their budget, so that their growth is seen early.
print_over_budget() {
  local name wall cpu compiled cached slow has
  slow="$(slowness)"
  for name; do
    read -r wall cpu compiled cached <"${results}/${name}.cost" || continue
    [[ -n "${budget[${name}]:-}" ]] || continue
    has="$(allowed "${name}" "${compiled}" "${slow}")"
    ((cpu <= has)) ||
      say "over budget: ${name} took ${cpu} s of CPU time, its budget on this machine is ${has} s (gate_step); see \"The time of the gate\" in CONTRIBUTING.md"
  done
}

report() {
  local name passed=0 failed=0 skipped=0 broken=() p f s status
  for name; do
    # A lane that was terminated has no counts of its last steps.
    read -r p f s status <"${results}/${name}.counts" || p=0 f=1 s=0 status=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [[ ${status} -eq 0 ]] || broken+=("${name}")
  done
  say
  for name in "${broken[@]}"; do
    [[ ! -s "${results}/${name}.reason" ]] || say "${name}: $(<"${results}/${name}.reason")"
  done
  if ((${#broken[@]})); then
    say "${red}failed:${plain} ${broken[*]} (the logs are in .cache/logs; \`scripts/test.sh ${broken[*]}\` runs these again)"
  fi
  say "${passed} passed, ${failed} failed, ${skipped} skipped in $(clock ${SECONDS})"
  ((${#broken[@]} == 0))
}

# Folders whose tests are collected separately, as the steps run them: two of them have files of the same name.
test_folders() {
  printf '%s\n' tests/{python,backends,documents,interop,page,zoo} backends/*/test backends/*/*/test
}

# list_ids: the names of all tests, in order. Writes an error to standard error for a file that cannot be collected.
list_ids() {
  local folder status=0
  {
    for folder in $(test_folders); do
      [[ -n "$(find "${folder}" -name 'test_*.py' -print -quit 2>/dev/null)" ]] || continue
      SDK_TEST_SHARE='' "${python}" -m pytest --collect-only -q -p no:cacheprovider "${folder}" >"${logs}/ids.log" 2>&1 ||
        { status=1; cat "${logs}/ids.log" >&2; }
      sed -n '/::/p' "${logs}/ids.log"
    done
    for folder in build/*/CTestTestfile.cmake; do
      [[ ! -f "${folder}" ]] || ctest --test-dir "${folder%/*}" -N | sed -n 's/^ *Test *#[0-9]*: /ctest: /p'
    done
    [[ ${status} -eq 0 ]]
  } | LC_ALL=C sort -u
}
