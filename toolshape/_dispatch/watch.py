"""``Watch``: tells somebody of the results of a plan, once, when nothing of them waits or runs any more."""

import contextlib
import threading
from collections.abc import Callable, Generator

from toolshape._results import Results


class Watch:
    """Counts the runs of a plan that are under way, as several may run a part of it each."""

    __slots__ = ("_lock", "_running", "_tell")

    def __init__(self, tell: Callable[[Results], None]) -> None:
        self._tell: Callable[[Results], None] | None = tell
        self._running = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def during(self, results: Results) -> Generator[None]:
        """While some calls of the plan run."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                held = results.controls.held if hasattr(results, "controls") else ()
                is_over = not self._running and not results.waiting and not held
                tell, self._tell = (self._tell, None) if is_over else (None, self._tell)
            if tell is not None:
                tell(results)
