"""``ConcurrencyLimit``: lets so many calls of a tool run at once, whatever threads and event loops they come from."""

import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager


class ConcurrencyLimit:
    """How many calls of one tool may run at once; the others wait, the first to come first."""

    __slots__ = ("_free", "_lock", "_waiting")

    def __init__(self, most: int) -> None:
        self._free = most
        self._lock = threading.Lock()
        self._waiting: deque[Future[None]] = deque()

    def ask(self) -> "Future[None]":
        """A future that is done once it is one's turn; it may be cancelled before, and ``release`` ends the turn."""
        future: Future[None] = Future()
        with self._lock:
            if self._free == 0:
                self._waiting.append(future)
                return future
            self._free -= 1
        future.set_result(None)
        return future

    def release(self) -> None:
        """End a turn: the next that still waits has its own."""
        with self._lock:
            future = self._next()
            if future is None:
                self._free += 1
        if future is not None:  # without the lock: where nobody is left to take the turn, it is released again
            future.set_result(None)

    def _next(self) -> "Future[None] | None":
        while self._waiting:
            future = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                return future
        return None

    @contextmanager
    def turn(self) -> Generator[None]:
        """Wait in this thread for one's turn, and end it."""
        future = self.ask()
        try:
            future.result()
        except BaseException:  # an interrupt while waiting
            if not future.cancel():  # our turn had come
                self.release()
            raise
        try:
            yield
        finally:
            self.release()


class Slot:
    """A turn under a limit that ends once: with the work that has begun, else by whoever gives up waiting for it to begin."""

    __slots__ = ("_end", "_lock", "_state")

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._state = "open"

    def begin(self) -> bool:
        """Whether the work may begin: nobody has given up."""
        with self._lock:
            if self._state != "open":
                return False
            self._state = "begun"
            return True

    def end(self) -> None:
        """The work is done."""
        self._end()

    def give_up(self) -> None:
        """Nobody waits any more: the turn ends now if the work has not begun."""
        with self._lock:
            if self._state != "open":
                return
            self._state = "given up"
        self._end()
