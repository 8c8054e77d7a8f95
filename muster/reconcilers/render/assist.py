"""How the code of ``muster.assist`` gets into a member, and how Python finds it there (ADR 54).

Each file is an annotation of the pod, which a downwardAPI volume shows: no right, no image and no object
beside the pod is needed, and every level of Pod Security admits it.

The folder comes first in PYTHONPATH. An environment variable of the pod would replace the one of the image, which is
not known here; a shell sees what image and manifest set, and puts the folder before it.
"""

from collections.abc import Sequence
from typing import Final

from muster.api.names import (
    ANNOTATION_ASSIST,
    ANNOTATION_ASSIST_RECORDER,
    ANNOTATION_ASSIST_WATCH,
    ANNOTATION_ASSIST_WORK,
    ASSIST_VOLUME,
)
from muster.assist import (
    CODE,
    FILE,
    FOLDER,
    RECORDER_CODE,
    RECORDER_FILE,
    WATCH_CODE,
    WATCH_FILE,
    WORK_CODE,
    WORK_FILE,
)
from muster.reconcilers.render.command import SHELL

_FILES: Final = (
    (FILE, ANNOTATION_ASSIST, CODE),
    (RECORDER_FILE, ANNOTATION_ASSIST_RECORDER, RECORDER_CODE),
    (WATCH_FILE, ANNOTATION_ASSIST_WATCH, WATCH_CODE),
    (WORK_FILE, ANNOTATION_ASSIST_WORK, WORK_CODE),
)
"""Each mounted file, the annotation that holds it, and its code."""
_VARIABLE: Final = "MUSTER_VOLUME_MUSTER_ASSIST"
"""The folder on a local cluster that cannot mount volumes (``muster.local.node.sources.volumes``)."""
PREFIX: Final = f'PYTHONPATH="${{{_VARIABLE}:-{FOLDER}}}${{PYTHONPATH:+:$PYTHONPATH}}"; export PYTHONPATH\n'


def assisted(command: Sequence[str]) -> list[str]:
    """Return the container command with the folder in PYTHONPATH; it stays one process where it was one."""
    if command[0] == SHELL and command[1] == "-c":
        return [*command[:2], PREFIX + command[2], *command[3:]]
    return [SHELL, "-c", f'{PREFIX}exec "$@"', SHELL, *command]


def assist_annotations() -> dict[str, str]:
    """Return the code, as annotations of the pod."""
    return {annotation: code for _, annotation, code in _FILES}


def assist_volume() -> dict[str, object]:
    """core/v1 Volume that shows the annotations as files."""
    items = [_item(path, annotation) for path, annotation, _ in _FILES]
    return {"name": ASSIST_VOLUME, "downwardAPI": {"items": items}}


def assist_mount() -> dict[str, object]:
    """core/v1 VolumeMount of the folder."""
    return {"name": ASSIST_VOLUME, "mountPath": FOLDER, "readOnly": True}


def _item(file: str, annotation: str) -> dict[str, object]:
    field = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{annotation}']"}
    return {"path": file, "fieldRef": field}
