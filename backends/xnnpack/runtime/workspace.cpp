// SPDX-License-Identifier: BSD-3-Clause
#include "workspace.h"

namespace executorch {
namespace backends {
namespace xnnpack {

std::shared_ptr<Workspace> Workspace::make() {
  xnn_workspace_t workspace = nullptr;
  if (xnn_create_workspace(&workspace) != xnn_status_success) {
    return nullptr;
  }
  return std::shared_ptr<Workspace>(new Workspace(workspace));
}

std::shared_ptr<Workspace> WorkspaceManager::get(WorkspaceSharingMode mode, const void* model) {
  if (mode == WorkspaceSharingMode::Disabled) {
    return Workspace::make();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = of_models_.begin(); entry != of_models_.end();) {
    entry = entry->second.expired() ? of_models_.erase(entry) : std::next(entry);
  }
  std::weak_ptr<Workspace>& slot = mode == WorkspaceSharingMode::Global ? global_ : of_models_[model];
  std::shared_ptr<Workspace> workspace = slot.lock();
  if (workspace == nullptr) {
    workspace = Workspace::make();
    slot = workspace;
  }
  return workspace;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
