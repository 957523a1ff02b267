"""Quantities: SI floats with a type, parsed from text such as '800 Gb/s' and printed back.

Case counts: `b` is bits and `B` bytes, `m` is milli and `M` mega, `k` is 1000 and `Ki` 1024.
Arithmetic on a quantity gives a plain float in SI units.
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, Self

from racktwin.finding import BadInput, Finding, nearest

SI = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3}
SI |= {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+|(?=\.[0-9]))"
NUMBER = re.compile(rf"([+-]?{WHOLE}(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµμ°%/].*)?")
ALIGNED = re.compile(r"(.?[<>^])?[0-9]*")
LONGEST = 64  # characters; nothing longer is a quantity


def scaled(unit: str, prefixes: str, size: float = 1.0) -> dict[str, float]:
    """`unit` alone and behind each prefix, with its size in SI units."""
    return {unit: size} | {p + unit: SI[p] * size for p in prefixes}


def binary(unit: str) -> dict[str, float]:
    """`unit` behind each binary prefix (KiB = 1024 B)."""
    return {p + unit: size for p, size in BINARY.items()}


GIB = 1 << 30  # bytes


class Quantity(float):
    """A float in SI units that knows its unit.

    units: every accepted spelling -> its size in SI units.
    shown: the spellings used in print, smallest first.
    least, most: range of a meaningful value; zero: whether 0 is in it.
    bare: whether a number without a unit is accepted.
    example: a good value, quoted in messages.
    """

    units: ClassVar[dict[str, float]]
    shown: ClassVar[tuple[str, ...]]
    least: ClassVar[float] = 0.0
    most: ClassVar[float]
    zero: ClassVar[bool] = True
    bare: ClassVar[bool] = False
    example: ClassVar[str]

    @classmethod
    def parse(cls, text: str | float, key: str = "", line: int | None = None) -> Self:
        """Read '288 GB', or raise BadInput that says what was found and what would do."""
        found = cls.read(text)
        if isinstance(found, str):
            raise BadInput([Finding(key or cls.noun(), found, line)])
        return found

    @classmethod
    def read(cls, text: Any) -> Self | str:
        """The quantity in `text`, or the sentence that says why there is none."""
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            return f"{text!r} is not a quantity; write {cls.example!r}"
        if isinstance(text, cls):
            return cls.bounded(float(text), str(text))
        given = str(text).replace("\N{NO-BREAK SPACE}", " ").strip()
        if len(given) > LONGEST:
            return f"'{given[:16]}...' is too long for a quantity; write {cls.example!r}"
        match = NUMBER.fullmatch(given)
        if match is None:
            return f"{given!r} is not a number with a unit; write {cls.example!r}"
        number, unit = match.groups()
        if unit is None and not cls.bare:
            return f"{given!r} has no unit; write one as in {cls.example!r}"
        size = cls.units.get(unit.replace("\N{GREEK SMALL LETTER MU}", "µ")) if unit else 1.0
        if size is None:
            return f"{given!r}: {unit!r} is not a unit of {cls.noun()}; {cls.advice(number, unit)}"
        return cls.bounded(float(number.replace(",", "")) * size, given)

    @classmethod
    def bounded(cls, value: float, given: str) -> Self | str:
        """`value` as a quantity when it is a meaningful one, else the sentence against it."""
        if not math.isfinite(value):
            return f"{given!r} is not a finite number"
        high = cls.most * (1 + 1e-12)  # so that a bound as printed is within itself
        if not cls.least <= value <= high or (value == 0 and not cls.zero):
            low = str(cls(cls.least)) if cls.zero else "more than 0"
            return f"{given!r} is out of range; expected {low} to {cls(cls.most)}"
        return cls(value)

    @classmethod
    def advice(cls, number: str, unit: str) -> str:
        """What to write instead of an unknown unit."""
        same = sorted(u for u in cls.units if u.lower() == unit.lower())
        close = nearest(unit, cls.units)
        meant = same or ([close] if close else [])
        if not meant:
            return f"write {cls.example!r}"
        return f"did you mean {' or '.join(repr(cls.join(number, u)) for u in meant)}?"

    @classmethod
    def noun(cls) -> str:
        """How messages call this kind of quantity."""
        return re.sub(r"\B([A-Z])", r" \1", cls.__name__).lower()

    @classmethod
    def join(cls, number: str, unit: str) -> str:
        """Number and unit as printed."""
        return f"{number} {unit}"

    def text(self, digits: int = 4, shown: tuple[str, ...] | None = None) -> str:
        """The value to `digits` significant digits, in the unit that reads best."""
        shown = shown or self.shown
        rounded = float(f"{float(self):.{digits}g}")
        fitting = [u for u in shown if abs(rounded) >= self.units[u]]
        unit = fitting[-1] if fitting and rounded else shown[0]
        number = f"{rounded / self.units[unit]:.{digits}g}"
        return self.join(f"{float(number):.0f}" if "e+" in number else number, unit)

    @classmethod
    def si(cls) -> str:
        """The unit of the bare float: 'B/s' for a bandwidth, '1' for a fraction."""
        return next((unit for unit in cls.shown if cls.units[unit] == 1.0), "1")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({float(self)!r})"

    def __format__(self, spec: str) -> str:
        """Text with its unit where the spec only aligns (':>10'), else a number (',.0f')."""
        return format(str(self) if ALIGNED.fullmatch(spec) else float(self), spec)


class Bytes(Quantity):
    """Memory or message size, bytes."""

    units = scaled("B", "kMGTPE") | binary("B") | scaled("bit", "kMGTPE", 1 / 8)
    shown = ("B", "kB", "MB", "GB", "TB", "PB")
    most = 1e21
    example = "288 GB"

    def binary(self, digits: int = 4) -> str:
        """In KiB, MiB, GiB, as engines log it."""
        return self.text(digits, ("B", "KiB", "MiB", "GiB", "TiB"))


class Bandwidth(Quantity):
    """Data rate, bytes per second."""

    units = (
        scaled("B/s", "kMGTPE")
        | binary("B/s")
        | scaled("b/s", "kMGTPE", 1 / 8)
        | scaled("bit/s", "kMGTPE", 1 / 8)
        | scaled("bps", "kMGTPE", 1 / 8)
    )
    shown = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s")
    most = 1e20
    zero = False
    example = "800 Gb/s"


class Bitrate(Bandwidth):
    """A data rate in bytes per second that prints in bits, as network ports are sold."""

    shown = ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s")

    @classmethod
    def si(cls) -> str:
        return Bandwidth.si()


class Seconds(Quantity):
    """Duration, seconds."""

    units = scaled("s", "nµum") | {"min": 60.0, "h": 3600.0, "d": 86400.0}
    shown = ("s", "ns", "µs", "ms", "s", "min", "h", "d")
    most = 1e11
    example = "20 ms"


class Rate(Quantity):
    """Requests per second."""

    units = {"/s": 1.0, "req/s": 1.0, "/min": 1 / 60, "req/min": 1 / 60, "/h": 1 / 3600}  # noqa: RUF012
    shown = ("/s",)
    least = 1e-6  # one in twelve days
    most = 1e9
    bare = True
    example = "40/s"


class Watts(Quantity):
    """Power, watts."""

    units = scaled("W", "mkMG")
    shown = ("mW", "W", "kW", "MW", "GW")
    most = 1e12
    example = "1.4 kW"


class Joules(Quantity):
    """Energy, joules."""

    units = scaled("J", "pnµumkMGT") | scaled("Wh", "kMGT", 3600.0)
    shown = ("pJ", "nJ", "µJ", "mJ", "J", "kJ", "MJ", "GJ")
    most = 1e20
    example = "65 J"


class JoulesPerFlop(Quantity):
    """Energy of one floating-point operation, joules."""

    units = scaled("J/FLOP", "pn")
    shown = ("pJ/FLOP", "nJ/FLOP")
    most = 1e-6
    example = "0.5 pJ/FLOP"


class JoulesPerByte(Quantity):
    """Energy of moving one byte, joules."""

    units = scaled("J/B", "pn")
    shown = ("pJ/B", "nJ/B")
    most = 1e-3
    example = "75 pJ/B"


class Flops(Quantity):
    """Arithmetic rate, floating-point operations per second."""

    units = scaled("FLOP/s", "kMGTPE") | scaled("FLOPS", "kMGTPE") | scaled("OP/s", "kMGTPE")
    shown = ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s")
    most = 1e24
    zero = False
    example = "15 PFLOP/s"


class Fraction(Quantity):
    """A share between 0 and 1; 85 % and 0.85 are the same."""

    units = {"%": 0.01}  # noqa: RUF012
    shown = ("%",)
    most = 1.0
    bare = True
    example = "85 %"

    @classmethod
    def bounded(cls, value: float, given: str) -> Self | str:
        if 1 < value <= 100 and "%" not in given:
            return f"{given!r} is out of range; did you mean '{given} %'?"
        return super().bounded(value, given)


class Celsius(Quantity):
    """Temperature, degrees Celsius."""

    units = {"C": 1.0, "°C": 1.0}  # noqa: RUF012
    shown = ("°C",)
    least = -273.15
    most = 2000.0
    example = "45 °C"


class Kelvins(Quantity):
    """A temperature difference, kelvin."""

    units = {"K": 1.0}  # noqa: RUF012
    shown = ("K",)
    most = 1000.0
    example = "4 K"


class Flow(Quantity):
    """Volume of a liquid over time, m³/s."""

    units = {"m³/s": 1.0, "m3/s": 1.0, "l/s": 1e-3, "l/min": 1e-3 / 60, "L/min": 1e-3 / 60}  # noqa: RUF012
    shown = ("l/min",)
    most = 100.0
    example = "120 l/min"

    @classmethod
    def si(cls) -> str:
        return "m³/s"


class Pressure(Quantity):
    """Pressure, pascal."""

    units = scaled("Pa", "kM") | {"bar": 1e5, "mbar": 100.0}
    shown = ("Pa", "kPa", "bar")
    most = 1e8
    example = "2.4 bar"


class ThermalResistance(Quantity):
    """Temperature rise over heat, K/W."""

    units = scaled("K/W", "m") | {"K/kW": 1e-3}
    shown = ("mK/W", "K/W")
    most = 1e3
    zero = False
    example = "0.03 K/W"


class Metres(Quantity):
    """Length or altitude, metres."""

    units = scaled("m", "mk")
    shown = ("m",)
    least = -500.0
    most = 1e5
    example = "305 m"


class CarbonIntensity(Quantity):
    """Carbon dioxide of electricity, kilograms per kWh."""

    units = {"kg/kWh": 1.0, "g/kWh": 1e-3, "t/MWh": 1.0, "kg/MWh": 1e-3}  # noqa: RUF012
    shown = ("g/kWh",)
    most = 10.0
    example = "370 g/kWh"

    @classmethod
    def si(cls) -> str:
        return "kg/kWh"


class Dollars(Quantity):
    """An amount of US dollars per something; the sign stands before the number."""

    @classmethod
    def read(cls, text: Any) -> Self | str:
        if not isinstance(text, str):
            return super().read(text)
        given = text.strip().replace("-$", "$-", 1)
        if given.startswith("."):  # the shell has read $3 of '$3.50' as its third argument
            return f"{given!r} has lost its dollars; quote it: {cls.example!r}"
        return super().read(given.removeprefix("$").removeprefix("USD"))

    @classmethod
    def join(cls, number: str, unit: str) -> str:
        return f"-${number[1:]}{unit}" if number.startswith("-") else f"${number}{unit}"

    def text(self, digits: int = 4, shown: tuple[str, ...] | None = None) -> str:
        cents = f"{float(self):.2f}"
        exact = float(cents) == float(f"{float(self):.{digits}g}") or self >= 100
        return self.join(cents if exact else f"{float(self):.{digits}g}", (shown or self.shown)[0])


class Price(Dollars):
    """Rent of hardware, dollars per GPU and hour."""

    units = dict.fromkeys(["/GPU/h", "/GPU-h", "/GPU-hour", "USD/GPU/h", "USD/GPU-h", "USD"], 1.0)
    shown = ("/GPU/h",)
    most = 1e4
    bare = True
    example = "$3.50/GPU/h"


class Tariff(Dollars):
    """Price of electricity, dollars per kWh."""

    units = {"/kWh": 1.0, "/MWh": 1e-3, "USD/kWh": 1.0}  # noqa: RUF012
    shown = ("/kWh",)
    least = -100.0  # markets pay for taking power
    most = 100.0
    example = "$0.07/kWh"
