"""Words of a page, and words of its sentences.

Every word counts, also in tables and blocks, as ``wc -w`` counts. A sentence is prose: code, tables, headings and
quoted output are none, and an item of a list ends one.
"""

import re
from typing import Final, NamedTuple

BLOCK: Final = re.compile(r"^```.*?^```$|^<!--.*?-->$", re.MULTILINE | re.DOTALL)
NO_PROSE: Final = re.compile(r"^(?:#|\||>|!\[).*$", re.MULTILINE)
ITEM: Final = re.compile(r"^\s*(?:- |\d+\. )", re.MULTILINE)
LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
END: Final = re.compile(r"[.?!](?=\s|$)|:\s*\n\s*\n|\n\s*\n")
WORD: Final = re.compile(r"\w")
MADE: Final = re.compile(r"(?<=\n)<!-- Made by .*?<!-- end of the table -->", re.DOTALL)
"""The generated part of a page that is written by hand."""


class Length(NamedTuple):
    """The length of one page."""

    words: int
    sentences: int
    prose: int
    """Words of its sentences."""
    generated: int = 0
    """Words of its parts that are generated."""

    @property
    def average(self) -> float:
        """Return words of a sentence, on average."""
        return self.prose / self.sentences if self.sentences else 0.0


def measured(text: str) -> Length:
    """Return the length of a page."""
    prose = LINK.sub(r"\1", NO_PROSE.sub("\n\n", BLOCK.sub("\n\n", text)))
    counted = [sum(bool(WORD.search(word)) for word in each.split()) for each in END.split(ITEM.sub("\n\n", prose))]
    sentences = [words for words in counted if words]
    made = sum(len(part.split()) for part in MADE.findall(text))
    return Length(len(text.split()), len(sentences), sum(sentences), made)
