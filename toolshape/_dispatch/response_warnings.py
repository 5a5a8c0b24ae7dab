"""Logs the warnings of a response."""

from toolshape._results import Results


def log_warnings(results: Results) -> None:
    """Log each warning of a response: a program that does not ask for warnings would miss the call."""
    for warning in results.warnings:
        import logging  # noqa: PLC0415 - only what goes wrong needs it

        logging.getLogger("toolshape").warning("%s: %s", warning.rule, warning.message)
