"""Writes a contract for your tools to a lock file, and reports later changes. Needs the extra ``schema``."""

import typing

from toolshape._deprecation import resolve_renamed_attribute
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

_RENAMED = {
    "Bill": "RequestCost",
    "Cost": "ToolCost",
    "bill": "request_cost",
    "compared": "diff_contracts",
    "contract_of": "make_contract",
    "page_of": "render_page",
    "read_lock": "load_lock",
    "written_lock": "dump_lock",
}
"""Maps each deprecated name to its replacement. Version 0.2 removes the deprecated names."""


if not typing.TYPE_CHECKING:  # hidden from type checkers: they must report misspelt and deprecated names

    def __getattr__(name: str) -> typing.Any:
        return resolve_renamed_attribute(__name__, _RENAMED, name)
