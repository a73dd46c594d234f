#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs everything that a change must pass, and installs what it needs.
#
#   scripts/test.sh                the whole gate (40 minutes to an hour on two cores)
#   scripts/test.sh lint python    only these steps, in this order
#   scripts/test.sh --list         the names of the steps
#   scripts/test.sh --ids          the names of all tests that pytest collects here and ctest has in build folders
#   scripts/test.sh --all          also the long suites: hours of fuzzing, every sanitizer, every operator; and all
#                                  of the suites of which the gate runs a tenth, a different one each day
#   scripts/test.sh --times        also prints the costs of each step: time, CPU time and compiled files
#   scripts/test.sh --no-network   without the steps that fetch packages (android, interop, page, web, wheel and others)
#
# The gate runs two steps at a time, because many of them use only one core. backends/<name>/gate.sh has the steps of a
# backend. Every step runs, even after a failure. The last line counts tests: "N passed, N failed, N skipped". A step fails
# with the reason if a part of the set-up that it needs failed: no compiler, no network, a full disk.
set -euo pipefail
for part in environment gate/set_up gate/steps gate/run; do
  source "$(dirname "${BASH_SOURCE[0]}")/${part}.sh"
done
cd "${root}"

gate=() long=() network=()
declare -A lane=() budget=() tools=() needed=()

# gate_step NAME LANE SECONDS [WHAT=PACKAGE ...]: a step of the gate, the function step_NAME. The steps of a lane run in
# sequence: in lane 1 those that compile most, so that they find object files of earlier ones in ccache; in lane 2 those
# that test from Python; steps of the lane `either` have separate build folders, and run in the lane that finishes
# first. SECONDS is its budget: the CPU time that it may take if ccache has all object files, on the server
# with which slowness() compares this machine; allowed() adds to it for each file that is compiled. A budget is about a
# fifth more than the step took when it was last measured. WHAT, a command or the pattern of an absolute path, is in the
# Debian package PACKAGE. Each package needs a WHAT of its own, because a file shows only that its package is there.
gate_step() { gate+=("$1"); lane[$1]="$2"; budget[$1]="$3"; tools[$1]="$(printf '%s\n' "${@:4}")"; }
# long_step NAME [WHAT=PACKAGE ...]: a step that runs with --all only.
long_step() { long+=("$1"); tools[$1]="$(printf '%s\n' "${@:2}")"; }
# needs PARTS NAME ...: the steps need only these parts of the set-up, which scripts/gate/set_up.sh has, not all of them.
needs() {
  local name
  for name in "${@:2}"; do needed[${name}]="$1"; done
}
# needs_network NAME ...: steps that install packages.
needs_network() { network+=("$@"); }

declare_steps() {
  local java=("javac=openjdk-17-jdk-headless" "npm=npm" "/usr/share/java/junit-platform-console-standalone.jar=junit5"
    "proguard=proguard-cli" "aapt2=aapt" "/usr/share/android-framework-res/framework-res.apk=android-framework-res")
  local swift=("clang-19=clang-19" "/usr/include/GNUstep/Foundation/Foundation.h=libgnustep-base-dev" "debootstrap=debootstrap")
  local apple=("clang-19=clang-19" "llvm-libtool-darwin-19=llvm-19")
  local aarch64=("aarch64-linux-gnu-g++=g++-aarch64-linux-gnu" "qemu-aarch64=qemu-user")
  local web=("clang-19=clang-19" "wasm-ld-19=lld-19" "llvm-ar-19=llvm-19" "/usr/share/emscripten/cache/sysroot/lib/wasm32-emscripten/libc-mt.a=emscripten"
    "node=nodejs" "npm=npm" "chromium=chromium")
  # libFuzzer is not in the package of the compiler.
  local fuzz=("clang++-19=clang-19" "/usr/lib/llvm-19/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a=libclang-rt-19-dev")
  gate_step cpp 1 110
  gate_step android 1 70 "${java[@]}"
  gate_step swift 1 100 "${swift[@]}"
  gate_step consume 1 70 "pkg-config=pkg-config"
  gate_step wheel 1 40 "npm=npm"
  gate_step asan 1 145
  gate_step aarch64 1 105 "${aarch64[@]}"
  gate_step baremetal 1 40 "arm-none-eabi-g++=gcc-arm-none-eabi" "/usr/lib/arm-none-eabi/newlib/libc.a=libnewlib-arm-none-eabi" \
    "/usr/lib/arm-none-eabi/newlib/libstdc++.a=libstdc++-arm-none-eabi-newlib" "qemu-system-arm=qemu-system-arm"
  gate_step lint 2 20
  gate_step python 2 420
  gate_step conformance 2 40
  gate_step interop 2 230
  gate_step zoo-few 2 50
  gate_step documents 2 120 "doxygen=doxygen"
  gate_step page 2 40 "chromium=chromium" "npm=npm"
  gate_step apple 2 20 "${apple[@]}"
  gate_step web either 100 "${web[@]}"
  long_step cpp-all
  long_step asan-backends
  long_step demo-backend
  long_step fuzz "${fuzz[@]}"
  long_step fuzz-long "${fuzz[@]}"
  long_step aten
  long_step release "npm=npm" "unshare=util-linux"
  long_step release-all "${java[@]}" "${apple[@]}"
  long_step windows "x86_64-w64-mingw32-g++-posix=g++-mingw-w64-x86-64-posix" "wine=wine" "/usr/lib/wine/wine64=wine64"
  long_step consume-all "pkg-config=pkg-config"
  long_step debug
  long_step tsan
  long_step aarch64-all "${aarch64[@]}" "clang++-19=clang-19"
  long_step raspberry-pi "${aarch64[@]}" "ninja=ninja-build"
  long_step slow
  long_step zoo
  long_step conformance-all
  long_step processors
  long_step operators-asan
  long_step planted-faults "${java[@]}"
  long_step android-asan "${java[@]}"
  long_step swift-asan "${swift[@]}"
  long_step apple-all "${apple[@]}"
  needs "environment test" lint
  needs "environment compiler build" cpp cpp-all asan asan-backends aten debug tsan aarch64 aarch64-all
  needs "environment compiler package" fuzz fuzz-long
  needs_network android android-asan interop page web planted-faults release release-all swift swift-asan apple apple-all wheel zoo zoo-few
  local file
  for file in backends/*/gate.sh backends/*/*/gate.sh; do
    [[ ! -f "${file}" ]] || source "${file}"
  done
}

main() {
  local named=() with_long='' without_network='' with_times='' argument
  declare_steps
  for argument in "$@"; do
    case "${argument}" in
      --all) with_long=1 ;;
      --times) with_times=1 ;;
      --no-network) without_network=1 ;;
      --list) printf '%s\n' "${gate[*]}" "with --all also: ${long[*]}"; exit 0 ;;
      --ids) list_ids; exit ;;
      -h | --help) sed -n '3,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
      -*) die "there is no option ${argument}; scripts/test.sh --help lists them." ;;
      *) [[ " ${gate[*]} ${long[*]} " == *" ${argument} "* ]] || die "there is no step \`${argument}\`; the steps are: ${gate[*]} ${long[*]}"
        named+=("${argument}") ;;
    esac
  done
  # The gate runs a tenth of each large family of similar tests, a different tenth each day: see conftest.py.
  [[ -n "${with_long}" || -n "${SDK_TEST_SHARE:-}" ]] || export SDK_TEST_SHARE="$(($(date +%s) / 86400 % 10))/10"
  local wanted=() all=("${gate[@]}" ${with_long:+"${long[@]}"}) name
  ((!${#named[@]})) || all=("${named[@]}")
  for name in "${all[@]}"; do
    if [[ -n "${without_network}" && " ${network[*]} " == *" ${name} "* ]]; then
      say "  - ${name}: left out (--no-network)"
    else
      wanted+=("${name}")
    fi
  done

  rm -rf "${results}" && mkdir -p "${results}"
  say "${bold}Set up${plain}"
  measured set-up set_up
  say "${bold}Test${plain}"
  if ((${#named[@]})); then
    run_steps "${wanted[@]}"
  else
    run_gate "${wanted[@]}"
  fi
  [[ -z "${with_times}" ]] || print_times set-up "${wanted[@]}"
  print_over_budget "${wanted[@]}"
  report "${wanted[@]}"
}

main "$@"
