"""The public face is what its list says: a change of a name or of a signature is a change of tests/unit/public_face.txt."""

import importlib
from pathlib import Path

import pytest
from public_face import lines

from toolshape import Registry, tool
from toolshape.trace import record_to

LIST = Path(__file__).with_name("public_face.txt")


def test_the_public_face_is_what_its_list_says():
    """``python tests/public_face.py > tests/unit/public_face.txt`` writes it, once a change is meant."""
    assert list(lines()) == LIST.read_text(encoding="utf-8").splitlines()


@tool
def f(n: int = 1) -> int:
    """F."""
    return n


RENAMED = {
    "toolshape.trace": {
        "Recorded": "RecordedResponse", "Seen": "ObservedResponse", "record": "record_to", "recorded": "read_trace",
        "stages": "compute_stages",
    },
    "toolshape.contract": {
        "Bill": "RequestCost", "Cost": "ToolCost", "bill": "request_cost", "compared": "diff_contracts",
        "contract_of": "make_contract", "page_of": "render_page", "read_lock": "load_lock", "written_lock": "dump_lock",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "old", "new"), [(module, old, new) for module, names in RENAMED.items() for old, new in names.items()]
)
def test_an_old_name_works_and_warns(module, old, new):
    holder = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{module}.{old} is deprecated: use {module}.{new}"):
        assert getattr(holder, old) is getattr(holder, new)
    assert old not in holder.__all__


def test_a_name_that_never_was_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'recordings'"):
        importlib.import_module("toolshape.trace").recordings


def test_old_methods_work_and_warn(tmp_path):
    bound = Registry([f]).bind("openai")
    with pytest.warns(DeprecationWarning, match=r"Bound\.calls_as_messages"):
        messages = bound.say([("f", {"n": 2})])
    assert messages == bound.calls_as_messages([("f", {"n": 2})])
    results = bound.dispatch(messages[0])
    with pytest.warns(DeprecationWarning, match=r"Bound\.results_as_messages"):
        assert bound.encode(results) == results.messages


def test_old_arguments_work_and_warn(tmp_path):
    with pytest.warns(DeprecationWarning, match="default_effect"):
        assert repr(Registry([f], undeclared="write")) == repr(Registry([f], default_effect="write"))
    path = tmp_path / "calls.jsonl"
    tools = Registry([f])
    with pytest.warns(DeprecationWarning, match=r"Registry\.observe"):
        tools.around(record_to(path, keep="all"))
    tools.dispatch({"name": "f", "arguments": {}})
    assert path.exists()
