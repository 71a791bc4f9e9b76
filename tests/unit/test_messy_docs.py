"""Every file of the set `messy_docs` behaves as its manifest expects; a row without a test fails."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from distinguo.documents.chunking import Chunking, chunk
from distinguo.documents.readers import Skipped, read
from distinguo.records import Document
from distinguo.testing import WordTokeniser
from distinguo.text.sameness import essence
from distinguo.text.sentences import sentences

FOLDER = Path(os.environ.get("DISTINGUO_DATA", Path(__file__).parents[3] / "shared" / "data")) / "messy_docs"
MANIFEST = FOLDER / "manifest.jsonl"
ROWS = (
    [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines()]
    if MANIFEST.is_file()
    else []
)
pytestmark = pytest.mark.skipif(
    not ROWS, reason=f"no set of messy documents at {FOLDER}; DISTINGUO_DATA names its folder"
)

Found = list[Document | Skipped]


def document(found: Found) -> Document:
    (item,) = found
    assert isinstance(item, Document), item
    assert "\ufffd" not in item.text
    assert not any(ord(character) < 32 and character not in "\n\t" for character in item.text)
    for passage in chunk(item, Chunking(50, 10), WordTokeniser()):
        assert passage.text == item.text[passage.start : passage.end]
    return item


def reason(found: Found) -> str:
    (item,) = found
    assert isinstance(item, Skipped)
    return item.reason


def headings(item: Document) -> list[str]:
    return [section.heading for section in item.sections]


def sec_10k_page(found: Found) -> None:
    text = document(found).text
    assert "| Common stock | GLXZ | OTCQB marketplace |" in text
    assert "| Item 8. | Financial Statements and Supplementary Financial Information | 15 |" in text
    assert "Commission file number: 000-30653" in text
    assert "Indicate by check mark whether the registrant is a large accelerated filer" in text
    assert not any(sign in text for sign in ("<", "style", "font-family", "&#"))


def cp1252(found: Found) -> None:
    text = document(found).text
    assert "L'été était très chaud cette année. J'ai acheté un café au lait pour 3,50 €." in text
    assert "¡Qué rico!" in text
    assert "Kvinnan åt köttbullar" in text
    assert headings(document(found)) == ["My First Heading"]


def base64_image(found: Found) -> None:
    assert document(found).text == "Test page"


def wikipedia_duck(found: Found) -> None:
    item = document(found)
    assert item.title == "Duck"
    assert "Ducks are mostly aquatic birds" in item.text
    assert "| Family: | Anatidae |" in item.text
    assert {"Etymology", "Feeding", "Predators"} <= {*headings(item)}
    for noise in ("Jump to content", "136 languages", "Afrikaans", "Create account", "Privacy policy"):
        assert noise not in item.text


def rtl_page(found: Found) -> None:
    assert document(found).text.startswith("Lorem\n\nLorem ipsum dolor sit amet.\n\nLorem ipsum")
    assert document(found).text.endswith("id est laborum.")


def invalid_attributes(found: Found) -> None:
    assert document(found).text == "Lorem ipsum dolor sit amet, consectetur adipiscing elit."
    assert document(found).title == "Lorem Ipsum"


def ms_kanji(found: Found) -> None:
    assert document(found).text.split("\n\n") == [
        "名前: 佐藤太郎; 年齢: 30; 住所: 東京",
        "名前: 三木英子; 年齢: 25; 住所: 大阪",
        "名前: 髙橋淳; 年齢: 35; 住所: 名古屋",
    ]


def long_lines(found: Found) -> None:
    passages = chunk(document(found), Chunking(), WordTokeniser())
    assert len(passages) > 10
    assert max(len(passage.text) for passage in passages) <= 20 * 201


def all_languages(found: Found) -> None:
    item = document(found)
    raw = (FOLDER / "files" / "udhr_article1_all_languages.txt").read_text(encoding="utf-8-sig")
    assert item.text == raw
    for passage in chunk(item, Chunking(), WordTokeniser()):
        passage.text.encode("utf-8")
    for words in ("自由", "Все люди", "בני אדם", "الناس"):
        assert words in item.text


def utf32(found: Found) -> None:
    assert document(found).text.startswith("This is a test document to use for unit tests.")


def empty(found: Found) -> None:
    assert reason(found) == "empty"


def norwich_city(found: Found) -> None:
    assert "Full name Iwan Wyn Roberts" in document(found).text


def incomplete_json(found: Found) -> None:
    assert '"city": "New York"' in document(found).text


def readme_zh(found: Found) -> None:
    item = document(found)
    assert item.title == "大模型知识服务框架 KAG"
    assert "2. KAG 核心功能" in headings(item)
    ends = [item.text[start:end] for start, end in sentences(item.text) if "。" in item.text[start:end]]
    assert len(ends) > 10
    assert all(end.index("。") >= len(end) - 2 for end in ends)


def haystack_sample(found: Found) -> None:
    item = document(found)
    assert item.title == "What to build with Haystack"
    assert headings(item)[:3] == ["What to build with Haystack", "Core Features", "Quick Demo"]
    assert "```bash\npip install farm-haystack\n```" in item.text


def sample_adoc(found: Found) -> None:
    item = document(found)
    assert item.title == "2nd Sample Document Title"
    assert "SubSubSection 2.1.1" in headings(item)
    assert "|Header 1 |Header 2" in item.text


def include_rst(found: Found) -> None:
    item = document(found)
    assert headings(item) == ["Example Docs", "XBRL 10-K"]
    assert "- example-10k.html - A 10-K SEC filing in HTML format" in item.text
    assert "file_we_dont_want_imported" not in item.text


def attention_intro(found: Found) -> None:
    text = document(found).text
    assert "a sequence of hidden states $h_t$, as a function of the previous" in text
    assert "architectures." in text
    assert not any(sign in text for sign in ("\\", "cit.", "marginpar", "%"))


def elife_article(found: Found) -> None:
    item = document(found)
    assert item.title.startswith("KRAB-zinc finger protein gene expansion in response to active retrotransp")
    assert {"Introduction", "Results", "Discussion"} <= {*headings(item)}
    assert "Nearly half of the human and mouse genomes consist of transposable elements" in item.text
    assert re.search(r"</?[a-z]", item.text) is None


def malformed_eml(found: Found) -> None:
    item = document(found)
    assert item.title == "Test Email"
    assert "From: Matthew Robinson <mrobinson@unstructured.io>" in item.text
    assert item.text.count("Roses are red") == 1


def sample_pdf(found: Found) -> None:
    item = document(found)
    assert "Adobe Systems made the PDF specification available free of" in item.text
    pages = {section.page: item.text[section.start :][:22] for section in item.sections}
    assert pages == {
        1: "A sample PDF file \nHis",
        2: "Page 2 of Sample PDF\n\n",
        4: "Page 4 of Sample PDF \n",
    }


def arabic_pdf(found: Found) -> None:
    assert "حَبيبي" in document(found).text


def password_pdf(found: Found) -> None:
    assert "encrypted" in reason(found)
    assert "password" in reason(found)


def japanese_vertical(found: Found) -> None:
    assert "fonts do not say which letters" in reason(found)


def handbook(found: Found) -> None:
    assert "The United States Trustee appoints and supervises standing trustees" in document(found).text


def random_bin(found: Found) -> None:
    assert reason(found).startswith("binary, and no reader for '.bin' files")


def controls(found: Found) -> None:
    text = document(found).text
    assert text == "Beforeafter. Bell, ansi red and form\nfeed.\nCRLF line\nCR line\n"
    assert json.loads(json.dumps({"text": text}, ensure_ascii=False)) == {"text": text}


def one_long_token(found: Found) -> None:
    began = time.perf_counter()
    passages = chunk(document(found), Chunking(), WordTokeniser())
    assert time.perf_counter() - began < 10
    assert max(len(passage.text) for passage in passages) <= 20 * 201
    assert passages[-1].text.endswith("end")


def duplicate(found: Found) -> None:
    other = document(list(read(FOLDER / "files" / "syn_duplicate_a.txt")))
    assert essence(document(found).text) == essence(other.text)


EXPECTED: dict[str, Callable[[Found], None]] = {
    "messy-00": sec_10k_page,
    "messy-02": cp1252,
    "messy-04": base64_image,
    "messy-05": wikipedia_duck,
    "messy-07": rtl_page,
    "messy-09": invalid_attributes,
    "messy-10": ms_kanji,
    "messy-12": long_lines,
    "messy-14": all_languages,
    "messy-16": utf32,
    "messy-18": empty,
    "messy-19": norwich_city,
    "messy-21": incomplete_json,
    "messy-22": readme_zh,
    "messy-24": haystack_sample,
    "messy-25": sample_adoc,
    "messy-26": include_rst,
    "messy-27": attention_intro,
    "messy-28": elife_article,
    "messy-30": malformed_eml,
    "messy-31": sample_pdf,
    "messy-33": arabic_pdf,
    "messy-35": password_pdf,
    "messy-36": japanese_vertical,
    "messy-38": handbook,
    "messy-39": random_bin,
    "messy-41": controls,
    "messy-42": one_long_token,
    "messy-44": duplicate,
    "messy-45": duplicate,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']} {row['expect']}")
def test_a_file_behaves_as_the_manifest_expects(row: dict) -> None:
    EXPECTED[row["id"]](list(read(FOLDER / row["file"])))


def test_a_run_over_all_of_them_reads_or_reports_every_file_once() -> None:
    found = list(read(FOLDER / "files"))
    names = [item.id if isinstance(item, Document) else item.source.partition(",")[0] for item in found]
    assert sorted(names) == sorted(Path(row["file"]).name for row in ROWS)
