// SPDX-License-Identifier: BSD-3-Clause
#include "workspace.h"

#include <algorithm>

namespace executorch {
namespace backends {
namespace xnnpack {

std::shared_ptr<Workspace> Workspace::make() {
  // The owner is made first: if it throws std::bad_alloc, no workspace has been created that could leak.
  std::shared_ptr<Workspace> made(new Workspace());
  return xnn_create_workspace(&made->workspace_) == xnn_status_success ? made : nullptr;
}

Workspace::~Workspace() {
  if (workspace_ != nullptr) {
    xnn_release_workspace(workspace_);
  }
}

WorkspaceGroup::Use WorkspaceGroup::use(const std::shared_ptr<Workspace>& preferred) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Workspace> found;
  for (const std::weak_ptr<Workspace>& entry : workspaces_) {
    std::shared_ptr<Workspace> other = entry.lock();
    if (other != nullptr && !other->is_busy_ && (found == nullptr || other == preferred)) {
      found = std::move(other);
    }
  }
  if (found == nullptr) {
    found = Workspace::make();
    workspaces_.erase(
        std::remove_if(workspaces_.begin(), workspaces_.end(), [](const auto& other) { return other.expired(); }),
        workspaces_.end());
    workspaces_.push_back(found);
  }
  if (found != nullptr) {
    found->is_busy_ = true;
  }
  return {this, std::move(found)};
}

WorkspaceGroup::Use::~Use() {
  if (workspace_ != nullptr) {
    const std::lock_guard<std::mutex> lock(group_->mutex_);
    workspace_->is_busy_ = false;
  }
}

std::shared_ptr<WorkspaceGroup> WorkspaceManager::get(WorkspaceSharingMode mode, const void* model) {
  if (mode == WorkspaceSharingMode::Disabled) {
    return std::make_shared<WorkspaceGroup>();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = of_models_.begin(); entry != of_models_.end();) {
    entry = entry->second.expired() ? of_models_.erase(entry) : std::next(entry);
  }
  std::weak_ptr<WorkspaceGroup>& slot = mode == WorkspaceSharingMode::Global ? global_ : of_models_[model];
  std::shared_ptr<WorkspaceGroup> group = slot.lock();
  if (group == nullptr) {
    group = std::make_shared<WorkspaceGroup>();
    slot = group;
  }
  return group;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
