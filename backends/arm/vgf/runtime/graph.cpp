// SPDX-License-Identifier: BSD-3-Clause
#include "graph.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstring>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/runtime/platform/log.h>

#include "spirv_module.h"

namespace executorch {
namespace backends {
namespace vgf {

using executorch::aten::SizesType;
using extension::delegate::Argument;
using extension::delegate::check_count;
using extension::delegate::check_dtype;
using extension::delegate::check_is_tensor;
using extension::delegate::check_shape;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;

namespace {

arm::TensorDescription describe(const Resource& resource) {
  arm::TensorDescription description;
  description.format = static_cast<VkFormat>(resource.format);
  description.num_dims = static_cast<uint32_t>(resource.shape.size());
  description.dims = resource.shape.data();
  return description;
}

/// The bytes of a constant, aligned for every element type. If they are not aligned in the file, they are copied to
/// `copy`.
const void* aligned(const Constant& constant, size_t bytes, std::vector<uint64_t>& copy) {
  if (reinterpret_cast<uintptr_t>(constant.data) % sizeof(uint64_t) == 0) {
    return constant.data;
  }
  copy.resize((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::memcpy(copy.data(), constant.data, bytes);
  return copy.data();
}

/// Whether the tensor has the shape, whose dimensions are in memory order. A tensor without
/// dimensions has the shape {1}.
bool has_shape(const aten::Tensor& tensor, const std::vector<SizesType>& shape) {
  const auto rank = static_cast<size_t>(tensor.dim());
  std::array<aten::DimOrderType, runtime::kTensorDimensionLimit> order;
  if (rank != shape.size() || runtime::get_dim_order(tensor, order.data(), rank) != Error::Ok) {
    return rank == 0 && shape.size() == 1 && shape[0] == 1;
  }
  return std::equal(shape.begin(), shape.end(), order.begin(),
                    [&](SizesType size, aten::DimOrderType dim) { return tensor.sizes()[dim] == size; });
}

}  // namespace

Error Graph::load(const void* payload, size_t size) {
  const Result<VgfFile> read = read_vgf(payload, size);
  ET_CHECK_OK_OR_RETURN_ERROR(read.error());
  const VgfFile& file = read.get();
  for (const Segment& segment : file.segments) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_module(file, segment));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_limits(file));
  ET_CHECK_OK_OR_RETURN_ERROR(add_tensors(file));
  ET_CHECK_OK_OR_RETURN_ERROR(add_ends(file));
  for (const Segment& segment : file.segments) {
    ET_CHECK_OK_OR_RETURN_ERROR(compile(file, segment));
  }
  return record();
}

Error Graph::check_limits(const VgfFile& file) const {
  const arm::TensorProperties& limits = device_->limits();
  for (size_t i = 0; i < file.resources.size(); ++i) {
    const Resource& resource = file.resources[i];
    uint64_t count = 1;
    bool fits = resource.shape.size() <= limits.max_dims && resource.bytes <= limits.max_bytes;
    for (const int64_t dim : resource.shape) {
      count *= static_cast<uint64_t>(dim);
      fits = fits && static_cast<uint64_t>(dim) <= limits.max_elements_of_a_dim;
    }
    ET_CHECK_OR_RETURN_ERROR(fits && count <= limits.max_elements, NotSupported,
                             "VGF: resource %zu has %zu dimensions and %zu bytes, the device has tensors of at most %u "
                             "dimensions and %" PRIu64 " bytes",
                             i, resource.shape.size(), resource.bytes, limits.max_dims, limits.max_bytes);
    ET_CHECK_OR_RETURN_ERROR(device_->supports(static_cast<VkFormat>(resource.format)), NotSupported,
                             "VGF: resource %zu has the VkFormat %u, which the device has no tensors of", i,
                             resource.format);
  }
  return Error::Ok;
}

Error Graph::add_tensors(const VgfFile& file) {
  const auto& vk = device_->arm();
  tensors_.resize(file.resources.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Resource& resource = file.resources[i];
    if (resource.category == Category::Constant) {
      continue;
    }
    const arm::TensorDescription description = describe(resource);
    arm::TensorInfo info;
    info.description = &description;
    arm::Tensor tensor = VK_NULL_HANDLE;
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk.CreateTensorARM(device_->handle(), &info, nullptr, &tensor), "vkCreateTensorARM"));
    tensors_[i].tensor = device_->own(vk.DestroyTensorARM, tensor);
    arm::TensorRequirements wanted;
    wanted.tensor = tensor;
    auto needs = described<VkMemoryRequirements2>(VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2);
    vk.GetTensorMemoryRequirementsARM(device_->handle(), &wanted, &needs);
    ET_CHECK_OR_RETURN_ERROR(needs.memoryRequirements.size >= resource.bytes, Internal,
                             "VGF: the driver has %" PRIu64 " bytes for a packed tensor of %zu bytes",
                             needs.memoryRequirements.size, resource.bytes);
    auto memory = device_->allocate(needs.memoryRequirements, resource.category != Category::Intermediate);
    ET_CHECK_OK_OR_RETURN_ERROR(memory.error());
    tensors_[i].memory = std::move(memory.get());
    arm::BindTensor bind;
    bind.tensor = tensor;
    bind.memory = tensors_[i].memory->handle();
    ET_CHECK_OK_OR_RETURN_ERROR(check(vk.BindTensorMemoryARM(device_->handle(), 1, &bind), "vkBindTensorMemoryARM"));
    arm::TensorViewInfo view_info;
    view_info.tensor = tensor;
    view_info.format = description.format;
    arm::TensorView view = VK_NULL_HANDLE;
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk.CreateTensorViewARM(device_->handle(), &view_info, nullptr, &view), "vkCreateTensorViewARM"));
    tensors_[i].view = device_->own(vk.DestroyTensorViewARM, view);
  }
  return Error::Ok;
}

Error Graph::add_ends(const VgfFile& file) {
  std::vector<uint32_t> inputs = file.inputs;
  std::sort(inputs.begin(), inputs.end());
  ET_CHECK_OR_RETURN_ERROR(std::adjacent_find(inputs.begin(), inputs.end()) == inputs.end(), InvalidProgram,
                           "VGF: a resource is two inputs of the graph");
  for (const auto& [numbers, ends] : {std::pair(&file.inputs, &inputs_), std::pair(&file.outputs, &outputs_)}) {
    for (const uint32_t number : *numbers) {
      const Resource& resource = file.resources[number];
      // In ExecuTorch the number of elements is an int.
      ET_CHECK_OR_RETURN_ERROR(resource.bytes <= INT32_MAX, NotSupported, "VGF: resource %u has %zu bytes", number,
                               resource.bytes);
      ends->push_back({resource.scalar_type, std::vector<SizesType>(resource.shape.begin(), resource.shape.end()),
                       resource.bytes, tensors_[number].memory->mapped()});
    }
  }
  return Error::Ok;
}

Error Graph::compile(const VgfFile& file, const Segment& segment) {
  Compiled made;
  ET_CHECK_OK_OR_RETURN_ERROR(make_layout(segment, made));
  ET_CHECK_OK_OR_RETURN_ERROR(make_pipeline(file, segment, made));
  ET_CHECK_OK_OR_RETURN_ERROR(make_session(made));
  ET_CHECK_OK_OR_RETURN_ERROR(bind_tensors(segment, made));
  segments_.push_back(std::move(made));
  return Error::Ok;
}

Error Graph::make_layout(const Segment& segment, Compiled& made) const {
  const auto& vk = device_->vk();
  std::vector<VkDescriptorSetLayout> handles;
  for (const std::vector<Slot>& set : segment.sets) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const Slot& slot : set) {
      bindings.push_back({slot.binding, arm::kDescriptorTypeTensor, 1, VK_SHADER_STAGE_ALL, nullptr});
    }
    auto info = described<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    info.bindingCount = static_cast<uint32_t>(bindings.size());
    info.pBindings = bindings.data();
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk.CreateDescriptorSetLayout(device_->handle(), &info, nullptr, &layout), "vkCreateDescriptorSetLayout"));
    made.set_layouts.push_back(device_->own(vk.DestroyDescriptorSetLayout, layout));
    handles.push_back(layout);
  }
  auto info = described<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  info.setLayoutCount = static_cast<uint32_t>(handles.size());
  info.pSetLayouts = handles.data();
  VkPipelineLayout layout = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk.CreatePipelineLayout(device_->handle(), &info, nullptr, &layout), "vkCreatePipelineLayout"));
  made.layout = device_->own(vk.DestroyPipelineLayout, layout);
  return Error::Ok;
}

Error Graph::make_pipeline(const VgfFile& file, const Segment& segment, Compiled& made) const {
  const auto& vk = device_->vk();
  const Module& module = file.modules[segment.module];
  auto code = described<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  code.codeSize = module.code.size() * sizeof(uint32_t);
  code.pCode = module.code.data();
  VkShaderModule handle = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk.CreateShaderModule(device_->handle(), &code, nullptr, &handle), "vkCreateShaderModule"));
  const auto shader = device_->own(vk.DestroyShaderModule, handle);

  // The structures below point to these.
  std::vector<arm::TensorDescription> descriptions;
  for (const Resource& resource : file.resources) {
    descriptions.push_back(describe(resource));
  }
  std::vector<std::vector<uint64_t>> copies(segment.constants.size());
  std::vector<arm::GraphConstant> constants(segment.constants.size());
  for (uint32_t id = 0; id < constants.size(); ++id) {
    const Constant& constant = file.constants[segment.constants[id]];
    constants[id].next = &descriptions[constant.resource];
    constants[id].id = id;
    constants[id].data = aligned(constant, file.resources[constant.resource].bytes, copies[id]);
  }
  std::vector<arm::GraphResource> resources;
  for (uint32_t set = 0; set < segment.sets.size(); ++set) {
    for (const Slot& slot : segment.sets[set]) {
      arm::GraphResource resource;
      resource.next = &descriptions[slot.resource];
      resource.set = set;
      resource.binding = slot.binding;
      resources.push_back(resource);
    }
  }
  arm::GraphModule graph;
  graph.module = handle;
  graph.entry_point = module.entry_point.c_str();
  graph.num_constants = static_cast<uint32_t>(constants.size());
  graph.constants = constants.data();
  arm::GraphPipelineInfo info;
  info.next = &graph;
  info.layout = made.layout.get();
  info.num_resources = static_cast<uint32_t>(resources.size());
  info.resources = resources.data();
  VkPipeline pipeline = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(check(
      device_->arm().CreateDataGraphPipelinesARM(device_->handle(), 0, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
      "vkCreateDataGraphPipelinesARM"));
  made.pipeline = device_->own(vk.DestroyPipeline, pipeline);
  return Error::Ok;
}

Error Graph::make_session(Compiled& made) const {
  const auto& vk = device_->arm();
  arm::SessionInfo info;
  info.pipeline = made.pipeline.get();
  arm::Session session = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk.CreateDataGraphPipelineSessionARM(device_->handle(), &info, nullptr, &session),
                                    "vkCreateDataGraphPipelineSessionARM"));
  made.session = device_->own(vk.DestroyDataGraphPipelineSessionARM, session);
  arm::BindPointsInfo wanted;
  wanted.session = session;
  uint32_t count = 0;
  constexpr char kName[] = "vkGetDataGraphPipelineSessionBindPointRequirementsARM";
  ET_CHECK_OK_OR_RETURN_ERROR(check(
      vk.GetDataGraphPipelineSessionBindPointRequirementsARM(device_->handle(), &wanted, &count, nullptr), kName));
  std::vector<arm::BindPoint> points(count);
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk.GetDataGraphPipelineSessionBindPointRequirementsARM(device_->handle(), &wanted, &count, points.data()),
            kName));
  points.resize(count);
  for (const arm::BindPoint& point : points) {
    ET_CHECK_OR_RETURN_ERROR(point.takes == arm::kMemoryObject, NotSupported,
                             "VGF: the driver requires a session object of type %u, which is not supported",
                             point.takes);
    for (uint32_t object = 0; object < point.num_objects; ++object) {
      arm::SessionMemoryInfo of;
      of.session = session;
      of.bind_point = point.bind_point;
      of.object = object;
      auto needs = described<VkMemoryRequirements2>(VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2);
      vk.GetDataGraphPipelineSessionMemoryRequirementsARM(device_->handle(), &of, &needs);
      if (needs.memoryRequirements.size == 0) {
        continue;
      }
      auto memory = device_->allocate(needs.memoryRequirements, false);
      ET_CHECK_OK_OR_RETURN_ERROR(memory.error());
      arm::BindSession bind;
      bind.session = session;
      bind.bind_point = point.bind_point;
      bind.object = object;
      bind.memory = memory.get()->handle();
      made.memory.push_back(std::move(memory.get()));
      ET_CHECK_OK_OR_RETURN_ERROR(check(vk.BindDataGraphPipelineSessionMemoryARM(device_->handle(), 1, &bind),
                                        "vkBindDataGraphPipelineSessionMemoryARM"));
    }
  }
  return Error::Ok;
}

Error Graph::bind_tensors(const Segment& segment, Compiled& made) const {
  const auto& vk = device_->vk();
  uint32_t count = 0;
  std::vector<VkDescriptorSetLayout> layouts;
  for (size_t i = 0; i < segment.sets.size(); ++i) {
    count += static_cast<uint32_t>(segment.sets[i].size());
    layouts.push_back(made.set_layouts[i].get());
  }
  if (count == 0) {
    return Error::Ok;
  }
  const VkDescriptorPoolSize size{arm::kDescriptorTypeTensor, count};
  auto pool_info = described<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool_info.maxSets = static_cast<uint32_t>(layouts.size());
  pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk.CreateDescriptorPool(device_->handle(), &pool_info, nullptr, &pool), "vkCreateDescriptorPool"));
  made.pool = device_->own(vk.DestroyDescriptorPool, pool);
  auto info = described<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = pool;
  info.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  made.sets.resize(layouts.size());
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk.AllocateDescriptorSets(device_->handle(), &info, made.sets.data()), "vkAllocateDescriptorSets"));
  for (size_t set = 0; set < segment.sets.size(); ++set) {
    for (const Slot& slot : segment.sets[set]) {
      const arm::TensorView view = tensors_[slot.resource].view.get();
      arm::WriteTensors tensors;
      tensors.views = &view;
      auto write = described<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
      write.pNext = &tensors;
      write.dstSet = made.sets[set];
      write.dstBinding = slot.binding;
      write.descriptorCount = 1;
      write.descriptorType = arm::kDescriptorTypeTensor;
      vk.UpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
    }
  }
  return Error::Ok;
}

Error Graph::record() {
  const auto& vk = device_->vk();
  auto pool_info = described<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool_info.queueFamilyIndex = device_->family();
  VkCommandPool pool = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk.CreateCommandPool(device_->handle(), &pool_info, nullptr, &pool), "vkCreateCommandPool"));
  commands_pool_ = device_->own(vk.DestroyCommandPool, pool);
  auto fence_info = described<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  VkFence fence = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk.CreateFence(device_->handle(), &fence_info, nullptr, &fence), "vkCreateFence"));
  fence_ = device_->own(vk.DestroyFence, fence);
  auto info = described<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk.AllocateCommandBuffers(device_->handle(), &info, &commands_), "vkAllocateCommandBuffers"));
  const auto begin = described<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk.BeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer"));
  auto barrier = described<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  for (const Compiled& segment : segments_) {
    vk.CmdBindPipeline(commands_, arm::kBindPointDataGraph, segment.pipeline.get());
    if (!segment.sets.empty()) {
      vk.CmdBindDescriptorSets(commands_, arm::kBindPointDataGraph, segment.layout.get(), 0,
                               static_cast<uint32_t>(segment.sets.size()), segment.sets.data(), 0, nullptr);
    }
    device_->arm().CmdDispatchDataGraphARM(commands_, segment.session.get(), nullptr);
    // The next segment and the processor read what this segment wrote.
    vk.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                          0, nullptr);
  }
  return check(vk.EndCommandBuffer(commands_), "vkEndCommandBuffer");
}

Error Graph::execute(Span<EValue*> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_count("VGF", args, inputs_.size(), outputs_.size()));
  const auto check = [](const End& end, const EValue& value, const char* kind, size_t index) {
    const Argument argument{"VGF", kind, index};
    ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
    const aten::Tensor& tensor = value.toTensor();
    ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, tensor, end.scalar_type));
    return check_shape(argument, tensor, has_shape(tensor, end.shape), [&end] {
      return runtime::tensor_shape_to_c_string(Span<const SizesType>(end.shape.data(), end.shape.size()));
    });
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(check(inputs_[i], *args[i], "input", i));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(check(outputs_[i], *args[inputs_.size() + i], "output", i));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::memcpy(inputs_[i].mapped, args[i]->toTensor().const_data_ptr(), inputs_[i].bytes);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(device_->run(commands_, fence_.get()));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::memcpy(args[inputs_.size() + i]->toTensor().mutable_data_ptr(), outputs_[i].mapped, outputs_[i].bytes);
  }
  return Error::Ok;
}

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
