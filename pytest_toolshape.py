"""A plugin of pytest: the fixture ``fake_provider``, and ``--toolshape-replay``. It imports pytest alone until it is used."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolshape import Registry, Tool
    from toolshape._wire.provider import AnyProvider
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
    """Makes fakes for one test; they are closed when it ends, and the test fails where the script was not kept."""

    def __init__(self, fakes: "list[Fake]") -> None:
        self._fakes = fakes

    def __call__(
        self,
        provider: "AnyProvider",
        tools: "Registry | Iterable[Tool[..., Any] | Callable[..., Any]] | None" = None,
        *,
        strict: bool = False,
    ) -> "Fake":
        """A fake; arguments and errors as for ``toolshape.testing.Fake``."""
        from toolshape.testing import Fake  # noqa: PLC0415 - a test run that asks for no fake does not pay for it

        self._fakes.append(Fake(provider, tools, strict=strict))
        return self._fakes[-1]


@pytest.fixture
def fake_provider(request: pytest.FixtureRequest) -> Iterator[FakeProvider]:
    """``fake_provider("openai", tools)`` is a ``Fake``, which must have said all that was scripted when the test ends."""
    fakes: list[Fake] = []
    request.node.stash[_FAKES] = fakes
    yield FakeProvider(fakes)
    with ExitStack() as stack:
        for fake in fakes:
            stack.callback(fake.close)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test whose fakes have more to say, or were asked what they do not say; tell a failure what was asked."""
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
    """The options of a replay."""
    group = parser.getgroup("toolshape")
    group.addoption(
        "--toolshape-replay", action="append", default=[], metavar="TRACE", help="Replay a trace as one more test."
    )
    group.addoption(
        "--toolshape-update", action="store_true", help="Write the lock files anew that assert_contract compares with."
    )
    group.addoption("--toolshape-tools", metavar="MODULE:NAME", help="The tools that traces are replayed with.")
    parser.addini("toolshape_tools", "The tools that traces are replayed with, as MODULE:NAME.")


def pytest_configure(config: pytest.Config) -> None:
    """Say to ``assert_contract``, in workers too, that lock files are to be written anew."""
    if config.getoption("toolshape_update"):
        os.environ["TOOLSHAPE_UPDATE"] = "1"


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each trace that is to be replayed."""
    traces: list[str] = config.getoption("toolshape_replay") or []
    target = config.getoption("toolshape_tools") or config.getini("toolshape_tools")
    if traces and not target:
        raise pytest.UsageError(
            "--toolshape-replay needs --toolshape-tools=MODULE:NAME, or toolshape_tools in the ini-file"
        )
    items += [ReplayItem.from_parent(session, name=f"replay of {one}", trace=one, tools=target) for one in traces]


class ReplayItem(pytest.Item):
    """One trace, planned again with the tools of today; it fails where a call that worked no longer does."""

    def __init__(self, *, trace: str, tools: str, **given: Any) -> None:
        super().__init__(**given)
        self.trace = trace
        self.tools = tools

    def runtest(self) -> None:
        """Replay the trace."""
        from toolshape.trace import replay  # noqa: PLC0415 - a test run without a trace does not pay for it

        found = replay(self.config.invocation_params.dir / self.trace, self.tools)
        if found.regressions:
            raise _RegressionError(str(found))
        self.add_report_section("call", "replay", str(found))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The regressions without frames."""
        if isinstance(excinfo.value, _RegressionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where it is: the trace."""
        return self.trace, None, self.name


class _RegressionError(Exception):
    """A call of a trace that worked does not, or works otherwise."""


def _told(fake: "Fake") -> str:
    """What a fake was asked, and what it does not say."""
    try:
        fake.assert_done()
    except AssertionError as error:
        return str(error)
    return "\n".join(f"{one} -> {one.status}" for one in fake.exchanges) or "nothing was asked"
