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

/// Memory for the intermediate tensors of one or several delegates.
class Workspace final {
 public:
  /// Null if memory runs out.
  static std::shared_ptr<Workspace> make();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  xnn_workspace_t get() const { return workspace_; }

 private:
  friend class WorkspaceGroup;
  Workspace() = default;

  xnn_workspace_t workspace_ = nullptr;
  /// Whether a delegate runs in it; guarded by the group's mutex.
  bool is_busy_ = false;
};

/// The workspaces that a set of delegates shares: as many as the most delegates that have run at the same time.
class WorkspaceGroup final {
 public:
  /// Exclusive use of a workspace for the lifetime of the object. No delegate ever waits for a workspace, so that a
  /// delegate may run tasks of the thread pool in which other delegates run.
  class Use final {
   public:
    Use() = default;
    Use(WorkspaceGroup* group, std::shared_ptr<Workspace> workspace)
        : group_(group), workspace_(std::move(workspace)) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

    /// Null if memory ran out.
    const std::shared_ptr<Workspace>& workspace() const { return workspace_; }

   private:
    WorkspaceGroup* group_ = nullptr;
    std::shared_ptr<Workspace> workspace_;
  };

  /// Takes `preferred` if it is in the group and free, else another free workspace of the group, else a new one.
  Use use(const std::shared_ptr<Workspace>& preferred);

  /// Lock it to add a runtime to a workspace, to remove it, or to reshape it: a workspace that grows changes all of its
  /// runtimes. Do not hold it while tasks run.
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Workspace>> workspaces_;
};

/// Creates groups of workspaces, and finds those that delegates still use.
class WorkspaceManager final {
 public:
  /// @param model Identifies the loaded method, for modes in which only its delegates share.
  std::shared_ptr<WorkspaceGroup> get(WorkspaceSharingMode mode, const void* model);

 private:
  std::mutex mutex_;
  std::weak_ptr<WorkspaceGroup> global_;
  std::unordered_map<const void*, std::weak_ptr<WorkspaceGroup>> of_models_;
};

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
