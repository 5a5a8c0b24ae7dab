"""Writes a contract for your tools to a lock file, and reports later changes.

Needs the extra ``schema``.

In: a registry, and a lock file. Out: the changes since the lock, each with a call that shows what
it breaks. To compare another keyword, add it to ``_inclusion.py`` and give ``_witness.py`` a value
that tells the two apart.
"""

from toolshape.contract._asserting import ContractError, assert_contract
from toolshape.contract._compare import Change, Diff, diff, diff_contracts
from toolshape.contract._costs import RequestCost, ToolCost, request_cost
from toolshape.contract._lock import Contract, Locked, dump_lock, load_lock, make_contract
from toolshape.contract._page import render_page
from toolshape.contract._recorded import BrokenCalls, broken_calls
from toolshape.contract._sarif import to_sarif

__all__ = [
    "BrokenCalls",
    "Change",
    "Contract",
    "ContractError",
    "Diff",
    "Locked",
    "RequestCost",
    "ToolCost",
    "assert_contract",
    "broken_calls",
    "diff",
    "diff_contracts",
    "dump_lock",
    "load_lock",
    "make_contract",
    "render_page",
    "request_cost",
    "to_sarif",
]
