#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# export_oss.sh MODEL [--precision A16W8] [--platform mt6991]: writes MODEL/MODEL.pte for MediaTek, quantised.
# model_export_scripts/export_oss.py says which models there are.
set -euo pipefail
exec "${PYTHON:-python3}" "$(dirname "${BASH_SOURCE[0]}")/../model_export_scripts/export_oss.py" "$@"
