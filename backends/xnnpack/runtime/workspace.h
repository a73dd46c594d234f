// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "XNNPACKBackend.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Memory for what lies between the operators of one or several delegates. Whoever makes, runs or deletes a runtime
/// that uses it holds its mutex.
class Workspace final {
 public:
  /// Null when there is no memory.
  static std::shared_ptr<Workspace> make();
  ~Workspace() { xnn_release_workspace(workspace_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  xnn_workspace_t get() const { return workspace_; }
  std::mutex& mutex() { return mutex_; }

 private:
  explicit Workspace(xnn_workspace_t workspace) : workspace_(workspace) {}

  const xnn_workspace_t workspace_;
  std::mutex mutex_;
};

/// Gives out workspaces, which live as long as one of their users does.
class WorkspaceManager final {
 public:
  /// @param model What tells loaded methods apart. Null when there is no memory.
  std::shared_ptr<Workspace> get(WorkspaceSharingMode mode, const void* model);

 private:
  std::mutex mutex_;
  std::weak_ptr<Workspace> global_;
  std::unordered_map<const void*, std::weak_ptr<Workspace>> of_models_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
