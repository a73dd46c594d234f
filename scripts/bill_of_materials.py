# SPDX-License-Identifier: BSD-3-Clause
"""The bill of materials of a release (SBOM), in SPDX 2.3 as JSON (ISO/IEC 5962 describes the form).

It names the SDK, every pinned third-party source that builds compile into it, and the Python packages that the wheel
requires or can use.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from typing import Any, Protocol


class Pin(Protocol):
    """The fields of an entry of scripts/third_party that are read."""

    url: str
    content_sha256: str
    license: str


def version_of(url: str) -> str:
    """The release or the commit that an upstream archive's address names."""
    name = url.rsplit("/", 1)[-1].removesuffix(".tar.gz")
    found = re.search(r"\d+(\.\d+)+|[0-9a-f]{40}", name)
    return found[0] if found else name


def document(version: str, date: int, pins: dict[str, Pin], requirements: dict[str, list[str]]) -> dict[str, Any]:
    """The document of a version.

    `date` is in seconds since 1970. `requirements` are the Python requirements of each extra, in the form of PEP 508;
    the extra "" is what every installation needs.
    """
    product = {
        **_package("pte-sdk", version, "BSD-3-Clause", "SPDXRef-pte-sdk", "NOASSERTION"),
        "externalRefs": [_purl(f"pkg:pypi/pte-sdk@{version}")],
        "primaryPackagePurpose": "LIBRARY",
    }
    packages, relations = [product], [_relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-pte-sdk")]
    for name, pin in sorted(pins.items()):
        identifier = f"SPDXRef-source-{name}"
        source = _package(name, version_of(pin.url), pin.license, identifier, pin.url)
        # Covers only the part that is compiled, because archives of the same release differ between hosts.
        source["comment"] = f"SHA-256 of the content that scripts/third_party keeps: {pin.content_sha256}"
        packages.append(source)
        relations.append(_relation("SPDXRef-pte-sdk", "CONTAINS", identifier))
    seen: set[str] = set()
    for extra, needed in sorted(requirements.items()):
        for requirement in needed:
            name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
            if name == "pte-sdk" or name in seen:
                continue
            seen.add(name)
            identifier = f"SPDXRef-python-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}"
            constraint = requirement.removeprefix(name) or "any"
            package = _package(name, constraint, "NOASSERTION", identifier, "NOASSERTION")
            package["externalRefs"] = [_purl(f"pkg:pypi/{name.lower().replace('_', '-')}")]
            packages.append(package)
            if extra:
                relations.append(_relation(identifier, "OPTIONAL_DEPENDENCY_OF", "SPDXRef-pte-sdk"))
            else:
                relations.append(_relation("SPDXRef-pte-sdk", "DEPENDS_ON", identifier))
    content = repr([packages, relations]).encode()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"pte-sdk-{version}",
        # Unique for the content, as the standard requires; nothing is served there.
        "documentNamespace": f"https://spdx.org/spdxdocs/pte-sdk-{version}-{hashlib.sha256(content).hexdigest()[:32]}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: pte-sdk scripts/make_release"],
        },
        "packages": packages,
        "relationships": relations,
    }


def _package(name: str, version: str, licence: str, identifier: str, location: str) -> dict[str, Any]:
    return {
        "name": name,
        "SPDXID": identifier,
        "versionInfo": version,
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }


def _purl(locator: str) -> dict[str, str]:
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}


def _relation(source: str, kind: str, target: str) -> dict[str, str]:
    return {"spdxElementId": source, "relationshipType": kind, "relatedSpdxElement": target}
