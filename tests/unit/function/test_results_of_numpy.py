"""Results of numpy and pandas are written as plain JSON, and large results are logged."""

import json
import logging
from typing import Any

import pytest

from toolshape import Registry, tool


def answered(function: Any) -> Any:
    tools = Registry([tool(function)])
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": function.__name__, "arguments": "{}"},
    }
    [result] = tools.dispatch(
        {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
    )
    return result


def test_values_of_numpy_are_written() -> None:
    np = pytest.importorskip("numpy", reason="numpy is not installed: nox -s functions")

    def measure() -> dict[str, Any]:
        """Measure."""
        return {
            "mean": np.float64(1.5), "count": np.int64(3), "values": np.arange(4).reshape(2, 2), "is_done": np.bool_(True),
            "day": np.datetime64("2026-01-02"), "times": np.array(["2026-01-02"], dtype="datetime64[ns]"), "missing": np.float32("nan"), "names": np.array(["a", "b"]),
        }  # fmt: skip

    assert json.loads(answered(measure).text) == {
        "mean": 1.5, "count": 3, "values": [[0, 1], [2, 3]], "is_done": True, "day": "2026-01-02", "times": ["2026-01-02T00:00:00"], "missing": None,
        "names": ["a", "b"],
    }  # fmt: skip

    def array() -> np.ndarray:
        """Return an array."""
        return np.array([1.0, np.nan])

    assert answered(array).text == "[1.0,null]"

    def arrays() -> dict[str, list[np.ndarray]]:
        """Return arrays."""
        return {"a": [np.array([1])]}

    assert answered(arrays).text == '{"a":[[1]]}'
    assert (tool(array).findings, tool(arrays).findings) == ((), ())


def test_values_of_pandas_are_written() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed: nox -s functions")

    def frame() -> pd.DataFrame:
        """Return rows."""
        return pd.DataFrame(
            {
                "when": [pd.Timestamp("2026-01-02"), pd.NaT],
                "price": [1.5, float("nan")],
                "name": ["a", pd.NA],
                "n": [1, 2],
            }
        )

    assert json.loads(answered(frame).text) == [
        {"when": "2026-01-02T00:00:00", "price": 1.5, "name": "a", "n": 1},
        {"when": None, "price": None, "name": None, "n": 2},
    ]
    assert tool(frame).findings == ()

    def counts() -> Any:
        """Return rows with labels."""
        sold = pd.DataFrame({"state": ["new", "new", "old"], "amount": [1, 2, 3]})
        return [sold["state"].value_counts(), sold.groupby("state")[["amount"]].sum()]

    assert json.loads(answered(counts).text) == [
        [{"state": "new", "count": 2}, {"state": "old", "count": 1}],
        [{"state": "new", "amount": 3}, {"state": "old", "amount": 3}],
    ]

    def twice() -> Any:
        """Return two columns of one name."""
        return pd.DataFrame([[1, 2]], columns=["a", "a"])

    assert answered(twice).error.code == "unserialisable_result"

    def series() -> Any:
        """Return values."""
        return [pd.Series([1, None]), pd.Index(["a"]), pd.NA]

    assert answered(series).text == '[[1.0,null],["a"],null]'


def test_another_type_is_named_with_the_way_out(caplog: pytest.LogCaptureFixture) -> None:
    class Widget:
        pass

    def make() -> Any:
        """Make a widget."""
        return Widget()

    assert answered(make).error.code == "unserialisable_result"
    assert "Widget as JSON: return a dict, a str, or a type that pydantic knows" in caplog.text

    def annotated() -> Widget:
        """Make a widget."""
        return Widget()

    [finding] = tool(annotated).findings
    assert (finding.rule, "Widget" in finding.message) == ("unsendable_result", True)


@pytest.mark.parametrize("length", [99_999, 100_000])
@pytest.mark.parametrize("kind", [str, list])
def test_a_large_result_is_logged(
    caplog: pytest.LogCaptureFixture, kind: type[Any], length: int
) -> None:
    def download() -> Any:
        """Download."""
        return "x" * length if kind is str else ["x" * (length - len('[""]'))]

    caplog.set_level(logging.WARNING)
    assert len(answered(download).text) == length
    assert ("tool 'download' returned 100,000 characters" in caplog.text) is (length == 100_000)
    assert ("longest_result=" in caplog.text) is (length == 100_000)


def test_a_result_that_is_cut_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    @tool(longest_result=200)
    def download() -> str:
        """Download."""
        return "x" * 200_000

    call = {"id": "1", "type": "function", "function": {"name": "download", "arguments": "{}"}}
    [result] = Registry([download]).dispatch(
        {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
    )
    assert result.ok
    assert not caplog.records
