// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/tensor_parser.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_same_v<decltype(deserialization::NamedData::key), const char*>);
static_assert(std::is_same_v<decltype(deserialization::NamedData::buffer), FreeableBuffer>);
static_assert(is<NamedData* (*)(const char*, Span<NamedData>)>(&deserialization::get_data_by_key));
using parseTensor_default = decltype(deserialization::parseTensor(make<const Program*>(), make<MemoryManager*>(),
                                                                  make<const executorch_flatbuffer::Tensor*>()));
static_assert(is<Result<BoxedEvalueList<aten::Tensor>> (*)(const flatbuffers::Vector<int32_t>*, EValue*, size_t,
                                                           MemoryManager*)>(&deserialization::parseTensorList));
static_assert(
    is<Error (*)(const executorch_flatbuffer::Tensor*, const TensorLayout&)>(&deserialization::validateTensorLayout));
static_assert(is<Result<void*> (*)(const executorch_flatbuffer::Tensor*, const Program*, size_t, HierarchicalAllocator*,
                                   const NamedDataMap*, Span<NamedData>)>(&deserialization::getTensorDataPtr));
using getTensorDataPtr_default =
    decltype(deserialization::getTensorDataPtr(make<const executorch_flatbuffer::Tensor*>(), make<const Program*>(),
                                               make<size_t>(), make<HierarchicalAllocator*>()));
using ParsedTensor = decltype(deserialization::parseTensor(
    make<const Program*>(), make<MemoryManager*>(), make<const executorch_flatbuffer::Tensor*>(),
    make<const NamedDataMap*>(), make<Span<deserialization::NamedData>>()));
static_assert(std::is_same_v<ParsedTensor, Result<aten::Tensor>>);
using ParsedList = decltype(deserialization::parseListOptionalType<aten::Tensor>(
    make<const flatbuffers::Vector<int32_t>*>(), make<EValue*>(), size_t{}, make<MemoryManager*>()));
static_assert(std::is_same_v<ParsedList, Result<BoxedEvalueList<std::optional<aten::Tensor>>>>);
namespace aliases {
using ::torch::executor::deserialization::getTensorDataPtr;
using ::torch::executor::deserialization::parseListOptionalType;
using ::torch::executor::deserialization::parseTensor;
using ::torch::executor::deserialization::parseTensorList;
}  // namespace aliases

}  // namespace surface
