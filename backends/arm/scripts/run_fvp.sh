#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# backends/arm/scripts/run_fvp.sh --elf=FILE [option ...]: runs firmware in Arm's simulator (Fixed Virtual Platform).
#   --elf=FILE       the firmware, such as arm_executor_runner
#   --target=NPU     ethos-u55-32 to -256, ethos-u65-256 or -512 (Corstone SSE-300), ethos-u85-128 to -2048 (SSE-320);
#                    ethos-u55-128 by default
#   --timeout=S      the seconds of simulated time after which it ends; 60 by default
# Arm distributes the simulators. The exit status is 0 if the firmware printed PASSED.
set -euo pipefail
fail() { echo "run_fvp.sh: error: $*" >&2; exit 1; }
elf='' target=ethos-u55-128 timeout=60
for argument in "$@"; do
  case "${argument}" in
    --elf=*) elf="${argument#*=}" ;;
    --target=*) target="${argument#*=}" ;;
    --timeout=*) timeout="${argument#*=}" ;;
    -h | --help) sed -n '3,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) fail "unknown option ${argument}; see --help" ;;
  esac
done
[[ -n "${elf}" ]] || fail "--elf=FILE is missing; see --help"
[[ -f "${elf}" ]] || fail "${elf} is not a file; backends/arm/scripts/build_executor_runner.sh makes one"
[[ "${timeout}" =~ ^[0-9]+$ ]] || fail "--timeout is '${timeout}'; expected a number of seconds"
macs="${target##*-}"
case "${target}" in
  ethos-u55-32 | ethos-u55-64 | ethos-u55-128 | ethos-u55-256) simulator=FVP_Corstone_SSE-300_Ethos-U55 ;;
  ethos-u65-256 | ethos-u65-512) simulator=FVP_Corstone_SSE-300_Ethos-U65 ;;
  ethos-u85-128 | ethos-u85-256 | ethos-u85-512 | ethos-u85-1024 | ethos-u85-2048) simulator=FVP_Corstone_SSE-320 ;;
  *) fail "'${target}' is not an Ethos-U; there are ethos-u55-32 to -256, ethos-u65-256 and -512, ethos-u85-128 to -2048" ;;
esac
if ! command -v "${simulator}" > /dev/null; then
  cat >&2 <<TEXT
run_fvp.sh: error: the simulator ${simulator} is not on PATH, so ${elf} was not run. Arm distributes it as a part of
the Corstone ecosystem FVPs (developer.arm.com): install it, and put the folder of the executable on PATH.
Without it, firmware that was built with the model of the NPU (without --core_driver) runs in QEMU:
  qemu-system-arm -M mps3-an547 -nographic -monitor none -serial none \\
    -semihosting-config enable=on,target=native -kernel ${elf}
TEXT
  exit 1
fi
if [[ "${simulator}" == *320 ]]; then
  options=(-C "mps4_board.subsystem.ethosu.num_macs=${macs}" -C mps4_board.visualisation.disable-visualisation=1
    -C vis_hdlcd.disable_visualisation=1 -C mps4_board.telnetterminal0.start_telnet=0
    -C mps4_board.subsystem.cpu0.semihosting-enable=1)
else
  options=(-C "ethosu.num_macs=${macs}" -C mps3_board.visualisation.disable-visualisation=1
    -C mps3_board.telnetterminal0.start_telnet=0 -C cpu0.semihosting-enable=1)
fi
output="$(mktemp)"
trap 'rm -f "${output}"' EXIT
"${simulator}" "${options[@]}" -a "${elf}" --timelimit "${timeout}" 2>&1 | tee "${output}"
grep -q '^PASSED' "${output}" || fail "the firmware did not print PASSED; its output is above"
