// SPDX-License-Identifier: BSD-3-Clause
// MPSGraph on the CPU, for GNUstep, without ARC. Every operation is computed with zeros when a graph is built, so that
// operands that do not fit raise an exception there, as in MPSGraph. The file MPS_STAND_IN_LOG gets a line for each
// operation: its name, its parameters, and the shape of its result. With MPS_STAND_IN_FAILS, compiling raises.
#include <cstdio>
#include <stdexcept>

#include "stand_in.h"

using namespace stand_in;

namespace {

void note(const std::string& line) {
  const char* const path = std::getenv("MPS_STAND_IN_LOG");
  FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file != nullptr) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

}  // namespace

#define STAND_IN_UNARY(method) \
  -(MPSGraphTensor *)method##WithTensor : (MPSGraphTensor *)tensor name : (NSString *)name { \
    (void)name; \
    return [self add:#method operands:{tensor} compute:[](const Operands &x) { return stand_in::unary(#method, *x[0]); }]; \
  }
#define STAND_IN_BINARY(method) \
  -(MPSGraphTensor *)method##WithPrimaryTensor \
      : (MPSGraphTensor *)primaryTensor secondaryTensor : (MPSGraphTensor *)secondaryTensor name : (NSString *)name { \
    (void)name; \
    return [self add:#method operands:{primaryTensor, secondaryTensor} compute:[](const Operands &x) { \
      return stand_in::binary(#method, *x[0], *x[1]); \
    }]; \
  }

@implementation MPSGraph
STAND_IN_UNARY(identity)
STAND_IN_UNARY(exponent)
STAND_IN_UNARY(exponentBase2)
STAND_IN_UNARY(reciprocal)
STAND_IN_UNARY(squareRoot)
STAND_IN_UNARY(negative)
STAND_IN_UNARY(logarithm)
STAND_IN_UNARY(logarithmBase10)
STAND_IN_UNARY(logarithmBase2)
STAND_IN_UNARY(erf)
STAND_IN_UNARY(floor)
STAND_IN_UNARY(ceil)
STAND_IN_UNARY(sigmoid)
STAND_IN_UNARY(sin)
STAND_IN_UNARY(sign)
STAND_IN_UNARY(cos)
STAND_IN_UNARY(tan)
STAND_IN_UNARY(absolute)
STAND_IN_UNARY(asin)
STAND_IN_UNARY(acos)
STAND_IN_UNARY(atan)
STAND_IN_UNARY(sinh)
STAND_IN_UNARY(cosh)
STAND_IN_UNARY(tanh)
STAND_IN_UNARY(asinh)
STAND_IN_UNARY(acosh)
STAND_IN_UNARY(atanh)
STAND_IN_UNARY(isNaN)
STAND_IN_UNARY(isInfinite)
STAND_IN_UNARY(rint)
STAND_IN_UNARY(not)
STAND_IN_UNARY(reLU)
STAND_IN_UNARY(bitwiseNOT)
STAND_IN_BINARY(addition)
STAND_IN_BINARY(subtraction)
STAND_IN_BINARY(multiplication)
STAND_IN_BINARY(division)
STAND_IN_BINARY(power)
STAND_IN_BINARY(minimum)
STAND_IN_BINARY(maximum)
STAND_IN_BINARY(atan2)
STAND_IN_BINARY(equal)
STAND_IN_BINARY(notEqual)
STAND_IN_BINARY(greaterThanOrEqualTo)
STAND_IN_BINARY(greaterThan)
STAND_IN_BINARY(lessThanOrEqualTo)
STAND_IN_BINARY(lessThan)
STAND_IN_BINARY(logicalAND)
STAND_IN_BINARY(logicalOR)
STAND_IN_BINARY(logicalXOR)
STAND_IN_BINARY(minimumWithNaNPropagation)
STAND_IN_BINARY(maximumWithNaNPropagation)
STAND_IN_BINARY(bitwiseAND)
STAND_IN_BINARY(bitwiseOR)
STAND_IN_BINARY(bitwiseXOR)

- (instancetype)init {
  self = [super init];
  stand_in::link_movement();
  _steps = new std::vector<Step>;
  _tensors = [[NSMutableArray alloc] init];
  return self;
}

- (void)dealloc {
  delete static_cast<std::vector<Step> *>(_steps);
  [_tensors release];
  [super dealloc];
}

- (MPSGraphTensor *)add:(const std::string &)name
               operands:(const std::vector<MPSGraphTensor *> &)operands
                compute:(const Compute &)compute {
  std::vector<Array> given;
  Operands pointers;
  Step step;
  step.compute = compute;
  for (MPSGraphTensor *operand : operands) {
    if (operand == nil) {
      [NSException raise:NSInvalidArgumentException format:@"an operand of %s is nil", name.c_str()];
    }
    step.operands.push_back([operand number]);
    given.push_back(stand_in::zeros([operand dataType], sizes_of([operand shape])));
  }
  for (const Array &each : given) {
    pointers.push_back(&each);
  }
  const Array result = raising([&] { return compute(pointers); });
  static_cast<std::vector<Step> *>(_steps)->push_back(step);
  MPSGraphTensor *const made = [[[MPSGraphTensor alloc] initWithNumber:[_tensors count]
                                                                 shape:numbers_of(result.sizes)
                                                              dataType:static_cast<MPSDataType>(result.type)] autorelease];
  [_tensors addObject:made];
  note(name + " -> " + text_of(result.sizes));
  return made;
}

- (std::vector<Array>)evaluate:(NSArray *)targets feeds:(NSArray *)feeds data:(NSArray *)data {
  auto &steps = *static_cast<std::vector<Step> *>(_steps);
  std::vector<Array> values(steps.size());
  std::vector<bool> known(steps.size());
  for (NSUInteger i = 0; i < [feeds count]; ++i) {
    const NSUInteger number = [[feeds objectAtIndex:i] number];
    values[number] = [(MPSGraphTensorData *)[data objectAtIndex:i] array];
    known[number] = true;
  }
  return raising([&] {
    for (size_t number = 0; number < steps.size(); ++number) {
      Operands operands;
      for (const NSUInteger each : steps[number].operands) {
        operands.push_back(&values[each]);
      }
      if (!known[number]) {
        values[number] = steps[number].compute(operands);
      }
    }
    std::vector<Array> results;
    for (MPSGraphTensor *target in targets) {
      results.push_back(values[[target number]]);
    }
    return results;
  });
}

- (MPSGraphTensor *)placeholderWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType name:(NSString *)name {
  (void)name;
  const Array zeros = stand_in::zeros(dataType, sizes_of(shape));
  return [self add:"placeholder" operands:{} compute:[zeros](const Operands &) { return zeros; }];
}

- (MPSGraphTensor *)constantWithData:(NSData *)data shape:(MPSShape *)shape dataType:(MPSDataType)dataType {
  const Array array =
      raising([&] { return stand_in::from_bytes([data bytes], [data length], dataType, sizes_of(shape)); });
  return [self add:"constant" operands:{} compute:[array](const Operands &) { return array; }];
}

- (MPSGraphTensor *)constantWithScalar:(double)scalar dataType:(MPSDataType)dataType {
  return [self constantWithScalar:scalar shape:@[ @1 ] dataType:dataType];
}

- (MPSGraphTensor *)constantWithScalar:(double)scalar shape:(MPSShape *)shape dataType:(MPSDataType)dataType {
  Array array = stand_in::zeros(dataType, sizes_of(shape));
  for (double &each : array.data) {
    each = dataType == MPSDataTypeInt4 ? scalar : stand_in::rounded(scalar, dataType);
  }
  return [self add:"scalar " + std::to_string(scalar) operands:{} compute:[array](const Operands &) { return array; }];
}

- (MPSGraphExecutable *)compileWithDevice:(MPSGraphDevice *)device
                                    feeds:(NSDictionary *)feeds
                            targetTensors:(NSArray<MPSGraphTensor *> *)targetTensors
                         targetOperations:(NSArray<MPSGraphOperation *> *)targetOperations
                    compilationDescriptor:(MPSGraphCompilationDescriptor *)compilationDescriptor {
  (void)device;
  (void)targetOperations;
  (void)compilationDescriptor;
  if (std::getenv("MPS_STAND_IN_FAILS") != nullptr) {
    [NSException raise:NSGenericException format:@"the graph cannot be compiled"];
  }
  return [[[MPSGraphExecutable alloc] initWithGraph:self feeds:[feeds allKeys] targets:targetTensors] autorelease];
}

- (MPSGraphTensor *)leakyReLUWithTensor:(MPSGraphTensor *)tensor alpha:(double)alpha name:(NSString *)name {
  (void)name;
  return [self add:"leakyReLU " + std::to_string(alpha) operands:{tensor} compute:[alpha](const Operands &x) {
    Array made = *x[0];
    for (double &value : made.data) {
      value = stand_in::rounded(value < 0 ? value * alpha : value, made.type);
    }
    return made;
  }];
}

- (MPSGraphTensor *)softMaxWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(NSString *)name {
  (void)name;
  return [self add:"softMax " + std::to_string(axis) operands:{tensor} compute:[axis](const Operands &x) {
    return stand_in::softmax(*x[0], axis);
  }];
}

- (MPSGraphTensor *)reduce:(const std::string &)kind tensor:(MPSGraphTensor *)tensor axes:(const Sizes &)axes {
  return [self add:kind + " " + text_of(axes) operands:{tensor} compute:[kind, axes](const Operands &x) {
    return stand_in::reduce(kind, *x[0], axes);
  }];
}

- (MPSGraphTensor *)reductionMaximumWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(NSString *)name {
  (void)name;
  return [self reduce:"max" tensor:tensor axes:{axis}];
}

- (MPSGraphTensor *)reductionSumWithTensor:(MPSGraphTensor *)tensor axis:(NSInteger)axis name:(NSString *)name {
  (void)name;
  return [self reduce:"sum" tensor:tensor axes:{axis}];
}

- (MPSGraphTensor *)meanOfTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name {
  (void)name;
  return [self reduce:"mean" tensor:tensor axes:sizes_of(axes)];
}

- (MPSGraphTensor *)varianceOfTensor:(MPSGraphTensor *)tensor axes:(NSArray<NSNumber *> *)axes name:(NSString *)name {
  (void)name;
  return [self reduce:"variance" tensor:tensor axes:sizes_of(axes)];
}

- (MPSGraphTensor *)matrixMultiplicationWithPrimaryTensor:(MPSGraphTensor *)primaryTensor
                                          secondaryTensor:(MPSGraphTensor *)secondaryTensor
                                                     name:(NSString *)name {
  (void)name;
  return [self add:"matrixMultiplication" operands:{primaryTensor, secondaryTensor} compute:[](const Operands &x) {
    return stand_in::matrix_product(*x[0], *x[1]);
  }];
}

- (MPSGraphTensor *)selectWithPredicateTensor:(MPSGraphTensor *)predicateTensor
                          truePredicateTensor:(MPSGraphTensor *)truePredicateTensor
                         falsePredicateTensor:(MPSGraphTensor *)falseSelectTensor
                                         name:(NSString *)name {
  (void)name;
  return [self add:"select" operands:{predicateTensor, truePredicateTensor, falseSelectTensor} compute:[](const Operands &x) {
    return stand_in::select(*x[0], *x[1], *x[2]);
  }];
}

- (MPSGraphTensor *)normalizationWithTensor:(MPSGraphTensor *)tensor
                                 meanTensor:(MPSGraphTensor *)mean
                             varianceTensor:(MPSGraphTensor *)variance
                                gammaTensor:(MPSGraphTensor *)gamma
                                 betaTensor:(MPSGraphTensor *)beta
                                    epsilon:(float)epsilon
                                       name:(NSString *)name {
  (void)name;
  std::vector<MPSGraphTensor *> operands{tensor, mean, variance};
  if (gamma != nil) {
    operands.push_back(gamma);
  }
  if (beta != nil) {
    operands.push_back(beta);
  }
  const bool scales = gamma != nil, moves = beta != nil;
  return [self add:"normalization " + std::to_string(epsilon) operands:operands compute:[=](const Operands &x) {
    const uint32_t wide = stand_in::kFloat | 32;
    const auto in = [&](size_t i) { return stand_in::cast(*x[i], wide); };
    Array deviation = in(2);
    for (double &value : deviation.data) {
      value = stand_in::rounded(value + epsilon, wide);
    }
    Array made = stand_in::binary("division", stand_in::binary("subtraction", in(0), in(1)),
                                  stand_in::unary("squareRoot", deviation));
    made = scales ? stand_in::binary("multiplication", made, in(3)) : made;
    made = moves ? stand_in::binary("addition", made, in(x.size() - 1)) : made;
    for (const Array *each : x) {
      if (each->type != x[0]->type) {
        throw std::invalid_argument("the statistics have another data type");
      }
    }
    return stand_in::cast(made, x[0]->type);
  }];
}

- (MPSGraphTensor *)convolution2DWithSourceTensor:(MPSGraphTensor *)source
                                    weightsTensor:(MPSGraphTensor *)weights
                                       descriptor:(MPSGraphConvolution2DOpDescriptor *)descriptor
                                             name:(NSString *)name {
  (void)name;
  const stand_in::Window window{{},
                                longs(descriptor->strides, 2),
                                longs(descriptor->dilations, 2),
                                longs(descriptor->paddings, 4),
                                static_cast<long>(descriptor->groups)};
  const std::string label = "convolution2D strides " + text_of(window.strides) + " dilations " + text_of(window.dilations) +
                            " paddings " + text_of(window.paddings) + " groups " + std::to_string(window.groups);
  return [self add:label operands:{source, weights} compute:[window](const Operands &x) {
    return stand_in::convolve(*x[0], *x[1], window);
  }];
}

- (MPSGraphTensor *)depthwiseConvolution3DWithSourceTensor:(MPSGraphTensor *)source
                                             weightsTensor:(MPSGraphTensor *)weights
                                                descriptor:(MPSGraphDepthwiseConvolution3DOpDescriptor *)descriptor
                                                      name:(NSString *)name {
  (void)name;
  const Sizes strides = sizes_of([descriptor strides]), dilations = sizes_of([descriptor dilationRates]);
  const Sizes pads = sizes_of([descriptor paddingValues]);
  if (strides.size() != 3 || dilations.size() != 3 || pads.size() != 6 || [descriptor channelDimensionIndex] != -3 ||
      strides[0] != 1 || dilations[0] != 1 || pads[0] != 0 || pads[1] != 0) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in has channels as the first spatial dimension"];
  }
  stand_in::Window window{{}, {strides[1], strides[2]}, {dilations[1], dilations[2]}, {pads[4], pads[5], pads[2], pads[3]}};
  const std::string label = "depthwiseConvolution3D strides " + text_of(window.strides) + " dilations " +
                            text_of(window.dilations) + " paddings " + text_of(window.paddings);
  return [self add:label operands:{source, weights} compute:[window](const Operands &x) {
    stand_in::Window own = window;
    own.groups = x[0]->sizes[1];
    return stand_in::convolve(*x[0], stand_in::transpose(*x[1], 0, 1), own);
  }];
}

- (MPSGraphTensor *)pool:(const std::string &)what
                  source:(MPSGraphTensor *)source
              descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor {
  const stand_in::Window window{longs(descriptor->kernel, 2),
                                longs(descriptor->strides, 2),
                                longs(descriptor->dilations, 2),
                                longs(descriptor->paddings, 4),
                                1,
                                [descriptor ceilMode] != NO,
                                [descriptor includeZeroPadToAverage] != NO};
  const std::string label = "pool " + what + " kernel " + text_of(window.kernel) + " strides " + text_of(window.strides) +
                            " dilations " + text_of(window.dilations) + " paddings " + text_of(window.paddings);
  return [self add:label operands:{source} compute:[what, window](const Operands &x) {
    return stand_in::pool(what, *x[0], window);
  }];
}

- (NSArray<MPSGraphTensor *> *)maxPooling2DReturnIndicesWithSourceTensor:(MPSGraphTensor *)source
                                                              descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor
                                                                    name:(NSString *)name {
  (void)name;
  if ([descriptor returnIndicesMode] != MPSGraphPoolingReturnIndicesGlobalFlatten2D ||
      [descriptor returnIndicesDataType] != MPSDataTypeInt32) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in has indices of planes in int32"];
  }
  return @[ [self pool:"max" source:source descriptor:descriptor], [self pool:"place" source:source descriptor:descriptor] ];
}

- (MPSGraphTensor *)avgPooling2DWithSourceTensor:(MPSGraphTensor *)source
                                      descriptor:(MPSGraphPooling2DOpDescriptor *)descriptor
                                            name:(NSString *)name {
  (void)name;
  return [self pool:"average" source:source descriptor:descriptor];
}

- (MPSGraphTensor *)dequantizeTensor:(MPSGraphTensor *)tensor
                         scaleTensor:(MPSGraphTensor *)scaleTensor
                     zeroPointTensor:(MPSGraphTensor *)zeroPointTensor
                            dataType:(MPSDataType)dataType
                                name:(NSString *)name {
  (void)name;
  if (dataType != MPSDataTypeFloat16) {
    [NSException raise:NSInvalidArgumentException format:@"the stand-in dequantises to float16"];
  }
  return [self add:"dequantize" operands:{tensor, scaleTensor, zeroPointTensor} compute:[](const Operands &x) {
    return stand_in::dequantize(*x[0], *x[1]);
  }];
}
@end
