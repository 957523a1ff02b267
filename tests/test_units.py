"""Quantities: what text means, how it prints, what is refused and with which advice."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from racktwin import units
from racktwin.finding import BadInput
from racktwin.units import (
    Bandwidth,
    Bitrate,
    Bytes,
    Celsius,
    Dollars,
    Flops,
    Fraction,
    Joules,
    JoulesPerByte,
    JoulesPerFlop,
    Price,
    Quantity,
    Seconds,
    Tariff,
    Watts,
)

KINDS = [
    kind
    for kind in vars(units).values()
    if isinstance(kind, type) and issubclass(kind, Quantity) and kind not in (Quantity, Dollars)
]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Bandwidth, "800 Gb/s", 1e11),
        (Bandwidth, "800 Gbps", 1e11),
        (Bandwidth, "900 GB/s", 9e11),
        (Bandwidth, "1 GiB/s", 2**30),
        (Bytes, "288 GB", 2.88e11),
        (Bytes, "23.6GiB", 23.6 * 2**30),
        (Bytes, "284,208 MiB", 284208 * 2**20),
        (Bytes, "1e9 B", 1e9),
        (Bytes, ".5 kB", 500),
        (Bytes, "8 Gbit", 1e9),
        (Watts, "1.4 kW", 1400),
        (Watts, "5 mW", 0.005),
        (Watts, "5 MW", 5e6),
        (Flops, "15 PFLOP/s", 1.5e16),
        (Flops, "989 TFLOPS", 9.89e14),
        (Seconds, "20ms", 0.02),
        (Seconds, "20 \N{MICRO SIGN}s", 2e-5),
        (Seconds, "20 \N{GREEK SMALL LETTER MU}s", 2e-5),
        (Seconds, "2 us", 2e-6),
        (Seconds, "3\N{NO-BREAK SPACE}min", 180),
        (Seconds, "0 s", 0),
        (Joules, "2 kWh", 7.2e6),
        (JoulesPerFlop, "0.20 pJ/FLOP", 2e-13),
        (JoulesPerByte, "75 pJ/B", 7.5e-11),
        (Fraction, "85 %", 0.85),
        (Fraction, 0.85, 0.85),
        (Fraction, 1, 1.0),
        (Celsius, "-5 °C", -5),
        (Price, "$3.50/GPU/h", 3.5),
        (Price, "3.50 USD/GPU/h", 3.5),
        (Price, 4.5, 4.5),
        (Tariff, "$0.07/kWh", 0.07),
        (Tariff, "$70/MWh", 0.07),
    ],
)
def test_text_becomes_si(kind: type[Quantity], text: str | float, value: float) -> None:
    found = kind.parse(text)
    assert type(found) is kind
    assert found == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "text", "advice"),
    [
        (Bytes, "288", "has no unit"),
        (Bytes, 288, "has no unit"),
        (Bytes, "288 gb", "did you mean '288 GB'?"),
        (Bytes, "288 Gb", "did you mean '288 GB'?"),
        (Bytes, "8 KB", "did you mean '8 kB'?"),
        (Bytes, "8 mB", "did you mean '8 MB'?"),
        (Bytes, "1,5 GB", "not a number"),
        (Bytes, "1,00 GB", "not a number"),
        (Bandwidth, "800 gb/s", "'800 GB/s' or '800 Gb/s'"),
        (Bandwidth, "800 Gb/sec", "did you mean '800 Gb/s'?"),
        (JoulesPerFlop, "1 J", "not a unit of joules per flop"),
        (Bandwidth, "0 GB/s", "more than 0"),
        (Seconds, "20 sec", "did you mean '20 s'?"),
        (Seconds, "20 Ms", "did you mean '20 ms'?"),
        (Seconds, "1:30", "not a number"),
        (Seconds, "-1 ms", "out of range"),
        (Watts, "1e400 W", "not a finite"),
        (Watts, "nan W", "not a number"),
        (Watts, "inf W", "not a number"),
        (Bytes, float("nan"), "not a number"),
        (Bytes, "1e30 B", "out of range"),
        (Flops, "0 FLOP/s", "more than 0"),
        (Fraction, 85, "did you mean '85 %'?"),
        (Fraction, "101 %", "out of range"),
        (Fraction, "-0.1", "out of range"),
        (Fraction, float("nan"), "not a number"),
        (Celsius, "-300 C", "out of range"),
        (Price, ".50/GPU/h", "lost its dollars"),
        (Price, "$3/VM/h", "unit of price"),
        (Price, -1, "out of range"),
        (Bytes, None, "not a quantity"),
        (Bytes, True, "not a quantity"),
        (Bytes, [1], "not a quantity"),
        (Bytes, "", "not a number"),
        (Bytes, "\N{ARABIC-INDIC DIGIT THREE} GB", "not a number"),
        (Bytes, "9" * 5000, "too long"),
    ],
)
def test_refusals_say_what_would_do(kind: type[Quantity], text: object, advice: str) -> None:
    with pytest.raises(BadInput) as caught:
        kind.parse(text, "some.key", 7)  # type: ignore[arg-type]
    (finding,) = caught.value.findings
    assert advice in finding.message
    assert (finding.key, finding.line) == ("some.key", 7)


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Bytes(2.88e11), "288 GB"),
        (Bytes(0.0), "0 B"),
        (Bytes(1023), "1.023 kB"),
        (Bandwidth(1e11), "100 GB/s"),
        (Bitrate(1e11), "800 Gb/s"),
        (Seconds(0.0203), "20.3 ms"),
        (Seconds(0.99996), "1 s"),
        (Seconds(5400), "1.5 h"),
        (Watts(9_165_743), "9.166 MW"),
        (Fraction(0.85), "85 %"),
        (Celsius(-5), "-5 °C"),
        (Price(3.5), "$3.50/GPU/h"),
        (Price(12.294), "$12.29/GPU/h"),
        (Tariff(0.083), "$0.083/kWh"),
    ],
)
def test_print(quantity: Quantity, text: str) -> None:
    assert str(quantity) == f"{quantity}" == text


def test_binary_and_number_formats() -> None:
    assert Bytes(23.6 * 2**30).binary() == "23.6 GiB"
    assert f"{Seconds(0.0203):.3f}" == "0.020"
    assert f"{Watts(1400):,.0f}" == "1,400"
    assert f"{Watts(1400):>8}" == f"{Watts(1400): >8}" == "  1.4 kW"
    assert (f"{Watts(1400):,}", f"{Watts(1400):.2}") == ("1,400.0", "1.4e+03")


def test_arithmetic_gives_plain_floats() -> None:
    assert type(Bytes(4.0) / Bandwidth(2.0)) is float
    assert pickle.loads(pickle.dumps(Bytes(4.0))) == 4.0


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_valid(kind: type[Quantity]) -> None:
    assert float(kind.parse(kind.example)) > 0


@given(st.sampled_from(KINDS), st.floats(1e-9, 1e15), st.booleans())
def test_round_trip(kind: type[Quantity], size: float, negative: bool) -> None:
    value = min(size, kind.most) * (-1 if negative and kind.least < 0 else 1)
    value = max(value, kind.least)
    quantity = kind(value)
    printed = kind.parse(quantity.text(digits=17))
    assert float(printed) == pytest.approx(value, rel=1e-14)
    short = kind.parse(str(quantity))
    assert float(short) == pytest.approx(
        value, rel=6e-4, abs=0.006 if kind in (Price, Tariff) else 0
    )


@given(st.text(max_size=80))
def test_any_text_is_a_quantity_or_a_sentence(text: str) -> None:
    for kind in KINDS:
        found = kind.read(text)
        assert isinstance(found, str) or (math.isfinite(found) and found <= kind.most * 1.001)
