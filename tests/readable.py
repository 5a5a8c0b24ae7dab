"""Finds text on a page that overflows its cell, or is broken inside a word."""

from typing import Any

# A word may break after punctuation and where the page allows it (``<wbr>``), never between two letters or digits.
_SCRIPT = """() => {
  const found = []
  if (document.documentElement.scrollWidth > window.innerWidth) found.push('the page is wider than the window')
  for (const cell of document.querySelectorAll('td, th')) {
    if (cell.offsetParent && cell.scrollWidth > cell.clientWidth + 1) found.push('overflows: ' + cell.textContent.slice(0, 60))
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.offsetParent) continue
    for (const word of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange()
      range.setStart(node, word.index)
      range.setEnd(node, word.index + word[0].length)
      const lines = new Set([...range.getClientRects()].map(place => Math.round(place.top)))
      if (lines.size > 1) found.push('is broken: ' + word[0])
    }
  }
  return [...new Set(found)]
}"""


def unreadable(page: Any) -> list[str]:
    """Return what cannot be read on a page: cells that overflow, and words on several lines."""
    return list(page.evaluate(_SCRIPT))
