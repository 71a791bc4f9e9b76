"""Small files of kinds that are not text, made on the spot."""

from collections.abc import Callable, Sequence
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import docx
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject, NumberObject

FONT = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}


def pdf(
    *pages: str,
    outline: Sequence[tuple[str, int]] = (),
    password: str | None = None,
    metadata: dict[str, str] | None = None,
) -> bytes:
    """A PDF file whose pages show `pages`, a line a line; `outline` gives headings and pages from 0.

    A password "" encrypts it so that it opens without one.
    """
    writer = PdfWriter()
    font = writer._add_object(DictionaryObject({NameObject(k): NameObject(v) for k, v in FONT.items()}))
    for text in pages:
        page = writer.add_blank_page(300, 300)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        lines = "".join(f"({line}) Tj T* " for line in text.split("\n"))
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 10 Tf 12 TL 20 280 Td {lines} ET".encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(stream)
    for heading, number in outline:
        writer.add_outline_item(title=heading, page_number=number)
    if metadata:
        writer.add_metadata(metadata)
    if password is not None:
        writer.encrypt(password, "owner", algorithm="AES-256")
    return written(writer.write)


def picture_pdf() -> bytes:
    """A PDF file of one page that draws a picture and no letter, as scanners make them."""
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    picture = DecodedStreamObject()
    picture.set_data(b"\0")
    picture.update(
        {NameObject("/Type"): NameObject("/XObject"), NameObject("/Subtype"): NameObject("/Image")}
    )
    picture.update({NameObject("/Width"): NumberObject(1), NameObject("/Height"): NumberObject(1)})
    drawn = DictionaryObject({NameObject("/Im1"): writer._add_object(picture)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): drawn})
    page[NameObject("/Contents")] = ArrayObject()
    return written(writer.write)


def word(make: Callable[[object], None]) -> bytes:
    """A Word file, filled by `make`."""
    document = docx.Document()
    make(document)
    return written(document.save)


def replaced(content: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """The zip archive `content` with `old` as `new` in the part `name`."""

    def write(file: BytesIO) -> None:
        with ZipFile(BytesIO(content)) as before, ZipFile(file, "w", ZIP_DEFLATED) as after:
            for part in before.namelist():
                data = before.read(part)
                after.writestr(part, data.replace(old, new) if part == name else data)

    return written(write)


def written(write: Callable[[BytesIO], object]) -> bytes:
    file = BytesIO()
    write(file)
    return file.getvalue()
