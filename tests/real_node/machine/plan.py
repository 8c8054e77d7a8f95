"""What a machine is to be: written by the run as JSON, read inside the machine by `boot`."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """One machine. Paths are texts, because it travels as JSON."""

    name: str
    folder: str
    """Its disk."""
    address: str
    pods: str
    """The range of its pods' addresses."""
    programs: Mapping[str, str]
    pause: str
    """The image of the sandboxes."""
    kubeconfig: str
    """Of its kubelet."""
    proxy_kubeconfig: str
    policies_token: str
    authority: str
    certificate: str
    key: str
    """Certificate and key of the kubelet's server."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    memory: int = 0
    """Bytes of memory that the kubelet believes in; 0 for what there is."""
    disk: int = 0
    """Bytes of the kubelet's disk (empty volumes, logs); 0 for the disk of the machine that runs all."""
    kubelet: Mapping[str, object] = field(default_factory=dict)
    """More fields of KubeletConfiguration."""

    @classmethod
    def read(cls, file: Path) -> "Plan":
        return cls(**json.loads(file.read_text(encoding="utf-8")))

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
