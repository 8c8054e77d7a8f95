"""Messages between the node agent, its launcher and the init process of every pod.

A frame is a four-byte big-endian length and that many bytes of JSON. File descriptors (a container's log pipe, a pod's
socket) are sent with SCM_RIGHTS and queued in order: a message that needs one takes the next. The launcher must stay
small, so this module imports a few modules of the standard library only.
"""

import array
import json
import os
import socket
import struct
from collections import deque
from typing import Any

HEADER = struct.Struct(">I")
MAX_FRAME = 64 * 1024 * 1024
CHUNK = 65536
MAX_DESCRIPTORS = 16

Message = dict[str, Any]


class WireError(Exception):
    """The other side sent something that is not a valid frame."""


def encode(message: Message) -> bytes:
    """Encode a message as one frame. Lone surrogates are preserved, because JSON escapes them."""
    body = json.dumps(message).encode("ascii")
    if len(body) > MAX_FRAME:
        raise WireError(f"a {message.get('op')} message of {len(body)} bytes is longer than the {MAX_FRAME} allowed")
    return HEADER.pack(len(body)) + body


class Decoder:
    """Decodes a stream of bytes into messages."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that are complete with these bytes. Raises WireError."""
        self._buffer += data
        messages: list[Message] = []
        while len(self._buffer) >= HEADER.size:
            (length,) = HEADER.unpack_from(self._buffer)
            if length > MAX_FRAME:
                raise WireError(f"a frame of {length} bytes is longer than the {MAX_FRAME} allowed")
            end = HEADER.size + length
            if len(self._buffer) < end:
                break
            message = json.loads(bytes(self._buffer[HEADER.size : end]))
            del self._buffer[:end]
            if not isinstance(message, dict):
                raise WireError("a frame must hold one JSON object")
            messages.append(message)
        return messages


class Channel:
    """The blocking end of a connection, for the launcher and the init processes of pods."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.descriptors: deque[int] = deque()
        self._decoder = Decoder()

    def fileno(self) -> int:
        """Return the socket's descriptor, for select."""
        return self.sock.fileno()

    def close(self) -> None:
        """Close the connection and the descriptors that no message has used."""
        self.sock.close()
        while self.descriptors:
            os.close(self.descriptors.popleft())

    def receive(self) -> list[Message]:
        """Return the messages of one read; raises EOFError when the other side has closed the connection."""
        data, ancillary, _, _ = self.sock.recvmsg(
            CHUNK, socket.CMSG_SPACE(MAX_DESCRIPTORS * 4), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(content[: len(content) - len(content) % received.itemsize])
                self.descriptors.extend(received)
        if not data:
            raise EOFError("the other side closed the connection")
        return self._decoder.feed(data)

    def send(self, message: Message) -> None:
        """Send one message."""
        self.sock.sendall(encode(message))
