"""A plugin of pytest: the fixture ``fake_provider``. It imports pytest alone until the fixture is asked for."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolshape import Registry, Tool
    from toolshape.testing import Fake
    from toolshape.wire.provider import AnyProvider

__all__ = ["FakeProvider", "fake_provider", "pytest_runtest_call"]

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


def _told(fake: "Fake") -> str:
    """What a fake was asked, and what it does not say."""
    try:
        fake.assert_done()
    except AssertionError as error:
        return str(error)
    return "\n".join(f"{one} -> {one.status}" for one in fake.exchanges) or "nothing was asked"
