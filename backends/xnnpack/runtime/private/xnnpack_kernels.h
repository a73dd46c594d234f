// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * XNNPACK's private headers on kernels: their types, parameters, packed weights, and the configurations that choose
 * them.
 */
#pragma once

#include <xnnpack/config.h>
#include <xnnpack/dwconv.h>
#include <xnnpack/gemm.h>
#include <xnnpack/hardware-config.h>
#include <xnnpack/igemm.h>
#include <xnnpack/microparams.h>
#include <xnnpack/pack.h>
#include <xnnpack/reference-config.h>
#include <xnnpack/requantization.h>
