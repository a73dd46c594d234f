// SPDX-License-Identifier: BSD-3-Clause
#include "workspace.h"

#include <gtest/gtest.h>
#include <xnnpack.h>

#include <memory>

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

class WorkspaceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success); }

  WorkspaceManager manager_;
};

TEST_F(WorkspaceTest, IsSharedByDelegatesThatRunInSequence) {
  const auto group = manager_.get(WorkspaceSharingMode::Global, nullptr);
  const auto first = group->use(nullptr).workspace();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(group->use(nullptr).workspace(), first);
  EXPECT_EQ(group->use(first).workspace(), first);
}

TEST_F(WorkspaceTest, IsAnotherOneForEachDelegateThatRunsAtTheSameTime) {
  const auto group = manager_.get(WorkspaceSharingMode::Global, nullptr);
  std::shared_ptr<Workspace> first, second;
  {
    const auto use = group->use(nullptr);
    const auto other = group->use(use.workspace());
    first = use.workspace();
    second = other.workspace();
    ASSERT_NE(second, nullptr);
    EXPECT_NE(first, second);
  }
  EXPECT_EQ(group->use(second).workspace(), second) << "each delegate comes back to its own";
  EXPECT_EQ(group->use(first).workspace(), first);
}

TEST_F(WorkspaceTest, OfAnotherGroupIsNotTaken) {
  const auto group = manager_.get(WorkspaceSharingMode::Disabled, nullptr);
  const auto foreign = Workspace::make();
  EXPECT_NE(group->use(foreign).workspace(), foreign);
}

TEST_F(WorkspaceTest, GroupsAreThoseOfTheMode) {
  const int models[2] = {};
  const auto get = [&](WorkspaceSharingMode mode, size_t model) { return manager_.get(mode, &models[model]); };
  const auto global = get(WorkspaceSharingMode::Global, 0), of_model = get(WorkspaceSharingMode::PerModel, 0);
  EXPECT_EQ(get(WorkspaceSharingMode::Global, 1), global);
  EXPECT_EQ(get(WorkspaceSharingMode::PerModel, 0), of_model);
  EXPECT_NE(get(WorkspaceSharingMode::PerModel, 1), of_model);
  EXPECT_NE(of_model, global);
  EXPECT_NE(get(WorkspaceSharingMode::Disabled, 0), get(WorkspaceSharingMode::Disabled, 0));
}

TEST_F(WorkspaceTest, EndsWithItsLastUser) {
  const auto group = manager_.get(WorkspaceSharingMode::Global, nullptr);
  std::weak_ptr<Workspace> workspace = group->use(nullptr).workspace();
  EXPECT_TRUE(workspace.expired());
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
