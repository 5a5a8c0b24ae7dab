"""A plugin of pytest: the fixture ``fake_provider``. It imports pytest alone until the fixture is asked for."""

from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolshape.testing import Fake
    from toolshape.wire.provider import AnyProvider

__all__ = ["FakeProvider", "fake_provider", "pytest_runtest_makereport"]

_FAKES = pytest.StashKey["list[Fake]"]()


class FakeProvider:
    """Makes fakes for one test; they are closed when it ends, and the test fails where the script was not kept."""

    def __init__(self, fakes: "list[Fake]") -> None:
        self._fakes = fakes

    def __call__(
        self, provider: "AnyProvider", tools: "Iterable[Any] | None" = None, *, strict: bool = False
    ) -> "Fake":
        """A fake; arguments and errors as for ``toolshape.testing.Fake``."""
        from toolshape.testing import Fake  # noqa: PLC0415 - a test run that asks for no fake does not pay for it

        self._fakes.append(Fake(provider, tools, strict=strict))
        return self._fakes[-1]


@pytest.fixture
def fake_provider(request: pytest.FixtureRequest) -> Iterator[FakeProvider]:
    """``fake_provider("openai", tools)`` is a ``Fake``, which must have said all that was scripted when the test ends."""
    fakes: list[Fake] = request.node.stash.setdefault(_FAKES, [])
    yield FakeProvider(fakes)
    for fake in fakes:
        fake.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test whose fakes have more to say, or were asked what they do not say; tell a failure what was asked."""
    report = yield
    for fake in item.stash.get(_FAKES, []) if call.when == "call" else []:
        try:
            fake.assert_done()
        except AssertionError as error:
            report.sections.append((f"fake of {fake.provider.name}", str(error)))
            if report.passed:
                report.outcome = "failed"
                report.longrepr = f"the fake of {fake.provider.name}: {error}"
        else:
            if report.failed and fake.exchanges:
                asked = "\n".join(f"{one} -> {one.status}" for one in fake.exchanges)
                report.sections.append((f"fake of {fake.provider.name}", asked))
    return report
