"""Locks the contract of tools in a file, and reports what has changed since. Needs the extra ``schema``."""

from toolshape.contract._asserting import ContractError, assert_contract
from toolshape.contract._compare import Change, Diff, compared, diff
from toolshape.contract._costs import Bill, Cost, bill
from toolshape.contract._lock import Contract, Locked, contract_of, read_lock, written_lock
from toolshape.contract._page import page_of
from toolshape.contract._recorded import BrokenCalls, broken_calls
from toolshape.contract._sarif import to_sarif

__all__ = [
    "Bill",
    "BrokenCalls",
    "Change",
    "Contract",
    "ContractError",
    "Cost",
    "Diff",
    "Locked",
    "assert_contract",
    "bill",
    "broken_calls",
    "compared",
    "contract_of",
    "diff",
    "page_of",
    "read_lock",
    "to_sarif",
    "written_lock",
]
