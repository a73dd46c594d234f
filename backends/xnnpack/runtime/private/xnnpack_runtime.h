// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * XNNPACK's private headers on graphs, runtimes, operators and the memory between them.
 */
#pragma once

#include <xnnpack/allocator.h>
#include <xnnpack/cache.h>
#include <xnnpack/compute.h>
#include <xnnpack/memory-planner.h>
#include <xnnpack/microkernel-type.h>
#include <xnnpack/operator-type.h>
#include <xnnpack/operator.h>
#include <xnnpack/subgraph.h>
