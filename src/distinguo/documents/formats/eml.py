"""E-mail: who wrote what to whom, and the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage
from typing import Final

from distinguo.documents.drafting import Draft, line
from distinguo.documents.encodings import decoded
from distinguo.documents.found import Skipped
from distinguo.errors import DataError
from distinguo.records import Document

LONGEST: Final = 20_000
"""Most characters of a header: the time and memory that reading it takes grow with their square."""
_ENDLESS: Final = re.compile(rb"^[\w-]+:(?:[^\r\n]|\r?\n[ \t]){%d}" % LONGEST, re.MULTILINE)
_HEADERS: Final = re.compile(
    rb"\A.*?(?:\r?\n){2}|^content-.*?(?:\r?\n){2}", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
"""Those of the message, and those of its parts that tell what they are."""


def read(content: bytes, name: str) -> Iterator[Document | Skipped]:
    """The message under its subject; its text rather than its page, and its attachments as skipped."""
    if any(map(_ENDLESS.search, _HEADERS.findall(content))):
        raise DataError(f"a header of more than {LONGEST:,} characters")
    message = message_from_bytes(content, policy=policy.default)
    draft = Draft()
    for header in ("From", "To", "Cc", "Date", "Subject"):
        if value := _header(message, header):
            draft.write(f"{header}: {value}", "\n")
    _write_body(draft, message)
    yield draft.document(name, _header(message, "Subject"))
    for part in message.walk():
        if part.get_content_disposition() == "attachment" or part.get_filename():
            title = line(part.get_filename() or part.get_content_type())
            yield Skipped(name, f"its attachment {title!r} is not read; save it as a file of its own")


def _write_body(draft: Draft, message: EmailMessage) -> None:
    texts = {kind: _text(message, kind) for kind in ("plain", "html")}
    if texts["plain"].strip():
        draft.write(texts["plain"])
    elif texts["html"].strip():
        from distinguo.documents.formats import html

        page = html.tree(texts["html"])
        if page is not None:
            html.write_page(draft, page)


def _text(message: EmailMessage, kind: str) -> str:
    part = message.get_body(preferencelist=(kind,))
    payload = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(payload, bytes):
        return ""
    return decoded(payload, part.get_content_charset() or "")


def _header(message: EmailMessage, name: str) -> str:
    try:
        return line(str(message[name] or ""))
    except (MessageError, ValueError, LookupError, AttributeError, IndexError):  # malformed beyond reading
        return ""
