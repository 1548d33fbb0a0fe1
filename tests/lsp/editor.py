"""An editor as the server meets it: a client that speaks to ``wgsl-kernels lsp`` over its pipes."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_Answer = TypeVar("_Answer")
SECONDS = 30.0
"""How long an answer may take on a machine that does other things, too."""


class Editor:
    """A client with its documents, and what the server published of each."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.published: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.said: list[str] = []
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("tests", "1")
        self._listen()
        self.server = self.run(self._start(options)).capabilities

    def _listen(self) -> None:
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params

        def say(params: lsp.LogMessageParams | lsp.ShowMessageParams) -> None:
            self.said.append(params.message)

        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(publish)
        self.client.feature(lsp.WINDOW_LOG_MESSAGE)(say)
        self.client.feature(lsp.WINDOW_SHOW_MESSAGE)(say)

    def run(self, work: Coroutine[Any, Any, _Answer]) -> _Answer:
        """Let the client do something, and return what comes of it."""
        return self.loop.run_until_complete(asyncio.wait_for(work, SECONDS))

    async def _start(self, options: dict[str, Any]) -> lsp.InitializeResult:
        command = (sys.executable, "-W", "error", "-m", "wgsl_kernels", "lsp")
        await self.client.start_io(*command, cwd=self.folder)
        found = await self.client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), initialization_options=options)
        )
        self.client.initialized(lsp.InitializedParams())
        return found

    def stop(self) -> str:
        """End the server as editors do, and return what it wrote to its error stream."""
        return self.run(self._stop())

    async def _stop(self) -> str:
        process = self.client._server
        assert process is not None
        assert process.stderr is not None
        await self.client.shutdown_async(None)
        self.client.exit(None)
        written = (await process.stderr.read()).decode()
        await self.client.stop()
        assert process.returncode == 0
        return written

    def uri(self, name: str) -> str:
        """Return what requests call a document."""
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> list[lsp.Diagnostic]:
        """Open a document, and return what is found in it."""
        self.begin(name, text)
        return self.found(name)

    def begin(self, name: str, text: str) -> None:
        """Open a document."""
        uri = self.uri(name)
        self.versions[uri] = self.versions.get(uri, 0) + 1
        self.texts[uri] = text
        item = lsp.TextDocumentItem(uri, Path(name).suffix[1:], self.versions[uri], text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def type(self, name: str, text: str) -> None:
        """Give a document another text."""
        uri = self.uri(name)
        self.versions[uri] += 1
        self.texts[uri] = text
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def change(self, name: str, text: str) -> list[lsp.Diagnostic]:
        """Give a document another text, and return what is found in it."""
        self.type(name, text)
        return self.found(name)

    def save(self, name: str) -> None:
        """Save a document, and forget what was published of it."""
        uri = self.uri(name)
        (self.folder / name).write_text(self.texts[uri])
        self.published.pop(uri, None)
        identifier = lsp.TextDocumentIdentifier(uri)
        self.client.text_document_did_save(lsp.DidSaveTextDocumentParams(identifier))

    def close(self, name: str) -> None:
        """Close a document."""
        identifier = lsp.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(identifier))

    def found(self, name: str) -> list[lsp.Diagnostic]:
        """Return what is found in a document as it is now."""
        uri = self.uri(name)
        self.wait(lambda: uri in self.published and self._version(uri) == self.versions[uri])
        return list(self.published[uri].diagnostics)

    def _version(self, uri: str) -> int | None:
        return self.published[uri].version

    def wait(self, ready: Callable[[], bool]) -> None:
        """Listen to the server until something is so."""

        async def until() -> None:
            while not ready():
                await asyncio.sleep(0.01)

        self.run(until())

    def wait_for(self, asked: Callable[[], bool]) -> None:
        """Ask the server until something is so."""
        end = time.monotonic() + SECONDS
        while not asked():
            assert time.monotonic() < end
            self.run(asyncio.sleep(0.1))

    def at(self, name: str, what: str, offset: int = 0) -> dict[str, Any]:
        """Return where some text stands in a document, as requests name it."""
        uri = self.uri(name)
        before = self.texts[uri][: self.texts[uri].index(what) + offset]
        line = before.rpartition("\n")[2]
        place = lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)
        return {"text_document": lsp.TextDocumentIdentifier(uri), "position": place}

    def hover(self, name: str, what: str, offset: int = 0) -> str:
        """Return what is shown of some text."""
        asked = lsp.HoverParams(**self.at(name, what, offset))
        found = self.run(self.client.text_document_hover_async(asked))
        if found is None:
            return ""
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    def definition(self, name: str, what: str, offset: int = 0) -> tuple[str, str] | None:
        """Return the file in which something is declared, and the text there."""
        asked = lsp.DefinitionParams(**self.at(name, what, offset))
        found = self.run(self.client.text_document_definition_async(asked))
        if found is None:
            return None
        assert isinstance(found, lsp.Location)
        file = Path(found.uri.removeprefix("file://"))
        return file.name, self.text_in(self.texts.get(found.uri) or file.read_text(), found.range)

    def completion(self, name: str, what: str) -> dict[str, lsp.CompletionItem]:
        """Return what may be written behind some text, by label."""
        asked = lsp.CompletionParams(**self.at(name, what, len(what)))
        found = self.run(self.client.text_document_completion_async(asked))
        assert isinstance(found, list)
        return {one.label: one for one in found}

    @staticmethod
    def text_in(text: str, span: lsp.Range) -> str:
        """Return the text in a range of one line, whose columns are UTF-16 units."""
        line = text.split("\n")[span.start.line].encode("utf-16-le")
        return line[2 * span.start.character : 2 * span.end.character].decode("utf-16-le")
