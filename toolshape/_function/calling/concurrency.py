"""Limits how many calls of a tool run at the same time, across threads and event loops."""

import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager


class ConcurrencyLimit:
    """A limit on how many calls of one tool may run at the same time.

    Further calls wait in the order of arrival.
    """

    __slots__ = ("_free", "_lock", "_waiting")

    def __init__(self, most: int) -> None:
        self._free = most
        self._lock = threading.Lock()
        self._waiting: deque[Future[None]] = deque()

    def ask(self) -> "Future[None]":
        """Return a future that is done when the caller's turn begins; ``release`` ends the turn.

        The caller may cancel the future before the turn begins.
        """
        future: Future[None] = Future()
        with self._lock:
            if self._free == 0:
                self._waiting.append(future)
                return future
            self._free -= 1
        future.set_result(None)
        return future

    def release(self) -> None:
        """End a turn, and begin the turn of the next waiting call."""
        with self._lock:
            future = self._next()
            if future is None:
                self._free += 1
        # Set the result outside the lock: if the waiter's loop is closed, a callback calls
        # ``release`` again.
        if future is not None:
            future.set_result(None)

    def _next(self) -> "Future[None] | None":
        while self._waiting:
            future = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                return future
        return None

    @contextmanager
    def turn(self) -> Generator[None]:
        """Block this thread until its turn begins, and end the turn on exit."""
        future = self.ask()
        try:
            future.result()
        except BaseException:  # an interrupt while waiting
            if not future.cancel():  # our turn had already begun
                self.release()
            raise
        try:
            yield
        finally:
            self.release()


class Slot:
    """A turn under a limit.

    The turn ends once: after the work, or when the waiter gives up before the work begins.

    Two threads race here: one thread runs the work, and the other waits for the work with a
    deadline. The lock lets either ``begin`` or ``give_up`` change the state, but not both. So the
    turn is released once, and abandoned work never begins.
    """

    __slots__ = ("_end", "_lock", "_state")

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._state = "open"

    def begin(self) -> bool:
        """Begin the work; return ``False`` if the waiter has given up, so the work must not run."""
        with self._lock:
            if self._state != "open":
                return False
            self._state = "begun"
            return True

    def end(self) -> None:
        """Release the turn after the work is done."""
        self._end()

    def give_up(self) -> None:
        """Record that the waiter gave up, and release the turn if the work has not begun."""
        with self._lock:
            if self._state != "open":
                return
            self._state = "given up"
        self._end()
