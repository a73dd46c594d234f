// SPDX-License-Identifier: BSD-3-Clause
// Compiled shaders, and the file that keeps them.
#include "gpu/vulkan/device.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

/// The constant DIVISION_ERROR of shaders/include/division.glsl.
constexpr uint32_t kDivisionError = 99;

constexpr extension::CacheOwner kCacheOwner = {
    "Vulkan's compiled kernels", {'E', 'T', 'V', 'K', 'P', 'C', '0', '1'}, {1, 0}};

}  // namespace

void VulkanDevice::open_cache(const std::string& folder) {
  cache_ = extension::FileCache::open(folder + "/vulkan_kernels.bin", kCacheOwner, true);
}

Result<VulkanDevice::Layout> VulkanDevice::layout(uint32_t num_buffers) {
  Layout& found = layouts_[num_buffers];
  if (found.pipeline != VK_NULL_HANDLE) {
    return found;
  }
  std::vector<VkDescriptorSetLayoutBinding> bindings(num_buffers + 1);
  for (uint32_t i = 0; i <= num_buffers; ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType =
        i < num_buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set =
      described<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  set.bindingCount = num_buffers + 1;
  set.pBindings = bindings.data();
  if (found.set == VK_NULL_HANDLE) {  // an earlier attempt may have created it, and failed later
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk_.CreateDescriptorSetLayout(device_, &set, nullptr, &found.set), "vkCreateDescriptorSetLayout"));
  }
  VkPipelineLayoutCreateInfo pipeline =
      described<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &found.set;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk_.CreatePipelineLayout(device_, &pipeline, nullptr, &found.pipeline), "vkCreatePipelineLayout"));
  return found;
}

Result<Kernel*> VulkanDevice::kernel(const Shader& shader, Span<const int32_t> constants) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& found = kernels_[{shader.name, std::vector<int32_t>(constants.begin(), constants.end())}];
  if (found != nullptr) {
    return found.get();
  }
  const Result<Layout> layout_of = layout(shader.num_buffers);
  ET_CHECK_OK_OR_RETURN_ERROR(layout_of.error());
  VkShaderModuleCreateInfo module_info =
      described<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module_info.codeSize = shader.code_bytes;
  module_info.pCode = static_cast<const uint32_t*>(shader.code);
  VkShaderModule module = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk_.CreateShaderModule(device_, &module_info, nullptr, &module), "vkCreateShaderModule"));
  std::vector<VkSpecializationMapEntry> entries(constants.size());
  for (uint32_t i = 0; i < constants.size(); ++i) {
    entries[i] = {i, static_cast<uint32_t>(i * sizeof(int32_t)), sizeof(int32_t)};
  }
  std::vector<int32_t> with_error(constants.begin(), constants.end());
  if (division_error_ != 0) {
    entries.push_back({kDivisionError, static_cast<uint32_t>(constants.size() * sizeof(int32_t)), sizeof(int32_t)});
    with_error.push_back(division_error_);
    constants = {with_error.data(), with_error.size()};
  }
  VkSpecializationInfo values{};
  values.mapEntryCount = static_cast<uint32_t>(constants.size());
  values.pMapEntries = entries.data();
  values.dataSize = constants.size() * sizeof(int32_t);
  values.pData = constants.data();
  VkComputePipelineCreateInfo info =
      described<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &values;
  info.layout = layout_of->pipeline;

  // The file has one record for each kernel, in the driver's format.
  VkPipelineCache compiled = VK_NULL_HANDLE;
  extension::CacheKey key;
  std::shared_ptr<const extension::MappedBytes> stored;
  if (cache_ != nullptr) {
    const auto code = extension::name_content(cache_->seed(), shader.code, shader.code_bytes);
    key = {1, driver_, extension::name_content(code, constants.data(), constants.size() * sizeof(int32_t))};
    stored = cache_->find(key);
    VkPipelineCacheCreateInfo cache_info =
        described<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    if (stored != nullptr) {
      cache_info.initialDataSize = stored->size;
      cache_info.pInitialData = stored->data;
    }
    if (vk_.CreatePipelineCache(device_, &cache_info, nullptr, &compiled) != VK_SUCCESS) {
      compiled = VK_NULL_HANDLE;
    }
  }
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result = vk_.CreateComputePipelines(device_, compiled, 1, &info, nullptr, &pipeline);
  vk_.DestroyShaderModule(device_, module, nullptr);
  if (compiled != VK_NULL_HANDLE) {
    size_t size = 0;
    if (stored == nullptr && result == VK_SUCCESS &&
        vk_.GetPipelineCacheData(device_, compiled, &size, nullptr) == VK_SUCCESS && size > 0) {
      std::vector<uint8_t> data(size);
      if (vk_.GetPipelineCacheData(device_, compiled, &size, data.data()) == VK_SUCCESS) {
        cache_->add(key, data.data(), size);
      }
    }
    vk_.DestroyPipelineCache(device_, compiled, nullptr);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check(result, shader.name));
  found = std::make_unique<VulkanKernel>(*this, pipeline, layout_of.get());
  return found.get();
}

void VulkanDevice::save_kernels() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (cache_ != nullptr) {
    cache_->commit();
  }
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
