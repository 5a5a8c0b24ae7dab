"""A loopback HTTP server that answers with what a function says; it leaves no thread and no socket behind."""

import contextlib
import http.server
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from toolshape.testing._fake.exchange import Reply

Handle: TypeAlias = Callable[[str, str, bytes], Reply]
_POLL_SECONDS = 0.01
_JOIN_SECONDS = 5.0


class Server(http.server.ThreadingHTTPServer):
    """Serves from its first moment until ``stop``; a program that does not stop it ends all the same."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._open: dict[socket.socket, threading.Thread] = {}
        self._guard = threading.Lock()
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

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._open)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread that ``stop`` knows before it begins."""
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        with self._guard:
            self._open[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        super().shutdown_request(request)
        with self._guard:
            self._open.pop(request, None)

    def stop(self) -> None:
        """Close every connection, and wait for every thread to end, unless this is one of them."""
        self.shutdown()
        self._thread.join()
        with self._guard:
            left = dict(self._open)
        for one in left:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RD)
        for thread in left.values():
            if thread is not threading.current_thread():
                thread.join(_JOIN_SECONDS)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: what can go wrong while an answer is made is the fake's to tell, and a client may go away."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride] - the only server that has it
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self._answer("POST")

    def do_GET(self) -> None:
        self._answer(self.command)

    do_DELETE = do_HEAD = do_PATCH = do_PUT = do_GET  # noqa: N815 - their names there

    def _content(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = self.headers.get("Content-Length") or ""
            return self.rfile.read(int(length) if length.isdecimal() else 0)
        content = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return content

    def _answer(self, method: str) -> None:
        reply = self.server.handle(method, self.path, self._content())
        if reply.drop == "before":
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.is_streamed:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for chunk in reply.chunks:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            if not reply.drop:
                self.wfile.write(b"0\r\n\r\n")
        else:
            content = b"".join(reply.chunks)
            missing = len(content) if reply.drop else 0  # more is announced than comes
            self.send_header("Content-Length", str(len(content) + missing))
            self.end_headers()
            if method != "HEAD":
                self.wfile.write(content)
        self.close_connection = self.close_connection or bool(reply.drop)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Say nothing."""
