"""The server: what an editor asks, answered from the documents as they are at the moment."""

from __future__ import annotations

import asyncio
import re
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from wgsl_kernels.backends.webgpu.modules.files import note_unsaved
from wgsl_kernels.lsp import commands
from wgsl_kernels.lsp.completion import completions
from wgsl_kernels.lsp.documents import Document, document, saved
from wgsl_kernels.lsp.findings import diagnostics, findings_of
from wgsl_kernels.lsp.meaning import Bounds, definition, hover
from wgsl_kernels.lsp.reading import read
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.syntax.known import forget_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from wgsl_kernels.lsp.embedded import Shader
    from wgsl_kernels.wgsl.errors.findings import Finding

_Answer = TypeVar("_Answer")
SHOW = "wgsl-kernels.show"
"""The command of the code lens: show what runs."""
_SETTLED_SECONDS = 0.1
"""How long typing rests before the text is looked at."""
_REMEMBERED = 200
"""Answers after which the texts that were typed are forgotten."""


@dataclass
class _State:
    """What is known of an open document.

    Attributes:
        checked: The text that ``check`` ran on, and what it found.
        published: The documents that have findings of this one.
        tasks: What is under way for it.
    """

    checked: tuple[str, list[Finding]] = ("", [])
    published: dict[str, list[lsp.Diagnostic]] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)


class WgslServer(LanguageServer):
    """A language server for WGSL in shader files and in Python files.

    Documents come whole at each change: what a line's end is, pygls and editors do not agree on.
    All that reads texts runs in one thread beside the loop, which always listens.
    """

    def __init__(self) -> None:
        super().__init__(
            "wgsl-kernels",
            version("wgsl-kernels"),
            text_document_sync_kind=lsp.TextDocumentSyncKind.Full,
        )
        self.states: dict[str, _State] = {}
        self.bounds: dict[Path, tuple[str, Mapping[tuple[int, int], tuple[float, float]]]] = {}
        self.checks_saved = True
        self._documents: dict[str, tuple[int | None, Document]] = {}
        self._reader = ThreadPoolExecutor(1, "reader")
        self._works = 0

    def document(self, uri: str) -> Document:
        found = self.workspace.get_text_document(uri)
        number, known = self._documents.get(uri, (None, None))
        if known is None or number != found.version:
            encoding = lsp.PositionEncodingKind(self.workspace.position_encoding or "utf-16").value
            known = document(uri, found.path, found.source, encoding, found.language_id)
            self._documents[uri] = (found.version, known)
        return known

    async def beside(self, work: Callable[..., _Answer], *arguments: Any) -> _Answer:
        """Have the reader's thread do something."""
        loop = asyncio.get_running_loop()
        self._works += 1
        if self._works % _REMEMBERED == 0:
            loop.run_in_executor(self._reader, forget_texts)
        return await loop.run_in_executor(self._reader, work, *arguments)

    async def at_place(
        self,
        asked: lsp.HoverParams | lsp.DefinitionParams | lsp.CompletionParams,
        work: Callable[[Document, Shader, int], _Answer | None],
    ) -> _Answer | None:
        """Have the reader's thread answer for the WGSL at a place; None where there is none."""
        now = self.document(asked.text_document.uri)

        def answer() -> _Answer | None:
            at = now.offset(asked.position)
            shader = now.shader_at(at)
            return None if shader is None else work(now, shader, at)

        return await self.beside(answer)

    def start(self, uri: str, what: str, work: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        """Start work for a document, in place of the same that is under way."""
        tasks = self.states[uri].tasks
        if what in tasks:
            tasks[what].cancel()
        tasks[what] = asyncio.get_running_loop().create_task(self._logged(work, uri))

    async def _logged(self, work: Callable[[str], Coroutine[Any, Any, None]], uri: str) -> None:
        """Do work whose end nobody awaits; the editor's log has what it raises."""
        try:
            await work(uri)
        except Exception as error:
            words = "".join(traceback.format_exception(error))
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, words))

    def changed(self, uri: str) -> None:
        """Look at a document again, and at those that may import from it."""
        is_shader = self.document(uri).is_shader
        for one in self.states:
            if one == uri or (is_shader and SEPARATOR in self.document(one).text):
                self.start(one, "read", self._read)

    async def _read(self, uri: str) -> None:
        await asyncio.sleep(_SETTLED_SECONDS)
        now = self.document(uri)
        found = await self.beside(findings_of, now)
        text, kept = self.states[uri].checked
        await self.publish(now, [*found, *(kept if text == now.text else ())])

    async def check(self, uri: str) -> None:
        """Run ``check`` on a document that was saved."""
        now = self.document(uri)
        if await self.beside(lambda: now.shaders):
            self.states[uri].checked = (now.text, await commands.checked(now.path) or [])
            self.changed(uri)
            if not now.is_shader:
                for path, places in (await commands.bounded(now.path)).items():
                    self.bounds[path] = (saved(path, now.encoding).text, places)

    def bounds_in(self, now: Document) -> Bounds:
        """Return what names in a document may be, by where they begin, if it is as it was then."""
        text, places = self.bounds.get(now.path, ("", {}))
        if text != now.text:
            return {}
        return {now.place(*place): bound for place, bound in places.items()}

    async def publish(self, now: Document, found: list[Finding]) -> None:
        """Send the findings of a document, and take back those that are no more."""
        state = self.states[now.uri]
        by_uri = await self.beside(diagnostics, now, found)
        for uri in {*by_uri, *state.published}:
            state.published[uri] = by_uri.get(uri, [])
            self._send(uri)

    def close(self, uri: str) -> None:
        self._documents.pop(uri, None)
        state = self.states.pop(uri, _State())
        for task in state.tasks.values():
            task.cancel()
        for one in state.published:
            self._send(one)

    def _send(self, uri: str) -> None:
        every = [one for state in self.states.values() for one in state.published.get(uri, ())]
        unique = {repr(one): one for one in every}
        is_open = uri in self.states
        version = self.workspace.get_text_document(uri).version if is_open else None
        params = lsp.PublishDiagnosticsParams(uri, list(unique.values()), version)
        self.text_document_publish_diagnostics(params)


def serve() -> None:
    """Serve an editor on standard input and output until it says that it ends."""
    server().start_io()


def server() -> WgslServer:
    """Return a server with all that it answers to."""
    made = WgslServer()
    made.feature(lsp.INITIALIZE)(_initialize)
    made.feature(lsp.TEXT_DOCUMENT_DID_OPEN)(_changed)
    made.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    made.feature(lsp.TEXT_DOCUMENT_DID_SAVE)(_saved)
    made.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    made.feature(lsp.TEXT_DOCUMENT_HOVER)(_hover)
    made.feature(lsp.TEXT_DOCUMENT_DEFINITION)(_definition)
    triggers = lsp.CompletionOptions(trigger_characters=[".", ":", "@"])
    made.feature(lsp.TEXT_DOCUMENT_COMPLETION, triggers)(_completion)
    made.feature(lsp.TEXT_DOCUMENT_CODE_LENS)(_code_lens)
    made.command(SHOW)(_show)
    return made


def _initialize(ls: WgslServer, params: lsp.InitializeParams) -> None:
    options = params.initialization_options
    if isinstance(options, dict):
        ls.checks_saved = bool(options.get("checkOnSave", True))


async def _changed(
    ls: WgslServer, params: lsp.DidOpenTextDocumentParams | lsp.DidChangeTextDocumentParams
) -> None:
    uri = params.text_document.uri
    ls.states.setdefault(uri, _State())
    now = ls.document(uri)
    if now.is_shader and uri.startswith("file:"):
        await ls.beside(note_unsaved, now.path, now.text)
    ls.changed(uri)


async def _saved(ls: WgslServer, params: lsp.DidSaveTextDocumentParams) -> None:
    uri = params.text_document.uri
    if ls.checks_saved and uri in ls.states:
        ls.start(uri, "check", ls.check)


async def _closed(ls: WgslServer, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    await ls.beside(note_unsaved, Path(to_fs_path(uri) or uri), None)
    ls.close(uri)


async def _hover(ls: WgslServer, params: lsp.HoverParams) -> lsp.Hover | None:
    def shown(now: Document, shader: Shader, at: int) -> lsp.Hover | None:
        found = hover(read(now.path, shader, at), at, ls.bounds_in(now))
        if found is None:
            return None
        words = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.words)
        return lsp.Hover(words, now.range(found.span.begin, found.span.end))

    return await ls.at_place(params, shown)


async def _definition(ls: WgslServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    def declared(now: Document, shader: Shader, at: int) -> lsp.Location | None:
        found = definition(read(now.path, shader, at), at)
        if found is None:
            return None
        home = now
        if found.path != now.path:
            home = document(found.path.as_uri(), str(found.path), found.text.text, now.encoding)
        return lsp.Location(home.uri, home.range(found.span.begin, found.span.end))

    return await ls.at_place(params, declared)


async def _completion(ls: WgslServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    return await ls.at_place(params, completions) or []


async def _code_lens(ls: WgslServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    now = ls.document(params.text_document.uri)
    return [
        lsp.CodeLens(
            now.range(one.begin, one.begin),
            command=lsp.Command("show what runs", SHOW, arguments=[now.uri, one.kernel]),
        )
        for one in await ls.beside(lambda: now.shaders)
        if one.kernel or not one.is_inline
    ]


async def _show(ls: WgslServer, uri: str, kernel: str) -> str:
    """Return what ``show`` prints, and have the editor open it."""
    now = ls.document(uri)
    text = await commands.shown(now.path, kernel)
    window = ls.client_capabilities.window
    if window is not None and window.show_document is not None:
        folder = tempfile.mkdtemp(prefix="wgsl-kernels-")
        file = Path(folder, re.sub(r"\W", "_", kernel or now.path.stem)).with_suffix(".txt")
        file.write_text(text, encoding="utf-8")
        ls.window_show_document(lsp.ShowDocumentParams(file.as_uri(), take_focus=True))
    return text
