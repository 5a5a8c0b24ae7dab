"""The laws of the lens as a test for any provider, values for any schema, and malformed arguments for any tool.

Needs the extra ``testing``.
"""

from toolshape.testing.laws import LawBrokenError, check_provider, check_slips, check_tool, values
from toolshape.testing.mistakes import SilentlyWrongError, Slip, check_slip, slips

__all__ = [
    "LawBrokenError",
    "SilentlyWrongError",
    "Slip",
    "check_provider",
    "check_slip",
    "check_slips",
    "check_tool",
    "slips",
    "values",
]
