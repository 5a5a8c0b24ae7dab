"""Runs a loopback HTTP server that answers with a function.

``stop`` ends the threads and closes the sockets.
"""

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


class HttpServer(http.server.ThreadingHTTPServer):
    """Serves from construction until ``stop``.

    Its threads are daemons: a program can exit without ``stop``.
    """

    # ``stop`` must end every connection, including idle connections that a client keeps alive. The
    # server therefore records each open socket with its thread, before the thread starts. Otherwise
    # ``stop`` could miss a connection that was just accepted. ``_guard`` protects these records:
    # the accepting thread, the connection threads and ``stop`` all use them.

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._open: dict[socket.socket, threading.Thread] = {}
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_POLL_SECONDS,), daemon=True
        )
        self._thread.start()

    def server_bind(self) -> None:
        """Bind without looking up this machine's name: the lookup takes
        seconds if no name server answers.
        """
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._open)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a new thread.

        The thread is recorded before it starts, so ``stop`` cannot miss it.
        """
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        with self._guard:
            self._open[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection and forget it."""
        super().shutdown_request(request)
        with self._guard:
            self._open.pop(request, None)

    def stop(self) -> None:
        """Close every connection and wait for every thread to end, except for the calling
        thread.
        """
        self.shutdown()
        self._thread.join()
        with self._guard:
            open_connections = dict(self._open)
        for connection in open_connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        for thread in open_connections.values():
            if thread is not threading.current_thread():
                thread.join(_JOIN_SECONDS)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the fake reports its own errors, and a client may
        close its connection at any time.
        """


class _Handler(http.server.BaseHTTPRequestHandler):
    server: HttpServer  # pyright: ignore[reportIncompatibleVariableOverride] - only ``HttpServer`` uses this handler
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self._answer("POST")

    def do_GET(self) -> None:
        self._answer(self.command)

    do_DELETE = do_HEAD = do_PATCH = do_PUT = do_GET  # noqa: N815 - names of the base class

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
            # A dropped reply announces more bytes than it sends.
            missing = len(content) if reply.drop else 0
            self.send_header("Content-Length", str(len(content) + missing))
            self.end_headers()
            if method != "HEAD":
                self.wfile.write(content)
        self.close_connection = self.close_connection or bool(reply.drop)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - name of the base class
        """Print nothing."""
