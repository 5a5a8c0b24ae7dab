"""The same cases, chosen by a coverage-guided fuzzer: ``python tests/fuzz_coverage.py -runs=20000`` (needs atheris)."""

import logging
import sys
import warnings

import atheris

with atheris.instrument_imports(include=["toolshape"]):
    import fuzzing


def raw(data: bytes) -> None:
    """Bytes as a response, and as arguments."""
    for provider in ("openai", "anthropic", "gemini", "bedrock"):
        fuzzing.check(fuzzing.REGISTRIES[0], data, provider, asynchronous=False)
    fuzzing.check(
        fuzzing.REGISTRIES[6],
        {"name": "one", "arguments": data.decode(errors="replace")},
        None,
        asynchronous=False,
    )


def one(data: bytes) -> None:
    given = atheris.FuzzedDataProvider(data)
    if given.ConsumeBool():
        fuzzing.one(given.ConsumeIntInRange(0, 2**31))
    else:
        raw(given.ConsumeBytes(2_000))


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)
    logging.disable()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
