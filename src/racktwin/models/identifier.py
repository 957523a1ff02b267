"""Published ids of models ('nvidia/Llama-3.1-8B-Instruct-FP8'): the name and format they mean.

Makers add words to a name: what it was tuned for, the format of its weights, the month it came
out. Those change neither the architecture nor, but for the format, the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 200  # letters of a name
# Words of a published id that do not change the architecture.
EXTRA = re.compile(
    r"meta|nvidia|instruct|base|chat|it|pt|hf|thinking|preview|exp|terminus|bnb|quantized|bf16|0528|0324"
    r"|rl|sft|dpo|4k|8k|v0\.\d|v1|a\d+b|\d+e|17b"
)
DATE = re.compile(r"\d{4}")
_FORMATS = (
    "nvfp4|mxfp4|mxfp8|fp8|fp4|int4|int8|awq|gptq|w4a16|w4afp8|w8a8|w8a16|8bit|4bit"  # as written
)
ENDING = re.compile(rf"[-.]({_FORMATS})([-_.][a-z0-9]+){{0,3}}$")
WORD = re.compile(rf"(?<![a-z0-9])({_FORMATS})(?![a-z0-9])")
MEANT = {
    "fp4": "nvfp4",
    **dict.fromkeys(("awq", "gptq", "w4a16", "w4afp8", "4bit"), "int4"),
    **dict.fromkeys(("w8a8", "w8a16", "8bit"), "int8"),
}


def find(text: str, known: Sequence[str]) -> tuple[str | None, str]:
    """The name among `known` that an id means, None if no single one; and the format it ends in."""
    short = "-".join(text.rpartition("/")[2].lower()[:LONGEST].split())
    found = _match(short, known)
    if found is None and (ending := ENDING.search(short)):
        return _match(short[: ending.start()], known), _format(ending[0])
    return found, ""


def _format(ending: str) -> str:
    """'-gptq-int8' -> 'int8': the last word counts; '-fp8-block' is a kind of FP8."""
    word = str(WORD.findall(ending)[-1])
    return MEANT.get(word, word)


def _match(short: str, known: Sequence[str]) -> str | None:
    """The one of `known` that `short` means; of several alike the one without words of its own."""
    if short in known:
        return short
    for dated in (True, False):
        alike = [name for name in known if plain(name, dated=dated) == plain(short, dated=dated)]
        if alike:
            return min(alike, key=lambda name: (len(name), name))
    return None


def plain(name: str, *, dated: bool = True) -> str:
    """`name` in one spelling, without the words that do not change the architecture.

    dated: a month ('2507') counts as a word of the name.
    """
    words = name.lower().replace("_", "-").split("-")
    kept = (word for word in words if not EXTRA.fullmatch(word))
    return "".join(word for word in kept if dated or not DATE.fullmatch(word)).replace(".", "")
