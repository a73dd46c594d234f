// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/data_files.h>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

using runtime::DataLoader;
using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

template <typename Loader>
Result<std::unique_ptr<DataLoader>> on_heap(Result<Loader> loader) {
  if (!loader.ok()) {
    return loader.error();
  }
  return std::unique_ptr<DataLoader>(std::make_unique<Loader>(std::move(loader.get())));
}

}  // namespace

Result<std::unique_ptr<DataLoader>> open_file(const std::string& path, Module::LoadMode mode) {
  using Mlock = MmapDataLoader::MlockConfig;
  switch (mode) {
    case Module::LoadMode::File:
      return on_heap(FileDataLoader::from(path.c_str()));
    case Module::LoadMode::Mmap:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::NoMlock));
    case Module::LoadMode::MmapUseMlock:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::UseMlock));
    case Module::LoadMode::MmapUseMlockIgnoreErrors:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::UseMlockIgnoreErrors));
    case Module::LoadMode::MmapUseMadvise:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::UseMadvise));
  }
  ET_LOG(Error, "%s: unknown load mode %d", path.c_str(), static_cast<int>(mode));
  return Error::InvalidArgument;
}

Error DataFiles::load(Module::LoadMode mode) {
  if (loaded_) {
    return Error::Ok;
  }
  if (opened_.empty()) {
    std::vector<std::unique_ptr<DataLoader>> loaders;
    for (const std::string& path : paths_) {
      auto opened = open_file(path, mode);
      if (!opened.ok()) {
        return opened.error();
      }
      loaders.push_back(std::move(opened.get()));
    }
    opened_ = std::move(loaders);
  }
  std::vector<std::unique_ptr<NamedDataMap>> maps;
  std::vector<const NamedDataMap*> pointers;
  for (size_t i = 0; i < opened_.size() + added_.size(); ++i) {
    const bool has_path = i < opened_.size();
    Result<FlatTensorDataMap> map = FlatTensorDataMap::load((has_path ? opened_[i] : added_[i - opened_.size()]).get());
    if (!map.ok()) {
      if (has_path) {
        ET_LOG(Error, "%s: the data file could not be loaded: %s", paths_[i].c_str(), error_name(map.error()));
      }
      return map.error();
    }
    maps.push_back(std::make_unique<FlatTensorDataMap>(std::move(map.get())));
    pointers.push_back(maps.back().get());
  }
  if (maps.size() > 1) {
    auto merged =
        ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap::load(Span<const NamedDataMap*>(pointers.data(), pointers.size()));
    if (!merged.ok()) {
      return merged.error();
    }
    merged_ = std::make_unique<ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap>(std::move(merged.get()));
  }
  maps_ = std::move(maps);
  loaded_ = true;
  return Error::Ok;
}

const NamedDataMap* DataFiles::map() const {
  return merged_ != nullptr || maps_.empty() ? merged_.get() : maps_.front().get();
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
