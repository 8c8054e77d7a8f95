"""Bounds the parts of a JSON document before it is decoded.

A decoder makes an object of each part, in one piece, and a megabyte of ``[],[],`` has 350,000 of them: 60 ms of CPU.
Commas and brackets are counted as bytes, which takes 1 ms a megabyte. Those inside of texts count, too.
"""

from typing import Final

MOST_PARTS: Final = 80_000
"""Of a document whose parts are all kept. An answer of NCCL's RAS for 3,500 ranks has 63,000."""


def parts_of(document: bytes | bytearray) -> int:
    """How many parts the document has, or more."""
    return document.count(b",") + document.count(b"{") + document.count(b"[")
