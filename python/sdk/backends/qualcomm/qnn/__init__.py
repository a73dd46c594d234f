# SPDX-License-Identifier: BSD-3-Clause
"""The backend QNN: its declaration, table of operators, payloads, the door to Qualcomm's compiler, and interpreter."""
