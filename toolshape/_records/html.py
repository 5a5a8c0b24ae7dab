"""Writes HTML pages that load no other files. Only the search needs JavaScript."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

# Text breaks between words. Names also break after ``_``, ``.`` and similar characters (see
# ``name``). Text never breaks inside a word: a table that is too wide scrolls instead, and its head
# and first column stay in view.
_STYLE = """
:root { color-scheme: light dark; --line: #8886 }
html { background: Canvas; color: CanvasText }
body { overflow-wrap: break-word; font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 1rem 0 .25rem }
.wide { overflow: auto; max-height: 85vh; margin: .5rem 0 }
table { border-collapse: separate; border-spacing: 0 }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem; border-bottom: 1px solid var(--line); overflow-wrap: normal }
.wide th[scope=row] { min-width: min(14rem, 35vw) }
.wide thead th { position: sticky; top: 0; background: Canvas; z-index: 1 }
.wide tr > :first-child { position: sticky; left: 0; background: Canvas }
.wide thead tr > :first-child { z-index: 2 }
code, pre { font: .9rem/1.4 ui-monospace, monospace; margin: 0; unicode-bidi: isolate }
pre { white-space: pre; overflow: auto; max-height: 60vh }
td code { white-space: pre-wrap }
dl.legend { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .5rem 0 }
dl.legend dt { font-weight: bold } dl.legend dd { margin: 0 }
fieldset { border: 0; padding: 0; margin: .5rem 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem }
legend { float: left; margin-right: 1rem; font-weight: bold }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .4rem .75rem }
summary { cursor: pointer } summary b { margin-right: .5rem }
:focus-visible { outline: .15rem solid; outline-offset: .15rem }
.skip { position: absolute; left: -999rem } .skip:focus { position: static }
.scripted { display: none }
"""
_SEARCH = '<p class="scripted"><label>search <input type="search" id="search"></label></p>'
_SCRIPT = """
document.querySelectorAll('.scripted').forEach(element => { element.style.display = 'block' })
const search = document.getElementById('search'), entries = [...document.querySelectorAll('.entry')]
const texts = new Map(entries.map(entry => [entry, entry.textContent.toLowerCase()]))
search.addEventListener('input', () => {
  const wanted = search.value.toLowerCase()
  entries.forEach(entry => { entry.hidden = !texts.get(entry).includes(wanted) })
  document.querySelectorAll('tr[data-entry]').forEach(row => {
    row.hidden = document.getElementById(row.dataset.entry).hidden
  })
})
document.querySelectorAll('td a, th a').forEach(link => link.addEventListener('click', () => {
  let element = document.querySelector(link.getAttribute('href'))
  for (; element; element = element.parentElement) if (element.tagName === 'DETAILS') element.open = true
}))
"""


def page(
    title: str, body: Iterable[str], *, style: str, keys: Mapping[Any, str], skip: tuple[str, str]
) -> str:
    """Write an HTML page with a search field.

    The Tab key first reaches the search field, and then a link that skips the tables.

    Args:
        title: The title, which is also the heading.
        body: The markup below the heading and the search field. The search covers elements with the
            class ``entry``, and hides the table rows whose ``data-entry`` is the id of a hidden
            entry. Links in tables open the ``details`` elements that they point into.
        style: CSS rules for this page, in addition to the rules for all pages.
        keys: Maps the label of each checkbox to its id, as for ``checkboxes``. An unchecked box
            hides the elements whose class equals this id.
        skip: The id of the element that the skip link points to, and the text of the link.
    """
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    hiding_rules = " ".join(
        f"body:has(#{key}:not(:checked)) .{key} {{ display: none }}" for key in keys.values()
    )
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{style}{hiding_rules}</style></head>"
    )
    skip_link = f'<p><a class="skip" href="#{skip[0]}">{text(skip[1])}</a></p>'
    content = f"<main><h1>{text(title)}</h1>{_SEARCH}{skip_link}{''.join(body)}</main>"
    return f"{head}<body>{content}<script>{_SCRIPT}</script></body></html>\n"


def checkboxes(keys: Mapping[Any, str]) -> str:
    """Write a checkbox for each class of elements that the reader can hide."""
    return "".join(
        f'<label><input type="checkbox" id="{key}" checked> {text(name)}</label>'
        for name, key in keys.items()
    )


def html_table(label: str, head: Iterable[str], rows: Iterable[str], key: str = "") -> str:
    """Write a table that scrolls separately from the page.

    Its head and its first column stay in view.

    Args:
        label: A description of the table for screen readers.
        head: The cells of the head, as markup.
        rows: The rows, as markup.
        key: The id of the table.
    """
    id_attribute = f' id="{key}"' if key else ""
    region = f'<div class="wide" role="group" tabindex="0" aria-label="{html.escape(label)}">'
    return f"{region}<table{id_attribute}><thead><tr>{''.join(head)}</thead><tbody>{''.join(rows)}</tbody></table></div>"


def escaped(value: Any) -> str:
    """Escape text for the content of an element."""
    return html.escape(str(value), quote=False)


def text(value: Any) -> str:
    """Escape text, and isolate its writing direction from the surrounding text."""
    return f"<bdi>{escaped(value)}</bdi>"


def name(value: Any) -> str:
    """Escape a name, and allow line breaks between its parts."""
    return f"<bdi>{_parted(value)}</bdi>"


def code(value: Any) -> str:
    """Write a string as code, or any other value as one line of JSON."""
    if isinstance(value, str):
        literal = value
    else:
        literal = json.dumps(value, ensure_ascii=False, default=str)
    return f"<code>{_parted(literal)}</code>"


def _parted(value: Any) -> str:
    """Escape text, and allow line breaks after punctuation and before capitals within a word."""
    return "<wbr>".join(
        map(escaped, re.split(r"(?<=[_./,:-])(?=[\w\"\[{])|(?<=[a-z])(?=[A-Z])", str(value)))
    )
