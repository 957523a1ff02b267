"""WordPiece: text to the tokens of a `BERT` vocabulary (Devlin et al., 2018), lower case."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

PIECE = re.compile(r"\w+|[^\w\s]")
LONGEST = 100  # characters of a word that is looked up


@cache
def vocabulary(path: Path) -> dict[str, int]:
    """Token -> number, one a line."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return {word: number for number, word in enumerate(lines) if word}


def tokens(text: str, path: Path) -> list[int]:
    """Numbers of the tokens of `text`, between those of its beginning and end."""
    known = vocabulary(path)
    plain = unicodedata.normalize("NFD", text.lower())
    plain = "".join(letter for letter in plain if unicodedata.category(letter) != "Mn")
    found = [known["[CLS]"]]
    for word in PIECE.findall(plain):
        found += _word(word, known)
    return [*found, known["[SEP]"]]


def _word(word: str, known: dict[str, int]) -> list[int]:
    """The longest pieces that are known, from the left; one unknown for the word otherwise."""
    found, begin = [], 0
    while begin < len(word):
        ends = range(min(len(word), LONGEST), begin, -1)
        mark = "##" if begin else ""
        end = next((each for each in ends if mark + word[begin:each] in known), None)
        if end is None:
            return [known["[UNK]"]]
        found.append(known[mark + word[begin:end]])
        begin = end
    return found
