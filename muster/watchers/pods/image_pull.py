"""Why an image is not pulled, in the same words in both states between which a kubelet alternates.

It waits in ErrImagePull while it tries, and in ImagePullBackOff between two tries, whose message repeats that of the
try (kubernetes: pkg/kubelet/images/image_manager.go). containerd's own repeats the image up to three times.
"""

import re
from typing import Final

from muster.api.values.printable import MESSAGE, clean

STATES: Final = frozenset(("ErrImagePull", "ImagePullBackOff"))
SHOWN: Final = "ImagePullBackOff"
"""The reason that stands for both."""
LONGEST: Final = 4096
_BACK_OFF: Final = re.compile(r'Back-off pulling image "([^"\s]{1,300})"(?:: (?:ErrImagePull: )?(.+))?\Z', re.DOTALL)
_RPC: Final = re.compile(r"rpc error: code = \w{1,40} desc = ")
_PULL: Final = re.compile(r'failed to pull (?:and unpack )?image "([^"\s]{1,300})": ')
_RESOLVE: Final = re.compile(r'failed to resolve reference "[^"\s]{1,300}": ')


def words_of(message: str | None, image: str | None) -> str:
    """``image "registry/typo:1": not found``; the message itself where the kubelet says no more than that it waits."""
    text = (message or "")[:LONGEST]
    if waits := _BACK_OFF.match(text):
        image, text = waits[1], waits[2] or ""
    text = _RPC.sub("", text, count=1)
    if found := _PULL.match(text):
        image, text = found[1], text[found.end() :]
    text = _RESOLVE.sub("", text, count=1)
    if not text.strip():
        return clean(message, MESSAGE)
    if not image:
        return clean(text, MESSAGE)
    return clean(f'image "{image[:300]}": {text.removeprefix(f"{image}: ")}', MESSAGE)
