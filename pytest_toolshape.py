"""The pytest plugin: the fixture ``fake_provider`` and ``--toolshape-replay``. It imports only pytest until used."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolshape import Registry, Tool
    from toolshape._families.wire.provider import AnyProvider
    from toolshape.testing import Fake

__all__ = [
    "FakeProvider",
    "ReplayItem",
    "fake_provider",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_runtest_call",
]  # fmt: skip

_FAKES = pytest.StashKey["list[Fake]"]()


class FakeProvider:
    """Makes fakes for one test, and closes them at its end. The test fails if its requests do not fit the script."""

    def __init__(self, fakes: "list[Fake]") -> None:
        self._fakes = fakes

    def __call__(
        self,
        provider: "AnyProvider",
        tools: "Registry | Iterable[Tool[..., Any] | Callable[..., Any]] | None" = None,
        *,
        strict: bool = False,
    ) -> "Fake":
        """Make a fake; arguments and errors as for ``toolshape.testing.Fake``."""
        from toolshape.testing import Fake  # noqa: PLC0415 - only test runs with a fake pay for the import

        self._fakes.append(Fake(provider, tools, strict=strict))
        return self._fakes[-1]


@pytest.fixture
def fake_provider(request: pytest.FixtureRequest) -> Iterator[FakeProvider]:
    """Makes fakes: ``fake_provider("openai", tools)``. The requests of the test must use up the script of each fake."""
    fakes: list[Fake] = []
    request.node.stash[_FAKES] = fakes
    yield FakeProvider(fakes)
    with ExitStack() as stack:
        for fake in fakes:
            stack.callback(fake.close)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test if its requests did not follow the scripts of its fakes; add the requests to a failure's report."""
    __tracebackhide__ = True
    try:
        result = yield
    except BaseException:
        for fake in item.stash.get(_FAKES, []):
            item.add_report_section("call", f"fake of {fake.provider.name}", _told(fake))
        raise
    for fake in item.stash.get(_FAKES, []):
        fake.assert_done()
    return result


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options and the ini option of the plugin."""
    group = parser.getgroup("toolshape")
    group.addoption(
        "--toolshape-replay",
        action="append",
        default=[],
        metavar="TRACE",
        help="Replay a trace as one more test.",
    )
    group.addoption(
        "--toolshape-update",
        action="store_true",
        help="Update the lock files that assert_contract compares with.",
    )
    group.addoption(
        "--toolshape-tools", metavar="MODULE:NAME", help="The tools to replay traces with."
    )
    parser.addini("toolshape_tools", "The tools to replay traces with, as MODULE:NAME.")


def pytest_configure(config: pytest.Config) -> None:
    """Make ``assert_contract`` update lock files, in worker processes too."""
    if config.getoption("toolshape_update"):
        os.environ["TOOLSHAPE_UPDATE"] = "1"


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each trace to replay."""
    traces: list[str] = config.getoption("toolshape_replay") or []
    target = config.getoption("toolshape_tools") or config.getini("toolshape_tools")
    if traces and not target:
        raise pytest.UsageError(
            "--toolshape-replay needs --toolshape-tools=MODULE:NAME, or toolshape_tools in the ini-file"
        )
    items += [
        ReplayItem.from_parent(session, name=f"replay of {trace}", trace=trace, tools=target)
        for trace in traces
    ]


class ReplayItem(pytest.Item):
    """The replay of one trace with the current tools; it fails if a call that worked no longer does."""

    def __init__(self, *, trace: str, tools: str, **given: Any) -> None:
        super().__init__(**given)
        self.trace = trace
        self.tools = tools

    def runtest(self) -> None:
        """Replay the trace."""
        from toolshape.trace import replay  # noqa: PLC0415 - only test runs with a trace pay for the import

        replayed = replay(self.config.invocation_params.dir / self.trace, self.tools)
        if replayed.regressions:
            raise _RegressionError(str(replayed))
        self.add_report_section("call", "replay", str(replayed))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the regressions without a traceback."""
        if isinstance(excinfo.value, _RegressionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Return the location of the test: the trace."""
        return self.trace, None, self.name


class _RegressionError(Exception):
    """A recorded call that worked fails now, or works differently."""


def _told(fake: "Fake") -> str:
    """Return the requests that a fake received, and those that its script did not answer."""
    try:
        fake.assert_done()
    except AssertionError as error:
        return str(error)
    return (
        "\n".join(f"{exchange} -> {exchange.status}" for exchange in fake.exchanges)
        or "no requests"
    )
