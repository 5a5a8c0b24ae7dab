"""The one gap that the law of schema and model excuses: two keys of an object that are the same number."""

import pytest

from toolshape.testing._laws import _has_one_key_twice


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"f": {"0": 1, "-0": 1}}, True),
        ([{"a": {"1": 1, "1.0": 2}}], True),
        ({"0": 1, "1": 1}, False),
        ({"a": {"0": 1}, "b": {"-0": 1}}, False),
        ({"a": 1, "b": ["0", "-0"]}, False),
    ],
)
def test_only_two_keys_of_one_object_that_are_one_number(value, expected):
    assert _has_one_key_twice(value) is expected
