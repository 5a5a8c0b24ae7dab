"""Each behaviour, shown with tools given in each way, as the page says."""

import importlib
import os

import pytest
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


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=[behaviour.name for behaviour in BEHAVIOURS])
@pytest.mark.parametrize("way", WAYS)
def test_a_behaviour_is_as_the_page_says(framework, shop_server, way: Way, behaviour: Behaviour, tmp_path):
    bench = Bench(framework, way, tmp_path)
    try:
        seen, why = behaviour.check(bench), ""
    except Exception as error:  # what raises is not what was expected
        seen, why = False, f"{type(error).__name__}: {error}"
    print(way, behaviour.name, seen, why[:300])
