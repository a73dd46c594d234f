// SPDX-License-Identifier: BSD-3-Clause
// The stand-in's additions to Apple's interface of MPSGraph.
#pragma once

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include <cstdlib>
#include <exception>
#include <utility>

#include "evaluate.h"

namespace stand_in {

using Compute = std::function<Array(const Operands &)>;

struct Step {
  std::vector<NSUInteger> operands;
  Compute compute;  ///< empty for a placeholder
};

inline Sizes sizes_of(NSArray *numbers) {
  Sizes sizes;
  for (NSNumber *number in numbers) {
    sizes.push_back([number longValue]);
  }
  return sizes;
}

inline NSArray *numbers_of(const Sizes &sizes) {
  NSMutableArray *const made = [NSMutableArray array];
  for (const long size : sizes) {
    [made addObject:[NSNumber numberWithLong:size]];
  }
  return made;
}

inline std::string text_of(const Sizes &sizes) {
  std::string text;
  for (const long size : sizes) {
    text += (text.empty() ? "" : "x") + std::to_string(size);
  }
  return text;
}

inline Sizes longs(const NSUInteger *numbers, size_t count) {
  return Sizes(numbers, numbers + count);
}

template <typename Function>
auto raising(Function &&function) {
  try {
    return function();
  } catch (const std::exception &error) {
    [NSException raise:NSInvalidArgumentException format:@"%s", error.what()];
    std::abort();
  }
}

/// Makes the linker take the category with the operations that move elements out of the static library: a category has
/// no symbol that a reference could name.
void link_movement();

}  // namespace stand_in

@interface MPSGraphTensor (StandIn)
- (instancetype)initWithNumber:(NSUInteger)number shape:(MPSShape *)shape dataType:(MPSDataType)dataType;
- (NSUInteger)number;
@end

@interface MPSGraphTensorData (StandIn)
- (stand_in::Array)array;
- (void)write:(const stand_in::Array &)array;
@end

@interface MPSGraph (StandIn)
/// Appends a step. `name` is written to the log.
- (MPSGraphTensor *)add:(const std::string &)name
               operands:(const std::vector<MPSGraphTensor *> &)operands
                compute:(const stand_in::Compute &)compute;
- (std::vector<stand_in::Array>)evaluate:(NSArray *)targets feeds:(NSArray *)feeds data:(NSArray *)data;
@end

@interface MPSGraphExecutable (StandIn)
- (instancetype)initWithGraph:(MPSGraph *)graph feeds:(NSArray *)feeds targets:(NSArray *)targets;
@end
