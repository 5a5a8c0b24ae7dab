"""Types of real packages as outputs: what their functions take, alone and as one model, and return keeps the laws.

Run by ``nox -s functions``, which installs the packages.
"""

import collections
import contextlib
import hashlib
import inspect
import os
import warnings
from typing import Any

import pytest
from test_real_functions import importable, load

from toolshape import DefinitionError, ExportError, Output, tool
from toolshape._families import get
from toolshape._families.names import available
from toolshape._tools.tool import record_of
from toolshape.testing import check_output

ASKED = [name for name in available() if get(name).histories is not None]
SEED = os.environ.get("TOOLSHAPE_SEED", "0")
EACH = (
    len(ASKED) if os.environ.get("TOOLSHAPE_EVERY") else 1
)  # providers drawn for each type by the commit
LEAST = 300


def real_types() -> dict[str, Output[Any]]:
    """One output for each schema that the arguments, parameters and results of the functions have, by its first place."""
    found: dict[str, tuple[str, Output[Any]]] = {}
    for row in importable():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                definition = record_of(tool(load(row["ref"]))).definition
                signature = definition.signature
            except Exception:  # the test of real functions says why
                continue
            kinds = {
                each.name: each.annotation
                for each in signature.parameters
                if each.annotated and not each.injected
            }
            kinds["arguments"] = definition.model
            with contextlib.suppress(NameError):  # it names what only a type checker imports
                returned = signature.returns()
                kinds |= (
                    {} if returned in (None, inspect.Signature.empty) else {"returns": returned}
                )
            for name, kind in kinds.items():
                try:
                    output = Output(kind)
                except DefinitionError:
                    continue
                found.setdefault(repr(output.schema), (f"{row['ref']} {name}", output))
    return dict(found.values())


def drawn(name: str) -> list[str]:
    """The providers that a type is tried at: others at each commit."""
    return sorted(
        ASKED, key=lambda provider: hashlib.sha256(f"{SEED} {name} {provider}".encode()).digest()
    )[:EACH]


def test_real_types():
    """In every form that a provider has; a type that a dialect cannot say is refused in words, not broken."""
    types = real_types()
    if not types:
        pytest.skip("neither the corpus nor its packages are here: run nox -s functions")
    counts: collections.Counter[str] = collections.Counter()
    for name, output in types.items():
        for provider in drawn(name):
            try:
                check_output(provider, output, examples=2)
            except ExportError as error:
                assert error.problems
                counts["refused"] += 1
            else:
                counts["kept"] += 1
    print("\n", len(types), "types", counts)
    assert len(types) >= LEAST
    assert counts["refused"] < counts["kept"] / 50
