#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Exports cifar10 (the default) or mobilenetv2 for Neutron. Further arguments are those of aot_neutron_compile.py.
set -euo pipefail
model=${1:-cifar10}
[[ $# -eq 0 ]] || shift
exec "${PYTHON:-python3}" "$(dirname "${BASH_SOURCE[0]}")/aot_neutron_compile.py" --quantize --delegate -m "${model}" "$@"
