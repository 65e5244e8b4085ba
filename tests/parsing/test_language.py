"""The language of a page. The text has precedence over the declared language."""

from __future__ import annotations

import sys

import pytest

from gossamer.parsing import language as module
from gossamer.parsing.language import language, language_of_text

TEXTS = {
    "en": "The harbour was quiet that morning, and the fishermen sat on the wall mending their nets.",
    "de": "Der Hafen war an jenem Morgen still, und die Fischer saßen auf der Mauer und flickten ihre Netze.",
    "fr": "Le port était calme ce matin-là, et les pêcheurs, assis sur le mur, réparaient leurs filets.",
    "es": "El puerto estaba tranquilo aquella mañana y los pescadores remendaban sus redes sentados en el muro.",
    "it": "Quella mattina il porto era tranquillo e i pescatori, seduti sul muro, riparavano le loro reti.",
    "nl": "De haven was die ochtend stil en de vissers zaten op de muur hun netten te herstellen.",
    "sv": "Hamnen var tyst den morgonen, och fiskarna satt på muren och lagade sina nät.",
    "fi": "Satama oli hiljainen sinä aamuna, ja kalastajat istuivat muurilla paikkaamassa verkkojaan.",
    "cs": "Přístav byl toho rána tichý a rybáři seděli na zdi a opravovali své sítě.",
    "pl": "Port był tego ranka cichy, a rybacy siedzieli na murze i naprawiali swoje sieci.",
    "hu": "A kikötő csendes volt azon a reggelen, és a halászok a falon ülve javították a hálóikat.",
    "ro": "Portul era liniștit în acea dimineață, iar pescarii stăteau pe zid și își reparau plasele.",
    "tr": "O sabah liman sessizdi ve balıkçılar duvarın üstünde oturup ağlarını onarıyorlardı.",
    "ru": "В то утро в порту было тихо, и рыбаки сидели на стене и чинили свои сети.",
    "uk": "Того ранку в порту було тихо, і рибалки сиділи на мурі та лагодили свої сіті.",
    "el": "Το λιμάνι ήταν ήσυχο εκείνο το πρωί και οι ψαράδες κάθονταν στον τοίχο και μπάλωναν τα δίχτυα τους.",
    "ar": "كان الميناء هادئا في ذلك الصباح، وكان الصيادون يجلسون على الجدار ويصلحون شباكهم.",
    "he": "הנמל היה שקט באותו בוקר, והדייגים ישבו על החומה ותיקנו את רשתותיהם.",
    "hi": "उस सुबह बंदरगाह शांत था और मछुआरे दीवार पर बैठकर अपने जाल ठीक कर रहे थे।",
    "th": "เช้าวันนั้นท่าเรือเงียบสงบ และชาวประมงนั่งซ่อมอวนอยู่บนกำแพง",
    "vi": "Sáng hôm đó bến cảng yên tĩnh, và những người đánh cá ngồi trên bức tường vá lưới của họ.",
    "zh": "那天早上港口很安静，渔夫们坐在墙上修补他们的渔网。",
    "ja": "その朝、港は静かで、漁師たちは塀の上に座って網を繕っていた。",
    "ko": "그날 아침 항구는 조용했고 어부들은 담 위에 앉아 그물을 손질하고 있었다.",
}


def page(text: str, declared: str = "") -> bytes:
    attribute = f' lang="{declared}"' if declared else ""
    return f"<!doctype html><meta charset=utf-8><html{attribute}><nav><a href=/>Home</a></nav><article><p>{text}</article>".encode()


@pytest.mark.parametrize("tag", TEXTS)
def test_the_text_tells_where_nothing_is_declared(tag: str) -> None:
    assert language(page(TEXTS[tag])) == tag


def test_what_is_declared_is_taken_with_its_region() -> None:
    assert language(page(TEXTS["de"] * 5, "de-AT")) == "de-AT"
    assert language(page(TEXTS["he"] * 5, "iw")) == "iw"


def test_a_long_text_is_believed_before_the_markup_and_a_short_one_is_not() -> None:
    assert language(page(TEXTS["de"] * 5, "en")) == "de"
    assert language(page(TEXTS["de"], "en")) == "en"


def test_the_markup_decides_between_languages_that_are_close() -> None:
    text = "Havnen var stille den morgenen, og fiskerne satt på muren og reparerte garnene sine. " * 4
    assert (language(page(text, "nn")), language(page(text, "nb-NO"))) == ("nn", "nb-NO")


@pytest.mark.parametrize(
    "text", ["", "OK", "12 345,00 \u20ac", "<<<>>> 0x7f", "\ud800".encode("utf-8", "replace").decode()]
)
def test_what_says_nothing_is_what_is_declared(text: str) -> None:
    assert language(page(text)) is None
    assert language(page(text, "pt-BR")) == "pt-BR"


@pytest.mark.parametrize(
    "body", [b"", b"\x00\xff\xfe", b"%PDF-1.7", b"{}", b"<" * 10_000, bytes(range(256)) * 100]
)
def test_any_bytes(body: bytes) -> None:
    language(body, "http://a.test/", "text/html")
    language_of_text(body.decode("latin-1"), "x")


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    module._identifier.cache_clear()
    with pytest.raises(RuntimeError, match="needs py3langid"):
        language(page(TEXTS["de"]))
    monkeypatch.undo()
    module._identifier.cache_clear()
