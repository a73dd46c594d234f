# SPDX-License-Identifier: BSD-3-Clause
"""The metadata of the artifacts in a Maven repository: for Maven, for Gradle, and the list of them all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from artifacts import BASE, GROUP, Artifact

BOM = "executorch-bom"
COROUTINES = "1.8.0"

_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <!-- Gradle reads the file beside this one instead, which says that an app takes only one of the artifacts. -->
  <!-- do_not_remove: published-with-gradle-metadata -->
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <packaging>aar</packaging>
  <name>ExecuTorch for Android</name>
  <description>Runs PyTorch models on Android: {contents}.</description>
  <licenses>
    <license>
      <name>BSD-3-Clause</name>
    </license>
  </licenses>
  <dependencies>
    <dependency>
      <groupId>org.jetbrains.kotlin</groupId>
      <artifactId>kotlin-stdlib</artifactId>
      <version>{kotlin}</version>
      <scope>compile</scope>
    </dependency>
    <!-- For the suspend functions and Flow: apps that use them have it. -->
    <dependency>
      <groupId>org.jetbrains.kotlinx</groupId>
      <artifactId>kotlinx-coroutines-core-jvm</artifactId>
      <version>{coroutines}</version>
      <optional>true</optional>
    </dependency>
  </dependencies>
</project>
"""
# With it, an app names one version: implementation(platform("org.pytorch:executorch-bom:<version>")).
_BOM_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{bom}</artifactId>
  <version>{version}</version>
  <packaging>pom</packaging>
  <name>ExecuTorch for Android: versions</name>
  <description>The versions of the artifacts of ExecuTorch that belong together.</description>
  <licenses>
    <license>
      <name>BSD-3-Clause</name>
    </license>
  </licenses>
  <dependencyManagement>
    <dependencies>
{managed}    </dependencies>
  </dependencyManagement>
</project>
"""
_MANAGED = """      <dependency>
        <groupId>{group}</groupId>
        <artifactId>{artifact}</artifactId>
        <version>{version}</version>
      </dependency>
"""


def folder_of(repository: Path, artifact: str, version: str) -> Path:
    """The folder of a version of an artifact in a Maven repository."""
    return repository / GROUP.replace(".", "/") / artifact / version


def pom(artifact: Artifact, version: str, kotlin: str) -> str:
    """The project file of an artifact. `kotlin`: the version of kotlin-stdlib."""
    return _POM.format(
        group=GROUP,
        artifact=artifact.id,
        version=version,
        contents=artifact.contents,
        kotlin=kotlin,
        coroutines=COROUTINES,
    )


def gradle_module(artifact: Artifact, version: str, kotlin: str, aar: Path, sources: Path) -> str:
    """Gradle's module metadata, version 1.1, with the variants that the Android plug-in publishes.

    All artifacts have the classes and libexecutorch.so, so an app can have only one. They therefore have one capability
    in common, which is the one that executorch-android has by its name: Gradle refuses two of them, and names both.
    """
    kinds = {"Api": ("library", "java-api", aar), "Runtime": ("library", "java-runtime", aar)}
    kinds["Source"] = ("documentation", "java-runtime", sources)
    variants: list[dict[str, Any]] = []
    for name, (category, usage, path) in kinds.items():
        attributes = {"org.gradle.category": category, "org.gradle.dependency.bundling": "external"}
        attributes["org.gradle.usage"] = usage
        variant: dict[str, Any] = {"name": f"releaseVariantRelease{name}Publication", "attributes": attributes}
        if category == "library":
            attributes["org.gradle.libraryelements"] = "aar"
            stdlib = {"group": "org.jetbrains.kotlin", "module": "kotlin-stdlib", "version": {"requires": kotlin}}
            variant["dependencies"] = [stdlib]
        else:
            attributes["org.gradle.docstype"] = "sources"
        data = path.read_bytes()
        sums = {kind: hashlib.new(kind, data).hexdigest() for kind in ("sha512", "sha256", "sha1", "md5")}
        variant["files"] = [{"name": path.name, "url": path.name, "size": len(data), **sums}]
        variant["capabilities"] = [
            {"group": GROUP, "name": capability, "version": version} for capability in sorted({BASE, artifact.id})
        ]
        variants.append(variant)
    component = {"group": GROUP, "module": artifact.id, "version": version}
    component_attributes = {"attributes": {"org.gradle.status": "release"}}
    module = {"formatVersion": "1.1", "component": {**component, **component_attributes}, "variants": variants}
    return json.dumps(module, indent=2) + "\n"


def write_bom(repository: Path, version: str) -> Path:
    """Writes the list of the artifacts that the repository has in this version. Returns its path."""
    group = folder_of(repository, BASE, version).parents[1]
    found = sorted(path.parts[-2] for path in group.glob(f"{BASE}*/{version}"))
    managed = "".join(_MANAGED.format(group=GROUP, artifact=artifact, version=version) for artifact in found)
    bom = folder_of(repository, BOM, version) / f"{BOM}-{version}.pom"
    bom.parent.mkdir(parents=True, exist_ok=True)
    bom.write_text(_BOM_POM.format(group=GROUP, bom=BOM, version=version, managed=managed), encoding="utf-8")
    return bom


def write_checksum(path: Path) -> None:
    """Writes the SHA-256 of a file beside it."""
    path.with_name(path.name + ".sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest() + "\n")
