"""Coolant properties out of CoolProp, for the catalog: `python tools/distill_coolants.py`.

Needs CoolProp, which the package itself does not: density, heat capacity, viscosity and
conductivity are smooth in temperature, so a table every 10 °C holds density and heat to 0.1 %.
"""

from __future__ import annotations

import importlib
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src/racktwin/catalog/coolants"
PRESSURE = 3e5  # Pa
DEGREES = range(0, 91, 10)
FLUIDS = {
    "pg25": (
        "Propylene glycol 25 % by volume in water (PG25)",
        "INCOMP::APG[0.25]",
        "OCP's guideline coolant; the frost point is -11 °C",
    ),
    "water": ("Water", "Water", "facility water is taken as pure"),
}
ROWS = {
    "density": ("D", 6, "kg/m³"),
    "heat": ("C", 5, "J/kg/K"),
    "viscosity": ("V", 4, "Pa s"),
    "conductivity": ("L", 4, "W/m/K"),
}


def main() -> None:
    """Write one file per coolant."""
    coolprop = importlib.import_module("CoolProp.CoolProp")
    version = importlib.import_module("CoolProp").__version__
    for name, (title, fluid, note) in FLUIDS.items():
        lines = [f"title: {title}", "kind: derived", "source: coolprop"]
        lines.append(f'note: "CoolProp {version}, {fluid}, at 3 bar; {note}"')
        kelvin = [max(each, 0.1) + 273.15 for each in DEGREES]
        lines.append(f"celsius: [{', '.join(f'{each - 273.15:g}' for each in kelvin)}]")
        for key, (symbol, digits, unit) in ROWS.items():
            row = [coolprop.PropsSI(symbol, "T", each, "P", PRESSURE, fluid) for each in kelvin]
            shown = ", ".join(f"{each:.{digits}g}" for each in row)
            lines.append(f"{key}: [{shown}]  # {unit}")
        (FOLDER / f"{name}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
