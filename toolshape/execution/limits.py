"""``Limit``: lets so many calls of a tool run at once, whatever threads and event loops they come from."""

import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager

__all__ = ["Limit", "Turn"]


class Limit:
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
            while self._waiting:
                future = self._waiting.popleft()
                if future.set_running_or_notify_cancel():
                    future.set_result(None)
                    return
            self._free += 1

    @contextmanager
    def turn(self) -> Generator[None]:
        """Wait in this thread for one's turn, and end it."""
        self.ask().result()
        try:
            yield
        finally:
            self.release()


class Turn:
    """A turn that ends once: by the thread that has begun the work, else by whoever gives up waiting for the thread."""

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
