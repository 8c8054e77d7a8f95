"""Words that documents do without, because a plain word exists: the closed list of a dialect that the project had.

Code, quotes and pictures are not read: they show what programs print.
"""

import re
from typing import Final

PLAIN: Final[dict[str, str]] = {
    "says": "shows, has",
    "said": "reported, known",
    "told": "shown, reported",
    "tells": "shows",
    "stands": "is",
    "stood": "was",
    "gets on": "makes progress",
    "goes on": "continues",
    "went on": "continued",
    "go on": "continue",
    "held up": "blocked",
    "holds up": "blocks",
    "is there": "exists",
    "are there": "exist",
    "whoever": "who",
    "of which": "a second sentence",
    "anew": "again",
    "for want of": "because ... is missing",
    "for ever": "forever",
    "upon": "on",
    "hence": "so",
    "thereby": "by that",
    "whilst": "while",
    "in order to": "to",
}
"""Each with what to write instead."""
READ: Final = re.compile(
    r"^```.*?^```$|^ {4}.*?$|<!--.*?-->|`[^`]*`|^>.*?$|!\[[^\]]*\]|\]\([^)]*\)", re.MULTILINE | re.DOTALL
)
"""What is not read."""
WORDS: Final = re.compile(rf"\b({'|'.join(re.escape(each) for each in PLAIN)})\b", re.IGNORECASE)


def dialect(text: str) -> list[str]:
    """Return the words of the list that a page has."""
    return [found.lower() for found in WORDS.findall(" ".join(READ.sub(" ", text).split()))]
