"""Marks of a chart as SVG text; positions are pixels."""

from __future__ import annotations

from html import escape

# Colour-blind safe (Okabe and Ito), in the order they are used.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#7f7f7f",
    "#f0e442",
    "#332288",
    "#999933",
)


def rectangle(x: float, y: float, width: float, height: float, fill: str, title: str = "") -> str:
    """A filled box; `title` shows on hover."""
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"'
    return f"{shape}><title>{escape(title)}</title></rect>" if title else f"{shape}/>"


def dot(x: float, y: float, radius: float, fill: str, title: str = "") -> str:
    """A point; `title` shows on hover."""
    shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}"'
    return f"{shape}><title>{escape(title)}</title></circle>" if title else f"{shape}/>"


def words(x: float, y: float, text: str, anchor: str = "start", style: str = "") -> str:
    """Text whose `anchor` (start, middle, end) stands at x."""
    extra = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str = "axis") -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def curve(points: list[tuple[float, float]], stroke: str, title: str = "") -> str:
    """A line through points; `title` shows on hover."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    shape = f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="1.5"'
    return f"{shape}><title>{escape(title)}</title></polyline>" if title else f"{shape}/>"


def drawing(width: float, height: float, marks: list[str], label: str) -> str:
    """A whole picture, at most as wide as its units; `label` is read to those who do not see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'style="max-width:{width:g}px"'
    )
    style = (
        "<style>text{font:12px system-ui,sans-serif;fill:#444}.axis{stroke:#999}"
        ".grid{stroke:#e5e5e5}.limit{stroke:#d55e00;stroke-dasharray:5 4}.small{font-size:10px}"
        "</style>"
    )
    return f'{head} aria-label="{escape(label, quote=True)}">{style}{"".join(marks)}</svg>'
