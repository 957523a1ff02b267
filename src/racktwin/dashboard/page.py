"""The page every report is: head, style, question; a template fills in the rest."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, Template


def page(template: str) -> Template:
    """A template of the package; whatever is put into it is escaped unless it is `Markup`."""
    loader = PackageLoader("racktwin.dashboard")
    return Environment(autoescape=True, loader=loader).get_template(template)
