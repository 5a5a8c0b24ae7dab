"""The model's own JSON, with its faults as comments."""

from toolshape._records.errors import Problem
from toolshape._validation.feedback import annotate


def fault(path: str, message: str) -> Problem:
    return Problem(path=path, rule="r", message=message)


def test_a_text_keeps_its_own_fault_beside_those_of_the_json_in_it() -> None:
    """Both are faults of one line; the model reads all of them."""
    faults = [fault("a", "too long"), fault("a.b", "expected string")]
    text = annotate({"a": '{"b":1}'}, faults, {"type": "object"})
    [line] = [each for each in text.splitlines() if "//" in each]
    assert line.endswith("// too long; b: expected string")
