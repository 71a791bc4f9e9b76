import pytest

from distinguo.documents.encodings import clean, decoded
from distinguo.errors import DataError

TEXTS = {
    "cp1252": [
        "Der Müller aß süße Äpfel.",
        "naïve café",
        "Il va à Paris",
        "El niño comió paella con ñoquis. ¡Qué rico!",
        "São João, às três da manhã, não há pão",
        "Price: 5 € – “cheap”",
        "Smörgåsbord på åtta språk",
    ],
    "cp1250": ["Zażółć gęślą jaźń", "Příliš žluťoučký kůň úpěl ďábelské ódy", "Árvíztűrő tükörfúrógép"],
    "iso8859_2": ["Příliš žluťoučký kůň úpěl ďábelské ódy"],
    "cp1251": ["Все люди рождаются свободными и равными в своем достоинстве и правах."],
    "koi8_r": ["Все люди рождаются свободными и равными в своем достоинстве и правах."],
    "cp1253": ["Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα."],
    "cp1254": ["Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar."],
    "cp1256": ["يولد جميع الناس أحرارا متساوين في الكرامة والحقوق."],
    "cp874": ["มนุษย์ทั้งปวงเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ"],
    "cp932": ["名前,年齢,住所\n佐藤太郎,30,東京", "すべての人間は、生まれながらにして自由である。"],
    "euc_jp": ["すべての人間は、生まれながらにして自由である。"],
    "iso2022_jp": ["すべての人間は自由である。"],
    "gb18030": ["人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。"],
    "big5": ["人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心。"],
    "cp949": ["모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."],
    "utf-8": ["naïve 天气 🙂"],
    "utf-16": ["naïve 天气 🙂"],
    "utf-16-le": ["plain text of two bytes a letter, é"],
    "utf-16-be": ["plain text of two bytes a letter, é"],
    "utf-32": ["naïve 天气 🙂"],
}


@pytest.mark.parametrize(
    ("encoding", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts]
)
def test_a_text_is_told_from_its_bytes(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text
    assert decoded((f"{text}\n" * 50).encode(encoding)) == f"{text}\n" * 50


@pytest.mark.parametrize("encoding", ["gb18030", "euc_jp", "cp949", "cp1251", "cp1253", "cp1255", "koi8_r"])
def test_too_little_to_tell_is_reported_and_never_garbled(encoding: str) -> None:
    words = {"gb18030": "苹果", "euc_jp": "名前", "cp949": "세계", "cp1253": "κόσμε", "cp1255": "שלום"}
    text = words.get(encoding, "мир")
    with pytest.raises(DataError, match=r"not valid UTF-8 at byte \d, perhaps .*; save it as UTF-8"):
        decoded(text.encode(encoding))


@pytest.mark.parametrize("text", ["Straße café über Öl", "čćžšđ ÄÖÜ ě"])
def test_an_encoding_that_nobody_uses_is_reported(text: str) -> None:
    with pytest.raises(DataError, match="save it as UTF-8"):
        decoded(text.encode("cp852" if "č" in text else "cp437"))


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 4, b"\x00\x01\x02\x03", b"\x7fELF\x02\x01\x01" + bytes(60)]
)
def test_what_is_no_text_is_refused_as_binary(content: bytes) -> None:
    with pytest.raises(DataError, match="binary"):
        decoded(content)


def test_what_is_declared_goes_before_a_guess_but_not_before_a_mark() -> None:
    assert decoded("мир".encode("cp1251"), "windows-1251") == "мир"
    assert decoded("мир".encode("utf-8-sig"), "windows-1251") == "мир"


def test_controls_go_and_lines_end_alike() -> None:
    raw = "a\0b\x07 \x1b[31mred\x1b[0m\r\nc\rd\x0ce\u2029f\x9fg\ttab"
    assert clean(raw) == "ab red\nc\nd\ne\nfg\ttab"
    assert clean(clean(raw)) == clean(raw)


def test_a_long_text_is_told_in_little_time() -> None:
    text = "Ein süßer Äpfel für Jörg. " * 200_000
    assert decoded(text.encode("cp1252")) == text
