"""Write the list of packages in the image (SBOM, CycloneDX JSON): ``python -m deploy.image.packages FILE``.

A package's hashes are those of the files that the lock file allows.
"""

import re
import sys
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

import muster
from deploy.image.locks import RUNTIME, Lock

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def packages(lock: Lock) -> Bom:
    """Return the packages of a lock file as the parts of musterd."""
    bom = Bom()
    bom.metadata.component = Component(name="musterd", version=muster.__version__, type=ComponentType.APPLICATION)
    for entry in lock.entries:
        name, version = entry.split()[0].split("==")
        bom.components.add(
            Component(
                name=name,
                version=version,
                type=ComponentType.LIBRARY,
                bom_ref=f"pkg:pypi/{name}@{version}",
                purl=PackageURL("pypi", name=name, version=version),
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=found) for found in _HASH.findall(entry)],
            )
        )
    bom.register_dependency(bom.metadata.component, bom.components)
    return bom


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(JsonV1Dot6(packages(RUNTIME)).output_as_string(indent=2), encoding="utf-8")
