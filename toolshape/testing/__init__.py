"""Fake providers, checks of laws for providers and tools, and malformed arguments.

The checks and ``values`` need the extra ``testing``. A fake needs no extra.

In: requests of a client, or tools to check. Out: a provider's responses and refusals, or the laws
that are broken. A fake holds no rule of its own: what it refuses is a rule of the family.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from toolshape.testing._fake.exchange import Exchange
    from toolshape.testing._fake.fake import Fake
    from toolshape.testing._fake.refusals import Refused
    from toolshape.testing._fake.session import FakeSession
    from toolshape.testing._fake.turn import Turn
    from toolshape.testing._laws import (
        LawBrokenError,
        check_output,
        check_provider,
        check_slips,
        check_tool,
        values,
    )
    from toolshape.testing._mistakes import SilentlyWrongError, Slip, check_slip, slips

__all__ = [
    "Exchange",
    "Fake",
    "FakeSession",
    "LawBrokenError",
    "Refused",
    "SilentlyWrongError",
    "Slip",
    "Turn",
    "check_output",
    "check_provider",
    "check_slip",
    "check_slips",
    "check_tool",
    "slips",
    "values",
]

_PLACES = {
    "Exchange": "toolshape.testing._fake.exchange",
    "Fake": "toolshape.testing._fake.fake",
    "FakeSession": "toolshape.testing._fake.session",
    "Refused": "toolshape.testing._fake.refusals",
    "Turn": "toolshape.testing._fake.turn",
    **dict.fromkeys(
        ("LawBrokenError", "check_output", "check_provider", "check_slips", "check_tool", "values"),
        "toolshape.testing._laws",
    ),
    **dict.fromkeys(
        ("SilentlyWrongError", "Slip", "check_slip", "slips"), "toolshape.testing._mistakes"
    ),
}
"""Maps each public name to its module.

A name is imported on first use, so a fake does not load Hypothesis.
"""


if not typing.TYPE_CHECKING:  # a type checker must still report misspelt names

    def __getattr__(name: str) -> typing.Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"importlib", "typing"})
