// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/vulkan/device.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

/// Buffers up to a quarter of it share blocks of this size.
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

constexpr extension::CacheOwner kCacheOwner = {
    "Vulkan's compiled kernels", {'E', 'T', 'V', 'K', 'P', 'C', '0', '1'}, {1, 0}};

const char* kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "CPU";
    default:
      return "other";
  }
}

/// Smaller is preferred.
int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 4;
    default:
      return 3;
  }
}

/// Opens the library and makes an instance, or says why not.
VkInstance make_instance(Functions& vk, std::string& problem) {
  problem = vk.open();
  if (!problem.empty()) {
    return VK_NULL_HANDLE;
  }
  uint32_t version = 0;
  if (vk.EnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_1) {
    problem = "the Vulkan library is older than 1.1; update it";
    return VK_NULL_HANDLE;
  }
  VkApplicationInfo application = described<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "ExecuTorch";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info = described<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result = vk.CreateInstance(&info, nullptr, &instance);
  if (result != VK_SUCCESS) {
    problem = "Vulkan finds no driver (vkCreateInstance: " + std::to_string(result) + "); install one";
    return VK_NULL_HANDLE;
  }
  if (!vk.load_instance(instance)) {
    problem = "the Vulkan library lacks functions of version 1.1; update it";
    if (vk.DestroyInstance != nullptr) {
      vk.DestroyInstance(instance, nullptr);
    }
    return VK_NULL_HANDLE;
  }
  return instance;
}

std::vector<VkPhysicalDevice> devices_of(const Functions& vk, VkInstance instance) {
  uint32_t count = 0;
  if (vk.EnumeratePhysicalDevices(instance, &count, nullptr) != VK_SUCCESS) {
    return {};
  }
  std::vector<VkPhysicalDevice> devices(count);
  const VkResult result = vk.EnumeratePhysicalDevices(instance, &count, devices.data());
  devices.resize(result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0);
  return devices;
}

struct Properties {
  VkPhysicalDeviceProperties2 base =
      described<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  VkPhysicalDeviceMaintenance3Properties maintenance =
      described<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  VkPhysicalDeviceFeatures2 features =
      described<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDevice16BitStorageFeatures half =
      described<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);

  Properties(const Functions& vk, VkPhysicalDevice device) {
    base.pNext = &maintenance;
    vk.GetPhysicalDeviceProperties2(device, &base);
    features.pNext = &half;
    vk.GetPhysicalDeviceFeatures2(device, &features);
  }
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  const VkPhysicalDeviceLimits& limits() const { return base.properties.limits; }
};

/// The queue family for kernels: the first that computes. -1 if there is none.
int family_of(const Functions& vk, VkPhysicalDevice device, uint32_t* timestamp_bits) {
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) {
      *timestamp_bits = families[i].timestampValidBits;
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

Error check(VkResult result, const char* what) {
  switch (result) {
    case VK_SUCCESS:
      return Error::Ok;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      ET_LOG(Error, "Vulkan: out of memory (%s)", what);
      return Error::MemoryAllocationFailed;
    case VK_ERROR_DEVICE_LOST:
      ET_LOG(Error, "Vulkan: the device was lost (%s); load the program again", what);
      return Error::Internal;
    default:
      ET_LOG(Error, "Vulkan: %s failed with %d", what, static_cast<int>(result));
      return Error::Internal;
  }
}

std::shared_ptr<VulkanDevice> VulkanDevice::open(const DeviceChoice& choice, std::string& problem) {
  auto device = std::make_shared<VulkanDevice>();
  device->instance_ = make_instance(device->vk_, problem);
  if (device->instance_ == VK_NULL_HANDLE) {
    return nullptr;
  }
  const std::vector<VkPhysicalDevice> all = devices_of(device->vk_, device->instance_);
  VkPhysicalDevice chosen = VK_NULL_HANDLE;
  if (choice.device >= 0) {
    if (static_cast<size_t>(choice.device) >= all.size()) {
      problem = "the option device is " + std::to_string(choice.device) + ", there are " + std::to_string(all.size()) +
                " Vulkan devices";
      return nullptr;
    }
    chosen = all[static_cast<size_t>(choice.device)];
  } else {
    int best = 0;
    for (VkPhysicalDevice physical : all) {
      const Properties properties(device->vk_, physical);
      const int rank = rank_of(properties.base.properties.deviceType);
      if (properties.base.properties.apiVersion >= VK_API_VERSION_1_1 && (chosen == VK_NULL_HANDLE || rank < best)) {
        chosen = physical;
        best = rank;
      }
    }
  }
  if (chosen == VK_NULL_HANDLE) {
    problem = "there is no Vulkan device of version 1.1 or newer";
    return nullptr;
  }
  if (!device->create(chosen, problem)) {
    return nullptr;
  }
  if (!choice.cache_folder.empty()) {
    device->open_cache(choice.cache_folder);
  }
  return device;
}

bool VulkanDevice::create(VkPhysicalDevice physical, std::string& problem) {
  const Properties properties(vk_, physical);
  uint32_t timestamp_bits = 0;
  const int family = family_of(vk_, physical, &timestamp_bits);
  if (properties.base.properties.apiVersion < VK_API_VERSION_1_1 || family < 0) {
    problem = std::string(properties.base.properties.deviceName) + " has no compute queue of Vulkan 1.1";
    return false;
  }
  family_ = static_cast<uint32_t>(family);
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue = described<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDevice16BitStorageFeatures half =
      described<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  half.storageBuffer16BitAccess = properties.half.storageBuffer16BitAccess;
  VkDeviceCreateInfo info = described<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &half;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  const VkResult result = vk_.CreateDevice(physical, &info, nullptr, &device_);
  if (result != VK_SUCCESS || !vk_.load_device(device_)) {
    problem = std::string(properties.base.properties.deviceName) +
              " cannot be opened (vkCreateDevice: " + std::to_string(result) + ")";
    return false;
  }
  vk_.GetDeviceQueue(device_, family_, 0, &queue_);
  vk_.GetPhysicalDeviceMemoryProperties(physical, &memory_);
  const VkPhysicalDeviceLimits& limits = properties.limits();
  uniform_alignment_ = static_cast<uint32_t>(std::max<VkDeviceSize>(limits.minUniformBufferOffsetAlignment, 16));
  features_.name = properties.base.properties.deviceName;
  features_.max_buffer_bytes =
      std::min<uint64_t>(limits.maxStorageBufferRange, properties.maintenance.maxMemoryAllocationSize);
  features_.max_threads = limits.maxComputeWorkGroupInvocations;
  features_.shared_bytes = limits.maxComputeSharedMemorySize;
  std::copy(limits.maxComputeWorkGroupCount, limits.maxComputeWorkGroupCount + 3, features_.max_groups.begin());
  features_.has_fp16_storage = properties.half.storageBuffer16BitAccess == VK_TRUE;
  features_.is_processor = properties.base.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  features_.ticks_to_ns = timestamp_bits > 0 ? static_cast<double>(limits.timestampPeriod) : 0;
  driver_ = extension::name_content({properties.base.properties.driverVersion, properties.base.properties.vendorID},
                                    properties.base.properties.pipelineCacheUUID, VK_UUID_SIZE);
  return true;
}

std::string VulkanDevice::describe_all() {
  Functions vk;
  std::string text;
  VkInstance instance = make_instance(vk, text);
  if (instance == VK_NULL_HANDLE) {
    return text;
  }
  int number = 0;
  for (VkPhysicalDevice physical : devices_of(vk, instance)) {
    const Properties properties(vk, physical);
    const auto& device = properties.base.properties;
    const VkPhysicalDeviceLimits& limits = properties.limits();
    char line[640];
    std::snprintf(line, sizeof(line),
                  "%s%d: %s (%s), Vulkan %u.%u.%u; buffers to %u MiB, shared memory %u KiB, %u threads a workgroup, "
                  "3D textures to %u, 16-bit storage %s",
                  number == 0 ? "" : "\n", number, device.deviceName, kind_of(device.deviceType),
                  VK_API_VERSION_MAJOR(device.apiVersion), VK_API_VERSION_MINOR(device.apiVersion),
                  VK_API_VERSION_PATCH(device.apiVersion), limits.maxStorageBufferRange >> 20,
                  limits.maxComputeSharedMemorySize >> 10, limits.maxComputeWorkGroupInvocations,
                  limits.maxImageDimension3D, properties.half.storageBuffer16BitAccess == VK_TRUE ? "yes" : "no");
    text += line;
    ++number;
  }
  vk.DestroyInstance(instance, nullptr);
  return number == 0 ? "there is no Vulkan device" : text;
}

void VulkanDevice::open_cache(const std::string& folder) {
  cache_ = extension::FileCache::open(folder + "/vulkan_kernels.bin", kCacheOwner, true);
}

VulkanDevice::~VulkanDevice() {
  if (device_ != VK_NULL_HANDLE && vk_.DestroyDevice != nullptr) {
    kernels_.clear();
    for (const auto& entry : layouts_) {
      vk_.DestroyPipelineLayout(device_, entry.second.pipeline, nullptr);
      vk_.DestroyDescriptorSetLayout(device_, entry.second.set, nullptr);
    }
    vk_.DestroyDevice(device_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) {
    vk_.DestroyInstance(instance_, nullptr);
  }
}

int VulkanDevice::memory_type(uint32_t allowed, Use use) const {
  // Memory that both sides read fast needs no copies; without it, the GPU's own, and for staging the processor's.
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const VkMemoryPropertyFlags gpu[] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kCached,
                                       VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  const VkMemoryPropertyFlags staging[] = {kCached, kHost, kHost};
  for (const VkMemoryPropertyFlags wanted : use == Use::Gpu ? gpu : staging) {
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
      if ((allowed >> i & 1) != 0 && (memory_.memoryTypes[i].propertyFlags & wanted) == wanted) {
        return static_cast<int>(i);
      }
    }
  }
  return -1;
}

VulkanDevice::Block::~Block() {
  if (memory != VK_NULL_HANDLE) {
    device->vk().FreeMemory(device->handle(), memory, nullptr);
  }
}

VulkanBuffer::~VulkanBuffer() {
  block_->device->vk().DestroyBuffer(block_->device->handle(), buffer_, nullptr);
}

Result<std::shared_ptr<VulkanDevice::Block>> VulkanDevice::allocate(uint64_t bytes, uint32_t type) {
  auto block = std::make_shared<Block>(shared_from_this());
  VkMemoryAllocateInfo info = described<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.allocationSize = bytes;
  info.memoryTypeIndex = type;
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.AllocateMemory(device_, &info, nullptr, &block->memory), "vkAllocateMemory"),
                              "%" PRIu64 " bytes of GPU memory are not available", bytes);
  block->size = bytes;
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if ((memory_.memoryTypes[type].propertyFlags & kHost) == kHost) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        check(vk_.MapMemory(device_, block->memory, 0, VK_WHOLE_SIZE, 0, &block->mapped), "vkMapMemory"));
  }
  return block;
}

Result<std::unique_ptr<Buffer>> VulkanDevice::buffer(uint64_t bytes, Use use) {
  // Kernels read whole vectors of four.
  bytes = (std::max<uint64_t>(bytes, 16) + 15) / 16 * 16;
  ET_CHECK_OR_RETURN_ERROR(bytes <= features_.max_buffer_bytes, MemoryAllocationFailed,
                           "Vulkan: a buffer of %" PRIu64 " bytes is needed, the device has at most %" PRIu64, bytes,
                           features_.max_buffer_bytes);
  VkBufferCreateInfo info = described<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
  VkBuffer handle = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.CreateBuffer(device_, &info, nullptr, &handle), "vkCreateBuffer"));
  VkMemoryRequirements needs{};
  vk_.GetBufferMemoryRequirements(device_, handle, &needs);
  const int type = memory_type(needs.memoryTypeBits, use);
  std::shared_ptr<Block> block;
  uint64_t offset = 0;
  Error error = type < 0 ? Error::MemoryAllocationFailed : Error::Ok;
  if (error == Error::Ok) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool shares = needs.size <= kBlockBytes / 4;
    auto& open = open_blocks_[static_cast<uint32_t>(type)];
    if (shares) {
      block = open.lock();
      offset = block == nullptr ? 0 : (block->used + needs.alignment - 1) / needs.alignment * needs.alignment;
    }
    if (block == nullptr || offset + needs.size > block->size) {
      offset = 0;
      Result<std::shared_ptr<Block>> made = allocate(shares ? kBlockBytes : needs.size, static_cast<uint32_t>(type));
      error = made.error();
      if (made.ok()) {
        block = made.get();
        if (shares) {
          open = block;
        }
      }
    }
    if (error == Error::Ok) {
      block->used = offset + needs.size;
    }
  }
  if (error == Error::Ok) {
    error = check(vk_.BindBufferMemory(device_, handle, block->memory, offset), "vkBindBufferMemory");
  }
  if (error != Error::Ok) {
    vk_.DestroyBuffer(device_, handle, nullptr);
    return error;
  }
  void* mapped = block->mapped == nullptr ? nullptr : static_cast<uint8_t*>(block->mapped) + offset;
  auto made = std::make_unique<VulkanBuffer>(std::move(block), handle, bytes, mapped);
  if (mapped != nullptr) {
    std::memset(mapped, 0, bytes);
  } else {
    const std::vector<uint8_t> zeros(bytes);
    ET_CHECK_OK_OR_RETURN_ERROR(upload(*made, zeros.data(), bytes));
  }
  return std::unique_ptr<Buffer>(std::move(made));
}

Error VulkanDevice::upload(Buffer& to, const void* from, uint64_t bytes) {
  return transfer(to, const_cast<void*>(from), bytes, true);
}

Error VulkanDevice::download(Buffer& from, void* to, uint64_t bytes) {
  return transfer(from, to, bytes, false);
}

Error VulkanDevice::transfer(Buffer& gpu, void* host, uint64_t bytes, bool to_gpu) {
  ET_CHECK_OR_RETURN_ERROR(bytes <= gpu.size(), InvalidArgument, "Vulkan: %" PRIu64 " bytes of %" PRIu64 " are copied",
                           bytes, gpu.size());
  if (bytes == 0) {
    return Error::Ok;
  }
  if (gpu.mapped() != nullptr) {
    std::memcpy(to_gpu ? gpu.mapped() : host, to_gpu ? host : gpu.mapped(), bytes);
    return Error::Ok;
  }
  Result<std::unique_ptr<Buffer>> staging = buffer(bytes, Use::Staging);
  ET_CHECK_OK_OR_RETURN_ERROR(staging.error());
  Result<std::unique_ptr<Sequence>> copy = sequence();
  ET_CHECK_OK_OR_RETURN_ERROR(copy.error());
  if (to_gpu) {
    std::memcpy(staging.get()->mapped(), host, bytes);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(copy.get()->begin(false));
  ET_CHECK_OK_OR_RETURN_ERROR(
      copy.get()->copy(to_gpu ? staging.get().get() : &gpu, to_gpu ? &gpu : staging.get().get(), (bytes + 3) / 4 * 4));
  ET_CHECK_OK_OR_RETURN_ERROR(copy.get()->end());
  ET_CHECK_OK_OR_RETURN_ERROR(copy.get()->run());
  if (!to_gpu) {
    std::memcpy(host, staging.get()->mapped(), bytes);
  }
  return Error::Ok;
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
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk_.CreateDescriptorSetLayout(device_, &set, nullptr, &found.set), "vkCreateDescriptorSetLayout"));
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
  module_info.pCode = shader.code;
  VkShaderModule module = VK_NULL_HANDLE;
  ET_CHECK_OK_OR_RETURN_ERROR(
      check(vk_.CreateShaderModule(device_, &module_info, nullptr, &module), "vkCreateShaderModule"));
  std::vector<VkSpecializationMapEntry> entries(constants.size());
  for (uint32_t i = 0; i < constants.size(); ++i) {
    entries[i] = {i, static_cast<uint32_t>(i * sizeof(int32_t)), sizeof(int32_t)};
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

  // The file has one record for each kernel, with the driver's own form of it.
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

Result<std::unique_ptr<Sequence>> VulkanDevice::sequence() {
  return make_sequence(shared_from_this());
}

Error VulkanDevice::submit(VkCommandBuffer commands, VkFence fence) {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  VkSubmitInfo info = described<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  ET_CHECK_OK_OR_RETURN_ERROR(check(vk_.QueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit"));
  const Error error = check(vk_.WaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  vk_.ResetFences(device_, 1, &fence);
  return error;
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
