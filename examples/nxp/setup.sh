#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs NXP's converter, which is in NXP's package index only. The argument, or EIQ_INDEX_URL, is the address of the
# index; PYTHON names the interpreter, EIQ_NEUTRON_SDK a release.
set -euo pipefail
index="${1:-${EIQ_INDEX_URL:-}}"
if [[ -z "$index" ]]; then
    echo "error: the address of NXP's package index is missing; NXP's documentation of eIQ Neutron has it." >&2
    echo "Give it as the argument, or set EIQ_INDEX_URL." >&2
    exit 2
fi
"${PYTHON:-python3}" -m pip install --index-url "$index" "${EIQ_NEUTRON_SDK:-eiq_neutron_sdk}"
