"""How the code of ``muster.assist`` gets into a member, and how Python finds it there (ADR 54).

The code is an annotation of the pod, which a downwardAPI volume shows as a file: no right, no image and no object
beside the pod is needed, and every level of Pod Security admits it.

The folder comes first in PYTHONPATH. An environment variable of the pod would replace the one of the image, which is
not known here; a shell sees what image and manifest set, and puts the folder before it.
"""

from collections.abc import Sequence
from typing import Final

from muster.api.names import ANNOTATION_ASSIST, ASSIST_VOLUME
from muster.assist import CODE, FILE, FOLDER
from muster.reconcilers.render.command import SHELL

_VARIABLE: Final = "MUSTER_VOLUME_MUSTER_ASSIST"
"""The folder on a local cluster that cannot mount volumes (``muster.local.node.sources.volumes``)."""
PREFIX: Final = f'PYTHONPATH="${{{_VARIABLE}:-{FOLDER}}}${{PYTHONPATH:+:$PYTHONPATH}}"; export PYTHONPATH\n'


def assisted(command: Sequence[str]) -> list[str]:
    """The container command with the folder in PYTHONPATH; it stays one process where it was one."""
    if command[0] == SHELL and command[1] == "-c":
        return [*command[:2], PREFIX + command[2], *command[3:]]
    return [SHELL, "-c", f'{PREFIX}exec "$@"', SHELL, *command]


def assist_annotations() -> dict[str, str]:
    """The code, as an annotation of the pod."""
    return {ANNOTATION_ASSIST: CODE}


def assist_volume() -> dict[str, object]:
    """core/v1 Volume that shows the annotation as a file."""
    field = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{ANNOTATION_ASSIST}']"}
    return {"name": ASSIST_VOLUME, "downwardAPI": {"items": [{"path": FILE, "fieldRef": field}]}}


def assist_mount() -> dict[str, object]:
    """core/v1 VolumeMount of the folder."""
    return {"name": ASSIST_VOLUME, "mountPath": FOLDER, "readOnly": True}
