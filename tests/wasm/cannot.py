"""A plugin of pytest: what cannot run in WebAssembly is skipped, and says why; any other failure is one."""

from collections.abc import Iterator

import pytest

REASONS = {
    "WebAssembly stack switching": "an event loop cannot be run to its end in a synchronous call here",
    "event loop is running": "an event loop is always running here",
    "can't start new thread": "there are no threads",
    "No module named 'rpds'": "jsonschema needs rpds-py, which has no wheel for this platform",
    "need jsonschema": "jsonschema needs rpds-py, which has no wheel for this platform",
    "needs jsonschema": "jsonschema needs rpds-py, which has no wheel for this platform",
    "sqlalchemy": "SQLAlchemy is not installed here",
    "SQLAlchemy": "SQLAlchemy is not installed here",
    "emscripten does not support processes": "there are no processes",
}
"""What an exception says, and why that cannot be here."""


def reason_of(error: BaseException | None) -> str | None:
    """Return why an exception cannot be helped here, from its own words or from those of its cause."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found = _reason_in(str(error))
        if found is not None:
            return found
        error = error.__cause__ or error.__context__
    return None


def _reason_in(text: str) -> str | None:
    return next((reason for words, reason in REASONS.items() if words in text), None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Iterator[pytest.TestReport]:
    """Skip a test that failed for a reason of the platform's."""
    report = yield
    reason = None
    if call.excinfo and report.failed:
        logged = "".join(text for name, text in report.sections if "log" in name)
        reason = reason_of(call.excinfo.value) or _reason_in(logged)
    if reason is not None:
        _skip(report, item.nodeid, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[pytest.CollectReport]:
    """Skip a module that cannot be imported for a reason of the platform's."""
    report = yield
    reason = _reason_in(str(report.longrepr)) if report.failed else None
    if reason is not None:
        report.call = None
        _skip(report, collector.nodeid, reason)
    return report


def _skip(report: pytest.TestReport | pytest.CollectReport, place: str, reason: str) -> None:
    report.outcome = "skipped"
    report.longrepr = (place, 0, f"Skipped: {reason}")
