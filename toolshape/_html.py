"""Writes HTML pages that load no other files. Without JavaScript, only the search does not work."""

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8886 }
html { background: Canvas; color: CanvasText }
body { overflow-wrap: anywhere; font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 1rem 0 .25rem }
.wide { overflow-x: auto }
table { border-collapse: collapse }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem; border-bottom: 1px solid var(--line) }
code, pre { font: .9rem/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 }
fieldset { border: 0; padding: 0; margin: .5rem 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem }
legend { float: left; margin-right: 1rem; font-weight: bold }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .4rem .75rem }
summary { cursor: pointer } summary b { margin-right: .5rem }
:focus-visible { outline: .15rem solid; outline-offset: .15rem }
.scripted { display: none }
"""
SEARCH = '<p class="scripted"><label>search <input type="search" id="search"></label></p>'
"""The search field of a page: it hides the entries without the search text."""
_SCRIPT = """
document.querySelectorAll('.scripted').forEach(element => { element.style.display = 'block' })
const search = document.getElementById('search'), entries = [...document.querySelectorAll('.entry')]
search.addEventListener('input', () => {
  const wanted = search.value.toLowerCase()
  entries.forEach(entry => { entry.hidden = !entry.textContent.toLowerCase().includes(wanted) })
})
document.querySelectorAll('td a, th a').forEach(link => link.addEventListener('click', () => {
  let element = document.querySelector(link.getAttribute('href'))
  for (; element; element = element.parentElement) if (element.tagName === 'DETAILS') element.open = true
}))
"""


def page(title: str, body: Iterable[str], *, style: str, keys: Mapping[Any, str]) -> str:
    """Write a page.

    Args:
        title: The title, which is also the heading.
        body: The markup below the heading. The search covers elements of the class ``entry``. Links in tables open
            the ``details`` element that they point to.
        style: CSS rules of this page, in addition to the rules of all pages.
        keys: Labels and ids of checkboxes, as for ``checkboxes``. An unchecked box hides the elements whose class is
            its id.
    """
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    hidden = " ".join(f"body:has(#{key}:not(:checked)) .{key} {{ display: none }}" for key in keys.values())
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{style}{hidden}</style></head>"
    )
    return f"{head}<body><main><h1>{text(title)}</h1>{''.join(body)}</main><script>{_SCRIPT}</script></body></html>\n"


def checkboxes(keys: Mapping[Any, str]) -> str:
    """Write a checkbox for each class of elements that the reader can hide."""
    return "".join(
        f'<label><input type="checkbox" id="{key}" checked> {text(name)}</label>' for name, key in keys.items()
    )


def text(value: Any) -> str:
    """Escape a text, and isolate its writing direction from the text around it."""
    return f"<bdi>{html.escape(str(value))}</bdi>"


def code(value: Any) -> str:
    """Write a text as code, or any other value as one line of JSON."""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"<code>{text(shown)}</code>"
