# SPDX-License-Identifier: BSD-3-Clause
"""The pinned third-party sources: those that the runtime and several backends use, and those of backends' manifests."""

from __future__ import annotations

import dataclasses

import backend_manifests


@dataclasses.dataclass(frozen=True)
class Pin:
    """One third-party release. `keep` lists the paths (fnmatch, `*` crosses folders) that are unpacked and hashed."""

    url: str
    content_sha256: str
    package: str = ""  # "": neither Debian nor npm has the release
    pypi: str = ""  # name==version of a source distribution that replaces the upstream archive
    archive: str = ""  # the package's file name, also looked for in the mirror folder; without one, the url's
    archive_sha256: str = ""
    suite: str = (
        ""  # Debian suite whose source package holds the same release; "": `package` is npm's, with its version
    )
    keep: tuple[str, ...] = ("*",)
    license: str = "NOASSERTION"  # SPDX expression, for the bill of materials of a release

    @property
    def file(self) -> str:
        """The archive's file name in the mirror folder."""
        return self.archive or self.url.rpartition("/")[2]


def github(repository: str, reference: str) -> str:
    return f"https://github.com/{repository}/archive/{reference}.tar.gz"


# The sources that the runtime and several backends use. Sources of a single backend are pinned in its manifest.
SHARED_PINS = {
    "flatbuffers": Pin(
        license="Apache-2.0",
        url=github("google/flatbuffers", "refs/tags/v23.5.26"),
        suite="trixie",
        package="flatbuffers",
        archive="flatbuffers_23.5.26+dfsg.orig.tar.xz",
        archive_sha256="0d309fd2c47bbbebd450e68d1419c336d53d1b8f5ce47e1f1f7f28f452fc6f3b",
        content_sha256="c9ee9e48f6e6432f401cc5f47f1fcc26c6abed2bb7e94bd83df22a4616d68312",
        keep=("LICENSE", "CMakeLists.txt", "CMake/*", "include/*", "src/*", "grpc/src/compiler/*"),
    ),
    "googletest": Pin(
        license="BSD-3-Clause",
        url=github("google/googletest", "refs/tags/v1.16.0"),
        suite="trixie",
        package="googletest",
        archive="googletest_1.16.0.orig.tar.gz",
        archive_sha256="2f54382b5d13d6cd0be2afc524f1e510d37f8ba78c2d439c5bea64ef37e30d01",
        content_sha256="e2d496f7c816fc2c55a987ca495bffb1073b1295b5f0ae15b820e8333933d376",
        keep=("LICENSE", "*CMakeLists.txt", "google*/cmake/*", "google*/include/*", "google*/src/*"),
    ),
    "pthreadpool": Pin(
        license="BSD-2-Clause",
        url=github("google/pthreadpool", "560c60d342a76076f0557a3946924c6478470044"),
        suite="trixie",
        package="pthreadpool",
        archive="pthreadpool_0.0~git20240616.560c60d.orig.tar.xz",
        archive_sha256="4cc3cbd933b28131d2a34edc54f76af9fb41bc490af5eae1a5bd3cd07ea90708",
        content_sha256="1f61435d489b0238556436d7281a7cdb5a893cf9381eb8561865a6ac7762e184",
        keep=("LICENSE", "CMakeLists.txt", "cmake/*", "include/*", "src/*"),
    ),
    "cpuinfo": Pin(
        license="BSD-2-Clause",
        url=github("pytorch/cpuinfo", "877328f188a3c7d1fa855871a278eb48d530c4c0"),
        suite="sid",
        package="cpuinfo",
        archive="cpuinfo_0.0~git20250905.877328f.orig.tar.xz",
        archive_sha256="557ca404a3836b9f335a3a06b65ff9fe9dbaaefab7fb5c0185f53d9f33615a10",
        content_sha256="dd8048f3f4a8956014e0b85be726d087274161a0429757a4f72d179433a11be7",
        keep=("LICENSE", "CMakeLists.txt", "cmake/*", "include/*", "src/*", "deps/*"),
    ),
    "highway": Pin(
        license="Apache-2.0 OR BSD-3-Clause",
        url=github("google/highway", "refs/tags/1.2.0"),
        suite="trixie",
        package="highway",
        archive="highway_1.2.0.orig.tar.gz",
        archive_sha256="7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343",
        content_sha256="2fe3a8018a6fe8d8a622f7bd2408c69fee1c66664afaedbb65373cca14df002c",
        keep=(
            "LICENSE*",
            *(f"hwy/{name}.h" for name in ("base", "cache_control", "detect_compiler_arch", "detect_targets")),
            *(
                f"hwy/{name}.h"
                for name in ("abort", "foreach_target", "highway", "highway_export", "per_target", "targets")
            ),
            *(f"hwy/{name}.cc" for name in ("abort", "per_target", "targets")),
            "hwy/ops/*.h",
            "hwy/contrib/math/math-inl.h",
        ),
    ),
    "pico-sdk": Pin(
        license="BSD-3-Clause",
        url=github("raspberrypi/pico-sdk", "refs/tags/2.1.1"),
        suite="trixie",
        package="pico-sdk",
        archive="pico-sdk_2.1.1.orig.tar.gz",
        archive_sha256="179c5531e75ac7f82d0679e70b6e8881f871738dc0ef17baf3b4ff4679291c41",
        content_sha256="4f909b7b2af9cc24d4db6f14f5ebd00123c8c564d893b2c0ccda0b9b859bde2b",
        keep=("LICENSE.TXT", "*.cmake", "*.txt", "cmake/*", "external/*", "lib/*", "src/*", "tools/*"),
    ),
    "fxdiv": Pin(
        license="MIT",
        url=github("Maratyszcza/FXdiv", "b408327ac2a15ec3e43352421954f5b1967701d1"),
        suite="trixie",
        package="fxdiv",
        archive="fxdiv_0.0~git20200417.b408327.orig.tar.xz",
        archive_sha256="7953482badaf4cb34026c3487c257b8e4ab2df061c019bd6fabbbc12ad52c44b",
        content_sha256="9382bf7ef2e3856f10910c48a6dff7c12e388c87c2cdcf006eed91659d01599d",
        keep=("LICENSE", "CMakeLists.txt", "cmake/*", "include/*"),
    ),
    # Lays out the graphs of sdk.devtools.page. Among the maintained libraries, dagre has the most permissive licence
    # (MIT) and is the smallest (49 kB; elkjs: EPL or GPL, 1.6 MB).
    "dagre": Pin(
        license="MIT",
        url=github("dagrejs/dagre", "refs/tags/v3.1.3"),
        package="@dagrejs/dagre@3.1.3",
        archive="dagrejs-dagre-3.1.3.tgz",
        archive_sha256="12441833c8af49e5a241d94bfd53159875965876b3f4f3214abafe1ed6a9ee4c",
        content_sha256="d581a940404e0a372b8ea7e1977dc8113c9033e8559d4114d8350de1d663b598",
        keep=("LICENSE", "dist/dagre.min.js"),
    ),
    # The release's own archive: GitHub's archives lack the JIT compiler.
    "pcre2": Pin(
        license="BSD-3-Clause",
        url="https://github.com/PCRE2Project/pcre2/releases/download/pcre2-10.46/pcre2-10.46.tar.gz",
        suite="trixie",
        package="pcre2",
        archive="pcre2_10.46.orig.tar.gz",
        archive_sha256="8d28d7f2c3b970c3a4bf3776bcbb5adfc923183ce74bc8df1ebaad8c1985bd07",
        content_sha256="1647affbc6a3a35214c4a3be516bdcf113d675e563ff9bb19b492b19d6d8da5d",
        keep=("LICENCE.md", "src/*.c", "src/*.h", "src/*.generic", "src/*.dist", "deps/sljit/sljit_src/*"),
    ),
    "utf8proc": Pin(
        license="MIT",
        url=github("JuliaStrings/utf8proc", "refs/tags/v2.11.3"),
        suite="sid",
        package="utf8proc",
        archive="utf8proc_2.11.3.orig.tar.gz",
        archive_sha256="abfed50b6d4da51345713661370290f4f4747263ee73dc90356299dfc7990c78",
        content_sha256="99509ed7d2dcf1b3936cdf0e0f321179502aca22bb2502f0f8c16313b915ef21",
        keep=("LICENSE.md", "utf8proc.c", "utf8proc.h", "utf8proc_data.c"),
    ),
    # Answers that follow a grammar. The source distribution has the headers of picojson and dlpack, which the archives
    # of the repository lack.
    "xgrammar": Pin(
        license="Apache-2.0 AND BSD-2-Clause",
        url=github("mlc-ai/xgrammar", "refs/tags/v0.2.9"),
        pypi="xgrammar==0.2.9",
        archive="xgrammar-0.2.9.tar.gz",
        archive_sha256="87b466bca2475e29bb0323abc62c6c33cbcbcff47e5fb800a3e2099ac9620b90",
        content_sha256="05555b57964e4ee5fab02a60ee0d41e557d739b5c27748cc254492d54f850864",
        keep=(
            "LICENSE",
            "NOTICE",
            "cpp/*.cc",
            "cpp/*.h",
            "include/*",
            "3rdparty/dlpack/LICENSE",
            "3rdparty/dlpack/include/*",
            "3rdparty/picojson/picojson.h",
        ),
    ),
    "yyjson": Pin(
        license="MIT",
        url=github("ibireme/yyjson", "refs/tags/0.10.0"),
        suite="trixie",
        package="yyjson",
        archive="yyjson_0.10.0+ds.orig.tar.xz",
        archive_sha256="ae6fde69a193e10afab426ef13f113d6903446405f9db9ee98bfb572bd6c961a",
        content_sha256="b8bef0d34094218f292121e7ad36e3eda3bb13f969922c926667efa9eb1c4952",
        keep=("LICENSE", "src/*"),
    ),
}


def backend_pins() -> dict[str, Pin]:
    """The pins in the manifests of backends. Two backends may name the same sources if both pin the same release."""
    pins: dict[str, Pin] = {}
    for manifest in backend_manifests.read_all():
        for name, fields in manifest.get("sources", {}).items():
            pin = Pin(**{**fields, "keep": tuple(fields.get("keep", ("*",)))})
            if pins.get(name, SHARED_PINS.get(name, pin)) != pin:
                raise SystemExit(
                    f"third_party: backends/{manifest['name']}/backend.json and another place pin different "
                    f"versions of {name}. Pin one version in both."
                )
            pins[name] = pin
    return pins


try:
    PINS = {**SHARED_PINS, **backend_pins()}
except backend_manifests.ManifestError as error:
    raise SystemExit(f"third_party: {error}") from None
