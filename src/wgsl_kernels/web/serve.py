"""Serving a folder on this machine: WebGPU wants https, or localhost."""

from __future__ import annotations

import threading
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    import os

HOST = "127.0.0.1"


class Server:
    """A folder that is served until it is closed; a ``with`` block closes it.

    Attributes:
        url: The address of its page.
    """

    def __init__(self, folder: Path, port: int) -> None:
        """Begin; `serve` makes one."""
        self._server = ThreadingHTTPServer((HOST, port), partial(_Handler, directory=str(folder)))
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it; further calls do nothing."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> None:
        """Wait until it is closed, or Ctrl-C."""
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<wk.web.Server {self.url}>"


class _Handler(SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012  # that of the base class
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wgsl": "text/plain; charset=utf-8",
    }

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # an export may be replaced
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def serve(
    folder: str | os.PathLike[str],
    port: int = 0,
    open: bool = True,
) -> Server:
    """Serve a folder to browsers of this machine.

    Args:
        folder: What `export` has written.
        port: Where; 0: a free one.
        open: Whether to open the page in the system's browser.

    Returns:
        What serves it, in a thread: ``url``, and ``close()``.

    Raises:
        ArgumentError: There is no such folder.
        OSError: The port is taken.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ArgumentError(f"serve: there is no folder {place}; want one that export has written.")
    server = Server(place, port)
    if open:
        webbrowser.open(server.url)
    return server
