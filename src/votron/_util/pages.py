"""Pages that need nothing else: one HTML file without scripts, whose figures and tables have the page's colours.

A page refers to nothing outside it, and its policy forbids that anything in it runs or is fetched. It follows the
reader's choice of light or dark; on a narrow screen panels stand below each other and tables scroll by themselves; on
paper it is black on white. Whatever comes from data goes through ``escape``.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from votron._util.text import counted, on_one_line, percent, shortened
from votron.errors import MissingPackageError

if TYPE_CHECKING:
    from jinja2 import Environment

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What a browser may do with a page: show it. Styles and pictures are within it, and there is nothing else."""

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""What data may hold and a page must not: control characters, halves of characters, changes of direction."""


@functools.cache
def environment() -> Environment:
    """Return the environment of all templates, which are named by their path in the package."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingPackageError('Reports need jinja2: pip install "votron[cli]".') from error
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("votron", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "counted": counted, "name": name_of}
    return made


def render(template: str, **context: Any) -> str:
    """Return a page: without what a page must not hold, and with percentages that are not broken at a line's end."""
    text = environment().get_template(template).render(**context)
    return re.sub(r"(?<=\d) %", "\u00a0%", _NOT_TEXT.sub("\ufffd", text))


def name_of(label: object, longest: int = 32) -> str:
    """Return a label as a page shows it."""
    return shortened(on_one_line(str(label)), longest)


def markup(html: str) -> str:
    """Return HTML as templates show it, unescaped."""
    from markupsafe import Markup  # with jinja2

    return Markup(html)


@dataclass(frozen=True)
class Picture:
    """A PNG file as part of a page."""

    data: str
    alt: str
    width: int
    height: int
    ink: bool
    """Whether it is drawn in ink on white, and light on black in dark mode."""


Section = tuple[str, str, str]
"""Id, heading and content of a part of a page, in HTML."""


def page_html(title: str, lead: str, sections: Sequence[Section], style: str = "") -> str:
    """Return a page: its title, which is escaped, what stands below it, and its parts, with a list of them.

    Examples
    --------
    >>> made = page_html("A & B", "<p>One.</p>", [("data", "Data", "<p>Two.</p>")])
    >>> made[:15], "<h1>A &amp; B</h1>" in made
    ('<!doctype html>', True)
    """
    shared = resources.files("votron._util").joinpath("pages.css").read_text(encoding="utf-8")
    contents = "".join(f'<li><a href="#{key}">{heading}</a></li>' for key, heading, _ in sections)
    body = "\n".join(f'<section id="{key}">\n<h2>{heading}</h2>\n{text}\n</section>' for key, heading, text in sections)
    made = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{shared}{style}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{escape(title)}</h1>\n{lead}\n</header>\n"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav>\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )
    return _NOT_TEXT.sub("\ufffd", made)


def table_html(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    scroll: bool = True,
    below: bool = False,
) -> str:
    """Return a table of texts, of which some columns are numbers; the last cell of each row may stand below it.

    Examples
    --------
    >>> table_html("Two.", ["a", "b"], [["1", "<2>"]], numbers=[0], scroll=False)[-70:]
    '<tbody><tr><td class="n">1</td><td>&lt;2&gt;</td></tr></tbody></table>'
    """

    def attribute(i: int) -> str:
        return ' class="n"' if i in numbers else ""

    def line(row: Sequence[str]) -> str:
        first = row[:-1] if below else row
        cells = "".join(f"<td{attribute(i)}>{escape(cell)}</td>" for i, cell in enumerate(first))
        if not below:
            return f"<tr>{cells}</tr>"
        rest = f'<tr class="below"><td colspan="{len(first)}">{escape(row[-1])}</td></tr>'
        return f"</tbody><tbody><tr>{cells}</tr>{rest}"  # a body each, so that paper keeps both on a page

    names = head[:-1] if below else head
    heads = "".join(f'<th scope="col"{attribute(i)}>{escape(name)}</th>' for i, name in enumerate(names))
    made = (
        f'<table class="words"><caption><span>{escape(caption)}</span></caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>" + "\n".join(map(line, rows)) + "</tbody></table>"
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">{made}</div>'
        if scroll
        else made
    )


def facts_html(facts: Sequence[tuple[str, str, str]]) -> str:
    r"""Return cards, each with what it is, its value, and a note, all in HTML; nothing without any.

    Examples
    --------
    >>> facts_html([("Rows", "344", "of penguins")])
    '<dl class="facts"><div><dt>Rows</dt><dd>344<small>of penguins</small></dd></div></dl>\n'
    """
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>" for name, value, note in facts)
    return f'<dl class="facts">{listed}</dl>\n' if facts else ""


def pairs_html(facts: Mapping[str, str]) -> str:
    """Return names and what they are, below one another; both are escaped.

    Examples
    --------
    >>> pairs_html({"Seed": "<0>"})
    '<dl class="made"><dt>Seed</dt><dd>&lt;0&gt;</dd></dl>'
    """
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return f'<dl class="made">{listed}</dl>'


def notes_html(notes: Sequence[str]) -> str:
    """Return sentences to be minded, each a paragraph; they are escaped.

    Examples
    --------
    >>> notes_html(["Mind the gap."])
    '<p class="note"><strong>Note.</strong> Mind the gap.</p>'
    """
    return "".join(f'<p class="note"><strong>Note.</strong> {escape(note)}</p>' for note in notes)


def image_html(content: bytes, alt: str, width: int, height: int, *, ink: bool) -> str:
    """Return a PNG file as part of a page; what is drawn in ``ink`` on white is light on black in dark mode.

    Examples
    --------
    >>> image_html(b"", "Nothing", 1, 1, ink=False)
    '<img alt="Nothing" width="1" height="1" src="data:image/png;base64,">'
    """
    data = base64.b64encode(content).decode()
    mark = 'class="ink" ' if ink else ""
    return f'<img {mark}alt="{escape(alt)}" width="{width}" height="{height}" src="data:image/png;base64,{data}">'
