// SPDX-License-Identifier: BSD-3-Clause
// One delegated part of a method: the segments of a VGF file on the device, recorded once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>

#include "device.h"
#include "vgf_file.h"

namespace executorch {
namespace backends {
namespace vgf {

class Graph final {
 public:
  explicit Graph(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /**
   * Checks a VGF file, moves its constants to the device, compiles its segments and records their commands.
   *
   * @param payload Not used after the call.
   * @returns The errors of read_vgf() and check_module(); InvalidProgram if a resource is two inputs; NotSupported for
   *     tensors above the device's limits; MemoryAllocationFailed; Internal for other failures of the driver (logged).
   */
  runtime::Error load(const void* payload, size_t size);

  /**
   * Runs the segments. Allocates nothing. Thread-safe: calls run one after another.
   *
   * @param args The inputs, then the outputs, in the order of the file.
   * @returns The errors of extension/delegate/arguments.h, and those of Device::run().
   */
  runtime::Error execute(runtime::Span<runtime::EValue*> args);

  /// Whether no commands that use the graph can still run.
  bool is_settled() { return device_->settle(); }
  /// For a list of graphs.
  std::unique_ptr<Graph> next;

 private:
  struct Tensor {
    std::unique_ptr<Device::Memory> memory;
    Owned<arm::Tensor> tensor;
    Owned<arm::TensorView> view;
  };
  struct Compiled {
    std::vector<Owned<VkDescriptorSetLayout>> set_layouts;
    Owned<VkPipelineLayout> layout;
    Owned<VkPipeline> pipeline;
    std::vector<std::unique_ptr<Device::Memory>> memory;
    Owned<arm::Session> session;
    Owned<VkDescriptorPool> pool;
    std::vector<VkDescriptorSet> sets;
  };
  /// An input or output, in memory that the processor reads and writes.
  struct End {
    runtime::etensor::ScalarType scalar_type;
    std::vector<executorch::aten::SizesType> shape;
    size_t bytes;
    void* mapped;
  };

  runtime::Error check_limits(const VgfFile& file) const;
  runtime::Error add_tensors(const VgfFile& file);
  runtime::Error add_ends(const VgfFile& file);
  runtime::Error compile(const VgfFile& file, const Segment& segment);
  runtime::Error make_layout(const Segment& segment, Compiled& made) const;
  runtime::Error make_pipeline(const VgfFile& file, const Segment& segment, Compiled& made) const;
  runtime::Error make_session(Compiled& made) const;
  runtime::Error bind_tensors(const Segment& segment, Compiled& made) const;
  runtime::Error record();

  std::shared_ptr<Device> device_;
  std::vector<Tensor> tensors_;  ///< of the file's resources; empty for constants
  std::vector<Compiled> segments_;
  std::vector<End> inputs_, outputs_;
  Owned<VkCommandPool> commands_pool_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  Owned<VkFence> fence_;
  std::mutex mutex_;
};

}  // namespace vgf
}  // namespace backends
}  // namespace executorch
