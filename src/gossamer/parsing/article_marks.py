"""Lines that stand between the parts of an article, or after it, and are none of it, in the words of many
languages."""

from __future__ import annotations

import re
from typing import Final

_ADVERTS: Final = (
    r"(?:(?:story|article) continues (?:below|after) (?:this )?)?advert(?:isement|ising|entie)?s?|ads?|pr|sponsored(?: content)?|"
    r"anzeige|werbung|"
    r"publicit[éeà]|publicidade?|pubblicità|annonce|reklam[ae]?|реклама|διαφήμιση|إعلان|広告|スポンサーリンク|广告|廣告|광고|विज्ञापन"
)
_OTHERS: Final = (
    r"you (?:may|might) (?:also )?(?:like|be interested in)|(?:related|more|other|recommended|further) (?:stories|articles|news|posts|"
    r"reading|coverage|links|topics|content)|"
    r"(?:read|see|watch) (?:more|next|also|now)|also read|see also|(?:more on|more from) .{2,30}|(?:most|popular) (?:read|posts|"
    r"viewed)|don['’]t miss|"
    r"(?:lesen sie|lies|mehr) (?:auch|dazu|zum thema)|auch interessant|weiterlesen|zum weiterlesen|das könnte sie auch interessieren|"
    r"lees (?:ook|meer)|läs (?:också|mer)|les også|læs også|lue myös|"
    r"(?:à )?lire (?:aussi|également)|(?:à )?voir aussi|sur le même (?:sujet|thème)|pour aller plus loin|leer (?:más|también)|"
    r"lea también|te puede interesar|más información|noticias relacionadas|"
    r"le(?:ia|r) (?:também|mais)|saiba mais|veja (?:também|mais)|notícias relacionadas|leggi anche|potrebbe interessarti(?: anche)?|"
    r"articoli correlati|czytaj (?:też|także|również|więcej)|zobacz (?:też|także|również)|"
    r"přečtěte si(?: také)?|čtěte také|citește și|olvassa el|baca juga|xem thêm|читай(?:те)? (?:также|ещё|еще)|по теме|(?:смотрите|"
    r"см\.) также|материалы по теме|читайте також|"
    r"ilgili haber(?:ler)?|διαβάστε (?:επίσης|ακόμα|ακόμη)|اقرأ أيضا[ًً]?|مواضيع ذات صلة|إقرأ أيضاً?|ये भी पढ़ें|यह भी पढ़ें|関連記事|"
    r"関連ニュース|あわせて読みたい|相关阅读|相关新闻|相关文章|延伸閱讀|延伸阅读|相關新聞|관련\s?기사|קרא גם"
)
_SHARES: Final = (
    r"share(?: this(?: article| story| post)?)?|save|listen(?: to (?:this )?article)?|print|copy link|teilen|partager|compartir|"
    r"compartilhar|condividi|поделиться|"
    r"\d+ min(?:ute|uten|utes|uto|utos|uti)?s?\.? (?:read|lesezeit|de lecture|de lectura|de leitura|di lettura)"
)
_MARK: Final = re.compile(f"{_ADVERTS}|{_OTHERS}|{_SHARES}", re.IGNORECASE)
_OTHER: Final = re.compile(_OTHERS, re.IGNORECASE)
_EDGES: Final = " .:：…-—–*|[]()【】▶►•↓→\n\t\r\xa0"
_COLOPHON: Final = re.compile(
    r"(?:copyright|©|ⓒ|\(c\)|all rights reserved|todos los derechos|alle rechte vorbehalten|tous droits|責任編輯|责任编辑|편집자)|"
    r".*(?:all rights reserved|무단\s?전재)",
    re.IGNORECASE,
)


def is_mark(line: str) -> bool:
    """Whether a line only says that an advertisement or another article is here, or has a button's words.

    >>> is_mark("Advertisement"), is_mark("Lire aussi :"), is_mark("Advertisement rates rose.")
    (True, True, False)
    """
    return len(line) < 50 and _MARK.fullmatch(line.strip(_EDGES)) is not None


def is_other(line: str) -> bool:
    """Whether a heading is one over other articles.

    >>> is_other("Related stories"), is_other("関連記事"), is_other("The story")
    (True, True, False)
    """
    return len(line) < 80 and _OTHER.fullmatch(line.strip(_EDGES)) is not None


def is_colophon(line: str) -> bool:
    """Whether a last line tells whose the rights are.

    >>> is_colophon("© 2024 The Post"), is_colophon("All rights reserved."), is_colophon("The rights were sold.")
    (True, True, False)
    """
    return len(line) < 200 and _COLOPHON.match(line) is not None
