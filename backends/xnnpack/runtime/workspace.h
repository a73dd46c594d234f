// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <xnnpack.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "XNNPACKBackend.h"

namespace executorch {
namespace backends {
namespace xnnpack {

/// Memory for what lies between the operators of one or several delegates.
class Workspace final {
 public:
  /// Null when there is no memory.
  static std::shared_ptr<Workspace> make();
  ~Workspace() { xnn_release_workspace(workspace_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  xnn_workspace_t get() const { return workspace_; }

 private:
  friend class WorkspaceGroup;
  explicit Workspace(xnn_workspace_t workspace) : workspace_(workspace) {}

  const xnn_workspace_t workspace_;
  /// Whether a delegate runs in it; guarded by the group's mutex.
  bool is_busy_ = false;
};

/// The workspaces of delegates that share them: one, and another one for each delegate that runs at the same time.
class WorkspaceGroup final {
 public:
  /// Exclusive use of a workspace, until its end. Nobody waits for one that is in use, so tasks may run meanwhile.
  class Use final {
   public:
    Use() = default;
    Use(WorkspaceGroup* group, std::shared_ptr<Workspace> workspace)
        : group_(group), workspace_(std::move(workspace)) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

    /// Null if there was no memory.
    const std::shared_ptr<Workspace>& workspace() const { return workspace_; }

   private:
    WorkspaceGroup* group_ = nullptr;
    std::shared_ptr<Workspace> workspace_;
  };

  /// `preferred` if it is one of the group and no delegate runs in it, or else another workspace of the group, or a new
  /// one.
  Use use(const std::shared_ptr<Workspace>& preferred);

  /// To be held while a runtime is put into a workspace, taken out of it, or reshaped: a workspace that grows changes
  /// all of its runtimes. Not to be held while a task runs.
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Workspace>> workspaces_;
};

/// Gives out groups of workspaces, which live as long as one of their users does.
class WorkspaceManager final {
 public:
  /// @param model What tells loaded methods apart.
  std::shared_ptr<WorkspaceGroup> get(WorkspaceSharingMode mode, const void* model);

 private:
  std::mutex mutex_;
  std::weak_ptr<WorkspaceGroup> global_;
  std::unordered_map<const void*, std::weak_ptr<WorkspaceGroup>> of_models_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
