"""Words for dates in many languages: month names, relative times such as "3 hours ago", time zones, and
labels such as "published" and "modified"."""

from __future__ import annotations

import re
from typing import Final

# Month names in lower case, without accents on Latin and Greek letters. A semicolon ends a month.
_MONTHS: Final = """
january jan januar januari janvier janv enero ene gennaio gen janeiro styczen stycznia sty января январь янв січня січ leden ledna
januara tammikuu tammikuuta ocak ianuarie ian januar ιανουαριου ιανουαριος ιαν يناير ינואר जनवरी มกราคม ม.ค siječnja sijecnja
sausio януари;
february feb februar februari fevrier fevr fev febrero febbraio febb fevereiro luty lutego lut февраля февраль фев февр лютого лют
unor unora februara helmikuu helmikuuta subat sub februarie φεβρουαριου φεβρουαριος φεβ فبراير פברואר फरवरी กุมภาพันธ์ ก.พ veljace
veljače vasario;
march mar marz maerz mrz mars marzo marco maart mrt marzec marca марта март мар березня бер brezen brezna maaliskuu maaliskuuta
mart martie martius marcius marc μαρτιου μαρτιος μαρ maret مارس מרץ मार्च มีนาคม มี.ค ozujka kovo;
april apr avril avr abril abr aprile kwiecien kwietnia kwi апреля апрель апр квітня кві duben dubna aprila huhtikuu huhtikuuta
nisan nis aprilie aprilis απριλιου απριλιος απρ ابريل أبريل אפריל अप्रैल เมษายน เม.ย travnja balandzio;
may mai mayo maggio mag maio mei maj maja мая май травня тра kveten kvetna maj toukokuu toukokuuta mayis majus μαιου μαιος μαι
مايو מאי मई พฤษภาคม พ.ค svibnja geguzes;
june jun juni juin junio giugno giu junho czerwiec czerwca cze июня июнь июн червня чер cerven cervna juna kesakuu kesakuuta
haziran haz iunie iun junius ιουνιου ιουνιος ιουν يونيو יוני जून มิถุนายน มิ.ย lipnja birzelio;
july jul juli juillet juil julio luglio lug julho lipiec lipca lip июля июль июл липня лип cervenec cervence jula heinakuu
heinakuuta temmuz tem iulie iul julius ιουλιου ιουλιος ιουλ يوليو יולי जुलाई กรกฎาคม ก.ค srpnja liepos;
august aug aout agosto ago augustus sierpien sierpnia sie августа август авг серпня сер srpen srpna augusta elokuu elokuuta
agustos agu augusti augusztus agustus αυγουστου αυγουστος αυγ اغسطس أغسطس אוגוסט अगस्त สิงหาคม ส.ค kolovoza rugpjucio;
september sep sept septembre septiembre set settembre sett setembro wrzesien wrzesnia wrz сентября сентябрь сен сент вересня вер
zari septembra syyskuu syyskuuta eylul eyl septembrie szeptember szept σεπτεμβριου σεπτεμβριος σεπ سبتمبر ספטמבר सितंबर सितम्बर
กันยายน ก.ย rujna rugsejo;
october oct oktober okt octobre octubre ottobre ott outubro out pazdziernik pazdziernika paz октября октябрь окт жовтня жов rijen
rijna oktobra lokakuu lokakuuta ekim eki octombrie oktober οκτωβριου οκτωβριος οκτ اكتوبر أكتوبر אוקטובר अक्टूबर ตุลาคม ต.ค
listopada spalio;
november nov novembre noviembre novembro listopad ноября ноябрь ноя нояб листопада лис novembra marraskuu marraskuuta kasim kas
noiembrie noi νοεμβριου νοεμβριος νοε نوفمبر נובמבר नवंबर नवम्बर พฤศจิกายน พ.ย studenoga studenog lapkricio;
december dec dezember dez decembre diciembre dic dicembre dezembro desember des grudzien grudnia gru декабря декабрь дек грудня
гру prosinec prosince decembra joulukuu joulukuuta aralik ara decembrie δεκεμβριου δεκεμβριος δεκ ديسمبر דצמבר दिसंबर दिसम्बर
ธันวาคม ธ.ค prosinca gruodzio
"""
MONTHS: Final[dict[str, int]] = {}
for _number, _line in enumerate(_MONTHS.split(";"), 1):
    for _name in _line.split():
        MONTHS.setdefault(_name, _number)
MONTHS["listopadu"] = MONTHS["listopada"] = 11
_UNITS: Final = (
    (
        "seconds",
        "seconds?|secs?|s|sekunden?|segundos?|secondes?|secondi|секунд[уы]?|seconden|sekund[ay]?|sekunder|saniye|秒前?|초",
    ),
    (
        "minutes",
        "minutes?|mins?|minuten?|minutos?|minuti|минут[уы]?|minuut|minut[ay]?|minuter|dakika|分钟|分鐘|分|분",
    ),
    (
        "hours",
        "hours?|hrs?|h|stunden?|horas?|heures?|or[ae]|час(?:а|ов)?|uur|uren|godzin[ęy]?|timm(?:ar|e)|timer?|saat|小时|小時|時間|시간",
    ),
    (
        "days",
        "days?|d|tag(?:en)?|d[ií]as?|jours?|giorn[oi]|день|дн(?:я|ей)|dag(?:en|ar|e)?|dni|dzień|gün|天|日|일",
    ),
    (
        "weeks",
        "weeks?|w|wochen?|semanas?|semaines?|settiman[ae]|недел[юиь]|weken|tydzień|tygodni[ea]?|vecka|veckor|hafta|周|週間|주",
    ),
    (
        "months",
        "months?|monat(?:en)?|mes(?:es)?|mois|mes[ei]|m[êe]s|месяц(?:а|ев)?|maand(?:en)?|miesiąc[ea]?|miesięcy|månad(?:er)?|ay|个月|か月|ヶ月|개월",
    ),
    (
        "years",
        "years?|yrs?|y|jahr(?:en)?|años?|ans?|ann[oi]|anos?|год(?:а)?|лет|jaar|rok|lata|lat|år|yıl|年|년",
    ),
)
_ONE: Final = r"an?|one|einem|einer|einen|une?|uno?|um|uma|una|un'|een|en"
_AGO: Final = r"ago|назад|fa|geleden|temu|sedan|siden|önce|前|전|atrás|тому"
_SINCE: Final = r"vor|hace|il y a|há|for|för"
RELATIVE: Final = re.compile(
    rf"(?:\b(?:{_SINCE})\s+)?(?<![\w.,])(?P<count>\d{{1,3}}|{_ONE})\s*(?:{'|'.join(f'(?P<{unit}>{names})' for unit, names in _UNITS)})"
    rf"(?!\w)?(?:\s*(?P<ago>{_AGO})(?!\w)|(?=\W|$))",
    re.IGNORECASE,
)
SINCE: Final = re.compile(rf"(?<!\w)(?:{_SINCE})\s+$|(?<!\w)(?:{_SINCE})\b", re.IGNORECASE)
NEAR: Final = (
    (
        re.compile(
            r"(?<!\w)(?:just now|right now|gerade eben|à l'instant|только что|刚刚|たった今|방금)",
            re.IGNORECASE,
        ),
        None,
    ),
    (
        re.compile(
            r"(?<!\w)(?:yesterday|gestern|hier|ayer|ieri|ontem|gisteren|wczoraj|вчера|вчора|včera|igår|i går|eilen|dün"
            r"|tegnap|χθες|أمس)(?!\w)|昨天|昨日|어제",
            re.IGNORECASE,
        ),
        1,
    ),
    (
        re.compile(
            r"(?<!\w)(?:today|heute|aujourd['’]hui|hoy|oggi|hoje|vandaag|dzisiaj|dziś|сегодня|сьогодні|dnes|idag|i dag"
            r"|tänään|bugün|ma|σήμερα|اليوم)(?!\w)"
            r"|今天|今日|오늘",
            re.IGNORECASE,
        ),
        0,
    ),
)
"""Patterns of words for a day, with the number of days ago. None means the current moment."""
ZONES: Final = {
    "z": 0,
    "utc": 0,
    "gmt": 0,
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
    "cet": 1,
    "cest": 2,
    "mez": 1,
    "mesz": 2,
    "bst": 1,
    "wet": 0,
    "eet": 2,
    "eest": 3,
    "msk": 3,
    "jst": 9,
    "kst": 9,
    "ist": 5.5,
    "aest": 10,
    "aedt": 11,
}
"""Time zone abbreviation -> offset from UTC in hours."""
ERAS: Final = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911}
"""Japanese or Taiwanese era -> the year before its first year."""
MODIFIED: Final = re.compile(
    r"\b(?:(?:last )?(?:updated|modified|edited|reviewed|revised|changed)|last update|lastmod|aktualisiert|geändert"
    r"|letzte (?:änderung|aktualisierung)|bearbeitet"
    r"|stand:|mis à jour|mise à jour|modifié|actualizad[oa]|modificad[oa]|última (?:actualización|atualização)"
    r"|atualizad[oa]|aggiornat[oa]|ultimo aggiornamento"
    r"|bijgewerkt|gewijzigd|aktualizacja|zaktualizowano|aktualizováno|обновлен[оа]?|изменен[оа]?|оновлено|uppdaterad"
    r"|opdateret|oppdatert|päivitetty|güncelleme"
    r"|güncellendi|actualizat|frissítve|ενημέρωση)|更新|修改|수정|업데이트",
    re.IGNORECASE,
)
PUBLISHED: Final = re.compile(
    r"\b(?:published|posted|publication date|date of publication|first published|issued|released|written on|created"
    r"|veröffentlicht|erschienen|erstellt"
    r"|publié|paru le|posté|publicado|publicada|fecha de publicación|publicação|pubblicato|gepubliceerd|geplaatst"
    r"|opublikowano|data publikacji|dodano"
    r"|zveřejněno|publikováno|vydáno|опубликован[оа]?|дата публикации|опубліковано|publicerad|publiceret|publisert"
    r"|julkaistu|yayın(?:lanma)?|publicat"
    r"|közzétéve|megjelent|δημοσι)|发布|发表|發布|公開|投稿|掲載|등록|입력|게시",
    re.IGNORECASE,
)
