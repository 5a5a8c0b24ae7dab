"""Logs the warnings of a response."""

from toolshape._results import Results


def log_warnings(results: Results) -> None:
    """Log each warning of a response, because a program that does not read ``warnings`` would miss the call."""
    for warning in results.warnings:
        import logging  # noqa: PLC0415 - only warnings need it

        logging.getLogger("toolshape").warning("%s: %s", warning.rule, warning.message)
