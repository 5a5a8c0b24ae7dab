"""A loopback HTTP server that answers with what a function says; it leaves no thread and no socket behind."""

import contextlib
import http.server
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from toolshape.testing.fake.exchange import Reply

__all__ = ["Server"]

Handle: TypeAlias = Callable[[str, str, bytes], Reply]
_POLL_SECONDS = 0.01


class Server(http.server.ThreadingHTTPServer):
    """Serves from its first moment until ``stop``."""

    daemon_threads = False  # so that closing waits for them
    request_queue_size = 128

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.open_sockets: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        self._thread.start()

    def server_bind(self) -> None:
        """Bind without asking for the name of this machine, which takes seconds where no name server answers."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        """Close every connection, and end every thread."""
        self.shutdown()
        self._thread.join()
        for one in list(self.open_sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone away."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride] - the only server that has it
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.open_sockets.add(self.connection)

    def finish(self) -> None:
        self.server.open_sockets.discard(self.connection)
        super().finish()

    def do_POST(self) -> None:
        self._answer("POST")

    def do_GET(self) -> None:
        self._answer("GET")

    def _answer(self, method: str) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.server.handle(method, self.path, raw)
        if reply.drop == "before":
            self.close_connection = True
            return
        chunks = list(reply.chunks()) if not reply.is_streamed else reply.chunks()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.is_streamed:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for chunk in chunks:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            if not reply.drop:
                self.wfile.write(b"0\r\n\r\n")
        else:
            content = b"".join(chunks)
            missing = len(content) if reply.drop else 0  # more is announced than comes
            self.send_header("Content-Length", str(len(content) + missing))
            self.end_headers()
            self.wfile.write(content)
        self.close_connection = self.close_connection or bool(reply.drop)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Say nothing."""
