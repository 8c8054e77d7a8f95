"""Reads what ``py-spy dump --json`` writes (py-spy: src/dump.rs and src/stack_trace.rs), and what it says instead."""

import msgspec

from muster.client.stacks.frames import Frame, ThreadStack


class _Frame(msgspec.Struct):
    name: str
    filename: str
    line: int = 0


class _Thread(msgspec.Struct):
    frames: list[_Frame]
    pid: int = 0
    thread_id: int = 0
    thread_name: str | None = None
    os_thread_id: int | None = None


_DECODER = msgspec.json.Decoder(list[_Thread])


def read_pyspy(text: str) -> tuple[ThreadStack, ...] | None:
    """The threads; None where the text is no list of threads. Warnings may stand before the list."""
    start = 0 if text.startswith("[") else text.find("\n[") + 1
    try:
        found = _DECODER.decode(text[start:])
    except (ValueError, RecursionError):
        return None
    return tuple(
        ThreadStack(
            each.thread_name or f"0x{each.thread_id:x}",
            each.os_thread_id == each.pid if each.os_thread_id else each.thread_name == "MainThread",
            tuple(Frame(frame.name, frame.filename, max(0, frame.line)) for frame in each.frames),
        )
        for each in found
    )


def complaint(text: str) -> str:
    """Why py-spy read nothing, in its own words: its first line, which names the error, and the cause below it."""
    lines = [line.strip() for line in text.splitlines()]
    first = next((line.removeprefix("Error: ") for line in lines if line), "it said nothing")
    if "Caused by:" in lines[:-1]:
        cause = lines[lines.index("Caused by:") + 1].removeprefix("0: ")
        return f"{first.rstrip('.')}: {cause}"
    return first
