"""Each behaviour, with tools given in each way, is as docs/frameworks.md says."""

import importlib
import os

import pytest
import table
from behaviours import BEHAVIOURS, Behaviour
from bench import WAYS, Bench, Way

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="session")
def framework():
    """The framework that this session has installed."""
    name = os.environ.get("TOOLSHAPE_FRAMEWORK")
    if name is None:
        pytest.skip("a framework is chosen by nox -s bridges")
    return importlib.import_module(f"of_{name}")


@pytest.fixture(scope="session")
def said(framework, request):
    """What the page says, or with ``--write-table`` what is seen, which is then written into it."""
    if not request.config.getoption("--write-table", default=False):
        yield table.cells(framework.NAME)
    else:
        seen: dict[tuple[str, str], bool] = {}
        yield seen
        table.write(framework.NAME, seen)


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=[behaviour.name for behaviour in BEHAVIOURS])
@pytest.mark.parametrize("way", WAYS)
def test_a_behaviour_is_as_the_page_says(
    framework, said, shop_server, way: Way, behaviour: Behaviour, tmp_path, request
):
    bench = Bench(framework, way, tmp_path)
    why = ""
    try:
        is_seen = behaviour.check(bench)
    except (
        AssertionError,
        LookupError,
        TypeError,
    ) as error:  # as for a call that does not wait; others are mistakes here
        is_seen, why = False, f"{type(error).__name__}: {error}"
    if request.config.getoption("--write-table", default=False):
        said[behaviour.name, way] = is_seen
    assert said[behaviour.name, way] is is_seen, f"{behaviour.sentence}: {is_seen} {why}"
