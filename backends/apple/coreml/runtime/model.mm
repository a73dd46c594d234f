// SPDX-License-Identifier: BSD-3-Clause
#include "model.h"

#import <CoreML/CoreML.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/runtime/platform/log.h>

#include "elements.h"
#import "exceptions.h"
#import "owned.h"

// The classes below are used where is_core_ml_available() is true.
#define EXECUTORCH_COREML_AVAILABLE \
  __attribute__((availability(macos, introduced = 13.0), availability(ios, introduced = 16.0), \
                 availability(tvos, introduced = 16.0)))

namespace executorch {
namespace backends {
namespace coreml {

using apple::Owned;
using apple::in_pool;
using apple::without_exceptions;
using extension::delegate::Argument;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;
using runtime::etensor::ScalarType;
using runtime::etensor::Tensor;

namespace {

using apple::text_of;  // the functions here have the same name

constexpr char kTitle[] = "Core ML";

/// Empty for a text that is not UTF-8.
NSString* text_of(const std::string& text) {
  NSString* const made = [NSString stringWithUTF8String:text.c_str()];
  return made == nil ? @"" : made;
}

/// Core ML's description of a failure.
std::string reason_of(NSError* error) {
  const std::string text = text_of([error localizedDescription]);
  return text.empty() ? "it gives no reason" : text;
}

NSURL* url_of(const std::string& path) {
  return [NSURL fileURLWithPath:text_of(path) isDirectory:YES];
}

EXECUTORCH_COREML_AVAILABLE MLComputeUnits units_of(const std::string& name) {
  if (name == "cpu_only") {
    return MLComputeUnitsCPUOnly;
  }
  if (name == "cpu_and_gpu") {
    return MLComputeUnitsCPUAndGPU;
  }
  return name == "cpu_and_ne" ? MLComputeUnitsCPUAndNeuralEngine : MLComputeUnitsAll;
}

/// The dtype of an array; Undefined for one that no tensor has.
EXECUTORCH_COREML_AVAILABLE ScalarType type_of(MLMultiArrayDataType type) {
  switch (type) {
    case MLMultiArrayDataTypeFloat32:
      return ScalarType::Float;
    case MLMultiArrayDataTypeFloat16:
      return ScalarType::Half;
    case MLMultiArrayDataTypeDouble:
      return ScalarType::Double;
    case MLMultiArrayDataTypeInt32:
      return ScalarType::Int;
    default:
      return ScalarType::Undefined;
  }
}

NSArray<NSNumber*>* numbers_of(const Layout& layout, bool strides) {
  NSMutableArray<NSNumber*>* const made = [NSMutableArray arrayWithCapacity:layout.rank];
  for (size_t axis = 0; axis < layout.rank; ++axis) {
    [made addObject:[NSNumber numberWithLongLong:strides ? layout.strides[axis] : layout.sizes[axis]]];
  }
  return made;
}

/// False for a rank that no tensor has, or a negative size.
bool read_layout(NSArray<NSNumber*>* sizes, NSArray<NSNumber*>* strides, Layout& layout) {
  layout.rank = [sizes count];
  bool is_valid = layout.rank <= layout.sizes.size() && [strides count] == layout.rank;
  for (size_t axis = 0; is_valid && axis < layout.rank; ++axis) {
    layout.sizes[axis] = static_cast<ptrdiff_t>([[sizes objectAtIndex:axis] longLongValue]);
    layout.strides[axis] = static_cast<ptrdiff_t>([[strides objectAtIndex:axis] longLongValue]);
    is_valid = layout.sizes[axis] >= 0 && layout.sizes[axis] <= INT32_MAX;
  }
  return is_valid;
}

/// "[1, 5, 10]".
std::string text_of(const Layout& layout) {
  std::string text = "[";
  for (size_t axis = 0; axis < layout.rank; ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(layout.sizes[axis]);
  }
  return text + "]";
}

/// If a model enumerates the shapes of an input, checks that these sizes are one of them.
EXECUTORCH_COREML_AVAILABLE Error check_shape(const std::string& name, MLMultiArrayConstraint* constraint,
                                              const Layout& given) {
  MLMultiArrayShapeConstraint* const shapes = [constraint shapeConstraint];
  if (shapes == nil || [shapes type] != MLMultiArrayShapeConstraintTypeEnumerated) {
    return Error::Ok;
  }
  std::string allowed;
  for (NSArray<NSNumber*>* sizes in [shapes enumeratedShapes]) {
    Layout known;
    if (!read_layout(sizes, sizes, known)) {
      continue;
    }
    if (has_same_sizes(known, given)) {
      return Error::Ok;
    }
    allowed += (allowed.empty() ? "" : ", ") + text_of(known);
  }
  ET_LOG(Error, "Core ML: the input %s has the shape %s; the model allows %s", name.c_str(), text_of(given).c_str(),
         allowed.c_str());
  return Error::InvalidArgument;
}

struct EXECUTORCH_COREML_AVAILABLE Output {
  std::string name;
  Owned<NSString*> key;
};

/// An input with the array of the last call, which is reused while the caller's memory and sizes do not change.
struct EXECUTORCH_COREML_AVAILABLE Input {
  std::string name;
  Owned<NSString*> key;
  Owned<MLFeatureDescription*> description;
  ScalarType type = ScalarType::Undefined;  ///< what the model expects
  Owned<MLMultiArray*> array;
  Elements given{nullptr, ScalarType::Undefined, {}};  ///< the caller's elements at the last call
  std::vector<uint8_t> converted;  ///< the memory of `array` if the caller's dtype differs
};

class EXECUTORCH_COREML_AVAILABLE CoreMLModel final : public Model {
 public:
  Error open(const std::string& path, const std::string& function, const std::string& compute_unit,
             const FunctionNames& names);
  Error execute(Span<EValue*> args) override {
    return without_exceptions(kTitle, [&] { return predict(args); });
  }

 private:
  Error read_description(const FunctionNames& names);
  Error bind(Input& input, const Tensor& tensor, bool& is_bound);
  Error bind_all(Span<EValue*> args);
  Error predict(Span<EValue*> args);
  Error return_output(size_t index, MLMultiArray* array, Tensor& tensor);

  Owned<MLModel*> model_;
  Owned<id> state_;  ///< an MLState, if the model has states
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  Owned<MLDictionaryFeatureProvider*> features_;
};

Error CoreMLModel::open(const std::string& path, const std::string& function, const std::string& compute_unit,
                        const FunctionNames& names) {
  const auto configuration = Owned<MLModelConfiguration*>::adopt([[MLModelConfiguration alloc] init]);
  [configuration.get() setComputeUnits:units_of(compute_unit)];
  if (!function.empty()) {
    if (@available(macOS 15.0, iOS 18.0, tvOS 18.0, *)) {
      [configuration.get() setFunctionName:text_of(function)];
    } else {
      ET_LOG(Error, "Core ML: methods that share weights need iOS 18 or macOS 15: export them with "
                    "MULTIMETHOD_WEIGHT_SHARING_STRATEGY.DISABLED");
      return Error::DelegateInvalidCompatibility;
    }
  }
  NSError* error = nil;
  MLModel* const model = [MLModel modelWithContentsOfURL:url_of(path) configuration:configuration.get() error:&error];
  ET_CHECK_OR_RETURN_ERROR(model != nil, DelegateInvalidCompatibility, "Core ML cannot load the model: %s",
                           reason_of(error).c_str());
  model_ = Owned<MLModel*>(model);
  return read_description(names);
}

Error CoreMLModel::read_description(const FunctionNames& names) {
  MLModelDescription* const description = [model_.get() modelDescription];
  for (const std::string& name : names.inputs) {
    Input input;
    input.name = name;
    input.key = Owned<NSString*>(text_of(name));
    MLFeatureDescription* const found = [[description inputDescriptionsByName] objectForKey:input.key.get()];
    ET_CHECK_OR_RETURN_ERROR(found != nil && [found type] == MLFeatureTypeMultiArray, InvalidProgram,
                             "Core ML: the model has no array '%s' as input, which the payload's metadata.json names",
                             name.c_str());
    const MLMultiArrayDataType type = [[found multiArrayConstraint] dataType];
    input.description = Owned<MLFeatureDescription*>(found);
    input.type = type_of(type);
    ET_CHECK_OR_RETURN_ERROR(input.type != ScalarType::Undefined, NotSupported,
                             "Core ML: the input %s has the data type %ld, which no tensor has", name.c_str(),
                             static_cast<long>(type));
    inputs_.push_back(std::move(input));
  }
  for (const std::string& name : names.outputs) {
    Output output{name, Owned<NSString*>(text_of(name))};
    ET_CHECK_OR_RETURN_ERROR([[description outputDescriptionsByName] objectForKey:output.key.get()] != nil,
                             InvalidProgram,
                             "Core ML: the model has no output '%s', which the payload's metadata.json names",
                             name.c_str());
    outputs_.push_back(std::move(output));
  }
  if (@available(macOS 15.0, iOS 18.0, tvOS 18.0, *)) {
    if ([[description stateDescriptionsByName] count] > 0) {
      state_ = Owned<id>::adopt([model_.get() newState]);
    }
  }
  return Error::Ok;
}

/// Sets `input.array` to an array for the tensor, and `is_bound` to false if the array differs from that of the last
/// call.
Error CoreMLModel::bind(Input& input, const Tensor& tensor, bool& is_bound) {
  const Elements given{tensor.mutable_data_ptr(), tensor.scalar_type(), layout_of(tensor)};
  const bool in_place = given.type == input.type;
  const Layout layout = in_place ? given.layout : contiguous(given.layout);
  const bool is_same = input.array.get() != nil && given.type == input.given.type &&
                       given.layout == input.given.layout && (!in_place || given.data == input.given.data);
  if (!is_same) {
    is_bound = false;
    input.array = Owned<MLMultiArray*>();
    ET_CHECK_OK_OR_RETURN_ERROR(
        check_shape(input.name, [input.description.get() multiArrayConstraint], given.layout));
    if (!in_place) {
      // At least one byte, because an array without elements needs memory, too.
      input.converted.resize(count_of(layout) * runtime::elementSize(input.type) + 1);
    }
    MLMultiArrayDataType type = [[input.description.get() multiArrayConstraint] dataType];
    NSError* error = nil;
    MLMultiArray* const array =
        [[MLMultiArray alloc] initWithDataPointer:in_place ? given.data : input.converted.data()
                                            shape:numbers_of(layout, false)
                                         dataType:type
                                          strides:numbers_of(layout, true)
                                      deallocator:nil
                                            error:&error];
    ET_CHECK_OR_RETURN_ERROR(array != nil, InvalidArgument, "Core ML does not take the input %s of the shape %s: %s",
                             input.name.c_str(), text_of(given.layout).c_str(), reason_of(error).c_str());
    input.array = Owned<MLMultiArray*>::adopt(array);
    input.given = given;
  }
  return in_place ? Error::Ok : copy_elements(given, {input.converted.data(), input.type, layout});
}

Error CoreMLModel::bind_all(Span<EValue*> args) {
  bool is_bound = features_.get() != nil;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Error error = bind(inputs_[i], args[i]->toTensor(), is_bound);
    if (error != Error::Ok) {
      features_ = Owned<MLDictionaryFeatureProvider*>();
      return error;
    }
  }
  if (is_bound) {
    return Error::Ok;
  }
  NSMutableDictionary<NSString*, id>* const arrays = [NSMutableDictionary dictionaryWithCapacity:inputs_.size()];
  for (const Input& input : inputs_) {
    [arrays setObject:[MLFeatureValue featureValueWithMultiArray:input.array.get()] forKey:input.key.get()];
  }
  NSError* error = nil;
  features_ = Owned<MLDictionaryFeatureProvider*>::adopt([[MLDictionaryFeatureProvider alloc] initWithDictionary:arrays
                                                                                                           error:&error]);
  ET_CHECK_OR_RETURN_ERROR(features_.get() != nil, InvalidArgument, "Core ML does not take the inputs: %s",
                           reason_of(error).c_str());
  return Error::Ok;
}

Error CoreMLModel::predict(Span<EValue*> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(extension::delegate::check_count(kTitle, args, inputs_.size(), outputs_.size()));
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_input = i < inputs_.size();
    const Argument argument{kTitle, is_input ? "input" : "output", is_input ? i : i - inputs_.size()};
    ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, *args[i]));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(bind_all(args));
  NSError* error = nil;
  id<MLFeatureProvider> results = nil;
  if (state_.get() == nil) {
    results = [model_.get() predictionFromFeatures:features_.get() error:&error];
  } else if (@available(macOS 15.0, iOS 18.0, tvOS 18.0, *)) {
    results = [model_.get() predictionFromFeatures:features_.get() usingState:state_.get() error:&error];
  }
  ET_CHECK_OR_RETURN_ERROR(results != nil, DelegateInvalidHandle, "Core ML cannot run the model: %s",
                           reason_of(error).c_str());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    MLMultiArray* const array = [[results featureValueForName:outputs_[i].key.get()] multiArrayValue];
    ET_CHECK_OK_OR_RETURN_ERROR(return_output(i, array, args[inputs_.size() + i]->toTensor()));
  }
  return Error::Ok;
}

Error CoreMLModel::return_output(size_t index, MLMultiArray* array, Tensor& tensor) {
  const Output& output = outputs_[index];
  ET_CHECK_OR_RETURN_ERROR(array != nil, DelegateInvalidHandle, "Core ML returns no array for the output %s",
                           output.name.c_str());
  Layout layout;
  ET_CHECK_OR_RETURN_ERROR(read_layout([array shape], [array strides], layout), NotSupported,
                           "Core ML returns for the output %s a rank or a size that no tensor has",
                           output.name.c_str());
  if (!has_same_sizes(layout, layout_of(tensor))) {
    std::array<int64_t, runtime::kTensorDimensionLimit> sizes{};
    std::copy_n(layout.sizes.begin(), layout.rank, sizes.begin());
    ET_CHECK_OK_OR_RETURN_ERROR(
        resize_output(Argument{kTitle, "output", index}, tensor, aten::ArrayRef<int64_t>(sizes.data(), layout.rank)));
  }
  const Elements target{tensor.mutable_data_ptr(), tensor.scalar_type(), layout_of(tensor)};
  const ScalarType type = type_of([array dataType]);
  // The processor's results may be in memory that is mapped for this call only.
  __block Error error = Error::Ok;
  [array getBytesWithHandler:^(const void* bytes, NSInteger) {
    error = copy_elements({const_cast<void*>(bytes), type, layout}, target);
  }];
  return error;
}

}  // namespace

bool is_core_ml_available() {
  if (@available(macOS 13.0, iOS 16.0, tvOS 16.0, *)) {
    return true;
  }
  return false;
}

std::string system_version() {
  return in_pool([] { return text_of([[NSProcessInfo processInfo] operatingSystemVersionString]); });
}

std::string caches_folder() {
  return in_pool([] {
    NSArray<NSString*>* const found = NSSearchPathForDirectoriesInDomains(NSCachesDirectory, NSUserDomainMask, YES);
    return [found count] > 0 ? text_of([found objectAtIndex:0]) : temporary_folder();
  });
}

std::string temporary_folder() {
  return in_pool([] { return text_of(NSTemporaryDirectory()); });
}

Result<std::string> compile_model(const std::string& package) {
  return without_exceptions(kTitle, [&]() -> Result<std::string> {
    NSError* error = nil;
    NSURL* const made = [MLModel compileModelAtURL:url_of(package) error:&error];
    ET_CHECK_OR_RETURN_ERROR(made != nil, DelegateInvalidCompatibility, "Core ML cannot compile the model: %s",
                             reason_of(error).c_str());
    return text_of([made path]);
  });
}

Result<std::unique_ptr<Model>> open_model(const std::string& path, const std::string& function,
                                          const std::string& compute_unit, const FunctionNames& names) {
  return without_exceptions(kTitle, [&]() -> Result<std::unique_ptr<Model>> {
    if (@available(macOS 13.0, iOS 16.0, tvOS 16.0, *)) {
      auto model = std::make_unique<CoreMLModel>();
      ET_CHECK_OK_OR_RETURN_ERROR(model->open(path, function, compute_unit, names));
      return std::unique_ptr<Model>(std::move(model));
    }
    return Error::NotSupported;
  });
}

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
