"""Words of a command line that are no flags, no numbers or no text: all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from racktwin.cli import main
from racktwin.cli.reflow import reflow
from racktwin.cli.words import bind
from racktwin.finding import BadInput

PLAN = ("plan", "llama-3.1-8b", "--on", "hgx-b200")
PREDICT = ("predict", "none.yaml", "--input", "8", "--output", "8")


def faults(*words: str) -> dict[str, str]:
    """Flag -> message of everything wrong in one command line."""
    with pytest.raises(BadInput) as caught:
        bind(words[0], words)
    return {each.key: each.message for each in caught.value.findings}


def test_everything_missing_is_named_at_once() -> None:
    assert faults("plan") == dict.fromkeys(("MODEL", "--on"), "is missing")
    assert faults("fit") == dict.fromkeys(("MODEL", "--on"), "is missing")
    assert faults("predict").keys() == {"DEPLOYMENT", "--input", "--output"}


@pytest.mark.parametrize(
    "word", ["1e400", "0x10", "16.5", "nan", "", " ", "1_0", "\N{ARABIC-INDIC DIGIT THREE}", "8k"]
)
def test_only_plain_digits_are_a_whole_number(word: str) -> None:
    message = f"expected a whole number, found {word!r}"
    found = faults(*PLAN, "--input", word, "--output", "8", "--gpus", word, "--top", word)
    assert found == dict.fromkeys(("--input", "--gpus", "--top"), message)
    assert faults("show", "hgx-b200", "--racks", word) == {"--racks": message}


def test_a_number_of_four_thousand_digits() -> None:
    found = faults(*PLAN, "--input", "9" * 4000, "--output", "8")
    assert found == {"--input": "expected at most 18 digits, found 4,000"}


@pytest.mark.parametrize("word", ["nan", "inf", "1e400", "x", "\N{ARABIC-INDIC DIGIT THREE}"])
def test_only_finite_digits_are_a_number(word: str) -> None:
    message = f"expected a number, found {word!r}"
    assert faults(*PREDICT, "--concurrency", word) == {"--concurrency": message}


def test_flags_that_are_not_there() -> None:
    found = faults(*PLAN, "--inptu", "8", "--output", "8", "--tptot=2ms")
    assert found == {
        "--inptu": "'--inptu' is not known; did you mean '--input'?",
        "--tptot": "'--tptot' is not known; did you mean '--tpot'?",
    }
    assert faults("show", "gb300", "b200") == {"b200": "is one word too many"}


def test_a_flag_without_its_value() -> None:
    assert faults("plan", "x", "--on") == {"--on": "expected a value"}
    assert faults("plan", "x", "--on", "--json") == {"--on": "expected a value, found '--json'"}


def test_a_value_below_zero_is_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    load = ("--input", "8", "--output", "8", "--rate", "-1/s")
    assert main(["simulate", "none.yaml", *load]) == 2
    assert "--rate: '-1/s' is out of range" in capsys.readouterr().err
    for words in (("--json", "-1"), ("--json=yes-and-no",)):
        assert faults("plan", "x", "--on", "y", *words) == {
            "--json": "is a switch: it takes no value"
        }


def test_bytes_that_are_no_text_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "\udcff.json", "--on", "h100", "--json"]) == 2
    out, err = capsys.readouterr()
    assert (out, "is not text" in err) == ("", True)


def test_a_description_is_one_paragraph() -> None:
    @dataclass
    class Flags:
        """Flags.

        Parameters
        ----------
        one
            A line and
            another.
        two
            Alone.
        """

        one: int = 0

    def verb(flags: object = None) -> None:
        """Do it.

        verb --one 1
             --two 2

        Parameters
        ----------
        flags
            All of
            them.
        """

    verb.__annotations__ = {"flags": Flags | None}
    reflow(verb)
    assert "verb --one 1\n     --two 2\n" in str(verb.__doc__)
    assert str(verb.__doc__).endswith("flags\n    All of them.")
    assert str(Flags.__doc__).endswith("one\n    A line and another.\ntwo\n    Alone.")
