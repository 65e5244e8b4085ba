"""Prices in human-readable forms."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.data import sections
from gossamer.parsing.prices import Price, price
from support.repetitions import repetitions

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "price-strings.jsonl.gz"
AMOUNTS = [
    ("502,20 б.р.", "502.20", "BYN"),
    ("249 RUR", "249", "RUB"),
    ("CAN$1,160.95", "1160.95", "CAD"),
    ("22,90 €", "22.90", "EUR"),
    ("£1,299.00", "1299.00", "GBP"),
    ("1.299,00 €", "1299.00", "EUR"),
    ("$ 4,999", "4999", "USD"),
    ("1 299 kr", "1299", "SEK"),
    ("1\u202f299,50 €", "1299.50", "EUR"),
    ("CHF 1'299.50", "1299.50", "CHF"),
    ("R$ 1.299", "1299", "BRL"),
    ("US$12.5", "12.5", "USD"),
    ("¥12000", "12000", "JPY"),
    ("0,5 zł", "0.5", "PLN"),
    (".99 USD", "0.99", "USD"),
    ("35€ 99", "35.99", "EUR"),
    ("-5.00 €", "-5.00", "EUR"),
    ("€0.999", "0.999", "EUR"),
    ("1,299,000 RUB", "1299000", "RUB"),
    ("2 for £3.50", "3.50", "GBP"),
    ("Price: 12.00 (was 15.00)", "12.00", None),
    ("free", "0", None),
    ("gratis", "0", None),
    ("12", "12", None),
    # a point after letters belongs to the letters, not to the number
    ("Rs.499", "499", "INR"),
    ("Fr.499", "499", "CHF"),
    ("Rp.125.000", "125000", "IDR"),
    ("р.499", "499", "RUB"),
    ("د.ك.12.500", "12.500", "KWD"),
    # large numbers written as words
    ("15만원", "150000", "KRW"),
    ("12만 9,000원", "129000", "KRW"),
    ("1.5万円", "15000", "JPY"),
    ("1億2000万円", "120000000", "JPY"),
    ("3万元", "30000", "CNY"),
    ("₹1.5 lakh", "150000", "INR"),
    ("₹ 2.35 Cr", "23500000", "INR"),
    ("2,5 млн ₽", "2500000", "RUB"),
    ("5千克 25元", "25", "CNY"),
    # direction marks, spaces of other widths, a dash for zero cents
    ("ر.س.\u200f 1,299.00", "1299.00", "SAR"),
    ("12\u2007345 ₽", "12345", "RUB"),
    ("CHF -.95", "0.95", "CHF"),
    ("-.5 €", "-0.5", "EUR"),
    ("12 евро", "12", "EUR"),
    ("12 долларов", "12", "USD"),
    ("12 ευρώ", "12", "EUR"),
    ("12 rubles", "12", "RUB"),
    ("12 rupees", "12", "INR"),
    # numbers in names and lists, currency codes that are words after a number
    ("Size 42 – 59,95 €", "59.95", "EUR"),
    ("10 – 20 €", "10", "EUR"),
    ("5 von 5, 12,90 €", "12.90", "EUR"),
    ("$ 1, 299.00", "1299.00", "USD"),
    ("$12,990 COP", "12990", "COP"),
    ("TOP $12", "12", "USD"),
    ("$4 Crème", "4", "USD"),
    ("€\n19\n,99", "19.99", "EUR"),
    ("১২৫০ টাকা", "1250", "BDT"),
    ("kostenfrei", "0", None),
    ("Darmowe", "0", None),
    # digits and separators of other scripts, separators in unusual places, named parts of a currency
    ("۱۲،۵۰۰ تومان", "12500", "IRR"),
    ("99⹁999.50 USD", "99999.50", "USD"),
    ("1´299.00 CHF", "1299.00", "CHF"),
    ("£1·99", "1.99", "GBP"),
    ("1·299,00 €", "1299.00", "EUR"),
    ("· 20 €", "20", "EUR"),
    ("·20 €", "20", "EUR"),
    ("19'99 €", "19.99", "EUR"),
    ("1.299’00 €", "1299.00", "EUR"),
    ("1’299 CHF", "1299", "CHF"),
    ("٣٫٥٠٠ ر.س", "3.5", "SAR"),
    ("٩٬٩٩٩ ر.س", "9999", "SAR"),
    ("12 руб. 50 коп.", "12.50", "RUB"),
    ("129 zł 99 gr", "129.99", "PLN"),
    ("Pack of 6 R$ 5,18", "5.18", "BRL"),
    ("2 € 12,50", "12.50", "EUR"),
    ("1,20 € 12,50", "1.20", "EUR"),
    ("12 € 50", "12.50", "EUR"),
    ("5 € 50 ct", "5.50", "EUR"),
    ("5,20 € 50 ct", "5.20", "EUR"),
    ("B/.959.46", "959.46", "PAB"),
    ("S/.12.90", "12.90", "PEN"),
    ("1000 F\u202fCFA", "1000", "XAF"),
    ("1000 F CFA", "1000", "XAF"),
    ("12,95 $ CA", "12.95", "CAD"),
    ("12,95 $AU", "12.95", "AUD"),
    ("$5 IT", "5", "USD"),
    ("100 Australian dollars", "100", "AUD"),
    ("100 dollars canadiens", "100", "CAD"),
    ("100 Nepalese rupees", "100", "NPR"),
    ("100 dollars", "100", "USD"),
    ("$..75", "0.75", "USD"),
    ("$.750.30", "750.30", "USD"),
    ("$.75,333", "75333", "USD"),
]


AMOUNTS += [
    # cents apart, hundredths alone, endings that show a currency
    ("49 99 zł", "49.99", "PLN"),
    ("1 299 50 €", "1299.50", "EUR"),
    ("68 50 €", "68.50", "EUR"),
    ("99¢", "0.99", "USD"),
    ("99p", "0.99", "GBP"),
    ("50 ct", "0.50", "EUR"),
    ("1 495:-", "1495", "SEK"),
    ("£3.350", "3.350", "GBP"),
    *((f"CHF 12{mark}345.\u2013", "12345", "CHF") for mark in "\u02bc\u2018\u201b\u02b9\u2032"),
    *((f"1{space}299,50 €", "1299.50", "EUR") for space in "\u2002\u2005\u2006\u2008\u205f"),
]


AMOUNTS += [
    # the current price, in a text that calls another price former or saved
    ("De: R$ 199,90 Por: R$ 149,90", "149.90", "BRL"),
    ("Au lieu de 99,00 € 79,00 €", "79", "EUR"),
    ("Save $20.00 Now $79.99", "79.99", "USD"),
    ("Le prix initial était : 50,00 €. Le prix actuel est : 40,00 €.", "40", "EUR"),
    ("Før 499,- kr Nå 399,- kr", "399", "SEK"),
    ("原价 ¥299 现价 ¥199", "199", "JPY"),
    ("a partir de R$ 99,90 frete R$ 9,90", "99.90", "BRL"),
    ("UVP 49,99 € 12 Stück", "49.99", "EUR"),
    ("Regular price $49.99 plus shipping $5.00", "49.99", "USD"),
    # thousands as letters and words, decimals after a colon
    ("$1.5K", "1500", "USD"),
    ("A$1.35M", "1350000", "AUD"),
    ("Rp 1,5 juta", "1500000", "IDR"),
    ("350 тыс. ₽", "350000", "RUB"),
    ("€12M2", "12", "EUR"),
    ("$19.99 (M)", "19.99", "USD"),
    ("99:50 kr", "99.50", "SEK"),
    ("kr 99:50", "99.50", "SEK"),
    # signs that several currencies share, resolved by a code or word
    ("¥199 CNY", "199", "CNY"),
    ("£120 EGP", "120", "EGP"),
    ("C$ 450 NIO", "450", "NIO"),
    ("新台幣 1,290 元", "1290", "TWD"),
    ("£12 €14", "12", "GBP"),
    ("$12 $10", "12", "USD"),
    ("$12 $10.50", "12", "USD"),
    ("12 € 10 €", "12", "EUR"),
    ("$120 $99", "120", "USD"),
    ("12€10€", "12", "EUR"),
]


@pytest.mark.parametrize(
    "text",
    [
        "Call us: 555-1234",
        "+44 20 7946 0958",
        "(020) 7946 0958",
        "Open 10:00 - 18:00",
        "4.5/5",
        "9 out of 10",
        "v2.0.1",
        "12 x 30 cm",
        "1920x1080 px",
        "Size: 38",
        "SKU: AB-123",
        "3 for 2",
        "Buy 2 get 1 free",
        "In stock: 12",
        "Page 2 of 10",
    ],
)
def test_numbers_that_are_no_price(text: str) -> None:
    assert price(text) is None


@pytest.mark.parametrize(("text", "amount", "iso"), AMOUNTS)
def test_amounts(text: str, amount: str, iso: str | None) -> None:
    found = price(text)
    assert found is not None
    assert (found.amount, found.iso) == (Decimal(amount), iso)


KINDS = """
1.234,56 € 1234.56 | 1 234,56 € 1234.56 | 1'234.56 CHF 1234.56 | CHF 1’234.– 1234 | 12.- CHF 12 | € 12,- 12 | 1.299:- kr 1299
₹1,23,456.00 123456.00 | Rs 1,20,000/- 120000 | ₹12,34,567.89 1234567.89 | 1 299,99 zł 1299.99 | 12.990 Ft 12990
1.299,90 TL 1299.90 | ￥1,980(税込) 1980 | 1,980円から 1980 | 128.00元起 128.00 | 12,000원 12000 | 150.000đ 150000 | 1,290บาท 1290
١٢٣٫٤٥ ر.س 123.45 | ۱۲۳٬۰۰۰ تومان 123000 | １，２３４円 1234 | 1&nbsp;299 &euro; 1299 | 12 345 678,90 € 12345678.90
KD 12.500 12.500 | 12.500 BHD 12.500 | 1,250 KWD 1250 | 1,250.500 KWD 1250.500 | 12,500 DT 12.500 | 1.250 TND 1.250 | 1,50 KD 1.50
$0.125 0.125 | € 12.999 12999 | $1.2999 1.2999 | 0,99 0.99 | ,99 € 0.99 | ₿0.00012345 0.00012345
-$5.00 -5.00 | − 12,50 € -12.50 | −12,50 € -12.50 | - $44.99 44.99 | 20% off - $5 5
10-20 € 10 | 10 – 20 EUR 10 | $10-$20 10 | €10–€20 10 | 1.000–2.000 € 1000 | von 10 bis 20 € 10 | de 10 à 20 € 10 | 10 ~ 20元 10
от 100 до 200 руб. 100 | UVP 49,99 € 39,99 € 39.99 | Was $20 Now $15 15 | Was $20 Now $0 20 | $39.99 (20% off) 39.99 | -20% 39,99 € 39.99
Save 20%: £8.00 8.00 | incl. 20% VAT £12.00 12.00 | 20% 5.00 5.00
from $19.99 19.99 | ab 19,99 € 19.99 | à partir de 19,99 € 19.99 | 3 for $10 10 | 2 x 500 ml €3.00 3.00 | 100 g = 1.50 € 1.50
3,99 €/kg 3.99 | $4.99/mo 4.99 | 12x de R$ 9,90 9.90 | 500 ml 3.00 3.00 | 4.5 (120) $9.99 9.99 | iPhone 13 $799 799 | Qty: 1 $9.99 9.99
$ 12 99 12.99 | €5 99 5.99 | 12 € 50 12.50 | 12€50 12.50 | $12 50 ml 12 | 5 99 5 | 10 200 300 € 10200300 | 2021 500 € 500
gratuito 0 | бесплатно 0 | 無料 0 | FREE! 0 | free delivery over $50 50
"""


@pytest.mark.parametrize("row", [row.strip() for row in KINDS.replace("\n", "|").split("|") if row.strip()])
def test_kinds_of_prices(row: str) -> None:
    text, _, amount = row.rpartition(" ")
    found = price(text)
    assert found is not None
    assert found.amount == Decimal(amount)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("AU $12", "AUD"),
        ("C $12.00", "CAD"),
        ("US $12", "USD"),
        ("MXN $1,299.00", "MXN"),
        ("IT $5", "USD"),
        ("NT$1,280元", "TWD"),
    ],
)
def test_the_dollar_that_is_meant(text: str, iso: str) -> None:
    found = price(text)
    assert found is not None
    assert found.iso == iso


@pytest.mark.parametrize(
    "text",
    [
        "20 %",
        "-50%",
        "free shipping",
        "Free delivery",
        "Gratis verzending",
        "Envío gratis",
        "送料無料",
        "N/A",
        "Auf Anfrage",
        "16.00 ft",
        "500 ml",
    ],
)
def test_what_looks_like_a_price_and_is_none(text: str) -> None:
    assert price(text) is None


@pytest.mark.parametrize("text", ["", None, "sold out", "call us", "..", "-", ",", "\n"])
def test_no_price(text: str | None) -> None:
    assert price(text) is None


def test_hints() -> None:
    assert price("12.50", currency="EUR") == Price(Decimal("12.50"), "EUR", "EUR")
    # a bare $ may be one of many currencies
    assert price("$12.50", currency="CAD") == Price(Decimal("12.50"), "CAD", "CAD")
    assert price("2 for $3.50", currency="TWD") == Price(
        Decimal("3.50"), "TWD", "TWD"
    )  # 3.50 has the currency sign beside it
    assert price("12,50 €", currency="price") == Price(Decimal("12.50"), "€", "EUR")
    assert price("1.299", decimal=".") == Price(Decimal("1.299"), None, None)
    assert price("1,299", decimal=",") == Price(Decimal("1.299"), None, None)
    assert price("€") == Price(None, "€", "EUR")


CURRENCIES = [
    ("199 kr", "kr", "SEK"),
    ("kr. 199,-", "kr", "SEK"),
    ("199,- Kr", "Kr", "SEK"),
    ("1 299 руб.", "руб.", "RUB"),
    ("1299 рублей", "руб", "RUB"),
    ("5 000 Р", "Р", "RUB"),
    ("R8,499", "R", "ZAR"),
    ("R$ 8", "R$", "BRL"),
    ("45 ج.م", "ج.م", "EGP"),
    ("80,000 تومان", "تومان", "IRR"),
    ("1 Lek", "Lek", "ALL"),
    ("12 nzd", "nzd", "NZD"),
    ("PTE 120 000", "PTE", "PTE"),
    ("21,00 Lei", "Lei", "RON"),
    ("45 E£", "E£", "EGP"),
    ("Rs.500", "Rs", "INR"),
    ("$12.00 CAD", "$", "CAD"),
    ("$45 (EUR 40)", "$", "USD"),
    ("GH₵ 5", "GH₵", "GHS"),
    ("200.000 đ", "đ", "VND"),
    ("749,00 euro", "euro", "EUR"),
    ("CHF 5", "CHF", "CHF"),
    ("10 so'm", "so'm", "UZS"),
    # words that mean a currency only beside a number, or never
    ("TOP OFFER: 5 €", "€", "EUR"),
    ("Kraków 5", None, None),
    ("try all 5", None, None),
    ("Brand 5 of R & D", None, None),
    ("Serie 5 Largo", None, None),
]


@pytest.mark.parametrize(("text", "currency", "iso"), CURRENCIES)
def test_currencies_are_as_written(text: str, currency: str | None, iso: str | None) -> None:
    found = price(text)
    assert found is not None
    assert (found.currency, found.iso) == (currency, iso)


@pytest.mark.parametrize("text", ["15.08.2017", "2017-08-15", "July, 2004", "Sept 3, 2021", "1/2/2024"])
def test_dates_are_no_prices(text: str) -> None:
    assert price(text) is None
    found = price(f"{text}: 5.00 €")
    assert found is not None
    assert found.amount == Decimal("5.00")


def test_the_table_names_each_form_once_and_real_codes() -> None:
    lines = [line.split() for line in sections("currencies")["currencies"]]
    codes = [code for code, *_ in lines]
    assert len(codes) == len(set(codes))
    assert set(codes) <= set(" ".join(sections("currencies")["codes"]).split())
    forms = [form for _, *forms in lines for form in forms]
    assert sorted({form for form in forms if forms.count(form) > 1}) == []
    for form in forms:  # each form is recognized beside a number
        found = price(f"1 {form}")
        assert found is not None
        assert (found.amount, found.currency) == (Decimal(1), form)


def test_the_suite() -> None:
    if not DATA.exists():
        pytest.skip("the shared data is not here")
    with gzip.open(DATA, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    amounts = currencies = 0
    for row in rows:
        found = price(row["text"], row["hint"], row["decimal_separator"])
        amounts += (found.amount if found else None) == (
            None if row["amount"] is None else Decimal(row["amount"])
        )
        currencies += (found.currency if found else None) == row["currency"]
    assert len(rows) == 589
    # the other rows contain a date, or a currency without a number where a number is expected
    assert amounts >= 583
    assert currencies >= 584


@settings(max_examples=repetitions(300), deadline=None)
@given(st.text(alphabet="0123456789., '€$£-+eERMk\u00a0\u202f٬٫½Ⅷ٣", max_size=60))
def test_any_text_is_answered(text: str) -> None:
    found = price(text)
    assert found is None or found.amount is None or found.amount.is_finite()


@pytest.mark.parametrize(
    "text",
    ["1" * 100_000, "1." * 50_000, "1 " * 50_000, "-" * 100_000, "," * 100_000, "$ " * 50_000, " 1€" * 3_000],
)
def test_long_texts_take_no_longer_than_they_are(text: str) -> None:
    price(text)
